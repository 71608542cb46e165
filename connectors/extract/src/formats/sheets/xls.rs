//! XLS, from the single sheets of BIFF2 to the workbooks of BIFF8 ([MS-XLS]; before that, the
//! documentation of OpenOffice.org's Excel file format).

use super::biff::{Record, Records, Through, u16_at, u32_at};
use super::numbers::{Formats, error, rk, truth};
use super::{Merged, Place, Sheet, document};
use crate::codepage::{self, WESTERN};
use crate::format::Format;
use crate::formats::compound::{self, Compound};
use crate::formats::escher::{self, Known, Shape, kind};
use crate::formats::{head, summary};
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError};

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
    let mut book = Book::default();
    let mut records = Records::new(bytes, 0);
    let first = records.next().and_then(|record| version(&record));
    book.version = first.ok_or_else(|| ExtractError::damaged("the workbook has no beginning"))?;
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

/// A sheet while it is read.
struct SheetReader<'s> {
    book: &'s Book,
    sheet: &'s mut Sheet,
    /// The cell of a formula whose text comes next.
    awaits_string: Option<Place>,
    /// The kind of the last object.
    object: u16,
    /// The sheet's drawing, as it goes through its records.
    drawing: Vec<u8>,
}

/// The kind of objects that are comments.
const NOTE: u16 = 0x19;

impl SheetReader<'_> {
    fn take(&mut self, record: &Record<'_>) {
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
        let formats = &self.book.formats;
        let text = match record.number {
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
        };
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            self.sheet.cells.push((place, text));
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
    fn chart(&mut self, record: &Record<'_>) {
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

/// What monikers of addresses begin with ([MS-OSHARED] §2.3.7.6).
const URL_MONIKER: [u8; 16] = [
    0xE0, 0xC9, 0xEA, 0x79, 0xF9, 0xBA, 0xCE, 0x11, 0x8C, 0x82, 0x00, 0xAA, 0x00, 0x4B, 0xA9, 0x0B,
];

/// Returns where a hyperlink object leads ([MS-OSHARED] §2.3.7.1).
pub(crate) fn hyperlink(data: &[u8]) -> Option<String> {
    let flags = u32_at(data, 4)?;
    let mut rest = data.get(8..)?;
    if flags & 0x10 != 0 {
        rest = counted(rest)?.1;
    }
    if flags & 0x80 != 0 {
        rest = counted(rest)?.1;
    }
    let mut url = String::new();
    if flags & 0x101 == 0x101 {
        let (text, after) = counted(rest)?;
        (url, rest) = (text, after);
    } else if flags & 1 != 0 {
        let kind = rest.get(..16)?;
        if kind == URL_MONIKER {
            let length = u32_at(rest, 16)? as usize;
            let bytes = rest.get(20..20usize.checked_add(length)?)?;
            url = until_nul(&codepage::decode(1200, bytes));
            rest = &rest[20 + length..];
        } else {
            // The address of a file: its short name is enough, what follows it is not looked for.
            let length = u32_at(rest, 18)? as usize;
            let bytes = rest.get(22..22usize.checked_add(length)?)?;
            return Some(until_nul(&codepage::decode(WESTERN, bytes)));
        }
    }
    if flags & 8 != 0
        && let Some((place, _)) = counted(rest)
    {
        url.push('#');
        url.push_str(&place);
    }
    (!url.is_empty()).then_some(url)
}

/// Returns a text whose number of characters comes first, and what follows it.
fn counted(data: &[u8]) -> Option<(String, &[u8])> {
    let bytes = (u32_at(data, 0)? as usize).checked_mul(2)?;
    let text = data.get(4..4usize.checked_add(bytes)?)?;
    Some((until_nul(&codepage::decode(1200, text)), &data[4 + bytes..]))
}

fn until_nul(text: &str) -> String {
    text.split('\0').next().unwrap_or_default().to_owned()
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
