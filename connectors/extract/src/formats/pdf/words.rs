//! The words of a page by its structure, compared with those of its layout.

use std::collections::BTreeMap;

use dpe_connector::content::Element;

/// Percent of the words of the layout that are found, at least.
const LEAST_WORDS: usize = 95;

/// Whether nearly all words of the layout are there, or are bullets.
pub(super) fn are_found(elements: &[Element], bullets: &[char], laid_out: &[Element]) -> bool {
    let mut left = words(elements);
    for bullet in bullets {
        *left.entry(bullet.to_lowercase().collect()).or_default() += 1;
    }
    let (mut all, mut found) = (0, 0);
    for (word, count) in words(laid_out) {
        all += count;
        if let Some(left) = left.get_mut(&word) {
            found += count.min(*left);
        }
    }
    found * 100 >= all * LEAST_WORDS
}

/// Counts the words of elements; letters of scripts without spaces are words.
fn words(elements: &[Element]) -> BTreeMap<String, usize> {
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    for text in elements
        .iter()
        .filter_map(|element| element.text.as_deref())
    {
        for word in text.split(|sign: char| !sign.is_alphanumeric()) {
            let mut rest = String::new();
            for letter in word.chars() {
                match is_dense(letter) {
                    true => *words.entry(letter.to_string()).or_default() += 1,
                    false => rest.extend(letter.to_lowercase()),
                }
            }
            if !rest.is_empty() {
                *words.entry(rest).or_default() += 1;
            }
        }
    }
    words
}

/// Whether a letter is one of Chinese or Japanese.
pub(super) fn is_dense(letter: char) -> bool {
    matches!(letter, '\u{2E80}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}')
}

/// Whether a letter is one of Korean.
pub(super) fn is_hangul(letter: char) -> bool {
    matches!(letter, '\u{1100}'..='\u{11FF}' | '\u{AC00}'..='\u{D7AF}')
}
