//! Where notes and comments are anchored, and where their texts are ([MS-DOC] §2.4.2 and on).

use std::collections::BTreeMap;
use std::ops::Range;

use super::fib::{Fib, Table, u16_at, u32_at};

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
    let kinds = [
        (
            Kind::Note,
            Table::FootnoteMarks,
            Table::FootnoteTexts,
            footnotes,
            lengths.footnotes,
        ),
        (
            Kind::Comment,
            Table::CommentMarks,
            Table::CommentTexts,
            comments,
            lengths.comments,
        ),
        (
            Kind::Note,
            Table::EndnoteMarks,
            Table::EndnoteTexts,
            endnotes,
            lengths.endnotes,
        ),
    ];
    let mut found = BTreeMap::new();
    for (kind, marks, texts, base, length) in kinds {
        if fib.is_old && texts == Table::EndnoteTexts {
            continue;
        }
        let texts = places(fib.table(texts, tables));
        let marks = fib.table(marks, tables);
        for (index, pair) in texts.windows(2).enumerate() {
            let (from, to) = (pair[0].min(length), pair[1].min(length));
            let Some(mark) = u32_at(marks, 4 * index).filter(|_| from < to) else {
                continue;
            };
            let text = base + from as usize..base + to as usize;
            found.insert(mark as usize, Note { kind, text });
        }
    }
    found
}

/// Returns the texts of headers (`true`) and footers, in the order of the sections ([MS-DOC] §2.8.20).
pub(super) fn furniture(fib: &Fib, tables: &[u8]) -> Vec<(bool, Range<usize>)> {
    let base = fib.lengths.body as usize + fib.lengths.footnotes as usize;
    let length = fib.lengths.furniture;
    let places = places(fib.table(Table::Furniture, tables));
    let stories = places.windows(2).enumerate();
    let stories = stories.filter_map(|(index, pair)| {
        let (from, to) = (pair[0].min(length), pair[1].min(length));
        // The first six separate notes from the text.
        let of_section = match fib.is_old {
            true => index,
            false => index.checked_sub(6)?,
        };
        let is_header = fib.is_old || matches!(of_section % 6, 0 | 1 | 4);
        (from < to).then_some((is_header, base + from as usize..base + to as usize))
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
