//! Lists that a program only typed: paragraphs that hang, with a mark or a number before a tab. Some write all their
//! lists so.
//!
//! A letter before a tab may as well say who speaks (`Q.`, `A.`): only rows of letters and Roman numbers that count on
//! are numbers of items. Other words before a tab stay what they are, text.

use super::story::Block;

/// The longest number of an item (`lxxxviii`).
const NUMBER_BYTES: usize = 8;

/// Levels that are told apart.
const MAX_LEVELS: usize = 9;

/// Roman numbers, by what they are worth.
const ROMAN: [(u32, &str); 13] = [
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
];

/// How a paragraph stands that is text or an item with a typed label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Typed {
    /// How far it is indented, in twips.
    pub(crate) indent: i32,
    /// What it begins with, if it hangs.
    pub(crate) label: Option<Label>,
}

/// What an item begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// Its bytes, the tab included, from the first that is no white space.
    length: usize,
    number: Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Mark,
    Digits,
    /// Letters, and what they count as: a letter of the alphabet, a Roman number.
    Letters {
        is_upper: bool,
        has_bracket: bool,
        letter: Option<u32>,
        roman: Option<u32>,
    },
}

/// The indents of the items so far, each deeper than the one before it.
#[derive(Debug, Default)]
struct Levels(Vec<i32>);

/// Paragraphs that begin with letters, one after the other at the same indent.
#[derive(Debug)]
struct Run {
    indent: i32,
    last: Number,
    members: Vec<usize>,
    counts_on: bool,
}

/// Makes items of the paragraphs that have a typed label, and takes the labels off. What has nothing else goes.
pub(crate) fn make_items(blocks: &mut Vec<Block>) {
    let paragraphs = blocks.iter_mut().enumerate();
    let typed = paragraphs.filter_map(|(at, block)| match block {
        Block::Paragraph(paragraph, _) => Some((at, paragraph.typed.take()?)),
        _ => None,
    });
    let typed = Vec::from_iter(typed);
    let are_items = are_items(&typed);
    let mut levels = Levels::default();
    for ((at, typed), is_item) in typed.into_iter().zip(are_items) {
        let (Some(label), true) = (typed.label, is_item) else {
            levels.pass(typed.indent);
            continue;
        };
        if let Block::Paragraph(paragraph, flat) = &mut blocks[at] {
            paragraph.item = Some((levels.depth(typed.indent), label.number != Number::Mark));
            flat.drop_start(label.length);
        }
    }
    blocks.retain(|block| match block {
        Block::Paragraph(_, flat) => !flat.text.is_empty() || !flat.pictures.is_empty(),
        _ => true,
    });
}

/// Returns of each paragraph whether its label is one.
fn are_items(typed: &[(usize, Typed)]) -> Vec<bool> {
    let mut found = vec![false; typed.len()];
    let mut runs: Vec<Run> = Vec::new();
    for (at, (_, typed)) in typed.iter().enumerate() {
        while let Some(run) = runs.pop_if(|run| run.indent > typed.indent) {
            run.end(&mut found);
        }
        let Some(Label { number, .. }) = typed.label else {
            continue;
        };
        let run = runs.pop_if(|run| run.indent == typed.indent);
        match (run, number) {
            (Some(run), Number::Letters { .. }) => runs.push(run.with(at, number)),
            (None, Number::Letters { .. }) => runs.push(Run::of(at, number, typed.indent)),
            (run, _) => {
                found[at] = true;
                run.into_iter().for_each(|run| run.end(&mut found));
            }
        }
    }
    for run in runs {
        run.end(&mut found);
    }
    found
}

impl Run {
    fn of(at: usize, number: Number, indent: i32) -> Self {
        Self {
            indent,
            last: number,
            members: vec![at],
            counts_on: true,
        }
    }

    fn with(mut self, at: usize, number: Number) -> Self {
        self.counts_on &= number.follows(self.last);
        self.last = number;
        self.members.push(at);
        self
    }

    fn end(self, are_items: &mut [bool]) {
        if self.counts_on && (self.members.len() > 1 || self.last.begins_row()) {
            for member in self.members {
                are_items[member] = true;
            }
        }
    }
}

impl Number {
    /// Whether it is the first number of a row even if no other follows: `a)`, `(i)`; `A.` may be a name.
    fn begins_row(self) -> bool {
        match self {
            Self::Letters {
                has_bracket: true,
                letter,
                roman,
                ..
            } => letter == Some(0) || roman == Some(1),
            _ => false,
        }
    }

    fn follows(self, before: Self) -> bool {
        let (
            Self::Letters {
                is_upper,
                letter,
                roman,
                ..
            },
            Self::Letters {
                is_upper: was_upper,
                letter: last_letter,
                roman: last_roman,
                ..
            },
        ) = (self, before)
        else {
            return false;
        };
        let next = |last: Option<u32>, now| last.is_some_and(|last| now == Some(last + 1));
        is_upper == was_upper && (next(last_letter, letter) || next(last_roman, roman))
    }
}

