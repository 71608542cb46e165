//! Headings that the outline of the document declares, found among the texts of their pages.
//!
//! A heading of several lines, or with its number apart, may be several elements. What else looks like a heading is one
//! below those that are declared. How outlines are written is not known here.

use std::collections::BTreeMap;
use std::ops::Range;

use dpe_connector::content::{Category, Element};
use serde_json::Value;

use super::levels;
use super::outline::Entry;

/// Elements that may be one heading.
const MOST_PARTS: usize = 4;

/// Longer texts are none.
const MOST_BYTES: usize = 1024;

/// Entries that lead to one page.
const MOST_ENTRIES: usize = 500;

/// Makes titles of the texts that entries of the outline mean, with their levels.
pub(super) fn declare(pages: &mut [Vec<Element>], entries: &[Entry]) {
    let mut of_pages: Vec<Vec<&Entry>> = vec![Vec::new(); pages.len()];
    for entry in entries {
        if let Some(of_page) = of_pages.get_mut(entry.page)
            && of_page.len() < MOST_ENTRIES
        {
            of_page.push(entry);
        }
    }
    let (mut found, mut deepest) = (0, 0);
    for (elements, entries) in pages.iter_mut().zip(of_pages) {
        let mut sheet = Sheet::of(elements);
        for entry in entries {
            if let Some(range) = sheet.find(&Said::of(&entry.title)) {
                found += 1;
                deepest = deepest.max(sheet.declare(range, entry.level));
            }
        }
    }
    if found * 2 >= entries.len() && found > 0 {
        lower(pages, deepest);
    }
}

/// Puts headings that are not declared below those that are; what comes before the first stays as it is.
fn lower(pages: &mut [Vec<Element>], deepest: usize) {
    let of_numbers = of_numbers(pages);
    let mut is_before = true;
    for element in pages.iter_mut().flatten() {
        let is_declared = levels::is_declared(element);
        is_before &= !is_declared;
        if element.category == Category::Title && !is_declared && !is_before {
            let number = levels::depth(element);
            let level = number.and_then(|depth| of_numbers.get(&depth));
            let level = level.cloned().unwrap_or((deepest + 1).into());
            element.metadata.insert("level".to_owned(), level);
        }
    }
}

/// Returns the levels that the declared headings with numbers have, by how many numbers those are.
fn of_numbers(pages: &[Vec<Element>]) -> BTreeMap<usize, Value> {
    let mut levels = BTreeMap::new();
    let titles = pages.iter().flatten();
    for title in titles.filter(|element| levels::is_declared(element)) {
        if let Some(depth) = levels::depth(title)
            && let Some(level) = title.metadata.get("level")
        {
            levels.entry(depth).or_insert_with(|| level.clone());
        }
    }
    levels
}

/// A page whose headings are looked for.
struct Sheet<'e> {
    elements: &'e mut Vec<Element>,
    /// What each element says; `None` if it is no part of a heading.
    said: Vec<Option<Said>>,
}

impl<'e> Sheet<'e> {
    fn of(elements: &'e mut Vec<Element>) -> Self {
        let said = elements.iter().map(|element| part(element).map(Said::of));
        Self {
            said: said.collect(),
            elements,
        }
    }

    /// Makes one title of the elements of a range, and returns its level: that which it has already, if it is declared.
    fn declare(&mut self, range: Range<usize>, level: usize) -> usize {
        let start = range.start;
        self.said.splice(range.clone(), [None]);
        if levels::is_declared(&self.elements[start]) {
            return levels::level(&self.elements[start]);
        }
        join(self.elements, range, level);
        level
    }

    /// Whether an element is a title whose level was declared before.
    fn is_declared(&self, at: usize) -> bool {
        levels::is_declared(&self.elements[at])
    }

    /// Returns the elements that say what is wanted; those that look most like a heading, and of several the first.
    fn find(&self, wanted: &Said) -> Option<Range<usize>> {
        let starts = 0..self.elements.len();
        let found = starts.filter_map(|start| self.find_at(start, wanted));
        let (_, mut range) = found.min_by_key(|(plain, _)| *plain)?;
        // `Chapter 3` above its heading.
        if let Some(above) = range.start.checked_sub(1)
            && self.elements[above].category == Category::Title
            && !self.is_declared(above)
            && !self.is_declared(range.start)
            && self.said[above].as_ref().is_some_and(Said::is_number)
        {
            range.start -= 1;
        }
        Some(range)
    }

