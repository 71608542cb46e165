//! PDF: one page for each of the file's, its text in reading order.
//!
//! What stands where on a page, and which lines belong together, is for the parser (`unpdf`) to find
//! out; this module says what becomes of it. Text that the file only paints as pictures stays a picture:
//! nothing is recognised.

mod accents;
mod bilevel;
mod blocks;
mod content;
mod divided;
mod drawn;
mod encryption;
mod facts;
mod fields;
mod furniture;
mod headings;
mod images;
mod leaders;
mod levels;
mod lines;
mod marks;
mod nesting;
mod numbers;
mod outline;
mod painted;
mod reference_table;
mod said;
mod samples;
mod starts;
mod structure;
mod stuck;
mod tables;
mod tagged;
mod text_string;
mod weight;
mod winding;
mod words;
mod writer;
mod written;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

use dpe_connector::content::{Element, Metadata, Page};
use unpdf::parser::backend::{RawBackend, ResourceScope};
use unpdf::parser::raw::RawDocument;
use unpdf::{ErrorKind, PageSelection, PageStreamOptions, ParseEvent, PdfParser};

use self::images::Pictures;
use self::marks::Marks;
use self::outline::Entry;
use self::structure::Structure;
use self::weight::Weights;
use crate::flow::Flow;
use crate::format::Format;
use crate::formats::head;
use crate::made::Made;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, pages};

/// How far into a file its header is looked for, as other programs do.
const HEADER_BYTES: usize = 1024;

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
    let bytes = from_header(bytes);
    let checked = guarded(|| starts::checked(bytes)).ok_or_else(failed)??;
    let bytes = &*checked;
    let file = opened(|| RawDocument::load(bytes))?;
    weight::check_streams(bytes, &file, reading)?;
    let ids: Vec<Id> = file.pages().into_values().collect();
    if ids.is_empty() {
        return Err(ExtractError::damaged("no page of it can be found"));
    }
    if !reference_table::is_in_place(bytes) {
        reading.note(
            "the table of its objects is missing or broken: only what was found without it is read",
        );
    }
    let most = reading.limits().pages;
    if ids.len() > most {
        let message = format!("{} pages, more than {most}", ids.len());
        return Err(ExtractError::new(Reason::TooLarge, message));
    }
    let heavy = heavy(&file, &ids);
    if !heavy.is_empty() {
        let count = heavy.len();
        reading.note(format!(
            "pages too large to be laid out, read as they are painted: {count}"
        ));
    }
    let straight = winding::straight(bytes, &file)?;
    let texts = texts(&straight, &ids, &heavy, reading)?;
    let mut head = head(format);
    facts::declare(&file, &mut head, reading);
    let mut sheets = Sheets {
        bytes,
        file: &file,
        heavy,
        pictures: Pictures::new(&file),
        structure: guarded(|| structure::read(&file, bytes, &ids)).flatten(),
        headings: Vec::new(),
        backend: None,
    };
    let pages = pages(&ids, texts, &mut sheets, reading)?;
    Ok(Document { head, pages })
}

/// Leaves out what stands before the header, which mail and web programs put there; places in the file are counted
/// from the header then.
fn from_header(bytes: &[u8]) -> &[u8] {
    let head = &bytes[..bytes.len().min(HEADER_BYTES)];
    let at = memchr::memmem::find(head, b"%PDF-");
    &bytes[at.unwrap_or_default()..]
}

/// The number and generation of an object.
type Id = (u32, u16);

/// Opens the file as one of the parsers has it.
fn opened<T>(open: impl FnOnce() -> unpdf::Result<T>) -> Result<T, ExtractError> {
    let opened = guarded(open).ok_or_else(failed)?;
    opened.map_err(|error| refused(&error))
}

fn failed() -> ExtractError {
    ExtractError::new(Reason::ParserFailed, "the parser of PDF failed")
}

/// Returns the pages that would not fit into memory once laid out.
fn heavy(file: &RawDocument, ids: &[Id]) -> HashSet<Id> {
    let mut weights = Weights::new(file);
    let is_heavy = |id: &&Id| {
        let dict = file.get_dict(**id).ok();
        dict.is_some_and(|dict| weights.of_page(dict) > weight::HEAVY)
    };
    ids.iter().filter(is_heavy).copied().collect()
}

