//! Words that the page divides at the end of a line, put together again.
//!
//! Whether a hyphen is part of the word is for the document to say: a form that it writes undivided
//! elsewhere is the right one. Knows no dictionaries.

use std::collections::HashSet;

use dpe_connector::content::{Category, Element};
use serde_json::Value;

/// Shown only where a word is divided, so never part of it.
const SOFT_HYPHEN: char = '\u{AD}';

/// Words after which a hyphen stands for what both share: `input- and output`.
const CONJUNCTIONS: &[&str] = &[
    "and", "or", "und", "oder", "bzw", "og", "och", "eller", "et", "ou", "y", "e", "o", "i", "en",
    "of", "и", "или",
];

/// Fewer letters are more often a syllable than a word.
const WORD_LETTERS: usize = 4;

/// Puts the divided words of a document together.
pub(super) fn join<'e>(pages: impl IntoIterator<Item = &'e mut Vec<Element>>) {
    let mut pages: Vec<_> = pages.into_iter().collect();
    let mut words = Words::default();
    for element in pages.iter().flat_map(|elements| elements.iter()) {
        if let Some(text) = &element.text {
            words.learn(text);
        }
    }
    if !words.has_divided {
        return;
    }
    let elements = pages.iter_mut().flat_map(|elements| elements.iter_mut());
    for element in elements.filter(|element| is_set_in_lines(element)) {
        // The lines of a table are its rows.
        let is_table = element.category == Category::Table;
        let texts = [&mut element.text, &mut element.text_as_html];
        for text in texts.into_iter().flatten() {
            words.join(text, !is_table);
        }
        let links = element.metadata.get_mut("links");
        for link in links.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(text)) = link.get_mut("text") {
                words.join(text, true);
            }
        }
    }
}

/// Whether the lines of an element end where the page had no more room.
fn is_set_in_lines(element: &Element) -> bool {
    let is_prose = matches!(
        element.category,
        Category::Title | Category::NarrativeText | Category::ListItem | Category::Table
    );
    is_prose && !element.metadata.contains_key("comment")
}

/// What a document writes undivided, in lower case.
#[derive(Default)]
struct Words {
    /// Words, and pairs of words with a hyphen between.
    undivided: HashSet<String>,
    has_divided: bool,
}

impl Words {
    fn learn(&mut self, text: &str) {
        let mut rest = text;
        let mut before: Option<&str> = None;
        while let Some(start) = rest.find(char::is_alphabetic) {
            let word = leading_word(&rest[start..]);
            let after = &rest[start + word.len()..];
            if let Some(before) = before.filter(|_| hyphen(rest) == Some(start)) {
                self.undivided.insert(hyphenated(before, word));
            }
            let is_second = Break::at(rest, true).is_some_and(|found| found.length == start);
            let is_first = Break::at(after, true).is_some();
            self.has_divided |= is_first;
            if !is_first && !is_second {
                self.undivided.insert(word.to_lowercase());
            }
            before = Some(word);
            rest = after;
        }
    }

    fn join(&self, text: &mut String, lines: bool) {
        let mut joined = String::new();
        let mut done = 0;
        let hyphens = text.match_indices(is_hyphen);
        for (at, _) in hyphens {
            let Some(found) = Break::at(&text[at..], lines) else {
                continue;
            };
            let end = at + found.length;
            if at < done || !text[..at].ends_with(char::is_alphabetic) {
                continue;
            }
            match self.judge(&text[..at], found.hyphen, &text[end..]) {
                Verdict::One => joined.push_str(&text[done..at]),
                Verdict::Hyphenated => {
                    joined.push_str(&text[done..at]);
                    joined.push(found.hyphen);
                }
                Verdict::Apart => continue,
            }
            done = end;
        }
        if done > 0 {
            joined.push_str(&text[done..]);
            *text = joined;
        }
    }

    fn judge(&self, before: &str, hyphen: char, after: &str) -> Verdict {
        let (first, second) = (trailing_word(before), leading_word(after));
        let one = format!("{first}{second}").to_lowercase();
        if hyphen == SOFT_HYPHEN {
            return Verdict::One;
        }
        if self.undivided.contains(&hyphenated(first, second)) {
            return Verdict::Hyphenated;
        }
        if self.undivided.contains(&one) {
            return Verdict::One;
        }
        if CONJUNCTIONS.contains(&second) {
            return Verdict::Apart;
        }
        let are_words = [first, second].iter().all(|word| {
            word.chars().count() >= WORD_LETTERS && self.undivided.contains(&word.to_lowercase())
        });
        let is_syllable = first.chars().nth(1).is_some() && first.ends_with(char::is_lowercase);
        match are_words || !is_syllable || is_name(before, after) {
            true => Verdict::Hyphenated,
            false => Verdict::One,
        }
    }
}

