//! Workbooks: XLSX, XLSB, XLS and ODS.
//!
//! The readers here tell the cells that are used; this file makes pages of them, one per sheet. What a
//! file declares to be used counts for nothing: a sheet with one cell at the far end is one cell.

mod biff;
mod dates;
mod layout;
mod numbers;
mod ods;
mod parts;
mod stream;
mod xls;
mod xlsb;
mod xlsx;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter::Peekable;
use std::str::Chars;

use dpe_connector::content::{Category, DocumentHead, Metadata, Page};

use crate::flow::{Container, Flow};
use crate::formats::story;
use crate::inline::{Inline, Picture};
use crate::reading::Reading;
use crate::{Document, ExtractError, pages};

pub(crate) use ods::read as read_ods;
pub(crate) use xls::{is_bare_workbook, read as read_xls, read_bare as read_bare_xls};
pub(crate) use xlsb::read as read_xlsb;
pub(crate) use xlsx::read as read_xlsx;

/// Row and column, from 0.
type Place = (u32, u32);

/// The last row and column that there are.
const LAST: Place = (1_048_575, 16_383);

/// A sheet as its file has it.
#[derive(Debug, Default)]
struct Sheet {
    name: String,
    /// Cells that have a text, in any order; of two at one place the later counts.
    cells: Vec<(Place, String)>,
    links: BTreeMap<Place, String>,
    merged: Vec<Merged>,
    /// Rows that are the headers of tables which the file declares.
    header_rows: BTreeSet<u32>,
    headers: Vec<String>,
    footers: Vec<String>,
    /// Headers (`true`) and footers that are among them already.
    furniture: HashSet<(bool, String)>,
    /// Texts of shapes and titles of charts.
    texts: Vec<String>,
    /// Charts and diagrams.
    beside: Option<Flow>,
    comments: Vec<String>,
    pictures: Vec<Picture>,
    /// Bytes of texts that cells have in common with others, and how many there may be.
    shared: u64,
    most_shared: u64,
}

/// A text that is shared is in the table as text and as HTML.
const SHARED_COPIES: u64 = 2;

impl Sheet {
    fn new(name: &str, reading: &Reading<'_>) -> Self {
        Self {
            name: name.to_owned(),
            most_shared: reading.room(),
            ..Self::default()
        }
    }

    /// Returns where charts and diagrams are written.
    fn beside(&mut self, reading: &Reading<'_>) -> &mut Flow {
        self.beside.get_or_insert_with(|| Flow::of(reading.made()))
    }

    /// Returns a text for a cell that many cells may have; nothing once that makes too much of it.
    fn share(&mut self, text: &str) -> String {
        self.shared = self
            .shared
            .saturating_add(SHARED_COPIES * text.len() as u64);
        match self.shared > self.most_shared {
            true => String::new(),
            false => text.to_owned(),
        }
    }

    /// Adds the parts of a header or a footer, as their codes say, each once.
    fn add_furniture(&mut self, is_header: bool, coded: &str) {
        let texts = match is_header {
            true => &mut self.headers,
            false => &mut self.footers,
        };
        for text in furniture_texts(coded) {
            if self.furniture.insert((is_header, text.clone())) {
                texts.push(text);
            }
        }
    }

    /// Counts the shared texts against the limits.
    ///
    /// # Errors
    ///
    /// `bomb` if there was too much of them.
    fn count_shared(&self, reading: &mut Reading<'_>) -> Result<(), ExtractError> {
        reading.unpacked(self.shared)
    }
}

/// A block of cells that are shown as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Merged {
    first: Place,
    last: Place,
}

/// Makes a document of sheets.
///
/// # Errors
///
/// `too_large` if they are too many.
fn document(
    head: DocumentHead,
    sheets: Vec<Sheet>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut pages = Vec::new();
    for sheet in sheets {
        reading.page()?;
        pages.append(&mut page(sheet, reading));
    }
    Ok(Document { head, pages })
}