/// Puts texts, pictures and labels of pages together.
fn pages(
    ids: &[Id],
    mut texts: Vec<Vec<Element>>,
    sheets: &mut Sheets<'_>,
    reading: &mut Reading<'_>,
) -> Result<Vec<Page>, ExtractError> {
    for (page, elements) in texts.iter_mut().enumerate() {
        match guarded(|| sheets.complete(page, ids[page], elements, reading)) {
            Some(completed) => completed?,
            None => reading.note("the pictures of a page could not be read"),
        }
    }
    divided::join(&mut texts);
    let mut labels = facts::labels(sheets.file, ids.len());
    numbers::take(&mut texts, &mut labels);
    furniture::mark(&mut texts, &labels);
    levels::settle(&mut texts);
    headings::declare(&mut texts, &sheets.headings);
    headings::declare(&mut texts, &outline::entries(sheets.file, ids));
    let mut pages = Vec::new();
    for (mut elements, label) in texts.into_iter().zip(labels) {
        reading.page()?;
        levels::forget_declared(&mut elements);
        accents::drop_stray(&mut elements);
        leaders::shorten(&mut elements);
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
    heavy: HashSet<Id>,
    pictures: Pictures<'d>,
    structure: Option<Structure>,
    /// Headings that the structure declares on pages whose layout decides.
    headings: Vec<Entry>,
    /// What decodes texts; few files ask for it.
    backend: Option<Box<RawBackend>>,
}

impl Sheets<'_> {
    /// Adds to the text of a page what the parser of pages does not see.
    fn complete(
        &mut self,
        page: usize,
        id: Id,
        elements: &mut Vec<Element>,
        reading: &mut Reading<'_>,
    ) -> Result<(), ExtractError> {
        let file = self.file;
        let Ok(dict) = file.get_dict(id) else {
            return Ok(());
        };
        let content = images::content(file, dict);
        let is_heavy = self.heavy.contains(&id);
        let mut doubts = Doubts::default();
        if !is_heavy {
            match self.by_structure(page, id, &content, elements, reading.made()) {
                Some(declared) => *elements = declared,
                None => doubts = Doubts::of(elements, &content),
            }
        }
        let has_more = stuck::is_any(file, dict);
        if (is_heavy || doubts.is_any() || has_more)
            && let Some(backend) = self.backend()
        {
            if is_heavy || doubts.is_any() {
                let painted = painted::paragraphs(backend, ResourceScope::page(id), &content);
                match is_heavy {
                    true => *elements = blocks::paragraphs(&painted, reading.made()),
                    false => doubts.settle(elements, &painted, reading.made()),
                }
            }
            if has_more {
                elements.extend(stuck::texts(file, backend, id, reading.made()));
            }
        }
        elements.extend(self.pictures.of_page(dict, &content, reading)?);
        Ok(())
    }

    /// Returns the elements of a page as the structure of the document has them, if it can be relied on.
    fn by_structure(
        &mut self,
        page: usize,
        id: Id,
        content: &[u8],
        laid_out: &[Element],
        made: &Made,
    ) -> Option<Vec<Element>> {
        self.structure
            .as_ref()
            .filter(|structure| structure.is_on(page))?;
        let file = self.file;
        let marks = Marks::of_page(file, file.get_dict(id).ok()?);
        let shown = painted::shown(self.backend()?, ResourceScope::page(id), content, marks)?;
        let structure = self.structure.as_ref()?;
        let elements = tagged::elements(structure, page, &shown, laid_out, made);
        if elements.is_none() {
            self.headings
                .extend(tagged::headings(structure, page, &shown));
        }
        elements
    }

    fn backend(&mut self) -> Option<&RawBackend> {
        if self.backend.is_none() {
            self.backend = RawBackend::load_bytes(self.bytes).ok().map(Box::new);
        }
        self.backend.as_deref()
    }
}

