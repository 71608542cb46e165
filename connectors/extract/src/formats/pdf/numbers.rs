//! Numbers of pages, as they are printed: what is the label of a page is no text of it.
//!
//! A number is only taken for that of its page where others say so too: where the file declares it to be furniture, or
//! where on several pages the numbers stand at the same end and follow each other, or are the labels that the file
//! declares. In doubt it is text. What else comes again at the ends of pages is not known here.

use std::collections::BTreeMap;

use dpe_connector::content::{Category, Element};

use super::furniture;

/// Elements at the end of a page among which its number stands.
const EDGE: usize = 3;

/// Pages that print their number at the same end, before it is one.
const LEAST_PAGES: usize = 3;

/// Numbers of pages go on from those of other files, but no further than this; years do not.
const MOST_BEFORE: i64 = 900;

/// Signs before the digits of a label, such as `A-1`.
const MOST_PREFIX: usize = 2;

/// Takes the number out of each page that prints it; a page without a label has it as its label from then on.
pub(super) fn take(pages: &mut [Vec<Element>], labels: &mut [Option<String>]) {
    let printed = printed(pages);
    let found = match labels.iter().all(Option::is_none) {
        true => {
            let (first, found) = following(&printed, pages.len());
            for &page in found.keys() {
                labels[page] = Some(first.saturating_add(index(page)).to_string());
            }
            found
        }
        false => {
            let is_label = |printed: &&Printed| {
                let label = labels[printed.page].as_deref();
                label == Some(&*printed.text) && is_numeral(&printed.text)
            };
            accepted(printed.iter().filter(is_label), true, pages.len())
        }
    };
    for (page, at) in found {
        // A page that is nothing but a number says it.
        if pages[page].len() > 1 {
            pages[page].remove(at);
        }
    }
}

/// A text that may be the number of its page.
struct Printed {
    page: usize,
    /// Index of the element.
    at: usize,
    spot: Spot,
    text: String,
}

/// Where on a page a number stands; before others what is surer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// In a head or foot that the file declares.
    Furniture,
    /// With so many texts below it.
    Foot(usize),
    /// Above all other texts.
    Head,
}

fn printed(pages: &[Vec<Element>]) -> Vec<Printed> {
    let mut printed = Vec::new();
    for (page, elements) in pages.iter().enumerate() {
        let texts: Vec<usize> = furniture::texts(elements).collect();
        let count = texts.len();
        for (place, at) in texts.into_iter().enumerate() {
            let Some(text) = number(&elements[at]) else {
                continue;
            };
            let text = text.to_owned();
            let mut add = |spot: Spot| {
                let text = text.clone();
                printed.push(Printed {
                    page,
                    at,
                    spot,
                    text,
                });
            };
            let below = count - 1 - place;
            if elements[at].category != Category::NarrativeText {
                add(Spot::Furniture);
                continue;
            }
            if place == 0 {
                add(Spot::Head);
            }
            if below < EDGE {
                add(Spot::Foot(below));
            }
        }
    }
    printed
}

/// Returns the elements with numbers that follow each other, by their pages, and what the number of the first page is.
fn following(printed: &[Printed], count: usize) -> (i64, BTreeMap<usize, usize>) {
    let mut by_first: BTreeMap<i64, Vec<&Printed>> = BTreeMap::new();
    for printed in printed {
        let number = printed.text.parse::<u32>().map(i64::from);
        let highest = index(count).saturating_add(MOST_BEFORE);
        if let Ok(number) = number
            && number <= highest
        {
            let first = number - index(printed.page);
            by_first.entry(first).or_default().push(printed);
        }
    }
    // Of those that are on as many pages the lowest.
    let found = by_first.into_iter().rev().map(|(first, printed)| {
        // Where the first page is 1, furniture needs no others that follow it.
        (first, accepted(printed, first == 1, count))
    });
    let most = found.max_by_key(|(_, found)| found.len());
    most.unwrap_or_default()
}