fn page(mut sheet: Sheet, reading: &Reading<'_>) -> Vec<Page> {
    let mut flow = Flow::of(reading.made());
    let headers = std::mem::take(&mut sheet.headers);
    furniture(&mut flow, Category::Header, headers);
    if let Some(grid) = layout::grid(&mut sheet) {
        flow.table(grid, Vec::new());
    }
    for text in sheet.texts {
        paragraph(&mut flow, &text);
    }
    if let Some(beside) = sheet.beside.take() {
        parts::append(&mut flow, beside);
    }
    let mut inline = Inline::default();
    for picture in sheet.pictures {
        inline.open_picture(picture);
        inline.close_picture();
    }
    flow.paragraph(inline.take());
    for text in sheet.comments {
        flow.open(story::comment());
        paragraph(&mut flow, &text);
        flow.close();
    }
    furniture(&mut flow, Category::Footer, sheet.footers);
    let elements = flow.finish().1.into_vec();
    let title = (!sheet.name.is_empty()).then_some(sheet.name);
    pages::declared(title, Metadata::new(), elements)
}

fn furniture(flow: &mut Flow, category: Category, texts: Vec<String>) {
    flow.open(Container::Region(category));
    for text in texts {
        paragraph(flow, &text);
    }
    flow.close();
}

fn paragraph(flow: &mut Flow, text: &str) {
    let mut inline = Inline::default();
    inline.push(text);
    flow.paragraph(inline.take());
}

/// Returns the texts of the left, middle and right part of a header or footer, without its codes
/// (ECMA-376 part 1, §18.3.1.46). Numbers of pages, dates and names of files are the layout's.
fn furniture_texts(coded: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut part = Inline::default();
    let mut characters = coded.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '&' {
            part.push(character.encode_utf8(&mut [0; 4]));
            continue;
        }
        match characters.next() {
            Some('&') => part.push("&"),
            Some('L' | 'C' | 'R') => texts.push(part.take().text),
            Some(code @ ('P' | 'N')) => {
                part.leave_out_number();
                if code == 'P' {
                    skip_offset(&mut characters);
                }
            }
            Some('"') => while characters.next().is_some_and(|next| next != '"') {},
            Some('K') => {
                let mut digits = 0;
                while digits < 6 && characters.next_if(char::is_ascii_hexdigit).is_some() {
                    digits += 1;
                }
            }
            Some(digit) if digit.is_ascii_digit() => {
                while characters.next_if(char::is_ascii_digit).is_some() {}
            }
            _ => {}
        }
    }
    texts.push(part.take().text);
    texts.retain(|text| text.contains(char::is_alphanumeric));
    texts
}

/// Passes over what is added to the number of a page (`&P+1`).
fn skip_offset(characters: &mut Peekable<Chars<'_>>) {
    let mut ahead = characters.clone();
    let is_signed = ahead.next().is_some_and(|sign| matches!(sign, '+' | '-'));
    if is_signed && ahead.next_if(char::is_ascii_digit).is_some() {
        while ahead.next_if(char::is_ascii_digit).is_some() {}
        *characters = ahead;
    }
}

#[cfg(test)]
mod tests {
    use super::furniture_texts;

    #[test]
    fn header_is_read_without_its_codes() {
        assert_eq!(
            furniture_texts("&L&\"Arial,Bold\"&12Sales && more&C&P of &N&R&KFF0000Draft"),
            ["Sales & more", "Draft"]
        );
        assert!(furniture_texts("&C&A&R&D &T").is_empty());
        assert!(furniture_texts("&LPage &P&R&8| Seite &P").is_empty());
        assert_eq!(furniture_texts("&CBudget &P"), ["Budget"]);
        assert!(furniture_texts("&LPage &P+12&R&P-1").is_empty());
        assert_eq!(furniture_texts("&L&P - Draft&R&P+x"), ["- Draft", "+x"]);
    }
}