    /// Returns the elements from one on that say what is wanted, and how little they look like a heading.
    fn find_at(&self, start: usize, wanted: &Said) -> Option<(usize, Range<usize>)> {
        let parts = self.said[start..].iter().take(MOST_PARTS);
        let mut whole: Option<Said> = None;
        let mut plain = 0;
        for (end, part) in (start..).zip(parts) {
            let part = part.as_ref()?;
            // What the structure declares is whole.
            if end > start && (self.is_declared(start) || self.is_declared(end)) {
                return None;
            }
            match &mut whole {
                None => whole = Some(part.clone()),
                Some(whole) => whole.rest.push_str(&part.all()),
            }
            plain += match self.elements[end].category {
                Category::Title => 0,
                Category::Header | Category::Footer => 2 * MOST_PARTS,
                _ => 1,
            };
            let whole = whole.as_ref()?;
            // A number alone may be that of an item, or of the page.
            let is_title = self.elements[start].category == Category::Title;
            let is_sure = is_title || !wanted.rest.is_empty() || whole.kind == wanted.kind;
            if is_sure && whole.is(wanted) {
                return Some((plain, start..end + 1));
            }
            if !wanted.rest.starts_with(&whole.rest) {
                return None;
            }
        }
        None
    }
}

/// Returns the text of an element that may be a part of a heading.
fn part(element: &Element) -> Option<&str> {
    let is_kind = matches!(
        element.category,
        Category::Title
            | Category::NarrativeText
            | Category::ListItem
            | Category::Header
            | Category::Footer
    );
    let text = element.text.as_deref()?;
    let is_short = text.len() <= MOST_BYTES;
    (is_kind && is_short && !element.metadata.contains_key("comment")).then_some(text)
}

/// Makes one title of the elements of a range.
fn join(elements: &mut Vec<Element>, range: Range<usize>, level: usize) {
    let start = range.start;
    let parts: Vec<Element> = elements.drain(range).collect();
    let texts = parts.iter().filter_map(|part| part.text.as_deref());
    let text = texts.collect::<Vec<_>>().join(" ");
    let mut title = Element::text(Category::Title, text);
    title.metadata.insert("level".to_owned(), level.into());
    levels::declare(std::slice::from_mut(&mut title));
    let links = parts
        .into_iter()
        .filter_map(|mut part| part.metadata.remove("links"));
    let links = links.filter_map(|links| match links {
        Value::Array(links) => Some(links),
        _ => None,
    });
    let links: Vec<Value> = links.flatten().collect();
    if !links.is_empty() {
        title.metadata.insert("links".to_owned(), links.into());
    }
    elements.insert(start, title);
}

/// The letters and digits of a heading, in lower case.
#[derive(Clone)]
struct Said {
    /// A word before the number at its beginning, such as `chapter`.
    kind: String,
    number: String,
    rest: String,
}

impl Said {
    fn of(text: &str) -> Self {
        if let Some((number, rest)) = chinese_chapter(text) {
            return Self {
                kind: String::new(),
                number: letters(number),
                rest: rest.split_whitespace().map(letters).collect(),
            };
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let numbered = match words[..] {
            [first, second, ..] if !is_number(first) && is_number(second) && is_word(first) => 2,
            [first, ..] if is_number(first) => 1,
            _ => 0,
        };
        let (number, rest) = words.split_at(numbered);
        let (kind, number) = number.split_at(numbered.saturating_sub(1));
        let letters = |words: &[&str]| words.iter().map(|word| letters(word)).collect();
        Self {
            kind: letters(kind),
            number: letters(number),
            rest: letters(rest),
        }
    }

    fn all(&self) -> String {
        [&*self.kind, &*self.number, &*self.rest].concat()
    }

    /// Whether both are the same heading; one of them may have no number.
    fn is(&self, other: &Self) -> bool {
        let are_numbers = !self.number.is_empty() && !other.number.is_empty();
        self.rest == other.rest
            && (!self.rest.is_empty() || are_numbers)
            && (!are_numbers || self.number == other.number)
    }

    fn is_number(&self) -> bool {
        self.rest.is_empty() && !self.number.is_empty()
    }
}

/// Parts the number `第 3 章` from what follows, as Chinese and Japanese write it.
fn chinese_chapter(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start().strip_prefix('第')?;
    let (at, sign) = rest
        .char_indices()
        .take(8)
        .find(|(_, sign)| "章节節部編编篇".contains(*sign))?;
    Some((&rest[..at], &rest[at + sign.len_utf8()..]))
}

/// Whether a word is like `3`, `1.2.3`, `A.` or `IV`.
fn is_number(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ':', ')']);
    let mut parts = word.split('.');
    let first = parts.next().unwrap_or_default();
    let is_digits = |part: &str| part.len() < 4 && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_letter = first.len() == 1 && first.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_roman = !first.is_empty() && first.chars().all(|sign| "IVXLC".contains(sign));
    (is_letter || is_roman || (!first.is_empty() && is_digits(first))) && parts.all(is_digits)
}

fn is_word(word: &str) -> bool {
    word.chars().all(char::is_alphabetic)
}

