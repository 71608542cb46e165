//! Texts of a presentation: characters, and how far each paragraph is indented ([MS-PPT] §2.9).

use std::collections::BTreeSet;

use super::book::record;
use crate::codepage;
use crate::formats::escher::Record;
use crate::little_endian::u32_at;

/// A text with what was said before and after it.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// Kind of text, as `TextHeaderAtom` says it.
    pub(super) kind: u32,
    pub(super) words: String,
    /// How many units of UTF-16 the words are.
    length: usize,
    levels: Vec<Level>,
    /// Places of characters that stand for something else.
    dropped: BTreeSet<usize>,
}

/// How deep the paragraphs of so many characters are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level {
    pub(super) characters: usize,
    pub(super) depth: u16,
    pub(super) has_bullet: Option<bool>,
}

/// One paragraph.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paragraph {
    pub(super) words: String,
    pub(super) depth: usize,
    pub(super) has_bullet: Option<bool>,
}

/// Returns the texts among records, each from its header on.
pub(super) fn texts<'b>(records: impl Iterator<Item = Record<'b>>) -> Vec<Text> {
    let mut found: Vec<Text> = Vec::new();
    for record in records {
        match record.kind {
            record::TEXT_HEADER => found.push(Text {
                kind: u32_at(record.data, 0).unwrap_or(4),
                ..Text::default()
            }),
            record::TEXT_WIDE | record::TEXT_NARROW => {
                if found.is_empty() {
                    found.push(Text {
                        kind: 4,
                        ..Text::default()
                    });
                }
                let last = found.last_mut();
                last.into_iter().for_each(|last| last.take(&record));
            }
            record::TEXT_STYLE => {
                if let Some(last) = found.last_mut() {
                    last.levels = levels(record.data, last.length + 1);
                }
            }
            // Numbers of slides, dates and the like stand for themselves with one character.
            0x0FD8 | 0x0FF7 | 0x0FF8 | 0x1015 => {
                if let Some(last) = found.last_mut() {
                    let place = u32_at(record.data, 0).unwrap_or(u32::MAX);
                    last.dropped.insert(place as usize);
                }
            }
            _ => {}
        }
    }
    found.iter_mut().for_each(Text::drop_characters);
    found
}

impl Text {
    /// A text of which everything is said at once.
    pub(super) fn of(kind: u32, words: String, levels: Vec<Level>) -> Self {
        Self {
            kind,
            length: words.encode_utf16().count(),
            words,
            levels,
            dropped: BTreeSet::new(),
        }
    }

    /// Takes the words that a record has.
    fn take(&mut self, record: &Record<'_>) {
        self.words = match record.kind {
            record::TEXT_WIDE => codepage::decode(1200, record.data),
            _ => record.data.iter().map(|byte| char::from(*byte)).collect(),
        };
        self.length = self.words.encode_utf16().count();
        self.dropped.clear();
    }

    /// Blanks characters, so that places stay what they are.
    fn drop_characters(&mut self) {
        if self.dropped.is_empty() {
            return;
        }
        let characters = self.words.chars().enumerate();
        let words = characters.map(|(at, character)| match character {
            '*' if self.dropped.contains(&at) => '\u{1}',
            _ => character,
        });
        self.words = words.collect();
    }

    pub(super) fn is_title(&self) -> bool {
        matches!(self.kind, 0 | 6)
    }

    pub(super) fn is_body(&self) -> bool {
        matches!(self.kind, 1 | 5 | 7 | 8)
    }

    /// Returns the words on one line after the other.
    pub(super) fn lines(&self) -> String {
        shown(&self.words.replace('\r', "\n"))
    }

    /// Returns the paragraphs.
    pub(super) fn paragraphs(&self) -> Vec<Paragraph> {
        let mut at = 0;
        let mut found = Vec::new();
        let mut end = 0;
        let mut level = None;
        let mut levels = self.levels.iter();
        for words in self.words.split('\r') {
            while at >= end {
                level = levels.next();
                end = level.map_or(usize::MAX, |level| end.saturating_add(level.characters));
            }
            at += words.encode_utf16().count() + 1;
            found.push(Paragraph {
                words: shown(words),
                depth: level.map_or(0, |level| usize::from(level.depth)),
                has_bullet: level.and_then(|level| level.has_bullet),
            });
        }
        found
    }
}

/// Writes lines as lines, and leaves out what stands for something else.
fn shown(words: &str) -> String {
    let words = words.chars().filter_map(|character| match character {
        '\u{B}' => Some('\n'),
        '\t' | '\n' => Some(character),
        control if control.is_control() => None,
        other => Some(other),
    });
    words.collect()
}