/// Returns the elements that are the numbers of their pages, one of each: those at a place where on enough pages one is,
/// and if furniture is certain, all of that.
fn accepted<'p>(
    printed: impl IntoIterator<Item = &'p Printed>,
    is_certain: bool,
    count: usize,
) -> BTreeMap<usize, usize> {
    let mut by_spot: BTreeMap<Spot, BTreeMap<usize, usize>> = BTreeMap::new();
    for one in printed {
        let of_spot = by_spot.entry(one.spot).or_default();
        of_spot.insert(one.page, one.at);
    }
    let certain = by_spot.get(&Spot::Furniture).filter(|_| is_certain);
    let certain = certain.cloned().unwrap_or_default();
    let mut found = certain.clone();
    let several = by_spot
        .into_values()
        .filter(|pages| pages.len() >= LEAST_PAGES);
    for (page, at) in several.flatten() {
        found.entry(page).or_insert(at);
    }
    match found.len() * 3 < count {
        true => certain,
        false => found,
    }
}

fn index(page: usize) -> i64 {
    i64::try_from(page).unwrap_or(i64::MAX)
}

/// Whether a label is like `7`, `iv` or `A-1`, no word such as `Cover` and no title such as `Part 2`.
fn is_numeral(label: &str) -> bool {
    let is_roman = |sign: char| "ivxlcdmIVXLCDM".contains(sign);
    let prefix = label.trim_end_matches(|sign: char| sign.is_ascii_digit());
    let is_short = prefix.chars().count() <= MOST_PREFIX && !prefix.contains(char::is_whitespace);
    let has_digits = prefix.len() < label.len();
    (has_digits && is_short) || label.chars().all(is_roman)
}

