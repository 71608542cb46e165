//! Properties of paragraphs and characters: runs of the stream, kept in pages of 512 bytes
//! ([MS-DOC] §2.4.6, §2.9.33 and on).

use std::collections::HashSet;

use crate::little_endian::{u16_at, u32_at};

const PAGE: usize = 512;

/// Runs of the stream that have properties of one kind.
#[derive(Debug, Default)]
pub(super) struct Runs<'d> {
    runs: Vec<Run<'d>>,
}

/// A run: from where to where, its style if it is of paragraphs, and its changes of properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run<'d> {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) style: u16,
    pub(super) changes: &'d [u8],
}

/// Which kind of runs, and how old.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) is_old: bool,
    pub(super) of_paragraphs: bool,
}

impl<'d> Runs<'d> {
    /// Reads the runs that a table lists.
    pub(super) fn read(table: &[u8], document: &'d [u8], kind: Kind) -> Self {
        let width = if kind.is_old { 2 } else { 4 };
        let count = table.len().saturating_sub(4) / (4 + width);
        let mut seen = HashSet::new();
        let mut runs = Vec::new();
        for index in 0..count {
            let at = 4 * (count + 1) + width * index;
            let number = match kind.is_old {
                true => u16_at(table, at).map(u32::from),
                false => u32_at(table, at).map(|number| number & 0x003F_FFFF),
            };
            let Some(number) = number.filter(|number| seen.insert(*number)) else {
                continue;
            };
            let start = number as usize * PAGE;
            if let Some(page) = document.get(start..start + PAGE) {
                read_page(page, kind, &mut runs);
            }
        }
        runs.sort_by_key(|run| (run.from, run.to));
        Self { runs }
    }

    /// Returns the run that a place in the stream belongs to.
    pub(super) fn at(&self, offset: u32) -> Option<Run<'d>> {
        let after = self.runs.partition_point(|run| run.from <= offset);
        let run = self.runs.get(after.checked_sub(1)?)?;
        (offset < run.to).then_some(*run)
    }
}

fn read_page<'d>(page: &'d [u8], kind: Kind, runs: &mut Vec<Run<'d>>) {
    let count = usize::from(page[PAGE - 1]);
    let width = match (kind.of_paragraphs, kind.is_old) {
        (true, true) => 7,
        (true, false) => 13,
        (false, _) => 1,
    };
    for index in 0..count {
        let bounds = (u32_at(page, 4 * index), u32_at(page, 4 * index + 4));
        let place = page[..PAGE - 1].get(4 * (count + 1) + width * index);
        let (Some(from), Some(to), Some(place)) = (bounds.0, bounds.1, place) else {
            return;
        };
        let place = 2 * usize::from(*place);
        let data = if place == 0 {
            &[]
        } else {
            &page[place..PAGE - 1]
        };
        let (style, changes) = match kind.of_paragraphs {
            true => of_paragraph(data),
            false => (0, of_characters(data)),
        };
        runs.push(Run {
            from,
            to,
            style,
            changes,
        });
    }
}

fn of_paragraph(data: &[u8]) -> (u16, &[u8]) {
    let (length, data) = match data {
        [0, words, rest @ ..] => (2 * usize::from(*words), rest),
        [words, rest @ ..] => ((2 * usize::from(*words)).saturating_sub(1), rest),
        [] => return (0, &[]),
    };
    let data = &data[..length.min(data.len())];
    (u16_at(data, 0).unwrap_or(0), data.get(2..).unwrap_or(&[]))
}

fn of_characters(data: &[u8]) -> &[u8] {
    match data {
        [length, rest @ ..] => &rest[..usize::from(*length).min(rest.len())],
        [] => &[],
    }
}

/// Changes of properties: each has a number and an operand ([MS-DOC] §2.2.5.1).
#[derive(Clone, Debug)]
pub(super) struct Changes<'d>(pub(super) &'d [u8]);

impl<'d> Iterator for Changes<'d> {
    type Item = (u16, &'d [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let number = u16_at(self.0, 0)?;
        let rest = &self.0[2..];
        let (skipped, length) = match number >> 13 {
            0 | 1 => (0, 1),
            2 | 4 | 5 => (0, 2),
            3 => (0, 4),
            7 => (0, 3),
            _ if number == 0xD608 => (2, usize::from(u16_at(rest, 0)?).saturating_sub(1)),
            _ => (1, usize::from(*rest.first()?)),
        };
        let rest = rest.get(skipped..)?;
        let (operand, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some((number, operand))
    }
}

/// Changes of characters as Word 6 writes them: numbers of one byte, whose operands have known lengths.
#[derive(Clone, Debug)]
pub(super) struct OldChanges<'d>(pub(super) &'d [u8]);

impl<'d> Iterator for OldChanges<'d> {
    type Item = (u8, &'d [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (number, rest) = self.0.split_first()?;
        let (skipped, length) = match number {
            83 => (0, 0),
            65..=67 | 71 | 75 | 85..=92 | 94 | 98 | 100 | 102 | 104 | 117..=119 => (0, 1),
            69 | 72 | 80 | 93 | 96 | 97 | 99 | 101 | 107 | 109 | 110 => (0, 2),
            73 | 95 => (0, 3),
            70 => (0, 4),
            68 | 74 | 81 | 82 | 103 | 105 | 106 | 108 => (1, usize::from(*rest.first()?)),
            _ => return None,
        };
        let rest = rest.get(skipped..)?;
        let (operand, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some((*number, operand))
    }
}
