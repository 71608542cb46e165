//! PDF: one page for each of the file's, its text in reading order.
//!
//! What stands where on a page, and which lines belong together, is for the parser (`unpdf`) to find
//! out; this module says what becomes of it. Text that the file only paints as pictures stays a picture:
//! nothing is recognised.

mod bilevel;
mod blocks;
mod content;
mod facts;
mod images;
mod painted;
mod samples;
mod spaces;
mod stuck;
mod text_string;

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dpe_connector::content::{Element, Metadata, Page};
use unpdf::parser::backend::{RawBackend, ResourceScope};
use unpdf::parser::raw::RawDocument;
use unpdf::{ErrorKind, PageSelection, PageStreamOptions, ParseEvent, PdfParser};

use images::Pictures;

use crate::flow::Flow;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, pages};

/// Reads a file that needs no password, or an empty one.
///
/// # Errors
///
/// `encrypted` if it wants a password, `damaged` if no page of it can be found, `too_large` if there are
/// more than are taken.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let parser = guarded(|| PdfParser::from_bytes(bytes))
        .ok_or_else(|| ExtractError::new(Reason::ParserFailed, "the parser of PDF failed"))?
        .map_err(|error| refused(&error))?;
    let count = parser.page_count();
    let most = reading.limits().pages;
    if count as usize > most {
        let message = format!("{count} pages, more than {most}");
        return Err(ExtractError::new(Reason::TooLarge, message));
    }
    let texts = texts(&parser, count, reading);
    drop(parser);
    let mut head = head(format);
    // The parser of pages shows nobody the objects they are made of.
    let file = guarded(|| RawDocument::load(bytes).ok()).flatten();
    let Some(file) = file else {
        let pages = texts.into_iter();
        let pages = pages.flat_map(|text| pages::declared(None, Metadata::new(), text));
        return Ok(Document {
            head,
            pages: pages.collect(),
        });
    };
    facts::declare(&file, &mut head, reading);
    let pages = pages(bytes, &file, texts, reading)?;
    Ok(Document { head, pages })
}

/// Puts texts, pictures and labels of pages together.
fn pages(
    bytes: &[u8],
    file: &RawDocument,
    texts: Vec<Vec<Element>>,
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    let labels = facts::labels(file, texts.len());
    let ids = file.pages();
    let mut sheets = Sheets {
        bytes,
        file,
        pictures: Pictures::new(file),
        backend: None,
    };
    let mut pages = Vec::new();
    for (number, (mut elements, label)) in (1u32..).zip(texts.into_iter().zip(labels)) {
        if let Some(id) = ids.get(&number) {
            let completed = guarded(|| sheets.complete(*id, &mut elements, reading));
            completed.transpose()?;
        }
        let mut page_metadata = Metadata::new();
        if let Some(label) = label {
            page_metadata.insert("page_label".to_owned(), label.into());
        }
        pages.extend(pages::declared(None, page_metadata, elements));
    }
    Ok(pages)
}

/// The pages as objects of the file.
struct Sheets<'d> {
    bytes: &'d [u8],
    file: &'d RawDocument,
    pictures: Pictures<'d>,
    /// What decodes texts; few files ask for it.
    backend: Option<Box<RawBackend>>,
}

impl Sheets<'_> {
    /// Adds to the text of a page what the parser of pages does not see.
    fn complete(
        &mut self,
        id: (u32, u16),
        elements: &mut Vec<Element>,
        reading: &mut Reading<'_>,
    ) -> Result<(), ExtractError> {
        let file = self.file;
        let Ok(dict) = file.get_dict(id) else {
            return Ok(());
        };
        let content = images::content(file, dict);
        let is_korean = spaces::is_korean(elements);
        let has_meanings = memchr::memmem::find(&content, b"ActualText").is_some();
        let has_more = stuck::is_any(file, dict);
        if (is_korean || has_meanings || has_more)
            && let Some(backend) = self.backend()
        {
            if is_korean || has_meanings {
                let painted = painted::paragraphs(backend, ResourceScope::page(id), &content);
                if has_meanings && painted::lacks_letters(elements, &painted) {
                    *elements = blocks::paragraphs(&painted);
                } else if is_korean {
                    spaces::restore(elements, &painted);
                }
            }
            if has_more {
                elements.extend(stuck::texts(file, backend, id));
            }
        }
        elements.extend(self.pictures.of_page(dict, &content, reading)?);
        Ok(())
    }

    fn backend(&mut self) -> Option<&RawBackend> {
        if self.backend.is_none() {
            self.backend = RawBackend::load_bytes(self.bytes).ok().map(Box::new);
        }
        self.backend.as_deref()
    }
}

/// Reads the texts of all pages; a page that cannot be read has none.
fn texts(parser: &PdfParser, count: u32, reading: &mut Reading<'_>) -> Vec<Vec<Element>> {
    let mut texts: Vec<Vec<Element>> = Vec::new();
    texts.resize_with(count as usize, Vec::new);
    let (mut next, mut failed) = (1, 0u32);
    while next <= count {
        let options = PageStreamOptions {
            parallel: false,
            suppress_low_confidence_ocr: false,
            pages: PageSelection::Range(next..=count),
            ..PageStreamOptions::default()
        };
        let ended = guarded(|| {
            let _ = parser.for_each_page(options, |event| {
                match event {
                    ParseEvent::PageParsed(page) => {
                        let number = page.number;
                        let mut flow = Flow::default();
                        blocks::add(page, &mut flow);
                        if let Some(text) = texts.get_mut(number.wrapping_sub(1) as usize) {
                            *text = flow.finish().1.into_vec();
                        }
                        next = number + 1;
                    }
                    ParseEvent::PageFailed { page, .. } => {
                        failed += 1;
                        next = page + 1;
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            });
        });
        if ended.is_some() {
            break;
        }
        failed += 1;
        next += 1;
    }
    if failed > 0 {
        reading.note(format!("{failed} pages could not be read"));
    }
    texts
}

/// Calls the parser; `None` if it panics. It keeps nothing between calls that a panic could spoil.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

fn refused(error: &unpdf::Error) -> ExtractError {
    match error.kind() {
        ErrorKind::Encrypted | ErrorKind::InvalidPassword => {
            ExtractError::new(Reason::Encrypted, "the file wants a password")
        }
        ErrorKind::UnsupportedVersion => {
            ExtractError::new(Reason::UnsupportedVersion, error.to_string())
        }
        _ => ExtractError::damaged(error.to_string()),
    }
}
