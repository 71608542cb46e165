//! CSV and TSV: one table.
//!
//! The first record is taken for the header, as the format's name for it (RFC 4180) leaves open and
//! nearly every file does. Rows may be of different lengths. Where the quotes of a file do not come in
//! pairs they are taken for plain characters: one stray quote must not swallow the rest of the table.

use csv::{Reader, ReaderBuilder, StringRecord};

use crate::elements::Elements;
use crate::format::Format;
use crate::formats::head;
use crate::grid::{Cell, Grid};
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Delimiters a file may have, in the order in which they win a draw.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How much of a file is looked at to find its delimiter.
const SAMPLE_BYTES: usize = 64 * 1024;

/// Reads a table; `delimiter` is `None` when the file decides.
///
/// # Errors
///
/// `damaged` if the file is not text.
pub(crate) fn read(
    format: Format,
    delimiter: Option<u8>,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let quoting = has_paired_quotes(&text);
    let delimiter = delimiter.unwrap_or_else(|| detect(&text, quoting));
    let mut grid = Grid::new();
    let mut is_first = true;
    let mut records = reader(&text, delimiter, quoting);
    // One for all: a copy of each would have the width of the widest so far, whatever its own is.
    let mut record = StringRecord::new();
    while records.read_record(&mut record).map_err(damaged)? {
        let cells = record.iter().map(|text| Cell {
            text,
            ..Cell::default()
        });
        grid.row(std::mem::take(&mut is_first), cells);
    }
    let mut elements = Elements::of(reading.made());
    grid.finish(&mut elements);
    Ok(Document::of_elements(head(format), elements))
}

fn damaged(error: csv::Error) -> ExtractError {
    ExtractError::damaged(error.to_string())
}

fn reader(text: &str, delimiter: u8, quoting: bool) -> Reader<&[u8]> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .quoting(quoting)
        .delimiter(delimiter)
        .from_reader(text.as_bytes())
}

/// Returns how many fields each record has, up to the first that cannot be read.
fn lengths(text: &str, delimiter: u8, quoting: bool) -> Vec<usize> {
    let mut records = reader(text, delimiter, quoting);
    let mut record = StringRecord::new();
    let mut lengths = Vec::new();
    while records.read_record(&mut record).unwrap_or(false) {
        lengths.push(record.len());
    }
    lengths
}

/// Whether every field that begins with a quote ends with one. A quote within a field that began without is a
/// plain character.
fn has_paired_quotes(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut is_start) = (0, true);
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if is_start && *byte == b'"' {
            // A quote in quotes is written twice, and so ends one text and begins the next.
            match memchr::memchr(b'"', &bytes[at..]) {
                Some(end) => at += end + 1,
                None => return false,
            }
            is_start = bytes.get(at) == Some(&b'"');
            let is_end = |byte: &u8| matches!(byte, b' ' | b'\n') || DELIMITERS.contains(byte);
            if !is_start && !bytes.get(at).is_none_or(is_end) {
                return false;
            }
            continue;
        }
        is_start = *byte == b'\n' || DELIMITERS.contains(byte);
    }
    true
}

/// Returns the delimiter that cuts most of the first records into the same number of fields, more
/// than one; among equals the one that gives more fields.
fn detect(text: &str, quoting: bool) -> u8 {
    let sample = sample(text);
    let mut best = (0, 0, DELIMITERS[0]);
    for delimiter in DELIMITERS {
        let (agreeing, fields) = agreement(sample, delimiter, quoting);
        if fields > 1 && (agreeing, fields) > (best.0, best.1) {
            best = (agreeing, fields, delimiter);
        }
    }
    best.2
}

/// Returns the beginning of a text, in whole lines.
fn sample(text: &str) -> &str {
    if text.len() <= SAMPLE_BYTES {
        return text;
    }
    let start = &text[..text.floor_char_boundary(SAMPLE_BYTES)];
    start.rfind('\n').map_or(start, |end| &start[..end])
}

/// Returns how many in a thousand records have the most frequent number of fields, and that number.
fn agreement(sample: &str, delimiter: u8, quoting: bool) -> (usize, usize) {
    let mut lengths = lengths(sample, delimiter, quoting);
    lengths.sort_unstable();
    let runs = lengths.chunk_by(|one, other| one == other);
    let (count, fields) = runs
        .map(|run| (run.len(), run[0]))
        .max()
        .unwrap_or_default();
    (count * 1000 / lengths.len().max(1), fields)
}

#[cfg(test)]
mod tests {
    use super::{detect, lengths};

    #[test]
    fn stray_quote_swallows_nothing() {
        let quoting = super::has_paired_quotes;
        let rows = |text| lengths(text, b'\t', quoting(text));
        assert_eq!(rows("5\"\tinch\n\"a\tb\n\"c\td\n"), [2, 2, 2]);
        assert_eq!(rows("\"a\nb\"\tc\n"), [2]);
        assert_eq!(rows("\"a\tb\"\tc\n5\"\td\n"), [2, 2]);
        assert_eq!(rows("\"a \"\"\t\"\" b\"\tc\"\n"), [2]);
    }

    #[test]
    fn delimiter_is_the_one_the_records_agree_on() {
        assert_eq!(detect("a,b\n1,2\n", true), b',');
        assert_eq!(detect("a;b;c\n1,5;2,5;3,5\n", true), b';');
        assert_eq!(detect("a\tb\n\"x, y, z\"\t1\n", true), b'\t');
        assert_eq!(detect("a|b|c\n1|2|3\n", true), b'|');
        assert_eq!(detect("\"a;b\",c\n\"d;e\",f\n", true), b',');
        assert_eq!(detect("just\none\ncolumn\n", true), b',');
        assert_eq!(detect("", true), b',');
    }
}
