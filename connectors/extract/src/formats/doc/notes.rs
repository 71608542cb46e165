//! Where notes and comments are anchored, and where their texts are ([MS-DOC] §2.4.2 and on).

use std::collections::BTreeMap;
use std::ops::Range;

use super::fib::{Fib, Table};
use crate::little_endian::{u16_at, u32_at};

/// Kinds of texts that are anchored in the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Note,
    Comment,
}

/// A text that is anchored somewhere.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub(super) kind: Kind,
    pub(super) text: Range<usize>,
}

/// Returns the notes by the characters at which they are anchored.
pub(super) fn notes(fib: &Fib, tables: &[u8]) -> BTreeMap<usize, Note> {
    let lengths = &fib.lengths;
    let footnotes = lengths.body as usize;
    let furniture = footnotes + lengths.footnotes as usize;
    let macros = furniture + lengths.furniture as usize;
    let comments = macros + lengths.macros as usize;
    let endnotes = comments + lengths.comments as usize;
    let (marks, texts) = (Table::FootnoteMarks, Table::FootnoteTexts);
    let of_footnotes = (Kind::Note, marks, texts, footnotes, lengths.footnotes);
    let (marks, texts) = (Table::CommentMarks, Table::CommentTexts);
    let of_comments = (Kind::Comment, marks, texts, comments, lengths.comments);
    let (marks, texts) = (Table::EndnoteMarks, Table::EndnoteTexts);
    let of_endnotes = (Kind::Note, marks, texts, endnotes, lengths.endnotes);
    let kinds = [of_footnotes, of_comments, of_endnotes];
    // In Word 6 endnotes are elsewhere.
    let kinds = kinds.into_iter().take(if fib.is_old { 2 } else { 3 });
    let mut found = BTreeMap::new();
    for (kind, marks, texts, base, length) in kinds {
        let texts = places(fib.table(texts, tables));
        let marks = fib.table(marks, tables);
        for (mark, text) in anchored(&texts, marks, length) {
            let text = base + text.start..base + text.end;
            found.insert(mark, Note { kind, text });
        }
    }
    found
}

/// Returns texts with the characters at which they are anchored; each character is of one of them.
fn anchored(texts: &[u32], marks: &[u8], length: u32) -> Vec<(usize, Range<usize>)> {
    let mut read = 0;
    let mut found = Vec::new();
    for (index, pair) in texts.windows(2).enumerate() {
        let (from, to) = (pair[0].min(length), pair[1].min(length));
        let is_next = read <= from && from < to;
        if let Some(mark) = u32_at(marks, 4 * index).filter(|_| is_next) {
            read = to;
            found.push((mark as usize, from as usize..to as usize));
        }
    }
    found
}

/// Returns the texts of headers (`true`) and footers, in the order of the sections ([MS-DOC] §2.8.20).
pub(super) fn furniture(fib: &Fib, tables: &[u8]) -> Vec<(bool, Range<usize>)> {
    let base = fib.lengths.body as usize + fib.lengths.footnotes as usize;
    let length = fib.lengths.furniture;
    let places = places(fib.table(Table::Furniture, tables));
    let mut read = 0;
    let stories = places.windows(2).enumerate();
    let stories = stories.filter_map(|(index, pair)| {
        let (from, to) = (pair[0].min(length), pair[1].min(length));
        // The first six separate notes from the text.
        let of_section = match fib.is_old {
            true => index,
            false => index.checked_sub(6)?,
        };
        let is_header = fib.is_old || matches!(of_section % 6, 0 | 1 | 4);
        if from < read || from >= to {
            return None;
        }
        read = to;
        Some((is_header, base + from as usize..base + to as usize))
    });
    stories.collect()
}

/// Returns the ends of sections, and whether what follows one begins a page.
pub(super) fn sections(fib: &Fib, tables: &[u8], document: &[u8]) -> BTreeMap<usize, bool> {
    const SECTIONS: usize = 12;
    let table = fib.table(Table::Sections, tables);
    let count = table.len().saturating_sub(4) / (4 + SECTIONS);
    let mut found = BTreeMap::new();
    for index in 0..count.saturating_sub(1) {
        let (Some(end), Some(next)) = (
            u32_at(table, 4 * (index + 1)),
            u32_at(table, 4 * (count + 1) + SECTIONS * (index + 1) + 2),
        ) else {
            break;
        };
        found.insert(
            (end as usize).saturating_sub(1),
            begins_page(document, next, fib.is_old),
        );
    }
    found
}

/// Returns whether a section with properties there begins a page (`sprmSBkc`).
fn begins_page(document: &[u8], at: u32, is_old: bool) -> bool {
    let at = at as usize;
    let length = u16_at(document, at).map_or(0, usize::from);
    let changes = document.get(at.saturating_add(2)..).unwrap_or(&[]);
    let changes = &changes[..length.min(changes.len())];
    if is_old {
        return !changes.windows(2).any(|pair| pair == [142, 0]);
    }
    let mut kinds = super::runs::Changes(changes).filter(|(number, _)| *number == 0x3009);
    kinds
        .next()
        .is_none_or(|(_, operand)| operand.first() != Some(&0))
}

fn places(table: &[u8]) -> Vec<u32> {
    let (places, _) = table.as_chunks::<4>();
    places
        .iter()
        .map(|place| u32::from_le_bytes(*place))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Fib, furniture, notes};

    /// Returns a head that says that texts are so long, and that the marks and texts of footnotes and the texts of
    /// headers have so many bytes, one table after the other.
    fn fib(length: u32, tables: [(usize, u32); 3]) -> Fib {
        let mut head = vec![0; 0x9A + 8 * 0x5D];
        head[..2].copy_from_slice(&0xA5EC_u16.to_le_bytes());
        head[2..4].copy_from_slice(&0xC1_u16.to_le_bytes());
        for at in [0x4C, 0x50, 0x54] {
            head[at..at + 4].copy_from_slice(&length.to_le_bytes());
        }
        let mut start = 0;
        for (table, bytes) in tables {
            let at = 0x9A + 8 * table;
            head[at..at + 4].copy_from_slice(&u32::to_le_bytes(start));
            head[at + 4..at + 8].copy_from_slice(&bytes.to_le_bytes());
            start += bytes;
        }
        Fib::read(&head).unwrap()
    }

    fn bytes(numbers: &[u32]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect()
    }

    #[test]
    fn each_character_is_of_one_note_or_header() {
        let marks = [1, 2, 3, 4, 5];
        let texts = [0, 10, 0, 10, 20];
        let headers = [0, 0, 0, 0, 0, 0, 0, 10, 0, 9, 10, 20];
        let tables = [bytes(&marks), bytes(&texts), bytes(&headers)];
        let fib = fib(100, [(2, 20), (3, 20), (11, 48)]);
        let tables = tables.concat();
        let found = notes(&fib, &tables);
        let texts: Vec<_> = found.values().map(|note| note.text.clone()).collect();
        assert_eq!(texts, [100..110, 110..120]);
        let found = furniture(&fib, &tables);
        let texts: Vec<_> = found.into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, [200..210, 210..220]);
    }
}
