//! Running heads and feet.
//!
//! They are known by where they stand and by coming again: the first and last elements of pages whose letters, digits
//! left out, are the same on many of them, with nothing but furniture between them and the edge. What stands between
//! them is not looked at; titles that are declared and captions are none.

use std::collections::{BTreeMap, BTreeSet};

use dpe_connector::content::{Category, Element};

use super::said::Said;

/// Elements at either end of a page that may be furniture.
const EDGE: usize = 3;

/// Numbers of pages are not longer.
const NUMBER_BYTES: usize = 32;

/// The furniture of a page is no larger part of its letters.
const LEAST_TEXT: usize = 4;

/// Pages that say the same, before it is furniture.
const LEAST_PAGES: usize = 3;

/// The head of a chapter comes again within so many pages: on every other, and a blank one between.
const NEAR_PAGES: usize = 4;

/// In documents of no more pages only what is nearest to the edge may differ in its digits.
const FEW_PAGES: usize = 4;

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
    for (elements, mut found) in pages.iter_mut().zip(found) {
        keep_outer(elements, &mut found);
        set(elements, found);
    }
}

/// What may be furniture.
#[derive(Default)]
struct Candidates {
    /// With their letters and digits.
    places: BTreeMap<Key, Vec<(String, Place)>>,
    /// Those that begin like `Chapter 3`, by the word; with the number.
    chapters: BTreeMap<String, Vec<(String, Place)>>,
}

