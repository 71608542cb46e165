//! Levels of headings by their numbers.
//!
//! The parser ranks the headings of each page alone, where a section may be the largest. `1.2` is below `1`, wherever
//! both stand; a heading without a number is as deep as those of its page that look alike. What the file declares is
//! kept; how it does is not known here.

use dpe_connector::content::{Category, Element};
use serde_json::Value;

/// Headings with numbers, before they are taken for what they look like.
const LEAST_NUMBERED: usize = 3;

/// As many as the formats have that declare levels.
const DEEPEST: usize = 6;

/// Metadata of titles whose levels are declared, while they are put in order; no element has it in the end.
const DECLARED: &str = "level_is_declared";

/// Keeps the levels of all titles.
pub(super) fn declare(elements: &mut [Element]) {
    for title in elements.iter_mut().filter(|element| is_title(element)) {
        title.metadata.insert(DECLARED.to_owned(), true.into());
    }
}

/// Whether the level of a title is declared.
pub(super) fn is_declared(element: &Element) -> bool {
    is_title(element) && element.metadata.contains_key(DECLARED)
}

/// Makes plain titles of those whose levels are declared.
pub(super) fn forget_declared(elements: &mut [Element]) {
    for element in elements {
        element.metadata.remove(DECLARED);
    }
}

/// Gives the headings of all pages their levels, unless those are declared.
pub(super) fn settle(pages: &mut [Vec<Element>]) {
    let titles = pages.iter().flatten().filter(|element| is_guessed(element));
    let depths: Vec<usize> = titles.filter_map(depth).collect();
    if depths.len() < LEAST_NUMBERED || depths.iter().all(|depth| *depth == 1) {
        return;
    }
    for elements in pages {
        let mut titles: Vec<&mut Element> = elements
            .iter_mut()
            .filter(|element| is_guessed(element))
            .collect();
        let numbered: Vec<(usize, usize)> = titles
            .iter()
            .filter_map(|title| Some((level(title), depth(title)?)))
            .collect();
        for title in &mut titles {
            let own = level(title);
            let alike = numbered.iter().find(|(level, _)| *level == own);
            let larger = numbered.iter().filter(|(level, _)| *level < own);
            let below = larger.map(|(_, depth)| depth + 1).max();
            let settled = depth(title).or(alike.map(|(_, depth)| *depth)).or(below);
            if let Some(level) = settled {
                let level = level.min(DEEPEST);
                title.metadata.insert("level".to_owned(), level.into());
            }
        }
    }
}

fn is_title(element: &Element) -> bool {
    element.category == Category::Title
}

fn is_guessed(element: &Element) -> bool {
    is_title(element) && !is_declared(element)
}

pub(super) fn level(title: &Element) -> usize {
    let level = title.metadata.get("level").and_then(Value::as_u64);
    level
        .and_then(|level| usize::try_from(level).ok())
        .unwrap_or(1)
}

/// Returns how many numbers there are in the number of a heading, such as `1.2.` or `A.1`.
pub(super) fn depth(title: &Element) -> Option<usize> {
    let text = title.text.as_deref()?;
    let (number, rest) = text.split_once(char::is_whitespace)?;
    let is_dotted = number.contains('.');
    let mut parts = number.strip_suffix('.').unwrap_or(number).split('.');
    let first = parts.next()?;
    let is_digits = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_letter = first.len() == 1 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    let depth = 1 + parts.clone().count();
    let is_number = is_digits(first) || (is_letter && is_dotted);
    (is_number && parts.all(is_digits) && rest.contains(char::is_alphabetic)).then_some(depth)
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};
    use serde_json::Value;

    use super::{declare, forget_declared, settle};

    fn page(titles: &[(u64, &str)]) -> Vec<Element> {
        let title = |&(level, text): &(u64, &str)| {
            let mut title = Element::text(Category::Title, text);
            title.metadata.insert("level".to_owned(), level.into());
            title
        };
        titles.iter().map(title).collect()
    }

    fn levels(pages: &[Vec<Element>]) -> Vec<u64> {
        let titles = pages.iter().flatten();
        let levels = titles.map(|title| title.metadata.get("level").and_then(Value::as_u64));
        levels.map(Option::unwrap).collect()
    }

    #[test]
    fn headings_with_numbers_have_the_level_of_their_numbers_on_all_pages() {
        let mut pages = [
            page(&[(1, "A Book"), (2, "1 One"), (3, "1.1 Two")]),
            page(&[
                (1, "1.2. Three"),
                (1, "Alike"),
                (2, "1.2.1 Four"),
                (3, "Smaller"),
            ]),
            page(&[(2, "A.1 Five"), (1, "Larger"), (4, "2004 Six")]),
        ];
        settle(&mut pages);
        assert_eq!(levels(&pages), [1, 1, 2, 2, 2, 3, 4, 2, 1, 3]);
    }

    #[test]
    fn levels_that_are_declared_stay_whatever_the_numbers_say() {
        let said = page(&[(2, "1 One"), (3, "1.1 Two"), (3, "1.2 Three")]);
        let mut pages = [
            said.clone(),
            page(&[(3, "2 Four"), (1, "2.1 Five"), (1, "2.2 Six")]),
        ];
        declare(&mut pages[0]);
        settle(&mut pages);
        assert_eq!(levels(&pages), [2, 3, 3, 1, 2, 2]);
        forget_declared(&mut pages[0]);
        assert_eq!(pages[0], said);
    }

    #[test]
    fn headings_without_numbers_of_several_levels_stay() {
        let said = [page(&[
            (3, "1 One"),
            (2, "2 Two"),
            (1, "3 Three"),
            (2, "Four"),
        ])];
        let mut pages = said.clone();
        settle(&mut pages);
        assert_eq!(pages, said);
    }
}
