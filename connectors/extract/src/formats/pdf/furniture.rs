//! Running heads and feet.
//!
//! They are known by where they stand and by coming again: the first and last elements of pages whose letters, digits
//! left out, are the same on many of them. What stands between them is not looked at.

use std::collections::{BTreeMap, BTreeSet};

use dpe_connector::content::{Category, Element};

/// Elements at either end of a page that may be furniture.
const EDGE: usize = 3;

/// Longer texts are none.
const MOST_BYTES: usize = 300;

/// The furniture of a page is no larger part of its letters.
const LEAST_TEXT: usize = 4;

/// Fewer letters are the same by chance.
const LEAST_LETTERS: usize = 3;

/// Pages that say the same, before it is furniture.
const LEAST_PAGES: usize = 3;

/// The head of a chapter comes again within so many pages: on every other, and a blank one between.
const NEAR_PAGES: usize = 4;

/// Marks running heads and feet as such; `labels` are those of the pages.
pub(super) fn mark(pages: &mut [Vec<Element>], labels: &[Option<String>]) {
    let mut found: Vec<BTreeMap<usize, Category>> = vec![BTreeMap::new(); pages.len()];
    let candidates = Candidates::of(pages, labels);
    for (key, places) in &candidates.places {
        let category = match key.is_head {
            true => Category::Header,
            false => Category::Footer,
        };
        for place in running(key, places, pages.len()) {
            found[place.page].insert(place.at, category);
        }
    }
    let chapters = candidates.chapters.values();
    for place in chapters.flat_map(|places| heads_of_chapters(places)) {
        found[place.page].insert(place.at, Category::Header);
    }
    for (elements, found) in pages.iter_mut().zip(found) {
        set(elements, found);
    }
}

/// What may be furniture.
#[derive(Default)]
struct Candidates {
    places: BTreeMap<Key, Vec<Place>>,
    /// Those that begin like `Chapter 3`, by the word; with the number.
    chapters: BTreeMap<String, Vec<(String, Place)>>,
}

impl Candidates {
    fn of(pages: &[Vec<Element>], labels: &[Option<String>]) -> Self {
        let mut candidates = Self::default();
        for (page, (elements, label)) in pages.iter().zip(labels).enumerate() {
            let first = texts(elements).next();
            for (at, is_head) in edges(elements) {
                let said = Said::of(&elements[at], label.as_deref().unwrap_or_default());
                let place = Place {
                    page,
                    at,
                    is_first: Some(at) == first,
                    is_title: elements[at].category == Category::Title,
                };
                if let Some(said) = said {
                    candidates.add(said, place, is_head);
                }
            }
        }
        candidates
    }

    fn add(&mut self, said: Said, place: Place, is_head: bool) {
        if let Some(chapter) = said.chapter.filter(|_| is_head && !place.is_title) {
            let chapters = self.chapters.entry(chapter.word).or_default();
            chapters.push((chapter.number, place));
        }
        let letters = said.letters;
        let key = Key { is_head, letters };
        self.places.entry(key).or_default().push(place);
    }
}

/// Sets the categories of what is furniture of a page, unless that is most of what the page says.
fn set(elements: &mut [Element], found: BTreeMap<usize, Category>) {
    let letters = |at: usize| {
        let text = elements[at].text.as_deref().unwrap_or_default();
        text.chars()
            .filter(|letter| letter.is_alphanumeric())
            .count()
    };
    let all: usize = texts(elements).map(letters).sum();
    let furniture: usize = found.keys().map(|&at| letters(at)).sum();
    if furniture * LEAST_TEXT > all {
        return;
    }
    for (at, category) in found {
        elements[at].category = category;
        elements[at].metadata.remove("level");
        elements[at].metadata.remove("ordered");
    }
}

/// What the furniture of several pages has in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_head: bool,
    letters: String,
}

#[derive(Clone, Copy)]
struct Place {
    page: usize,
    /// Index of the element.
    at: usize,
    is_first: bool,
    is_title: bool,
}

