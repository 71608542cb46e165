//! One sheet of a workbook before XLSX: the records of its cells, and of what stands beside them.

use super::Book;
use super::hyperlink::hyperlink;
use crate::formats::sheets::biff::Record;
use crate::formats::sheets::numbers::{error, rk, truth};
use crate::formats::sheets::{Merged, Place, Sheet};
use crate::little_endian::{u16_at, u32_at};

/// A sheet while it is read.
pub(super) struct SheetReader<'s> {
    pub(super) book: &'s Book,
    pub(super) sheet: &'s mut Sheet,
    /// The cell of a formula whose text comes next.
    pub(super) awaits_string: Option<Place>,
    /// The kind of the last object.
    pub(super) object: u16,
    /// The sheet's drawing, as it goes through its records.
    pub(super) drawing: Vec<u8>,
}

/// The kind of objects that are comments.
const NOTE: u16 = 0x19;

impl SheetReader<'_> {
    pub(super) fn take(&mut self, record: &Record<'_>) {
        match record.number {
            0x0014 => self.furniture(record, true),
            0x0015 => self.furniture(record, false),
            0x001C if self.book.version < 8 => {
                let length = usize::from(record.u16(4).unwrap_or(0));
                self.sheet
                    .comments
                    .extend(self.book.bytes(record.data, 6, length));
            }
            0x00EC => record.append_to(&mut self.drawing),
            0x005D => self.object = record.u16(4).unwrap_or(0),
            0x01B6 => self.object_text(record),
            0x00E5 => self.merged(record),
            0x01B8 => self.link(record),
            0x00BD => self.packed_numbers(record),
            0x0207 => self.string(self.book.text(record, 0)),
            0x0007 => self.string(self.book.short_text(record, 0)),
            _ => self.cell(record),
        }
    }

    fn cell(&mut self, record: &Record<'_>) {
        let (Some(row), Some(column)) = (record.u16(0), record.u16(2)) else {
            return;
        };
        let place = (u32::from(row), u32::from(column));
        let is_oldest = self.book.version == 2;
        let (at, format) = match is_oldest {
            true => (
                7,
                record
                    .data
                    .get(4)
                    .map_or(0, |format| usize::from(format & 0x3F)),
            ),
            false => (6, usize::from(record.u16(4).unwrap_or(0))),
        };
        let text = self.value(record, place, at, format);
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.sheet.cells.push((place, text));
        }
    }

    /// Returns what a cell shows, if the record is one.
    fn value(
        &mut self,
        record: &Record<'_>,
        place: Place,
        at: usize,
        format: usize,
    ) -> Option<String> {
        let is_oldest = self.book.version == 2;
        let formats = &self.book.formats;
        match record.number {
            0x00FD => {
                let number = u32_at(record.data, at).unwrap_or(u32::MAX);
                let string = self.book.strings.get(number as usize);
                string.map(|string| self.sheet.share(string))
            }
            0x0204 | 0x00D6 => self.book.text(record, at),
            0x0004 if is_oldest => self.book.short_text(record, at),
            0x0203 | 0x0003 => record.f64(at).map(|number| formats.text(number, format)),
            0x0002 if is_oldest => {
                let number = record.u16(at);
                number.map(|number| formats.text(f64::from(number), format))
            }
            0x027E => u32_at(record.data, at).map(|value| formats.text(rk(value), format)),
            0x0205 | 0x0005 => match (record.data.get(at), record.data.get(at + 1)) {
                (Some(value), Some(0)) => Some(truth(*value != 0)),
                (Some(value), _) => Some(error(*value).to_owned()),
                _ => None,
            },
            0x0006 | 0x0206 | 0x0406 => self.formula(record, place, at, format),
            _ => None,
        }
    }

    /// Returns the value of a formula; a text comes in a record of its own.
    fn formula(
        &mut self,
        record: &Record<'_>,
        place: Place,
        at: usize,
        format: usize,
    ) -> Option<String> {
        let value = record.data.get(at..at + 8)?;
        if value[6..] != [0xFF, 0xFF] {
            return Some(self.book.formats.text(record.f64(at)?, format));
        }
        match value[0] {
            0 => self.awaits_string = Some(place),
            1 => return Some(truth(value[2] != 0)),
            2 => return Some(error(value[2]).to_owned()),
            _ => {}
        }
        None
    }

    fn string(&mut self, text: Option<String>) {
        if let (Some(place), Some(text)) = (self.awaits_string.take(), text) {
            self.sheet.cells.push((place, text));
        }
    }

    fn packed_numbers(&mut self, record: &Record<'_>) {
        let (Some(row), Some(first)) = (record.u16(0), record.u16(2)) else {
            return;
        };
        let cells = record.data.get(4..).unwrap_or(&[]).chunks_exact(6);
        for (column, cell) in (u32::from(first)..).zip(cells) {
            let format = usize::from(u16_at(cell, 0).unwrap_or(0));
            let value = u32_at(cell, 2).unwrap_or(0);
            let text = self.book.formats.text(rk(value), format);
            self.sheet.cells.push(((u32::from(row), column), text));
        }
    }

    fn furniture(&mut self, record: &Record<'_>, is_header: bool) {
        if record.data.is_empty() {
            return;
        }
        let coded = match self.book.version {
            8 => record.through(0).string(),
            _ => self.book.short_text(record, 0),
        };
        let coded = coded.unwrap_or_default();
        self.sheet.add_furniture(is_header, &coded);
    }

    fn object_text(&mut self, record: &Record<'_>) {
        let length = usize::from(record.u16(10).unwrap_or(0));
        let text = record.continued().string_of(length);
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else {
            return;
        };
        let text = crate::decode::unified_line_ends(text.into()).into_owned();
        match self.object {
            NOTE => self.sheet.comments.push(text),
            _ => self.sheet.texts.push(text),
        }
    }

    fn merged(&mut self, record: &Record<'_>) {
        let blocks = record.data.get(2..).unwrap_or(&[]).chunks_exact(8);
        self.sheet.merged.extend(blocks.filter_map(block));
    }

    fn link(&mut self, record: &Record<'_>) {
        let (Some(block), Some(data)) = (block(record.data), record.data.get(24..)) else {
            return;
        };
        if let Some(url) = hyperlink(data) {
            self.sheet.links.insert(block.first, url);
        }
    }

    /// Titles in a chart; names of its series are in cells, as a rule.
    pub(super) fn chart(&mut self, record: &Record<'_>) {
        if record.number == 0x100D
            && let Some(text) = self.book.short_text(record, 2)
            && !text.trim().is_empty()
            && !self.sheet.texts.contains(&text)
            && self.sheet.texts.len() < 1000
        {
            self.sheet.texts.push(text);
        }
    }
}

fn block(data: &[u8]) -> Option<Merged> {
    let number = |at| u16_at(data, at).map(u32::from);
    Some(Merged {
        first: (number(0)?, number(4)?),
        last: (number(2)?, number(6)?),
    })
}
