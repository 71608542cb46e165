//! The page object: its schema, its judgement, its preimage (hash contract §5, §6).

use super::children;
use super::contract::{Contract, Contracts};
use super::depth;
use super::fields::{self, Slot, Undefined};
use super::hash::Hash;
use super::preimage::Preimage;
use super::violation::Violation;
use crate::json::Value;
use crate::json::canonical::{Nowhere, Sink};

/// Name of the child list.
pub(super) const ELEMENTS: &str = "elements";

/// A valid page object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageObject {
    /// Its page_hash.
    pub hash: Hash,
    /// The content_hash of its elements in reading order, repetition kept.
    pub elements: Vec<Hash>,
}

/// Validates and hashes a page object whose elements are hashes under contracts of `declared` or
/// under `contract` itself.
///
/// # Errors
/// The first violation in the order of hash contract §6.1.
pub fn page(
    value: Value<'_>,
    contract: Contract,
    declared: Contracts,
) -> Result<PageObject, Violation> {
    depth::check(value, Some(ELEMENTS))?;
    let page = Page::read(value)?;
    let mut preimage = Preimage::new(contract);
    preimage.put(PAGE_START);
    // The list comes first in the preimage and last in the judgement.
    let elements =
        children::write_wire_list(page.elements, ELEMENTS, contract, declared, &mut preimage);
    page.write_rest(&mut preimage)?;
    let elements = elements?;
    let hash = preimage.finish();
    Ok(PageObject { hash, elements })
}

/// What precedes the child list in the canonical form.
pub(super) const PAGE_START: &[u8] = b"{\"elements\":";

/// A page whose own members have been judged, except for the numbers in its metadata and for its
/// child list.
pub(super) struct Page<'t> {
    title: Slot<'t>,
    page_metadata: Slot<'t>,
    pub(super) elements: Value<'t>,
}

impl<'t> Page<'t> {
    /// Steps 1 to 4 up to the numbers.
    pub(super) fn read(value: Value<'t>) -> Result<Self, Violation> {
        let members = value
            .members()
            .ok_or_else(|| Violation::here("a page is an object"))?;
        let (mut title, mut page_metadata, mut elements) = (None, None, None);
        let mut undefined = Undefined::default();
        for (name, value) in members {
            match &*name {
                "title" => title = Some(value),
                "page_metadata" => page_metadata = Some(value),
                ELEMENTS => elements = Some(value),
                _ => undefined.add(name),
            }
        }
        let elements = fields::mandatory(elements, ELEMENTS)?;
        undefined.refuse("a page")?;
        let title = fields::optional_string(title, "title")?;
        let page_metadata = fields::optional_object(page_metadata, "page_metadata")?;
        Ok(Self {
            title,
            page_metadata,
            elements,
        })
    }

    /// Returns the elements of a page that has them inline.
    pub(super) fn inline_elements(&self) -> Result<crate::json::Items<'t>, Violation> {
        let items = self.elements.items();
        items.ok_or_else(|| fields::wrong_type(ELEMENTS, "an array"))
    }

    /// Writes what follows the child list.
    pub(super) fn write_rest(&self, sink: &mut (impl Sink + ?Sized)) -> Result<(), Violation> {
        sink.put(b",\"page_metadata\":");
        fields::write_metadata(self.page_metadata, "page_metadata", sink)?;
        fields::write_string(",\"title\":", self.title, sink);
        sink.put(b"}");
        Ok(())
    }

    /// Judges everything of an expanded page but its elements (hash contract §6.4, step 2, after
    /// the depth).
    pub(super) fn check_expanded(value: Value<'t>) -> Result<(), Violation> {
        let page = Self::read(value)?;
        page.write_rest(&mut Nowhere)?;
        page.inline_elements().map(drop)
    }
}
