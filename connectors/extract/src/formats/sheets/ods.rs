//! ODS (OpenDocument 1.3, part 3, §9): what cells show, but dates and times as ISO 8601.

use super::stream::{Piece, Pieces, Tag};
use super::{Merged, Place, Sheet, document};
use crate::elements::VALUE_BYTES;
use crate::format::Format;
use crate::formats::{head, odf};
use crate::package::Package;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::{Document, ExtractError, xml};

/// How many cells a sheet may have that are only said to be repeated.
const MAX_REPEATED: usize = 100_000;

/// How many bytes their texts may have.
const MAX_REPEATED_BYTES: u64 = 16 << 20;

/// No program takes more rows; cells beyond are nowhere.
const MOST_ROWS: u32 = 1 << 20;

/// No program takes more columns.
const MOST_COLUMNS: u32 = 1 << 14;

/// Reads a workbook.
///
/// # Errors
///
/// `damaged` if the content cannot be read, `bomb`.
pub(crate) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    odf::refuse_encrypted(package, reading)?;
    let text = xml::text(&package.needed("content.xml", reading)?)?;
    let mut head = head(format.as_type("ods"));
    odf::declare(&mut head, package, reading)?;
    let mut reader = Reader::default();
    reader.read(&text)?;
    reading.unpacked(reader.repeated_bytes)?;
    let mut pictures = Pictures::default();
    let mut sheets = Vec::new();
    for (mut sheet, shown) in reader.sheets {
        for (address, alt) in shown {
            let name = address.trim_start_matches("./");
            if let Some(mut picture) = pictures.of_part(name, package, reading)? {
                picture.alt = alt;
                sheet.pictures.push(picture);
            }
        }
        sheets.push(sheet);
    }
    document(head, sheets, reading)
}

/// A workbook while it is read.
#[derive(Debug, Default)]
struct Reader {
    sheets: Vec<(Sheet, Vec<(String, String)>)>,
    /// Tables within tables.
    tables: usize,
    row: Row,
    next_row: u32,
    repeated: usize,
    repeated_bytes: u64,
    in_header: bool,
    cell: Option<CellParts>,
    /// Whether the text is one of a comment, of a shape, or of the cell itself.
    beside: Vec<Beside>,
    paragraphs: usize,
    in_description: bool,
    /// How deep the pieces are within something that is not read.
    skipped: usize,
}

#[derive(Debug, Default)]
struct Row {
    times: u32,
    next: u32,
    cells: Vec<(u32, u32, String)>,
}

#[derive(Debug, Default)]
struct CellParts {
    times: u32,
    columns: u32,
    rows: u32,
    kind: String,
    value: Option<String>,
    text: String,
    link: Option<String>,
}

/// Something that stands beside the text of a cell.
#[derive(Debug)]
struct Beside {
    name: &'static str,
    text: String,
    alt: String,
    images: Vec<String>,
    /// Whether a picture here is only that of an object.
    has_object: bool,
}

impl Reader {
    fn read(&mut self, text: &str) -> Result<(), ExtractError> {
        let mut pieces = Pieces::new(text);
        while let Some(piece) = pieces.next()? {
            match piece {
                Piece::Open(_) if self.skipped > 0 => self.skipped += 1,
                Piece::Open(tag) if is_skipped(tag.name()) => {
                    self.skipped = 1;
                    if let Some(beside) = self
                        .beside
                        .last_mut()
                        .filter(|_| tag.name().starts_with("object"))
                    {
                        beside.has_object = true;
                    }
                }
                Piece::Open(tag) => self.open(&tag),
                Piece::Close(_) if self.skipped > 0 => self.skipped -= 1,
                Piece::Close(name) => self.close(&name),
                Piece::Text(text) if self.skipped == 0 => self.text(&text),
                Piece::Text(_) => {}
            }
        }
        Ok(())
    }

    fn open(&mut self, tag: &Tag<'_>) {
        match tag.name() {
            "table" => self.open_table(tag),
            "table-header-rows" => self.in_header = true,
            "table-row" if self.tables == 1 => {
                self.row = Row {
                    times: tag.number("number-rows-repeated").unwrap_or(1).max(1),
                    ..Row::default()
                };
            }
            "table-cell" | "covered-table-cell" if self.tables == 1 => self.open_cell(tag),
            "annotation" => self.open_beside("annotation"),
            "custom-shape" | "frame" | "rect" | "ellipse" | "line" | "path" | "polygon"
            | "caption" | "connector" => self.open_beside("shape"),
            "image" => {
                let address = tag.attribute("href");
                if let (Some(beside), Some(address)) = (self.beside.last_mut(), address) {
                    beside.images.push(address);
                }
            }
            "title" | "desc" => self.in_description = true,
            "p" | "h" => {
                self.paragraphs += 1;
                self.begin_line();
            }
            "s" => self.spaces(tag.number("c").unwrap_or(1)),
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "a" => {
                let address = tag.attribute("href").filter(|url| url.len() <= VALUE_BYTES);
                if let (Some(cell), true) = (&mut self.cell, self.beside.is_empty()) {
                    cell.link = cell.link.take().or(address);
                }
            }
            _ => {}
        }
    }

