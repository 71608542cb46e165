//! XLSB ([MS-XLSB]): the parts of XLSX as binary records.

use super::numbers::{Formats, error, rk, truth};
use super::parts::Surroundings;
use super::{LAST, Merged, Place, Sheet, document};
use crate::format::Format;
use crate::formats::head;
use crate::formats::ooxml::properties;
use crate::formats::ooxml::relations::Relations;
use crate::little_endian::{u16_at, u32_at};
use crate::package::Package;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::{Document, ExtractError};

/// Numbers of records ([MS-XLSB] §2.3).
mod record {
    pub(super) const ROW: u16 = 0;
    pub(super) const CELL_FIRST: u16 = 1;
    pub(super) const CELL_LAST: u16 = 11;
    /// Cells that stand next to the one before and say no column, in the order of the others.
    pub(super) const SHORT_FIRST: u16 = 12;
    pub(super) const SHORT_LAST: u16 = 18;
    pub(super) const CELL_RICH_STRING: u16 = 62;
    pub(super) const SHARED_STRING: u16 = 19;
    pub(super) const FORMAT: u16 = 44;
    pub(super) const CELL_FORMAT: u16 = 47;
    pub(super) const WORKBOOK_PROPERTIES: u16 = 153;
    pub(super) const SHEET: u16 = 156;
    pub(super) const MERGED: u16 = 176;
    pub(super) const FURNITURE: u16 = 479;
    pub(super) const LINK: u16 = 494;
    pub(super) const BEGIN_CELL_FORMATS: u16 = 617;
    pub(super) const END_CELL_FORMATS: u16 = 618;
    pub(super) const COMMENT_TEXT: u16 = 637;
}

/// Reads a workbook.
///
/// # Errors
///
/// `damaged` if its list of sheets cannot be read, `bomb`.
pub(crate) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let of_package = Relations::of("", package, reading)?;
    let part = of_package.of_kind("officeDocument").next();
    let part = part.unwrap_or("xl/workbook.bin").to_owned();
    let mut head = head(format.as_type("xlsb"));
    properties::declare(&mut head, &of_package, package, reading)?;
    let relations = Relations::of(&part, package, reading)?;
    let mut book = Book::default();
    book.read_list(&package.needed(&part, reading)?);
    let mut surroundings = Surroundings {
        package,
        reading,
        pictures: Pictures::default(),
    };
    if let Some(part) = relations.of_kind("styles").next() {
        book.read_styles(&surroundings.bytes(part)?);
    }
    if let Some(part) = relations.of_kind("sharedStrings").next() {
        book.read_strings(&surroundings.bytes(part)?);
    }
    let mut sheets = Vec::new();
    for (name, id) in &book.sheets {
        let mut sheet = Sheet::new(name, surroundings.reading);
        match relations.part(id) {
            Some(part) => surroundings.sheet(&book, part, &mut sheet)?,
            None => surroundings
                .reading
                .note(format!("left out: the sheet {name} has no part")),
        }
        sheets.push(sheet);
    }
    document(head, sheets, reading)
}

impl Surroundings<'_, '_, '_, '_> {
    /// Reads a sheet, and what stands beside its cells.
    fn sheet(&mut self, book: &Book, part: &str, sheet: &mut Sheet) -> Result<(), ExtractError> {
        let of_sheet = Relations::of(part, self.package, self.reading)?;
        let bytes = self.bytes(part)?;
        book.read_sheet(&bytes, &of_sheet, sheet);
        sheet.count_shared(self.reading)?;
        for part in of_sheet.of_kind("comments") {
            if part.ends_with(".bin") {
                let bytes = self.bytes(part)?;
                let texts = Records(&bytes).filter(|(number, _)| *number == record::COMMENT_TEXT);
                let texts = texts.filter_map(|(_, data)| rich_string(data));
                sheet.comments.extend(texts);
            }
        }
        self.add(&of_sheet, sheet)
    }

    /// Returns the bytes of a part; none of one that cannot be read, which is noted.
    fn bytes(&mut self, part: &str) -> Result<Vec<u8>, ExtractError> {
        let bytes = self.package.needed(part, self.reading);
        Ok(self.reading.tolerated(part, bytes)?.unwrap_or_default())
    }
}

/// What a workbook says for all its sheets.
#[derive(Debug, Default)]
struct Book {
    sheets: Vec<(String, String)>,
    strings: Vec<String>,
    formats: Formats,
}

impl Book {
    fn read_list(&mut self, bytes: &[u8]) {
        for (number, data) in Records(bytes) {
            match number {
                record::WORKBOOK_PROPERTIES => {
                    self.formats.is_1904 = data.first().is_some_and(|flags| flags & 1 == 1);
                }
                record::SHEET => {
                    // Before the format was final there was one more number.
                    let Some((name, id)) = listed(data, 8).or_else(|| listed(data, 12)) else {
                        continue;
                    };
                    self.sheets.push((name, id));
                }
                _ => {}
            }
        }
    }