/// Returns what a text is besides the dashes around it, if that may be a label; titles are none.
fn number(element: &Element) -> Option<&str> {
    let is_kind = matches!(
        element.category,
        Category::NarrativeText | Category::Header | Category::Footer
    );
    let text = element
        .text
        .as_deref()
        .filter(|text| is_kind && text.len() < 32)?;
    let text =
        text.trim_matches(|sign: char| sign.is_whitespace() || matches!(sign, '-' | '–' | '—'));
    text.contains(char::is_alphanumeric).then_some(text)
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::{is_numeral, take};

    fn page(texts: &[&str]) -> Vec<Element> {
        let text = |text: &&str| Element::text(Category::NarrativeText, *text);
        texts.iter().map(text).collect()
    }

    /// Pages whose first or last element, by its index, is of another category.
    fn pages_with(category: Category, at: usize, said: &[&[&str]]) -> Vec<Vec<Element>> {
        let mut pages: Vec<_> = said.iter().map(|texts| page(texts)).collect();
        for page in &mut pages {
            page[at].category = category;
        }
        pages
    }

    fn texts(pages: &[Vec<Element>]) -> Vec<Vec<&str>> {
        let pages = pages.iter().map(|page| page.iter());
        pages
            .map(|page| page.filter_map(|one| one.text.as_deref()).collect())
            .collect()
    }

    fn declared(labels: &[&str]) -> Vec<Option<String>> {
        labels
            .iter()
            .map(|label| Some((*label).to_owned()))
            .collect()
    }

    /// Nothing is taken, and no label given.
    fn stay(said: &[Vec<Element>], labels: &[Option<String>]) {
        let (mut pages, mut found) = (said.to_vec(), labels.to_vec());
        take(&mut pages, &mut found);
        assert_eq!(texts(&pages), texts(said));
        assert_eq!(found, labels);
    }

    #[test]
    fn numbers_that_are_the_labels_of_three_pages_are_left_out() {
        let mut pages = [
            page(&["a", "b", "c", "d", "iv"]),
            page(&["e", "6", "- 5 -"]),
            page(&["f", "6"]),
            page(&["7"]),
        ];
        take(&mut pages, &mut declared(&["iv", "5", "6", "7"]));
        assert_eq!(
            texts(&pages),
            [
                vec!["a", "b", "c", "d"],
                vec!["e", "6"],
                vec!["f"],
                vec!["7"]
            ]
        );
    }

    #[test]
    fn numbers_that_follow_each_other_are_labels_where_none_are_declared() {
        let mut pages = [
            page(&["title"]),
            page(&["a", "3"]),
            page(&["100", "b", "4"]),
            page(&["c", "5"]),
        ];
        let mut labels = vec![None; 4];
        take(&mut pages, &mut labels);
        assert_eq!(
            texts(&pages),
            [vec!["title"], vec!["a"], vec!["100", "b"], vec!["c"]]
        );
        let labels: Vec<_> = labels.iter().map(Option::as_deref).collect();
        assert_eq!(labels, [None, Some("3"), Some("4"), Some("5")]);
    }

    #[test]
    fn number_of_the_page_in_a_foot_that_the_file_declares_is_a_label_on_a_single_page() {
        let mut pages = pages_with(Category::Footer, 1, &[&["a", "1"]]);
        let mut labels = [None];
        take(&mut pages, &mut labels);
        assert_eq!(texts(&pages), [["a"]]);
        assert_eq!(labels, [Some("1".to_owned())]);
        let mut pages = pages_with(Category::Footer, 1, &[&["a", "A-7"]]);
        take(&mut pages, &mut declared(&["A-7"]));
        assert_eq!(texts(&pages), [["a"]]);
    }

    #[test]
    fn postal_code_or_year_in_a_foot_of_a_single_page_is_text() {
        let mut letter = page(&["a", "Bank", "10115", "Berlin", "2024", "7"]);
        for foot in &mut letter[1..] {
            foot.category = Category::Footer;
        }
        stay(&[letter], &[None]);
    }

    #[test]
    fn years_that_follow_each_other_are_text() {
        let said = ["2019", "2020", "2021"];
        let said: Vec<_> = said
            .iter()
            .map(|year| page(&[year, "Income", "b"]))
            .collect();
        stay(&said, &[None, None, None]);
    }

    #[test]
    fn titles_are_no_numbers_of_pages() {
        let said: [&[&str]; 3] = [&["1", "a"], &["2", "b"], &["3", "c"]];
        let said = pages_with(Category::Title, 0, &said);
        stay(&said, &[None, None, None]);
        stay(&said, &declared(&["1", "2", "3"]));
    }

    #[test]
    fn numbers_below_the_first_text_of_a_page_are_those_of_questions() {
        let said = ["1", "2", "3"];
        let said: Vec<_> = said
            .iter()
            .map(|number| page(&["Exam", number, "What is it?", "a", "b", "c"]))
            .collect();
        stay(&said, &[None, None, None]);
        stay(&said, &declared(&["1", "2", "3"]));
    }

    #[test]
    fn number_that_is_the_label_of_one_page_only_is_text() {
        let said = [
            page(&["1", "Means", "Some text"]),
            page(&["Ends", "2", "8", "9"]),
            page(&["More", "text"]),
        ];
        stay(&said, &declared(&["1", "2", "3"]));
        stay(&said[..1], &declared(&["1"]));
    }

    #[test]
    fn labels_that_are_words_are_text_wherever_they_stand() {
        let said = ["Part 1", "Part 2", "Part 3"];
        let pages: Vec<_> = said.iter().map(|part| page(&[part, "a"])).collect();
        stay(&pages, &declared(&said));
        let numerals = ["7", "iv", "A-1", "3-12", "S4"];
        assert!(numerals.iter().all(|label| is_numeral(label)));
        let words = ["Cover", "Part 1", "A 1", "Abb1", "1a", "1-b"];
        assert!(!words.iter().any(|label| is_numeral(label)));
    }

    #[test]
    fn numbers_that_do_not_follow_each_other_are_text() {
        let said = [page(&["a", "3"]), page(&["b", "9"]), page(&["c", "4"])];
        stay(&said, &[None, None, None]);
    }
}