    fn open_table(&mut self, tag: &Tag<'_>) {
        self.tables += 1;
        if self.tables == 1 {
            let name = tag.attribute("name").unwrap_or_default();
            let sheet = Sheet {
                name,
                ..Sheet::default()
            };
            self.sheets.push((sheet, Vec::new()));
            (self.next_row, self.repeated, self.in_header) = (0, 0, false);
        }
    }

    /// Adds spaces; more of them than the element has bytes are repetitions.
    fn spaces(&mut self, count: u32) {
        let room = MAX_REPEATED_BYTES.saturating_sub(self.repeated_bytes);
        let (count, repeated) = odf::spaces(count as usize, room as usize);
        self.repeated_bytes += repeated as u64;
        self.push(&" ".repeat(count));
    }

    fn open_cell(&mut self, tag: &Tag<'_>) {
        let values = [
            "date-value",
            "time-value",
            "boolean-value",
            "string-value",
            "value",
        ];
        self.cell = Some(CellParts {
            times: tag.number("number-columns-repeated").unwrap_or(1).max(1),
            columns: tag.number("number-columns-spanned").unwrap_or(1),
            rows: tag.number("number-rows-spanned").unwrap_or(1),
            kind: tag.attribute("value-type").unwrap_or_default(),
            value: values.iter().find_map(|name| tag.attribute(name)),
            ..CellParts::default()
        });
    }

    fn open_beside(&mut self, name: &'static str) {
        self.beside.push(Beside {
            name,
            text: String::new(),
            alt: String::new(),
            images: Vec::new(),
            has_object: false,
        });
    }

    fn close(&mut self, name: &str) {
        match name {
            "table" => self.tables = self.tables.saturating_sub(1),
            "table-header-rows" => self.in_header = false,
            "table-row" if self.tables == 1 => self.close_row(),
            "table-cell" | "covered-table-cell" if self.tables == 1 => self.close_cell(),
            "title" | "desc" => self.in_description = false,
            "p" | "h" => self.paragraphs = self.paragraphs.saturating_sub(1),
            "annotation" | "custom-shape" | "frame" | "rect" | "ellipse" | "line" | "path"
            | "polygon" | "caption" | "connector" => self.close_beside(),
            _ => {}
        }
    }

    fn close_beside(&mut self) {
        let (Some(beside), Some((sheet, pictures))) = (self.beside.pop(), self.sheets.last_mut())
        else {
            return;
        };
        let alt = beside.alt.trim().to_owned();
        // A picture may be there in several forms; the first is the best one.
        if !beside.has_object {
            let best = beside.images.into_iter().next();
            pictures.extend(best.map(|address| (address, alt)));
        }
        if !beside.text.trim().is_empty() {
            let texts = match beside.name {
                "annotation" => &mut sheet.comments,
                _ => &mut sheet.texts,
            };
            texts.push(beside.text);
        }
    }

    fn close_cell(&mut self) {
        let Some(cell) = self.cell.take() else {
            return;
        };
        let column = self.row.next;
        self.row.next = column.saturating_add(cell.times);
        let place = (self.next_row, column);
        let text = shown(&cell);
        let Some((sheet, _)) = self.sheets.last_mut() else {
            return;
        };
        if text.is_empty() {
            return;
        }
        if cell.columns > 1 || cell.rows > 1 {
            let last = (
                place.0.saturating_add(cell.rows.max(1) - 1),
                place.1.saturating_add(cell.columns.max(1) - 1),
            );
            sheet.merged.push(Merged { first: place, last });
        }
        if let Some(link) = cell.link {
            sheet.links.insert(place, link);
        }
        self.row.cells.push((column, cell.times, text));
    }