    fn read_strings(&mut self, bytes: &[u8]) {
        let strings = Records(bytes).filter(|(number, _)| *number == record::SHARED_STRING);
        self.strings = strings
            .map(|(_, data)| rich_string(data).unwrap_or_default())
            .collect();
    }

    fn read_styles(&mut self, bytes: &[u8]) {
        let mut in_cell_formats = false;
        for (number, data) in Records(bytes) {
            match number {
                record::FORMAT => {
                    let code = data.get(2..).and_then(string);
                    if let (Some(number), Some((code, _))) = (u16_at(data, 0), code) {
                        self.formats.define(number, &code);
                    }
                }
                record::BEGIN_CELL_FORMATS => in_cell_formats = true,
                record::END_CELL_FORMATS => in_cell_formats = false,
                record::CELL_FORMAT if in_cell_formats => {
                    self.formats.of_cells.push(u16_at(data, 2).unwrap_or(0));
                }
                _ => {}
            }
        }
    }

    fn read_sheet(&self, bytes: &[u8], relations: &Relations, sheet: &mut Sheet) {
        let (mut row, mut next) = (0, 0);
        for (number, data) in Records(bytes) {
            match number {
                record::ROW => (row, next) = (u32_at(data, 0).unwrap_or(0), 0),
                record::CELL_FIRST..=record::CELL_LAST | record::CELL_RICH_STRING => {
                    let column = u32_at(data, 0).unwrap_or(u32::MAX);
                    let data = data.get(4..).unwrap_or_default();
                    self.add_cell(number, (row, column), data, sheet);
                    next = column.saturating_add(1);
                }
                record::SHORT_FIRST..=record::SHORT_LAST => {
                    let number = number - record::SHORT_FIRST + record::CELL_FIRST;
                    self.add_cell(number, (row, next), data, sheet);
                    next = next.saturating_add(1);
                }
                record::FURNITURE => furniture(data, sheet),
                record::MERGED => sheet.merged.extend(range(data)),
                record::LINK => {
                    let url = data.get(16..).and_then(|rest| link(rest, relations));
                    if let (Some(range), Some(url)) = (range(data), url) {
                        sheet.links.insert(range.first, url);
                    }
                }
                _ => {}
            }
        }
    }

    fn add_cell(&self, number: u16, place: Place, data: &[u8], sheet: &mut Sheet) {
        let text = self.cell(number, data, sheet);
        let text = text.filter(|text| !text.is_empty());
        if let Some(text) = text.filter(|_| place.0 <= LAST.0 && place.1 <= LAST.1) {
            sheet.cells.push((place, text));
        }
    }

    /// Returns what a cell shows: after its format, its value ([MS-XLSB] §2.4.299 and on).
    fn cell(&self, number: u16, data: &[u8], sheet: &mut Sheet) -> Option<String> {
        let format = (u32_at(data, 0)? & 0xFF_FFFF) as usize;
        let value = data.get(4..)?;
        match number {
            2 => Some(self.formats.text(rk(u32_at(value, 0)?), format)),
            3 | 11 => Some(error(*value.first()?).to_owned()),
            4 | 10 => Some(truth(*value.first()? != 0)),
            5 | 9 => {
                let bytes = value.get(..8)?.try_into().ok()?;
                Some(self.formats.text(f64::from_le_bytes(bytes), format))
            }
            6 | 8 => string(value).map(|(text, _)| text),
            7 => {
                let string = self.strings.get(u32_at(value, 0)? as usize)?;
                Some(sheet.share(string))
            }
            record::CELL_RICH_STRING => rich_string(value),
            _ => None,
        }
    }
}

/// Reads headers and footers of odd, even and first pages ([MS-XLSB] §2.4.53).
fn furniture(data: &[u8], sheet: &mut Sheet) {
    let mut rest = data.get(2..).unwrap_or(&[]);
    for is_header in [true, false, true, false, true, false] {
        let Some((coded, after)) = string(rest) else {
            return;
        };
        sheet.add_furniture(is_header, &coded);
        rest = after;
    }
}

/// Returns the name of a sheet and the relation of its part.
fn listed(data: &[u8], at: usize) -> Option<(String, String)> {
    let (id, rest) = string(data.get(at..)?)?;
    let (name, rest) = string(rest)?;
    rest.is_empty().then_some((name, id))
}

/// Returns where a link leads: to what a relation says, or to a place in the workbook.
fn link(data: &[u8], relations: &Relations) -> Option<String> {
    let (id, rest) = string(data)?;
    let place = string(rest)
        .map(|(place, _)| place)
        .filter(|place| !place.is_empty());
    let place = place.map(|place| format!("#{place}"));
    match (relations.address(&id), place) {
        (Some(address), place) => Some(address.to_owned() + &place.unwrap_or_default()),
        (None, place) => place,
    }
}

/// Records: a number and a length of seven bits a byte, then the data.
struct Records<'b>(&'b [u8]);