/// Returns the places of those that say the same at which it is furniture, in a document of so many pages.
fn running(key: &Key, places: &[Place], count: usize) -> Vec<Place> {
    let pages: BTreeSet<usize> = places.iter().map(|place| place.page).collect();
    let titles = places.iter().filter(|place| place.is_title).count();
    let is_many = pages.len() >= LEAST_PAGES && pages.len() * 10 >= count * 3;
    // Slides and chapters have titles that come again.
    let are_titles = titles * 2 > places.len() && pages.len() * 2 < count;
    let pages: Vec<usize> = pages.into_iter().collect();
    let is_near = |page: usize| {
        let at = pages.partition_point(|&other| other < page);
        let first = at.saturating_sub(LEAST_PAGES - 1)..=at;
        first
            .filter_map(|first| pages.get(first..first + LEAST_PAGES))
            .any(|near| near.windows(2).all(|two| two[1] - two[0] <= NEAR_PAGES))
    };
    let is_running = |place: &&Place| match is_many {
        true => !are_titles,
        false => key.is_head && place.is_first && !place.is_title && is_near(place.page),
    };
    places.iter().filter(is_running).copied().collect()
}

/// Returns the places of texts such as `Chapter 3: Means`, if the same chapter comes more than once; captions of
/// tables do not.
fn heads_of_chapters(places: &[(String, Place)]) -> impl Iterator<Item = Place> {
    let numbers: BTreeSet<&str> = places.iter().map(|(number, _)| number.as_str()).collect();
    let is_running = places.len() >= LEAST_PAGES && numbers.len() * 3 <= places.len() * 2;
    let places = places
        .iter()
        .filter(move |(_, place)| is_running && place.is_first);
    places.map(|(_, place)| *place)
}

/// Returns the indexes of what stands at the ends of a page, and whether it is the upper one.
fn edges(elements: &[Element]) -> Vec<(usize, bool)> {
    let texts: Vec<usize> = texts(elements).collect();
    let heads = EDGE.min(texts.len().div_ceil(2));
    let feet = EDGE.min(texts.len() / 2);
    let heads = texts[..heads].iter().map(|&at| (at, true));
    let feet = texts[texts.len() - feet..].iter().map(|&at| (at, false));
    heads.chain(feet).collect()
}

/// Returns the indexes of the texts of the page itself.
pub(super) fn texts(elements: &[Element]) -> impl Iterator<Item = usize> {
    let is_text = |element: &Element| {
        !matches!(
            element.category,
            Category::Image
                | Category::FormKeysValues
                | Category::CheckBox
                | Category::FigureCaption
        ) && !element.metadata.contains_key("comment")
    };
    let texts = elements.iter().enumerate();
    texts
        .filter(move |(_, element)| is_text(element))
        .map(|(at, _)| at)
}

/// What of a text comes again if it is furniture.
struct Said {
    letters: String,
    /// Of a text that begins like `Chapter 3`.
    chapter: Option<Chapter>,
}

struct Chapter {
    word: String,
    number: String,
}

