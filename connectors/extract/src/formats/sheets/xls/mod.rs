//! XLS, from the single sheets of BIFF2 to the workbooks of BIFF8 ([MS-XLS]; before that, the
//! documentation of OpenOffice.org's Excel file format).

mod hyperlink;
mod sheet;

use super::biff::{Record, Records, Through};
use super::numbers::Formats;
use super::{Sheet, document};
use crate::codepage::{self, WESTERN};
use crate::format::Format;
use crate::formats::compound::{self, Compound};
use crate::formats::escher::{self, Known, Shape, kind};
use crate::formats::{head, summary};
use crate::little_endian::u32_at;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError};

use sheet::SheetReader;

/// Whether bytes are a workbook from before there were compound files.
pub(crate) fn is_bare_workbook(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 4] = [
        b"\x09\0\x04\0",
        b"\x09\x02\x06\0",
        b"\x09\x04\x06\0",
        b"\x09\x08",
    ];
    starts.iter().any(|start| bytes.starts_with(start))
}

/// Reads a workbook in a compound file.
///
/// # Errors
///
/// `encrypted`, `damaged`, `bomb`.
pub(crate) fn read(
    format: Format,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut head = head(format.as_type("xls"));
    summary::declare(&mut head, file, reading)?;
    let bytes = match compound::stream(file, "/Workbook", reading)? {
        Some(bytes) => Some(bytes),
        None => compound::stream(file, "/Book", reading)?,
    };
    let bytes = bytes.ok_or_else(|| ExtractError::damaged("there is no workbook"))?;
    let sheets = sheets(&bytes, reading)?;
    document(head, sheets, reading)
}

/// Reads a workbook that is a file of its own.
///
/// # Errors
///
/// `encrypted`, `damaged`.
pub(crate) fn read_bare(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let head = head(format.as_type("xls"));
    let sheets = sheets(bytes, reading)?;
    document(head, sheets, reading)
}

fn sheets(bytes: &[u8], reading: &mut Reading<'_>) -> Result<Vec<Sheet>, ExtractError> {
    let book = Book::read(bytes)?;
    if book.version < 5 || book.sheets.is_empty() {
        let mut sheet = Sheet::new("", reading);
        book.read_sheet(bytes, 0, &mut sheet, reading);
        sheet.count_shared(reading)?;
        return Ok(vec![sheet]);
    }
    let mut sheets = Vec::new();
    let mut read = 0;
    for listed in &book.sheets {
        if !listed.is_worksheet {
            let name = &listed.name;
            reading.note(format!("left out: {name} is no worksheet"));
            continue;
        }
        let mut sheet = Sheet::new(&listed.name, reading);
        let length = book.read_sheet(bytes, listed.at, &mut sheet, reading);
        // Sheets may be listed again and again, or begin within others.
        read += length as u64;
        if read > bytes.len() as u64 {
            reading.unpacked(length as u64)?;
        }
        sheet.count_shared(reading)?;
        sheets.push(sheet);
    }
    Ok(sheets)
}

const BEGIN_2: u16 = 0x0009;
const BEGIN_3: u16 = 0x0209;
const BEGIN_4: u16 = 0x0409;
const BEGIN: u16 = 0x0809;
const END: u16 = 0x000A;
const FILE_PASS: u16 = 0x002F;

/// Returns the version of BIFF that the first record of a stream states.
fn version(record: &Record<'_>) -> Option<u8> {
    match record.number {
        BEGIN_2 => Some(2),
        BEGIN_3 => Some(3),
        BEGIN_4 => Some(4),
        BEGIN if record.u16(0) == Some(0x0600) => Some(8),
        BEGIN => Some(5),
        _ => None,
    }
}

/// What a workbook says for all its sheets.
#[derive(Debug, Default)]
struct Book {
    version: u8,
    code_page: Option<u16>,
    sheets: Vec<Listed>,
    strings: Vec<String>,
    formats: Formats,
    /// Before BIFF5 formats are numbered as they come.
    next_format: u16,
    /// The drawings' store of pictures, as it goes through its records.
    store: Vec<u8>,
}