impl<'b> Iterator for Records<'b> {
    type Item = (u16, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let low = u16::from(*self.0.first()?);
        self.0 = &self.0[1..];
        let number = match low & 0x80 {
            0 => low,
            _ => {
                let high = u16::from(*self.0.first()?);
                self.0 = &self.0[1..];
                (low & 0x7F) | (high & 0x7F) << 7
            }
        };
        let mut length = 0usize;
        for shift in [0, 7, 14, 21] {
            let byte = *self.0.first()?;
            self.0 = &self.0[1..];
            length |= usize::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                break;
            }
        }
        let (data, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        Some((number, data))
    }
}

/// Returns a string and what comes after it.
fn string(data: &[u8]) -> Option<(String, &[u8])> {
    let length = u32_at(data, 0)?;
    if length == u32::MAX {
        return Some((String::new(), &data[4..]));
    }
    let bytes = (length as usize).checked_mul(2)?;
    let units = data.get(4..4usize.checked_add(bytes)?)?;
    Some((crate::codepage::decode(1200, units), &data[4 + bytes..]))
}

/// Returns the text of a string that may have formats, and a way to speak it.
fn rich_string(data: &[u8]) -> Option<String> {
    string(data.get(1..)?).map(|(text, _)| text)
}

fn range(data: &[u8]) -> Option<Merged> {
    Some(Merged {
        first: (u32_at(data, 0)?, u32_at(data, 8)?),
        last: (u32_at(data, 4)?, u32_at(data, 12)?),
    })
}

#[cfg(test)]
mod tests {
    use super::{Book, Records, rich_string};
    use crate::formats::ooxml::relations::Relations;
    use crate::formats::sheets::Sheet;
    use crate::reading::Reading;

    fn record(number: u16, data: &[u8]) -> Vec<u8> {
        let mut bytes = match number {
            0..0x80 => vec![number as u8],
            _ => vec![(number & 0x7F) as u8 | 0x80, (number >> 7) as u8],
        };
        bytes.push((data.len() & 0x7F) as u8 | 0x80);
        bytes.push((data.len() >> 7) as u8);
        bytes.extend(data);
        bytes
    }

    fn string(text: &str) -> Vec<u8> {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut bytes = (units.len() as u32).to_le_bytes().to_vec();
        bytes.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
        bytes
    }

    fn cell(number: u16, column: u8, format: u8, value: &[u8]) -> Vec<u8> {
        let mut data = vec![column, 0, 0, 0, format, 0, 0, 0];
        data.extend(value);
        record(number, &data)
    }

    #[test]
    fn cells_are_read_by_their_kinds() {
        let mut book = Book::default();
        let mut styles = record(617, b"");
        styles.extend(record(47, b"\0\0\0\0"));
        styles.extend(record(47, b"\0\0\x0E\0"));
        styles.extend(record(618, b""));
        book.read_styles(&styles);
        let mut shared = vec![0];
        shared.extend(string("shared \u{E9}"));
        book.read_strings(&record(19, &shared));
        let mut bytes = record(0, b"\x02\0\0\0\0\0\0\0");
        bytes.extend(cell(2, 0, 0, &0x3FF0_0001_u32.to_le_bytes()));
        bytes.extend(cell(5, 1, 1, &43_831.0_f64.to_le_bytes()));
        bytes.extend(cell(7, 2, 0, b"\0\0\0\0"));
        bytes.extend(cell(6, 3, 0, &string("own")));
        bytes.extend(cell(10, 4, 0, b"\x01"));
        bytes.extend(cell(11, 5, 0, b"\x2A"));
        bytes.extend(cell(1, 6, 0, b""));
        bytes.extend(cell(7, 7, 0, b"\x09\0\0\0"));
        // Next to that, without a column: a number, nothing, a text.
        bytes.extend(record(
            16,
            &[&[1, 0, 0, 0][..], &43_831.0_f64.to_le_bytes()].concat(),
        ));
        bytes.extend(record(12, &[0; 4]));
        bytes.extend(record(17, &[&[0; 4][..], &string("beside")].concat()));
        let coded = ["&LLeft&RPage &P", "Foot &N", "&LLeft", ""].map(string);
        bytes.extend(record(479, &[b"\0\0".to_vec(), coded.concat()].concat()));
        let limits = crate::Limits::default();
        let reading = Reading::new(&limits, 1);
        let mut sheet = Sheet::new("s", &reading);
        book.read_sheet(&bytes, &Relations::default(), &mut sheet);
        let expected = ["0.01", "2020-01-01", "shared \u{E9}", "own", "TRUE", "#N/A"];
        let places = (0u32..)
            .zip(expected)
            .chain([(8, "2020-01-01"), (10, "beside")]);
        let expected: Vec<_> = places
            .map(|(at, text)| ((2, at), text.to_owned()))
            .collect();
        assert_eq!(sheet.cells, expected);
        assert_eq!(sheet.headers, ["Left"]);
        assert_eq!(sheet.footers, ["Foot"]);
    }

    #[test]
    fn lengths_that_lie_end_with_the_data() {
        assert_eq!(rich_string(b"\0\xFF\xFF\xFF\x7Fab"), None);
        assert_eq!(Records(b"\x83\x01\xFF\xFF\xFF\xFFab").count(), 1);
        assert_eq!(Records(b"\x83").count(), 0);
    }
}