impl Levels {
    /// Returns the depth, from 0, of an item that is indented so far.
    fn depth(&mut self, indent: i32) -> usize {
        while self.0.pop_if(|outer| *outer > indent).is_some() {}
        if self.0.last() != Some(&indent) && self.0.len() < MAX_LEVELS {
            self.0.push(indent);
        }
        self.0.len().saturating_sub(1)
    }

    /// A paragraph that is indented less than the items is no part of them.
    fn pass(&mut self, indent: i32) {
        while self.0.pop_if(|outer| *outer > indent).is_some() {}
    }
}

impl Label {
    /// Returns the label that a text begins with.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let (label, _) = text.split_once('\t')?;
        let length = label.trim_start().len() + 1;
        let label = label.trim();
        let mut characters = label.chars();
        let first = characters.next()?;
        let number = match characters.next() {
            None if is_bullet(first) => Number::Mark,
            _ => number(label)?,
        };
        Some(Self { length, number })
    }
}

fn is_bullet(character: char) -> bool {
    let known = "•·‣⁃◦○●▪▫■□◆◇➢➤✓✔–—−-*o";
    // Those of fonts of signs.
    known.contains(character) || ('\u{F020}'..='\u{F0FF}').contains(&character)
}

/// Returns the number of a label as lists have it: `1.`, `(2)`, `iv.`, `a)`.
fn number(label: &str) -> Option<Number> {
    let inner = match label.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')'),
        None => label.strip_suffix(['.', ')']),
    };
    let inner = inner.filter(|inner| (1..=NUMBER_BYTES).contains(&inner.len()))?;
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if inner.split('.').all(is_digits) {
        return Some(Number::Digits);
    }
    let lower = inner.to_ascii_lowercase();
    let is_upper = inner != lower;
    if is_upper && inner != inner.to_ascii_uppercase() {
        return None;
    }
    let letter = match *lower.as_bytes() {
        [letter @ b'a'..=b'z'] => Some(u32::from(letter - b'a')),
        _ => None,
    };
    let roman = roman(&lower);
    (letter.is_some() || roman.is_some()).then_some(Number::Letters {
        is_upper,
        has_bracket: label.ends_with(')'),
        letter,
        roman,
    })
}

/// Returns what a Roman number is worth that is written as it ought to be.
fn roman(text: &str) -> Option<u32> {
    let (mut rest, mut value) = (text, 0);
    for (worth, sign) in ROMAN {
        while let Some(after) = rest.strip_prefix(sign) {
            value += worth;
            rest = after;
        }
    }
    let (mut left, mut written) = (value, String::new());
    for (worth, sign) in ROMAN {
        while left >= worth {
            left -= worth;
            written.push_str(sign);
        }
    }
    (value > 0 && rest.is_empty() && written == text).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{Label, Levels, Number, Typed, are_items};

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
            ("Mix.\tone", None),
            ("civil.\tone", None),
            ("iiii.\tone", None),
            ("§\tone", None),
            ("• one", None),
            ("\tone", None),
        ] {
            let label = Label::of(text);
            let label = label.map(|label| (label.length, label.number != Number::Mark));
            assert_eq!(label, expected, "{text}");
        }
    }

    #[test]
    fn letters_are_labels_where_they_count_on() {
        let items = |labels: &[(i32, &str)]| {
            let typed = labels.iter().map(|(indent, label)| Typed {
                indent: *indent,
                label: Label::of(&format!("{label}\tone")),
            });
            let typed = Vec::from_iter(typed.enumerate());
            let are_items = are_items(&typed);
            let items = labels.iter().zip(are_items).filter(|(_, is_item)| *is_item);
            let items = items.map(|((_, label), _)| *label);
            items.collect::<Vec<_>>().join(" ")
        };
        let at = |labels: &'static str| {
            let labels = labels.split(' ').map(|label| (9, label));
            labels.collect::<Vec<_>>()
        };
        assert_eq!(items(&at("Q. A. Q. A.")), "");
        assert_eq!(items(&at("A. B. A. B.")), "");
        assert_eq!(items(&at("mix. E.")), "");
        assert_eq!(items(&at("A. B. C.")), "A. B. C.");
        assert_eq!(items(&at("i. ii. iii. iv.")), "i. ii. iii. iv.");
        assert_eq!(items(&at("h) i) j)")), "h) i) j)");
        assert_eq!(items(&at("a. 1. •")), "1. •");
        assert_eq!(items(&at("• (a) •")), "• (a) •");
        assert_eq!(items(&at("• q) •")), "• •");
        let nested = [(9, "a."), (18, "1."), (18, "2."), (9, "b.")];
        assert_eq!(items(&nested), "a. 1. 2. b.");
        let apart = [(9, "a."), (0, "Text"), (9, "b.")];
        assert_eq!(items(&apart), "");
    }

    #[test]
    fn items_are_as_deep_as_others_they_are_indented_from() {
        let mut levels = Levels::default();
        assert_eq!(
            [720, 1080, 1080, 720, 400].map(|indent| levels.depth(indent)),
            [0, 1, 1, 0, 0]
        );
        levels.depth(1080);
        levels.pass(720);
        assert_eq!(levels.depth(1080), 1);
        levels.pass(0);
        assert_eq!(levels.depth(1080), 0);
    }
}
