//! An expanded document from its text, without ever holding all of it in parsed form.
//!
//! Each element is judged and hashed the moment its text ends, then each page, and is forgotten.
//! That is only right for a valid document: what is wrong first can be known at the end alone. So
//! at the first sign of a violation this way is given up and the document goes the usual one.

use super::children::{self, ListWriter};
use super::contract::Contract;
use super::depth::MAX_NESTING_DEPTH;
use super::document::Document;
use super::element;
use super::expanded::{ExpandedHashes, PageHashes, expanded};
use super::hash::Hash;
use super::page::{PAGE_START, Page, inline_elements};
use super::preimage::Preimage;
use super::violation::Violation;
use crate::json::canonical::Sink;
use crate::json::{Kind, Nesting, Text, Value};

/// What is around a page of an expanded document.
const AROUND_PAGE: [Kind; 2] = [Kind::Object, Kind::Array];
/// What is around an element of an expanded document.
const AROUND_ELEMENT: [Kind; 4] = [Kind::Object, Kind::Array, Kind::Object, Kind::Array];

/// Parses, validates and hashes the text of a document that has its pages and elements inline.
/// For a valid document this needs little more memory than the text and the hashes.
///
/// # Errors
/// A violation at `""` if the text is not strict I-JSON (hash contract §8), else like
/// [`expanded`].
pub fn expanded_text(text: &[u8], contract: Contract) -> Result<ExpandedHashes, Violation> {
    let mut folded = Folded::new(contract);
    let outline = Text::parse_folding(text, |around, value| folded.take(around, value))?;
    match folded.into_hashes(outline.root()) {
        Some(hashes) => Ok(hashes),
        None => expanded(Text::parse(text)?.root(), contract),
    }
}

/// What is known of a document that is still being parsed.
struct Folded {
    contract: Contract,
    pages: Vec<PageHashes>,
    /// Elements since the last page ended.
    elements: Vec<Hash>,
    element_preimage: Preimage,
    page_preimage: Preimage,
    /// From then on nothing counts; a preimage may have been left half written.
    has_violation: bool,
}

impl Folded {
    fn new(contract: Contract) -> Self {
        Self {
            contract,
            pages: Vec::new(),
            elements: Vec::new(),
            element_preimage: Preimage::new(contract),
            page_preimage: Preimage::new(contract),
            has_violation: false,
        }
    }

    /// Takes pages and elements, and says so. In a valid document nothing else is where they are:
    /// the only arrays that are members of a document or a page are its child lists.
    fn take(&mut self, around: Nesting<'_>, value: Value<'_>) -> bool {
        if around.is(&AROUND_ELEMENT) {
            self.take_element(value);
        } else if around.is(&AROUND_PAGE) {
            self.take_page(value);
        } else {
            return false;
        }
        true
    }

    fn take_element(&mut self, value: Value<'_>) {
        if self.has_violation {
            return;
        }
        match element::hash(value, &mut self.element_preimage) {
            Ok(element) => self.elements.push(element.hash),
            Err(_) => self.has_violation = true,
        }
    }

    fn take_page(&mut self, value: Value<'_>) {
        if self.has_violation {
            return;
        }
        let elements = std::mem::take(&mut self.elements);
        match self.page_hash(value, &elements) {
            Some(page_hash) => self.pages.push(PageHashes {
                page_hash,
                elements,
            }),
            None => self.has_violation = true,
        }
    }

    fn page_hash(&mut self, value: Value<'_>, elements: &[Hash]) -> Option<Hash> {
        let (page, list) = Page::read(value).ok()?;
        if inline_elements(list).ok()?.count() != elements.len() {
            return None;
        }
        self.page_preimage.put(PAGE_START);
        children::write_list(elements, &mut self.page_preimage);
        page.write_rest(&mut self.page_preimage).ok()?;
        Some(self.page_preimage.finish())
    }

    /// Returns the hashes of a valid document, else nothing.
    fn into_hashes(self, outline: Value<'_>) -> Option<ExpandedHashes> {
        if self.has_violation || outline.depth_bound() > MAX_NESTING_DEPTH {
            return None;
        }
        let (document, list) = Document::read(outline).ok()?;
        if list.items()?.count() != self.pages.len() {
            return None;
        }
        let mut preimage = Preimage::new(self.contract);
        document.write_start(&mut preimage).ok()?;
        let mut writer = ListWriter::new();
        for page in &self.pages {
            writer.put(page.page_hash, &mut preimage);
        }
        writer.end(&mut preimage);
        document.write_end(&mut preimage);
        let doc_hash = preimage.finish();
        let pages = self.pages;
        Some(ExpandedHashes { doc_hash, pages })
    }
}
