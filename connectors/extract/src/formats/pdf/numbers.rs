//! Numbers of pages, as they are printed: what is the label of a page is no text of it.
//!
//! Labels that the file declares decide. Where it declares none, numbers that stand alone at the ends of pages and
//! follow each other are the labels.

use std::collections::BTreeMap;

use dpe_connector::content::{Category, Element};

/// Elements at either end of a page among which its number stands.
const EDGE: usize = 3;

/// Pages with numbers that follow each other, before they are labels.
const LEAST_PAGES: usize = 3;

/// Takes the number out of each page that prints it; a page without a label has it as its label from then on.
pub(super) fn take(pages: &mut [Vec<Element>], labels: &mut [Option<String>]) {
    if labels.iter().all(Option::is_none) {
        label(pages, labels);
    }
    for (elements, label) in pages.iter_mut().zip(labels) {
        let Some(label) = label.as_ref().filter(|label| is_numeral(label)) else {
            continue;
        };
        let found = edge(elements).find(|&at| number(&elements[at]) == Some(label));
        // A page that is nothing but a number says it.
        if let Some(at) = found.filter(|_| elements.len() > 1) {
            elements.remove(at);
        }
    }
}

/// Whether a label is no word such as `Cover`.
fn is_numeral(label: &str) -> bool {
    let is_roman = |sign: char| "ivxlcdmIVXLCDM".contains(sign);
    label.contains(|sign: char| sign.is_ascii_digit()) || label.chars().all(is_roman)
}

/// Labels the pages whose numbers follow each other.
fn label(pages: &[Vec<Element>], labels: &mut [Option<String>]) {
    let mut printed: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (page, elements) in (0i64..).zip(pages) {
        let numbers = edge(elements).filter_map(|at| number(&elements[at]));
        for number in numbers.filter_map(|number| number.parse::<u32>().ok()) {
            let pages = printed.entry(i64::from(number) - page).or_default();
            let page = usize::try_from(page).unwrap_or(usize::MAX);
            if pages.last() != Some(&page) {
                pages.push(page);
            }
        }
    }
    // Of those that are on as many pages the lowest.
    let most = printed.iter().rev().max_by_key(|(_, pages)| pages.len());
    let Some((first, found)) = most else {
        return;
    };
    // What the file declares to be furniture needs no others that follow it.
    let are_declared = found.iter().all(|&page| {
        let numbers = edge(&pages[page]).filter(|&at| number(&pages[page][at]).is_some());
        let mut furniture = numbers.map(|at| pages[page][at].category);
        furniture.any(|category| matches!(category, Category::Header | Category::Footer))
    });
    let is_enough = found.len() >= LEAST_PAGES || are_declared;
    if !is_enough || found.len() * 3 < pages.len() {
        return;
    }
    for &page in found {
        let number = i64::try_from(page)
            .unwrap_or(i64::MAX)
            .saturating_add(*first);
        labels[page] = Some(number.to_string());
    }
}

/// Returns the indexes of the elements at the ends of a page, the last ones first.
fn edge(elements: &[Element]) -> impl Iterator<Item = usize> {
    let texts: Vec<usize> = (0..elements.len())
        .filter(|&at| elements[at].category != Category::Image)
        .collect();
    let count = texts.len();
    let is_edge = move |place: &usize| *place < EDGE || place + EDGE >= count;
    let places = (0..count).rev().filter(is_edge);
    places.map(move |place| texts[place])
}

/// Returns what a text is besides the dashes around it, if that may be a label.
fn number(element: &Element) -> Option<&str> {
    let is_kind = matches!(
        element.category,
        Category::Title | Category::NarrativeText | Category::Header | Category::Footer
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

    use super::take;

    fn page(texts: &[&str]) -> Vec<Element> {
        let text = |text: &&str| Element::text(Category::NarrativeText, *text);
        texts.iter().map(text).collect()
    }

    fn texts(pages: &[Vec<Element>]) -> Vec<Vec<&str>> {
        let pages = pages.iter().map(|page| page.iter());
        pages
            .map(|page| page.filter_map(|one| one.text.as_deref()).collect())
            .collect()
    }

    #[test]
    fn number_that_is_the_label_of_its_page_is_left_out() {
        let mut pages = [
            page(&["a", "b", "c", "d", "iv"]),
            page(&["- 5 -", "6", "e"]),
            page(&["7"]),
        ];
        let mut labels = ["iv", "5", "7"].map(|label| Some(label.to_owned()));
        take(&mut pages, &mut labels);
        assert_eq!(
            texts(&pages),
            [vec!["a", "b", "c", "d"], vec!["6", "e"], vec!["7"]]
        );
    }

    #[test]
    fn numbers_that_follow_each_other_are_labels_where_none_are_declared() {
        let mut pages = [
            page(&["title"]),
            page(&["a", "3"]),
            page(&["4", "b", "100"]),
            page(&["c", "5"]),
        ];
        let mut labels = vec![None; 4];
        take(&mut pages, &mut labels);
        assert_eq!(
            texts(&pages),
            [vec!["title"], vec!["a"], vec!["b", "100"], vec!["c"]]
        );
        let labels: Vec<_> = labels.iter().map(Option::as_deref).collect();
        assert_eq!(labels, [None, Some("3"), Some("4"), Some("5")]);
    }

    #[test]
    fn number_in_a_foot_that_the_file_declares_is_a_label_on_a_single_page() {
        let mut pages = [page(&["a", "7"])];
        pages[0][1].category = Category::Footer;
        let mut labels = [None];
        take(&mut pages, &mut labels);
        assert_eq!(texts(&pages), [["a"]]);
        assert_eq!(labels, [Some("7".to_owned())]);
    }

    #[test]
    fn numbers_that_do_not_follow_each_other_are_text() {
        let said = [page(&["a", "3"]), page(&["b", "9"]), page(&["c", "4"])];
        let mut pages = said.clone();
        let mut labels = vec![None; 3];
        take(&mut pages, &mut labels);
        assert_eq!(pages, said);
        assert!(labels.iter().all(Option::is_none));
    }
}