impl Candidates {
    fn of(pages: &[Vec<Element>], labels: &[Option<String>]) -> Self {
        let mut candidates = Self::default();
        for (page, (elements, label)) in pages.iter().zip(labels).enumerate() {
            for edge in edges(elements) {
                let Edge { at, is_head, .. } = edge;
                let said = Said::of(&elements[at], label.as_deref().unwrap_or_default());
                let place = Place {
                    page,
                    at,
                    is_first: edge.is_outermost,
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
        let places = self.places.entry(key).or_default();
        places.push((said.exact, place));
    }
}

/// Keeps of what is found that between which and the edge is nothing else.
fn keep_outer(elements: &[Element], found: &mut BTreeMap<usize, Category>) {
    let texts: Vec<usize> = texts(elements).collect();
    let is_outer = |at: &&usize| found.contains_key(at) || is_passed_over(&elements[**at]);
    let heads = texts.iter().take_while(is_outer);
    let heads = heads.filter(|at| found.get(at) == Some(&Category::Header));
    let feet = texts.iter().rev().take_while(is_outer);
    let feet = feet.filter(|at| found.get(at) == Some(&Category::Footer));
    let kept: BTreeSet<usize> = heads.chain(feet).copied().collect();
    found.retain(|at, _| kept.contains(at));
}

/// Whether a text may stand between furniture and the edge: a number, or what the file declares to be furniture.
fn is_passed_over(element: &Element) -> bool {
    let is_declared = matches!(element.category, Category::Header | Category::Footer);
    let text = element.text.as_deref().unwrap_or_default();
    let is_short = element.category == Category::NarrativeText && text.len() <= NUMBER_BYTES;
    is_declared || is_short && !text.contains(char::is_alphabetic)
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
    /// Whether nothing but numbers and declared furniture is between it and the edge.
    is_first: bool,
    is_title: bool,
}

/// Returns the places of those that say the same at which it is furniture, in a document of so many pages.
fn running(key: &Key, places: &[(String, Place)], count: usize) -> Vec<Place> {
    let mut alike: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (exact, place) in places {
        alike.entry(exact).or_default().insert(place.page);
    }
    let is_alike = |exact: &str| {
        let pages = alike.get(exact);
        pages.is_some_and(|pages| pages.len() >= LEAST_PAGES)
    };
    let pages: BTreeSet<usize> = alike.values().flatten().copied().collect();
    let titles = places.iter().filter(|(_, place)| place.is_title).count();
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
    let is_running = |(exact, place): &&(String, Place)| match is_many {
        true => !are_titles && (count > FEW_PAGES || place.is_first || is_alike(exact)),
        false => key.is_head && place.is_first && !place.is_title && is_near(place.page),
    };
    let running = places.iter().filter(is_running);
    running.map(|(_, place)| *place).collect()
}

/// Returns the places of texts such as `Chapter 3: Means`, if the same chapter comes more than once on pages near each
/// other.
fn heads_of_chapters(places: &[(String, Place)]) -> Vec<Place> {
    let places: Vec<&(String, Place)> = places.iter().filter(|(_, one)| one.is_first).collect();
    let is_near = |one: &Place, other: &Place| {
        one.page != other.page && one.page.abs_diff(other.page) <= NEAR_PAGES
    };
    let near = places.iter().enumerate().filter(|(at, (_, place))| {
        // They are in the order of their pages.
        let around = at.saturating_sub(1)..(at + 2).min(places.len());
        places[around]
            .iter()
            .any(|(_, other)| is_near(place, other))
    });
    let near: Vec<&(String, Place)> = near.map(|(_, place)| *place).collect();
    let numbers: BTreeSet<&str> = near.iter().map(|(number, _)| number.as_str()).collect();
    let is_running = near.len() >= LEAST_PAGES && numbers.len() * 3 <= near.len() * 2;
    let near = near.into_iter().filter(|_| is_running);
    near.map(|(_, place)| *place).collect()
}

/// What stands at an end of a page.
struct Edge {
    /// Index of the element.
    at: usize,
    is_head: bool,
    is_outermost: bool,
}

/// Returns what stands at the ends of a page.
fn edges(elements: &[Element]) -> Vec<Edge> {
    let texts: Vec<usize> = texts(elements).collect();
    let heads = EDGE.min(texts.len().div_ceil(2));
    let feet = EDGE.min(texts.len() / 2);
    let is_counted = |at: &&usize| !is_passed_over(&elements[**at]);
    let first = texts.iter().find(is_counted);
    let last = texts.iter().rev().find(is_counted);
    let edge = |at: &usize, is_head: bool| Edge {
        at: *at,
        is_head,
        is_outermost: Some(at) == if is_head { first } else { last },
    };
    let heads = texts[..heads].iter().map(|at| edge(at, true));
    let feet = texts[texts.len() - feet..].iter().map(|at| edge(at, false));
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

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::mark;
    use crate::formats::pdf::levels;

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

    fn titled(mut pages: Vec<Vec<Element>>) -> Vec<Vec<Element>> {
        for page in &mut pages {
            page[0].category = Category::Title;
        }
        pages
    }

    #[test]
    fn titles_that_differ_in_their_numbers_and_declared_ones_are_titles() {
        let labels: Vec<_> = (1..=4)
            .map(|number: u32| Some(number.to_string()))
            .collect();
        let question = |number: usize| page(&[&format!("Question {number}"), "LONG", "b"]);
        let questions = titled((1..=4).map(question).collect());
        let found = marked(questions, &labels);
        assert!(found.iter().all(|page| page[0] == Category::Title));
        let mut alike = titled(vec![page(&["Summary", "LONG", "b"]); 4]);
        let found = marked(alike.clone(), &labels);
        assert!(found.iter().all(|page| page[0] == HEADER));
        for page in &mut alike {
            levels::declare(page);
        }
        let found = marked(alike, &labels);
        assert!(found.iter().all(|page| page[0] == Category::Title));
    }

    #[test]
    fn captions_are_text_however_they_are_numbered() {
        let captions = [
            ["Table 3.1: One", "Table 3.2: Two", "Table 4.1: Three"],
            ["Figure 1 One", "Figure 2 Two", "Figure 1 Three"],
            [
                "Table 3 (continued)",
                "Table 3 (continued)",
                "Table 3 (continued)",
            ],
            ["In 2019 the", "In 2019 a", "In 2019 some"],
            ["Model 3.1 One", "Model 3.2 Two", "Model 4.1 Three"],
        ];
        for captions in captions {
            let pages = captions.map(|caption| page(&[caption, "LONG", "b", "c", "d"]));
            let found = marked(pages.to_vec(), &[None, None, None]);
            assert!(found.iter().flatten().all(|category| *category == TEXT));
        }
    }

    #[test]
    fn heads_of_chapters_that_are_far_apart_are_text() {
        let mut pages: Vec<_> = (1..=30)
            .map(|number| page(&[&"x".repeat(number + 3), "LONG", "b", "c", "d"]))
            .collect();
        for at in [0, 10, 20] {
            pages[at] = page(&["Model 1 is it", "LONG", "b", "c", "d"]);
        }
        let found = marked(pages, &vec![None; 30]);
        assert!(found.iter().flatten().all(|category| *category == TEXT));
    }

    #[test]
    fn bills_in_one_file_keep_their_dates_and_totals() {
        let bill = |number: usize| {
            page(&[
                "Invoice",
                &format!("Date: {number}.5.2020"),
                &format!("Customer no. {number}7"),
                "LONG",
                &format!("Total {number}00.00 EUR"),
                &format!("Due {number}.6."),
                "Acme Ltd",
            ])
        };
        let found = marked((1..=3).map(bill).collect(), &[None, None, None]);
        let expected = [HEADER, TEXT, TEXT, TEXT, TEXT, TEXT, FOOTER];
        assert!(found.iter().all(|page| *page == expected));
    }

    #[test]
    fn what_comes_again_behind_other_text_is_text() {
        let texts = ["p", "qq", "rrr", "ssss", "ttttt"];
        let inner = |text: &&str| page(&[text, "The Same", "LONG", "Total", text]);
        let found = marked(texts.iter().map(inner).collect(), &vec![None; 5]);
        assert!(found.iter().flatten().all(|category| *category == TEXT));
        let behind = |number: usize| page(&[&format!("{number}"), "The Same", "LONG", "b", "c"]);
        let found = marked((0..5).map(behind).collect(), &vec![None; 5]);
        assert!(found.iter().all(|page| page[..2] == [TEXT, HEADER]));
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