/// What becomes of a divided word.
enum Verdict {
    One,
    Hyphenated,
    Apart,
}

/// Whether what is divided has signs within that names of files, options and addresses have, or a
/// hyphen already.
fn is_name(before: &str, after: &str) -> bool {
    let is_end = |sign: char| sign.is_whitespace() || matches!(sign, '<' | '>');
    let before = before.rsplit(is_end).next().unwrap_or_default();
    let after = after.split(is_end).next().unwrap_or_default();
    let has_marks = |part: &str| part.contains(['_', '/', '=', '@', '\\', '-']);
    has_marks(before) || has_marks(after)
}

/// The hyphen and white space between the halves of a divided word.
struct Break {
    hyphen: char,
    /// Bytes of both.
    length: usize,
}

impl Break {
    /// Returns the one with which a text begins, if a small letter follows; `lines` says whether it may be a line end.
    fn at(text: &str, lines: bool) -> Option<Self> {
        let hyphen = text.chars().next().filter(|&sign| is_hyphen(sign))?;
        let rest = &text[hyphen.len_utf8()..];
        let space = ["<br>", " ", "\n"]
            .into_iter()
            .filter(|&space| lines || space != "\n")
            .find(|space| rest.starts_with(space))?;
        let length = hyphen.len_utf8() + space.len();
        text[length..]
            .starts_with(char::is_lowercase)
            .then_some(Self { hyphen, length })
    }
}

fn is_hyphen(sign: char) -> bool {
    matches!(sign, '-' | '\u{2010}' | SOFT_HYPHEN)
}

/// Returns the length of the hyphen with which a text begins.
fn hyphen(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    (is_hyphen(first) && first != SOFT_HYPHEN).then_some(first.len_utf8())
}

fn hyphenated(first: &str, second: &str) -> String {
    format!("{first}-{second}").to_lowercase()
}

fn leading_word(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphabetic());
    &text[..end.unwrap_or(text.len())]
}

fn trailing_word(text: &str) -> &str {
    let start = text
        .char_indices()
        .rev()
        .take_while(|(_, letter)| letter.is_alphabetic())
        .last();
    &text[start.map_or(text.len(), |(at, _)| at)..]
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::join;

    /// The text of the last element, once the words of all are joined.
    fn joined(texts: &[&str]) -> String {
        let prose = |text: &&str| Element::text(Category::NarrativeText, *text);
        let mut elements: Vec<Element> = texts.iter().map(prose).collect();
        join([&mut elements]);
        elements.pop().unwrap().text.unwrap()
    }

    #[test]
    fn words_divided_at_line_ends_are_one_word() {
        assert_eq!(
            joined(&["a dan- gerous im-\nprove ком- мерческих soft\u{AD} ware"]),
            "a dangerous improve коммерческих software"
        );
    }

    #[test]
    fn hyphen_stays_in_words_that_have_one_elsewhere_or_by_their_looks() {
        assert_eq!(
            joined(&["the bind-address", "bind- address"]),
            "bind-address"
        );
        assert_eq!(
            joined(&[
                "the string is valued",
                "a string- valued end-to- end x- axis HTML- like"
            ]),
            "a string-valued end-to-end x-axis HTML-like"
        );
        assert_eq!(
            joined(&["without", "with a way out: with- out"]),
            "with a way out: without"
        );
    }

    #[test]
    fn hyphens_that_divide_no_word_stay_as_they_are() {
        for text in [
            "Hard- und Software",
            "1- bit",
            "a - b",
            "New- York",
            "pre-\tpost",
        ] {
            assert_eq!(joined(&[text]), text);
        }
    }

    #[test]
    fn words_are_joined_within_cells_and_not_across_them_nor_in_code() {
        let table = Element {
            text: Some("dan- gerous\tim-\nprove".to_owned()),
            text_as_html: Some("<td>dan-<br>gerous</td><td>im-</td>".to_owned()),
            ..Element::empty(Category::Table)
        };
        let code = Element::text(Category::CodeSnippet, "a- b dan-\ngerous");
        let mut elements = vec![table, code.clone()];
        join([&mut elements]);
        assert_eq!(elements[0].text.as_deref(), Some("dangerous\tim-\nprove"));
        let html = elements[0].text_as_html.as_deref();
        assert_eq!(html, Some("<td>dangerous</td><td>im-</td>"));
        assert_eq!(elements[1], code);
    }
}
