//! Lists that a program only typed: paragraphs that hang, with a mark or a number before a tab. Some write all their
//! lists so.

/// The longest number of an item (`lxxxviii`).
const NUMBER_BYTES: usize = 8;

/// Levels that are told apart.
const MAX_LEVELS: usize = 9;

/// The indents of the items so far, each deeper than the one before it.
#[derive(Debug, Default)]
pub(super) struct TypedLists(Vec<i32>);

/// What an item begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Label {
    /// Its bytes, the tab included.
    pub(super) length: usize,
    pub(super) is_ordered: bool,
}

impl TypedLists {
    /// Returns the depth, from 0, of an item that is indented so far.
    pub(super) fn depth(&mut self, indent: i32) -> usize {
        while self.0.pop_if(|outer| *outer > indent).is_some() {}
        if self.0.last() != Some(&indent) && self.0.len() < MAX_LEVELS {
            self.0.push(indent);
        }
        self.0.len().saturating_sub(1)
    }

    /// A paragraph that is indented less than the items is no part of them.
    pub(super) fn pass(&mut self, indent: i32) {
        while self.0.pop_if(|outer| *outer > indent).is_some() {}
    }
}

impl Label {
    /// Returns the label that a text begins with.
    pub(super) fn of(text: &str) -> Option<Self> {
        let (label, _) = text.split_once('\t')?;
        let length = label.len() + 1;
        let mut characters = label.trim().chars();
        let first = characters.next()?;
        let is_mark = characters.next().is_none() && is_bullet(first);
        let is_ordered = is_number(label.trim());
        (is_mark || is_ordered).then_some(Self { length, is_ordered })
    }
}

fn is_bullet(character: char) -> bool {
    let known = "•·‣⁃◦○●▪▫■□◆◇➢➤✓✔–—−-*o§";
    // Those of fonts of signs.
    known.contains(character) || ('\u{F020}'..='\u{F0FF}').contains(&character)
}

/// Whether a label is a number as lists have it: `1.`, `(2)`, `iv.`, `a)`.
fn is_number(label: &str) -> bool {
    let opened = label.strip_prefix('(');
    let inner = match opened {
        Some(inner) => inner.strip_suffix(')'),
        None => label.strip_suffix(['.', ')']),
    };
    let Some(inner) = inner.filter(|inner| (1..=NUMBER_BYTES).contains(&inner.len())) else {
        return false;
    };
    let digits = inner.split('.');
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let is_roman = |byte: u8| b"ivxlcdm".contains(&byte.to_ascii_lowercase());
    let is_letter = inner.len() == 1 && inner.as_bytes()[0].is_ascii_alphabetic();
    is_letter || inner.bytes().all(is_roman) || digits.into_iter().all(is_digits)
}

#[cfg(test)]
mod tests {
    use super::{Label, TypedLists};

    #[test]
    fn labels_are_marks_and_numbers_before_a_tab() {
        for (text, expected) in [
            ("•\tone", Some((4, false))),
            ("-\tone", Some((2, false))),
            ("1.\tone", Some((3, true))),
            ("(iv)\tone", Some((5, true))),
            ("a)\tone", Some((3, true))),
            ("2.1.\tone", Some((5, true))),
            ("One\ttwo", None),
            ("1\ttwo", None),
            ("e.g.\tone", None),
            ("• one", None),
            ("\tone", None),
        ] {
            let label = Label::of(text).map(|label| (label.length, label.is_ordered));
            assert_eq!(label, expected, "{text}");
        }
    }

    #[test]
    fn items_are_as_deep_as_others_they_are_indented_from() {
        let mut lists = TypedLists::default();
        assert_eq!(
            [720, 1080, 1080, 720, 400].map(|indent| lists.depth(indent)),
            [0, 1, 1, 0, 0]
        );
        lists.depth(1080);
        lists.pass(720);
        assert_eq!(lists.depth(1080), 1);
        lists.pass(0);
        assert_eq!(lists.depth(1080), 0);
    }
}