/// Reads the runs of paragraphs ([MS-PPT] §2.9.44, §2.9.20).
fn levels(data: &[u8], length: usize) -> Vec<Level> {
    let mut rest = data;
    let mut found = Vec::new();
    let mut covered = 0;
    while covered < length {
        let Some(level) = level(&mut rest) else {
            break;
        };
        covered += level.characters.max(1);
        found.push(level);
    }
    found
}

/// What of the look of a paragraph stands before its tabs: its mask, and how many bytes it takes.
const BEFORE_TABS: [(u32, usize); 11] = [
    (1 << 7, 2),
    (1 << 4, 2),
    (1 << 6, 2),
    (1 << 5, 4),
    (1 << 11, 2),
    (1 << 12, 2),
    (1 << 13, 2),
    (1 << 14, 2),
    (1 << 8, 2),
    (1 << 10, 2),
    (1 << 15, 2),
];

fn level(rest: &mut &[u8]) -> Option<Level> {
    let characters = u32_at(take(rest, 4)?, 0)? as usize;
    let depth = u16_of(take(rest, 2)?);
    let masks = u32_at(take(rest, 4)?, 0)?;
    let mut has_bullet = None;
    if masks & 0xF != 0 {
        let flags = u16_of(take(rest, 2)?);
        has_bullet = (masks & 1 != 0).then_some(flags & 1 != 0);
    }
    for (mask, length) in BEFORE_TABS {
        if masks & mask != 0 {
            take(rest, length)?;
        }
    }
    if masks & (1 << 20) != 0 {
        let count = u16_of(take(rest, 2)?);
        take(rest, 4 * usize::from(count))?;
    }
    for mask in [1 << 16, 0xE_0000, 1 << 21] {
        if masks & mask != 0 {
            take(rest, 2)?;
        }
    }
    Some(Level {
        characters,
        depth: depth.min(8),
        has_bullet,
    })
}

fn take<'b>(rest: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(taken)
}

fn u16_of(bytes: &[u8]) -> u16 {
    u16::from_le_bytes([bytes[0], bytes[1]])
}

#[cfg(test)]
mod tests {
    use super::{Paragraph, texts};
    use crate::formats::escher::Records;

    #[test]
    fn fields_of_slides_are_blanked_where_they_stand() {
        let mut bytes = b"\0\0\x9F\x0F\x04\0\0\0\x01\0\0\0".to_vec();
        bytes.extend(b"\0\0\xA8\x0F\x05\0\0\0*a*b*");
        for place in [4u8, 0, 1, 200] {
            bytes.extend([0, 0, 0xD8, 0x0F, 4, 0, 0, 0, place, 0, 0, 0]);
        }
        assert_eq!(texts(Records(&bytes))[0].lines(), "a*b");
    }

    #[test]
    fn paragraphs_of_many_runs_are_found_in_one_walk() {
        const MANY: u32 = 100_000;
        let header = |kind: u16, length: u32| {
            let mut head = vec![0, 0];
            head.extend(kind.to_le_bytes());
            head.extend(length.to_le_bytes());
            head
        };
        let mut bytes = header(0x0FA8, MANY);
        bytes.extend(b"\r".repeat(MANY as usize));
        bytes.extend(header(0x0FA1, 10 * MANY));
        bytes.extend(b"\x01\0\0\0\x02\0\0\0\0\0".repeat(MANY as usize));
        let found = texts(Records(&bytes))[0].paragraphs();
        assert_eq!(found.len(), MANY as usize + 1);
        assert!(
            found[..MANY as usize]
                .iter()
                .all(|paragraph| paragraph.depth == 2)
        );
    }

    #[test]
    fn paragraphs_are_indented_as_their_runs_say() {
        let mut bytes = b"\0\0\x9F\x0F\x04\0\0\0\x01\0\0\0".to_vec();
        bytes.extend(b"\0\0\xA8\x0F\x07\0\0\0a\rb\x0Bc\rd");
        bytes.extend(b"\0\0\xA1\x0F\x20\0\0\0");
        bytes.extend(b"\x02\0\0\0\0\0\0\0\0\0");
        bytes.extend(b"\x04\0\0\0\x01\0\x01\0\0\0\x01\0");
        bytes.extend(b"\x02\0\0\0\0\0\x01\0\0\0");
        let found = texts(Records(&bytes));
        let paragraph = |words: &str, depth, has_bullet| Paragraph {
            words: words.to_owned(),
            depth,
            has_bullet,
        };
        assert!(found[0].is_body());
        assert_eq!(
            found[0].paragraphs(),
            [
                paragraph("a", 0, None),
                paragraph("b\nc", 1, Some(true)),
                paragraph("d", 0, None),
            ]
        );
    }
}