#[derive(Debug)]
struct Listed {
    name: String,
    at: usize,
    is_worksheet: bool,
}

impl Book {
    /// Reads what comes before the sheets.
    fn read(bytes: &[u8]) -> Result<Self, ExtractError> {
        let mut book = Self::default();
        let mut records = Records::new(bytes, 0);
        let first = records.next().and_then(|record| version(&record));
        let first = first.ok_or_else(|| ExtractError::damaged("the workbook has no beginning"));
        book.version = first?;
        let mut depth = 1;
        for record in records {
            match record.number {
                BEGIN_2 | BEGIN_3 | BEGIN_4 | BEGIN => depth += 1,
                END => depth -= 1,
                FILE_PASS => {
                    let message = "the workbook wants a password";
                    return Err(ExtractError::new(Reason::Encrypted, message));
                }
                _ => book.take(&record),
            }
            if depth == 0 {
                break;
            }
        }
        Ok(book)
    }

    fn take(&mut self, record: &Record<'_>) {
        match record.number {
            0x0042 => self.code_page = record.u16(0),
            0x0022 => self.formats.is_1904 = record.u16(0) == Some(1),
            0x0085 => {
                let listed = self.listed(record);
                self.sheets.extend(listed);
            }
            0x00EB => record.append_to(&mut self.store),
            0x00FC => self.read_strings(record.through(0)),
            0x041E | 0x001E => self.read_format(record),
            0x00E0 => self.formats.of_cells.push(record.u16(2).unwrap_or(0)),
            0x0043 => self.cell_format(record, 2),
            0x0243 | 0x0443 => self.cell_format(record, 1),
            _ => {}
        }
    }

    fn cell_format(&mut self, record: &Record<'_>, at: usize) {
        let format = record.data.get(at).copied().unwrap_or(0);
        let mask = if self.version == 2 { 0x3F } else { 0xFF };
        self.formats.of_cells.push(u16::from(format & mask));
    }

    fn listed(&self, record: &Record<'_>) -> Option<Listed> {
        Some(Listed {
            name: self.short_text(record, 6)?,
            at: u32_at(record.data, 0)? as usize,
            is_worksheet: *record.data.get(5)? == 0,
        })
    }

    /// The count that comes first is not believed.
    fn read_strings(&mut self, mut through: Through<'_>) {
        through.u32();
        through.u32();
        while !through.is_at_end() {
            let Some(text) = through.string() else {
                return;
            };
            self.strings.push(text);
        }
    }

    fn read_format(&mut self, record: &Record<'_>) {
        let (number, code) = match self.version {
            8 => (record.u16(0), record.through(2).string()),
            5 => (record.u16(0), self.short_text(record, 2)),
            version => {
                let number = self.next_format;
                self.next_format = number.saturating_add(1);
                let at = if version == 4 { 2 } else { 0 };
                (Some(number), self.short_text(record, at))
            }
        };
        if let (Some(number), Some(code)) = (number, code) {
            self.formats.define(number, &code);
        }
    }

    /// Returns the text whose length is one byte.
    fn short_text(&self, record: &Record<'_>, at: usize) -> Option<String> {
        if self.version == 8 {
            return record.through(at).short_string();
        }
        let length = usize::from(*record.data.get(at)?);
        self.bytes(record.data, at + 1, length)
    }

    /// Returns the text whose length is two bytes.
    fn text(&self, record: &Record<'_>, at: usize) -> Option<String> {
        if self.version == 8 {
            return record.through(at).string();
        }
        let length = usize::from(record.u16(at)?);
        self.bytes(record.data, at + 2, length)
    }

    fn bytes(&self, data: &[u8], at: usize, length: usize) -> Option<String> {
        let end = at.saturating_add(length).min(data.len());
        let bytes = data.get(at..end)?;
        Some(codepage::decode(self.code_page.unwrap_or(WESTERN), bytes))
    }