fn letters(word: &str) -> String {
    let mut letters = String::new();
    for letter in word.chars().filter(|letter| letter.is_alphanumeric()) {
        match letter {
            '\u{FB00}' => letters.push_str("ff"),
            '\u{FB01}' => letters.push_str("fi"),
            '\u{FB02}' => letters.push_str("fl"),
            '\u{FB03}' => letters.push_str("ffi"),
            '\u{FB04}' => letters.push_str("ffl"),
            letter => letters.extend(letter.to_lowercase()),
        }
    }
    letters
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};
    use serde_json::Value;

    use super::{Said, declare, levels};
    use crate::formats::pdf::outline::Entry;

    fn title(text: &str, level: u64) -> Element {
        let mut title = Element::text(Category::Title, text);
        title.metadata.insert("level".to_owned(), level.into());
        title
    }

    fn text(text: &str) -> Element {
        Element::text(Category::NarrativeText, text)
    }

    fn entry(title: &str, page: usize, level: usize) -> Entry {
        Entry {
            title: title.to_owned(),
            page,
            level,
        }
    }

    fn titles(elements: &[Element]) -> Vec<(Option<u64>, &str)> {
        let titles = elements.iter().map(|element| {
            let level = element.metadata.get("level").and_then(Value::as_u64);
            (level, element.text.as_deref().unwrap())
        });
        titles.collect()
    }

    #[test]
    fn what_the_outline_names_are_the_titles_with_its_levels() {
        let mut pages = [
            vec![title("A Book", 1)],
            vec![
                title("Chapter 1", 2),
                title("The ﬁrst", 1),
                text("Some text."),
                text("1.1 What is the difference? Why"),
                text("should I choose"),
                title("another?", 3),
                title("Guessed", 1),
                text("the first"),
            ],
        ];
        let entries = [
            entry("The First", 1, 1),
            entry("What is the difference? Why should I choose another?", 1, 2),
            entry("Not there", 1, 2),
        ];
        declare(&mut pages, &entries);
        assert_eq!(titles(&pages[0]), [(Some(1), "A Book")]);
        let question = "1.1 What is the difference? Why should I choose another?";
        assert_eq!(
            titles(&pages[1]),
            [
                (Some(1), "Chapter 1 The ﬁrst"),
                (None, "Some text."),
                (Some(2), question),
                (Some(3), "Guessed"),
                (None, "the first"),
            ]
        );
    }

    #[test]
    fn levels_that_the_structure_declares_stay_and_guessed_ones_go_below() {
        let mut tagged = vec![title("1 One", 2), title("Two", 4), text("Three")];
        levels::declare(&mut tagged);
        let laid_out = vec![title("Guessed", 1), title("2 Numbered", 1)];
        let mut pages = [tagged, laid_out];
        let entries = [entry("One", 0, 1), entry("Two", 0, 1), entry("Three", 0, 3)];
        declare(&mut pages, &entries);
        let said = [(Some(2), "1 One"), (Some(4), "Two"), (Some(3), "Three")];
        assert_eq!(titles(&pages[0]), said);
        let said = [(Some(5), "Guessed"), (Some(2), "2 Numbered")];
        assert_eq!(titles(&pages[1]), said);
    }

    #[test]
    fn titles_that_the_structure_declares_are_not_put_together() {
        let mut tagged = vec![title("Chapter 1", 1), title("First", 2), text("Part")];
        levels::declare(&mut tagged);
        let said = tagged.clone();
        let mut pages = [tagged];
        declare(
            &mut pages,
            &[entry("First", 0, 1), entry("First Part", 0, 1)],
        );
        assert_eq!(pages[0], said);
    }

    #[test]
    fn number_of_an_entry_without_more_is_no_item_and_no_number_of_a_page() {
        let mut item = text("3.");
        item.category = Category::ListItem;
        let said = vec![item, text("3"), text("Some text")];
        let mut pages = [said.clone(), vec![title("3", 2)], vec![text("Chapter 3")]];
        let entries = [0, 1, 2].map(|page| entry("Chapter 3", page, 1));
        declare(&mut pages, &entries);
        assert_eq!(pages[0], said);
        assert_eq!(titles(&pages[1]), [(Some(1), "3")]);
        assert_eq!(titles(&pages[2]), [(Some(1), "Chapter 3")]);
    }

    #[test]
    fn outline_that_says_other_things_than_the_text_changes_nothing() {
        let page = vec![title("2 Means", 1), text("1.2.3"), text("Slide")];
        let mut pages = [page.clone()];
        assert!(Said::of("第 3章 責務").is(&Said::of("責務")));
        let entries = ["Slide 1", "3 Means", "1.2.4"].map(|title| entry(title, 0, 1));
        declare(&mut pages, &entries);
        assert_eq!(pages, [page]);
    }

    #[test]
    fn headings_are_preferred_to_running_heads_and_text() {
        let mut head = text("2 Means");
        head.category = Category::Header;
        let mut pages = [
            vec![head.clone(), text("means"), title("2. Means", 3)],
            vec![head],
        ];
        declare(&mut pages, &[entry("Means", 0, 1), entry("2 Means", 1, 2)]);
        assert_eq!(titles(&pages[0])[2], (Some(1), "2. Means"));
        assert_eq!(titles(&pages[1]), [(Some(2), "2 Means")]);
    }
}