impl Said {
    /// Returns what an element on the page with a label says, if it may be furniture.
    fn of(element: &Element, label: &str) -> Option<Self> {
        let is_kind = matches!(
            element.category,
            Category::Title | Category::NarrativeText | Category::ListItem
        );
        let text = element.text.as_deref()?;
        if !is_kind || text.len() > MOST_BYTES {
            return None;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let said = words.iter().filter(|word| **word != label);
        let said: Vec<String> = said.map(|word| letters(word)).collect();
        // Letters between numbers are those of a table.
        let has_word = |word: &String| {
            let is_dense = word.starts_with(|letter| letter > '\u{2E7F}');
            is_dense || word.chars().nth(LEAST_LETTERS - 1).is_some()
        };
        if !said.iter().any(has_word) {
            return None;
        }
        let chapter = match words[..] {
            [word, number, _, ..] if number.starts_with(|sign: char| sign.is_ascii_digit()) => {
                let is_digit = |sign: &char| sign.is_ascii_digit();
                Some(Chapter {
                    word: letters(word),
                    number: number.chars().take_while(is_digit).collect(),
                })
            }
            _ => None,
        };
        Some(Self {
            letters: said.concat(),
            chapter: chapter.filter(|chapter| !chapter.word.is_empty()),
        })
    }
}

/// Returns the letters of a word, in lower case.
fn letters(word: &str) -> String {
    let letters = word.chars().filter(|letter| letter.is_alphabetic());
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::mark;

    fn page(texts: &[&str]) -> Vec<Element> {
        let text = |text: &&str| {
            let text = match *text {
                "LONG" => "The text of the page. ".repeat(20),
                text => text.to_owned(),
            };
            Element::text(Category::NarrativeText, text)
        };
        texts.iter().map(text).collect()
    }

    fn marked(mut pages: Vec<Vec<Element>>, labels: &[Option<String>]) -> Vec<Vec<Category>> {
        mark(&mut pages, labels);
        let categories = |page: Vec<Element>| page.iter().map(|one| one.category).collect();
        pages.into_iter().map(categories).collect()
    }

    const HEADER: Category = Category::Header;
    const FOOTER: Category = Category::Footer;
    const TEXT: Category = Category::NarrativeText;

    #[test]
    fn lines_that_come_again_at_the_ends_of_pages_are_heads_and_feet() {
        let pages = vec![
            page(&["A Book", "LONG", "Draft, page 1 of 3"]),
            page(&["2 A Book", "LONG", "A Book", "Draft, page 2 of 3"]),
            page(&["iii A Book", "LONG", "more", "Draft, page 3 of 3"]),
        ];
        let labels = [None, None, Some("iii".to_owned())];
        assert_eq!(
            marked(pages, &labels),
            [
                vec![HEADER, TEXT, FOOTER],
                vec![HEADER, TEXT, TEXT, FOOTER],
                vec![HEADER, TEXT, TEXT, FOOTER],
            ]
        );
    }

    #[test]
    fn heads_of_chapters_come_again_on_some_pages_only() {
        let mut pages = Vec::new();
        for number in 0..20 {
            let other = format!("text {}", "abcdefghijklmnopqrstu".split_at(number).0);
            let head = match number {
                1 => "Table 1: One",
                2 => "Table 2: Two",
                4 => "Table 3: Three",
                5 | 7 | 9 => "The Second Chapter",
                11 | 13 => "The Third Chapter",
                15 | 17 => "Chapter 4: Last",
                19 => "Chapter 5: End",
                _ => &other,
            };
            pages.push(page(&[head, "LONG", "LONG", "b", "c", "d"]));
        }
        let labels = vec![None; 20];
        let heads = marked(pages, &labels)
            .into_iter()
            .enumerate()
            .filter(|(_, page)| page[0] == HEADER);
        let heads: Vec<usize> = heads.map(|(page, _)| page).collect();
        assert_eq!(heads, [5, 7, 9, 15, 17, 19]);
    }

    #[test]
    fn titles_that_come_again_and_pages_that_are_alike_stay_what_they_are() {
        let slide = |text: &str| {
            let mut page = page(&["Results", text, "LONG", "b", "c"]);
            page[0].category = Category::Title;
            page
        };
        let texts = ["x", "yy", "zzz", "v", "w", "u", "t", "s"];
        let mut slides: Vec<_> = texts.iter().map(|text| slide(text)).collect();
        for (number, slide) in slides.iter_mut().enumerate().skip(3) {
            slide[0].text = Some("Others".repeat(number));
        }
        let labels = vec![None; slides.len()];
        let found = marked(slides, &labels);
        assert!(found.iter().all(|page| page[0] == Category::Title));
        let alike = vec![page(&["Hello world"]); 5];
        assert!(
            marked(alike, &vec![None; 5])
                .iter()
                .flatten()
                .all(|category| *category == TEXT)
        );
    }
}