    fn close_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        let first = self.next_row;
        self.next_row = first.saturating_add(row.times);
        let Some((sheet, _)) = self.sheets.last_mut() else {
            return;
        };
        if row.cells.is_empty() {
            return;
        }
        let times = row.times.min(MOST_ROWS.saturating_sub(first));
        for number in 0..times {
            for (column, times, text) in &row.cells {
                let times = (*times).min(MOST_COLUMNS.saturating_sub(*column));
                for step in 0..times {
                    let is_repeated = number > 0 || step > 0;
                    if is_repeated {
                        self.repeated += 1;
                        self.repeated_bytes += text.len() as u64;
                    }
                    let is_too_much =
                        self.repeated > MAX_REPEATED || self.repeated_bytes > MAX_REPEATED_BYTES;
                    if is_repeated && is_too_much {
                        break;
                    }
                    let place: Place = (first.saturating_add(number), column.saturating_add(step));
                    sheet.cells.push((place, text.clone()));
                }
            }
            if self.in_header {
                sheet.header_rows.insert(first.saturating_add(number));
            }
            if self.repeated > MAX_REPEATED || self.repeated_bytes > MAX_REPEATED_BYTES {
                break;
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_description {
            if let Some(beside) = self.beside.last_mut() {
                beside.alt.push_str(text);
            }
        } else if self.paragraphs > 0 {
            self.push(text);
        }
    }

    fn push(&mut self, text: &str) {
        if let Some(into) = self.text_at_hand() {
            into.push_str(text);
        }
    }

    fn begin_line(&mut self) {
        if let Some(into) = self.text_at_hand().filter(|text| !text.is_empty()) {
            into.push('\n');
        }
    }

    fn text_at_hand(&mut self) -> Option<&mut String> {
        match self.beside.last_mut() {
            Some(beside) => Some(&mut beside.text),
            None => self.cell.as_mut().map(|cell| &mut cell.text),
        }
    }
}

/// What is not read: it is no content, or says something about it a second time.
fn is_skipped(name: &str) -> bool {
    matches!(
        name,
        "tracked-changes"
            | "content-validations"
            | "dde-links"
            | "automatic-styles"
            | "font-face-decls"
            | "scripts"
            | "creator"
            | "date"
            | "date-string"
            | "binary-data"
            | "event-listeners"
            | "object"
            | "object-ole"
    )
}

/// Returns what a cell shows.
fn shown(cell: &CellParts) -> String {
    let value = cell.value.as_deref();
    let special = match (&*cell.kind, value) {
        ("date", Some(value)) => Some(date(value)),
        ("time", Some(value)) => duration(value),
        ("boolean", Some(value)) => Some(value.to_ascii_uppercase()),
        _ => None,
    };
    match special {
        Some(special) => special,
        None if cell.text.is_empty() => value.unwrap_or_default().to_owned(),
        None => cell.text.clone(),
    }
}

fn date(value: &str) -> String {
    let value = value.trim().trim_end_matches('Z');
    let (day, time) = value.split_once('T').unwrap_or((value, ""));
    let time = match time.split_once('.') {
        Some((whole, fraction)) if fraction.bytes().all(|digit| digit == b'0') => whole,
        _ => time,
    };
    match time {
        "" | "00:00:00" => day.to_owned(),
        time => format!("{day} {time}"),
    }
}

/// Returns hours, minutes and seconds of a duration (`PT27H04M05S`).
fn duration(value: &str) -> Option<String> {
    let (sign, rest) = match value.trim().strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", value.trim()),
    };
    let (hours, rest) = rest.strip_prefix("PT")?.split_once('H')?;
    let (minutes, rest) = rest.split_once('M')?;
    let seconds = rest.strip_suffix('S')?;
    let (seconds, fraction) = seconds.split_once(['.', ',']).unwrap_or((seconds, ""));
    let number = |text: &str| text.parse::<u64>().ok();
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    let (hours, minutes, seconds) = (number(hours)?, number(minutes)?, number(seconds)?);
    Some(format!(
        "{sign}{hours:02}:{minutes:02}:{seconds:02}{point}{fraction}"
    ))
}

#[cfg(test)]
mod tests {
    use super::{date, duration};

    #[test]
    fn values_of_dates_and_times_become_iso_text() {
        assert_eq!(date("2020-01-02T00:00:00"), "2020-01-02");
        assert_eq!(date("2020-01-02T03:04:05.000000000"), "2020-01-02 03:04:05");
        assert_eq!(date("2020-01-02"), "2020-01-02");
        assert_eq!(duration("PT27H04M05S").as_deref(), Some("27:04:05"));
        assert_eq!(duration("-PT0H0M1.50S").as_deref(), Some("-00:00:01.5"));
        assert_eq!(duration("P1D"), None);
    }
}
