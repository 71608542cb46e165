//! What of a text comes again where it is a running head or foot. Where it stands is not known here.

use dpe_connector::content::{Category, Element};

use super::levels;

/// Longer texts are none.
const MOST_BYTES: usize = 300;

/// Fewer letters are the same by chance.
const LEAST_LETTERS: usize = 3;

/// Longer numbers are years and amounts, not those of chapters.
const CHAPTER_DIGITS: usize = 3;

/// Words with which captions begin, in lower case.
const CAPTIONS: &[&str] = &[
    "abb",
    "abbildung",
    "fig",
    "figura",
    "figure",
    "listing",
    "plate",
    "tab",
    "tabella",
    "tabelle",
    "tabla",
    "table",
    "tableau",
    "рис",
    "рисунок",
    "таблица",
];

/// What of a text comes again if it is furniture.
pub(super) struct Said {
    /// Without digits, unless it is a title.
    pub(super) letters: String,
    /// Stands for its letters and digits.
    pub(super) exact: String,
    /// Of a text that begins like `Chapter 3`.
    pub(super) chapter: Option<Chapter>,
}

pub(super) struct Chapter {
    pub(super) word: String,
    pub(super) number: String,
}

impl Said {
    /// Returns what an element on the page with a label says, if it may be furniture.
    pub(super) fn of(element: &Element, label: &str) -> Option<Self> {
        let is_kind = matches!(
            element.category,
            Category::Title | Category::NarrativeText | Category::ListItem
        );
        let text = element.text.as_deref()?;
        if !is_kind || text.len() > MOST_BYTES || levels::is_declared(element) {
            return None;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if is_caption(&words) {
            return None;
        }
        let unlabelled = words.iter().filter(|word| **word != label);
        let said: Vec<String> = unlabelled.clone().map(|word| letters(word)).collect();
        // Letters between numbers are those of a table.
        if !said.iter().any(|word| is_word(word)) {
            return None;
        }
        let exact: String = unlabelled.map(|word| signs(word)).collect();
        let letters = match element.category {
            // `Question 1` is not `Question 2`, whatever the labels of their pages.
            Category::Title => {
                let words = words.strip_prefix(&[label]).unwrap_or(&words);
                words.iter().map(|word| signs(word)).collect()
            }
            _ => said.concat(),
        };
        Some(Self {
            letters,
            exact,
            chapter: Chapter::of(&words),
        })
    }
}

impl Chapter {
    /// Returns what chapter a text begins with.
    fn of(words: &[&str]) -> Option<Self> {
        let &[word, number, _, ..] = words else {
            return None;
        };
        let number = number.trim_end_matches(['.', ':', ')']);
        let word = letters(word);
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = (1..=CHAPTER_DIGITS).contains(&digits);
        let is_word = word.chars().nth(LEAST_LETTERS - 1).is_some();
        (is_number && is_word).then(|| Self {
            word,
            number: number.to_owned(),
        })
    }
}

fn is_word(letters: &str) -> bool {
    let is_dense = letters.starts_with(|letter| letter > '\u{2E7F}');
    is_dense || letters.chars().nth(LEAST_LETTERS - 1).is_some()
}

/// Whether a text begins like `Table 3.1`.
fn is_caption(words: &[&str]) -> bool {
    let &[word, number, ..] = words else {
        return false;
    };
    CAPTIONS.contains(&&*letters(word)) && number.starts_with(|sign: char| sign.is_ascii_digit())
}

/// Returns the letters and digits of a word, in lower case.
fn signs(word: &str) -> String {
    let signs = word.chars().filter(|sign| sign.is_alphanumeric());
    signs.flat_map(char::to_lowercase).collect()
}

/// Returns the letters of a word, in lower case.
fn letters(word: &str) -> String {
    let letters = word.chars().filter(|letter| letter.is_alphabetic());
    letters.flat_map(char::to_lowercase).collect()
}