    /// Reads a sheet; tells how many bytes it is.
    fn read_sheet(
        &self,
        bytes: &[u8],
        at: usize,
        sheet: &mut Sheet,
        reading: &mut Reading<'_>,
    ) -> usize {
        let mut length = 0;
        let mut reader = SheetReader {
            book: self,
            sheet,
            awaits_string: None,
            object: 0,
            drawing: Vec::new(),
        };
        let mut depth = 0;
        for record in Records::new(bytes, at) {
            length += 4 + record.data.len();
            match record.number {
                BEGIN_2 | BEGIN_3 | BEGIN_4 | BEGIN => depth += 1,
                END => depth -= 1,
                _ if depth > 1 => reader.chart(&record),
                _ => reader.take(&record),
            }
            if depth <= 0 {
                break;
            }
        }
        let drawing = reader.drawing;
        self.read_pictures(&drawing, sheet, reading);
        length
    }

    /// Reads the pictures and the drawn texts of a sheet: its shapes name pictures by their places in the store.
    fn read_pictures(&self, drawing: &[u8], sheet: &mut Sheet, reading: &mut Reading<'_>) {
        let mut shapes = Vec::new();
        escher::walk(drawing, &mut |record| {
            if record.kind == kind::SHAPE {
                shapes.push(Shape::read(record.data));
            }
        });
        let drawn = shapes
            .iter_mut()
            .map(|shape| std::mem::take(&mut shape.text));
        sheet.texts.extend(drawn.filter(|text| !text.is_empty()));
        if shapes.is_empty() || self.store.is_empty() {
            return;
        }
        let mut store = Vec::new();
        escher::walk(&self.store, &mut |record| {
            if record.kind == kind::STORE_ENTRY {
                store.push(*record);
            }
        });
        let mut known = Known::default();
        for shape in shapes {
            let picture = known.picture(shape.picture, || {
                let entry = store.get(shape.picture.checked_sub(1)?)?;
                escher::picture(entry, reading)
            });
            if let Some(mut picture) = picture {
                picture.alt = shape.description;
                sheet.pictures.push(picture);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sheets;
    use crate::reading::Reading;
    use crate::{Limits, Reason};

    fn record(number: u16, data: &[u8]) -> Vec<u8> {
        let length = data.len() as u16;
        [&number.to_le_bytes()[..], &length.to_le_bytes(), data].concat()
    }

    /// Returns a workbook of one sheet with so many long cells, which is listed so often.
    fn book(times: usize, cells: u16) -> Vec<u8> {
        let begin = record(0x0809, b"\0\x06\x05\0\0\0\0\0\0\0\0\0\0\0\0\0");
        let end = record(0x000A, b"");
        let listed = |at: u32| record(0x0085, &[&at.to_le_bytes()[..], b"\0\0\x01\0a"].concat());
        let at = begin.len() + times * listed(0).len() + end.len();
        let mut book = begin.clone();
        book.extend(listed(at as u32).repeat(times));
        book.extend(&end);
        book.extend(&begin);
        for row in 0..cells {
            let head = [
                &row.to_le_bytes()[..],
                b"\0\0\0\0",
                &8000_u16.to_le_bytes(),
                b"\0",
            ];
            let words = [&head.concat()[..], &[b'x'; 8000]].concat();
            book.extend(record(0x0204, &words));
        }
        book.extend(end);
        book
    }

    #[test]
    fn sheet_that_is_listed_again_and_again_is_a_bomb() {
        let limits = Limits::default();
        let reading = || Reading::new(&limits, 1);
        let some = sheets(&book(3, 2), &mut reading()).unwrap();
        assert_eq!(some.len(), 3);
        assert!(some.iter().all(|sheet| sheet.cells.len() == 2));
        let error = sheets(&book(200, 30), &mut reading()).err().unwrap();
        assert_eq!(error.reason, Reason::Bomb);
    }
}
