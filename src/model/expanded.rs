//! A document with its pages and elements inline: all hashes at once (hash contract §6.4).
//!
//! The judgement goes document, all pages, all elements; the hashes are needed from the inside
//! out. So the walk hashes page by page and trusts that all is well. Only when it meets a
//! violation does it look whether a page further on has one that comes first.

use super::children::ListWriter;
use super::contract::Contract;
use super::depth;
use super::document::{Document, PAGES};
use super::element::{self, BlobForm, Element};
use super::fields;
use super::hash::Hash;
use super::page::{ELEMENTS, PAGE_START, Page, inline_elements};
use super::preimage::Preimage;
use super::violation::Violation;
use crate::json::canonical::{Nowhere, Sink};
use crate::json::{Items, Value};

/// The hashes of an expanded document, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedHashes {
    /// The doc_hash.
    pub doc_hash: Hash,
    /// The hashes of its pages in order.
    pub pages: Vec<PageHashes>,
}

/// The hashes of an expanded page, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageHashes {
    /// The page_hash.
    pub page_hash: Hash,
    /// The content_hash of its elements in order.
    pub elements: Vec<Hash>,
}

/// Validates and hashes a document that has its pages and elements inline.
///
/// # Errors
/// The first violation in the order of hash contract §6.4, with pointers from the document.
pub fn expanded(value: Value<'_>, contract: Contract) -> Result<ExpandedHashes, Violation> {
    depth::check(value, Some(PAGES))?;
    let (document, list) = Document::read(value)?;
    let mut preimage = Preimage::new(contract);
    document.write_start(&mut preimage)?;
    let items = list
        .items()
        .ok_or_else(|| fields::wrong_type(PAGES, "an array"))?;
    let pages = page_hashes(items.clone(), contract)
        .map_err(|violation| first_page_violation(items, 0).unwrap_or(violation))?;
    let mut writer = ListWriter::new();
    for page in &pages {
        writer.put(page.page_hash, &mut preimage);
    }
    writer.end(&mut preimage);
    document.write_end(&mut preimage);
    let doc_hash = preimage.finish();
    Ok(ExpandedHashes { doc_hash, pages })
}

fn page_hashes(items: Items<'_>, contract: Contract) -> Result<Vec<PageHashes>, Violation> {
    let mut page_preimage = Preimage::new(contract);
    let mut element_preimage = Preimage::new(contract);
    let mut pages = Vec::new();
    for (position, item) in items.enumerate() {
        depth::check(item, Some(ELEMENTS))?;
        let under_page = |violation: Violation| violation.under(&page_pointer(position));
        let (page, list) = Page::read(item).map_err(under_page)?;
        let inline = inline_elements(list).map_err(under_page)?;
        let mut elements = Vec::new();
        let mut writer = ListWriter::new();
        page_preimage.put(PAGE_START);
        for item in inline {
            depth::check(item, None)?;
            let element = element::hash(item, &mut element_preimage)
                .map_err(|violation| violation.under(&element_pointer(position, elements.len())))?;
            writer.put(element.hash, &mut page_preimage);
            elements.push(element.hash);
        }
        writer.end(&mut page_preimage);
        page.write_rest(&mut page_preimage).map_err(under_page)?;
        let page_hash = page_preimage.finish();
        pages.push(PageHashes {
            page_hash,
            elements,
        });
    }
    Ok(pages)
}

/// Judges pages and their elements, in that order (hash contract §6.4, steps 2 and 3); `first` is
/// the position of the first item in its document.
pub(super) fn check_pages(items: Items<'_>, first: usize, form: BlobForm) -> Result<(), Violation> {
    if let Some(violation) = first_page_violation(items.clone(), first) {
        return Err(violation);
    }
    let mut pages = items.enumerate();
    pages.try_for_each(|(index, page)| check_elements(page, first + index, form))
}

/// Returns the first violation of pages regardless of their elements (hash contract §6.4, step 2).
pub(super) fn first_page_violation(items: Items<'_>, first: usize) -> Option<Violation> {
    let mut pages = items.enumerate();
    pages.find_map(|(index, page)| check_page(page, first + index).err())
}

fn check_page(item: Value<'_>, position: usize) -> Result<(), Violation> {
    depth::check(item, Some(ELEMENTS))?;
    Page::check_expanded(item).map_err(|violation| violation.under(&page_pointer(position)))
}

fn check_elements(page: Value<'_>, position: usize, form: BlobForm) -> Result<(), Violation> {
    let (_, list) = Page::read(page)?;
    for (index, item) in inline_elements(list)?.enumerate() {
        depth::check(item, None)?;
        Element::read(item, form)
            .and_then(|element| element.write(None, &mut Nowhere))
            .map_err(|violation| violation.under(&element_pointer(position, index)))?;
    }
    Ok(())
}

pub(super) fn page_pointer(page: usize) -> String {
    format!("/{PAGES}/{page}")
}

pub(super) fn element_pointer(page: usize, element: usize) -> String {
    format!("/{PAGES}/{page}/{ELEMENTS}/{element}")
}