/// Why the text of a page may not be what the page says.
#[derive(Default)]
struct Doubts {
    is_korean: bool,
    has_meanings: bool,
    has_bullets: bool,
}

impl Doubts {
    fn of(elements: &[Element], content: &[u8]) -> Self {
        Self {
            is_korean: written::is_korean(elements),
            has_meanings: memchr::memmem::find(content, b"ActualText").is_some(),
            has_bullets: written::has_bullets(elements),
        }
    }

    fn is_any(&self) -> bool {
        self.is_korean || self.has_meanings || self.has_bullets
    }

    /// Compares a text with what is painted.
    fn settle(&self, elements: &mut Vec<Element>, painted: &[Vec<String>], made: &Made) {
        if self.has_meanings && painted::lacks_letters(elements, painted) {
            *elements = blocks::paragraphs(painted, made);
            return;
        }
        if self.has_bullets {
            written::restore_dashes(elements, painted);
        }
        if self.is_korean {
            written::restore_spaces(elements, painted);
        }
    }
}

/// Reads the texts of all pages; one that cannot be read, or is too heavy, has none.
fn texts(
    bytes: &[u8],
    ids: &[Id],
    heavy: &HashSet<Id>,
    reading: &mut Reading<'_>,
) -> Result<Vec<Vec<Element>>, ExtractError> {
    let parser = opened(|| PdfParser::from_bytes(bytes))?;
    let mut texts: Vec<Vec<Element>> = Vec::new();
    texts.resize_with(ids.len(), Vec::new);
    let (mut next, mut failed) = (0, 0u32);
    while next < ids.len() {
        let light = ids[next..]
            .iter()
            .take_while(|id| !heavy.contains(id))
            .count();
        let end = next + light;
        if light > 0
            && !read_texts(
                &parser,
                end,
                &mut next,
                &mut texts,
                &mut failed,
                reading.made(),
            )
        {
            // The page that was being read made the parser panic.
            failed += 1;
            next += 1;
            continue;
        }
        next = end + 1;
    }
    if failed > 0 {
        reading.note(format!("pages that could not be read: {failed}"));
    }
    Ok(texts)
}

/// Reads pages from the one of index `next` up to before `end`; `next` becomes the first one that has not been read.
/// `false` if the parser panics.
fn read_texts(
    parser: &PdfParser,
    end: usize,
    next: &mut usize,
    texts: &mut [Vec<Element>],
    failed: &mut u32,
    made: &Made,
) -> bool {
    let number = |index: usize| u32::try_from(index).unwrap_or(u32::MAX);
    let mut silent = number(end - *next);
    let options = PageStreamOptions {
        parallel: false,
        suppress_low_confidence_ocr: false,
        pages: PageSelection::Range(number(*next) + 1..=number(end)),
        ..PageStreamOptions::default()
    };
    let ended = guarded(|| {
        // Where it refuses to go on, it refuses all pages that are left.
        let _ = parser.for_each_page(options, |event| {
            match event {
                ParseEvent::PageParsed(page) => {
                    silent = silent.saturating_sub(1);
                    *next = page.number as usize;
                    let mut flow = Flow::of(made);
                    blocks::add(page, &mut flow);
                    if let Some(text) = next.checked_sub(1).and_then(|at| texts.get_mut(at)) {
                        *text = flow.finish().1.into_vec();
                    }
                }
                ParseEvent::PageFailed { page, .. } => {
                    silent = silent.saturating_sub(1);
                    *failed += 1;
                    *next = page as usize;
                }
                _ => {}
            }
            ControlFlow::Continue(())
        });
    });
    if ended.is_some() {
        *failed += silent;
    }
    ended.is_some()
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
        _ if is_locked(error) => {
            ExtractError::new(Reason::Encrypted, "the file wants more than a password")
        }
        _ => ExtractError::damaged(error.to_string()),
    }
}

/// Whether the parser met an encryption that it does not know, such as one for the owners of certificates
/// (ISO 32000-1 §7.6.4). It has no kind of error for that.
fn is_locked(error: &unpdf::Error) -> bool {
    error.to_string().contains("Encrypt dictionary")
}
