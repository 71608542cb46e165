//! The page object: its schema, its judgement, its preimage (hash contract §5, §6).

use super::children;
use super::contract::{Contract, Contracts};
use super::depth;
use super::fields::{self, Slot, Undefined};
use super::hash::Hash;
use super::preimage::Preimage;
use super::violation::Violation;
use crate::json::canonical::{Nowhere, Sink};
use crate::json::{Items, Value};

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
    let (page, list) = Page::read(value)?;
    let mut preimage = Preimage::new(contract);
    preimage.put(PAGE_START);
    // The list comes first in the preimage and last in the judgement.
    let elements = children::write_wire_list(list, ELEMENTS, contract, declared, &mut preimage);
    page.write_rest(&mut preimage)?;
    let elements = elements?;
    let hash = preimage.finish();
    Ok(PageObject { hash, elements })
}

/// Validates and hashes a page given as its own members, without `elements`, and the hashes of
/// its elements: how a page is computed again under another contract (hash contract §14.1).
///
/// # Errors
/// The first violation in the order of hash contract §6.1; `elements` among the members is
/// undefined.
pub fn page_hash(
    fields: Value<'_>,
    elements: &[Hash],
    contract: Contract,
    declared: Contracts,
) -> Result<Hash, Violation> {
    depth::check(fields, Some(ELEMENTS))?;
    let page = Page::read_without_elements(fields)?;
    let mut preimage = Preimage::new(contract);
    preimage.put(PAGE_START);
    children::write_list(elements, &mut preimage);
    page.write_rest(&mut preimage)?;
    children::check_list(elements, ELEMENTS, contract, declared)?;
    Ok(preimage.finish())
}

/// Returns the length of the canonical form of a valid page in bytes (hash contract §4).
///
/// # Errors
/// The first violation of the page's own members.
pub fn canonical_page_length(value: Value<'_>, elements: &[Hash]) -> Result<u64, Violation> {
    struct Length(u64);
    impl Sink for Length {
        fn put(&mut self, bytes: &[u8]) {
            self.0 += bytes.len() as u64;
        }
    }
    let (page, _) = Page::read(value)?;
    let mut length = Length(0);
    length.put(PAGE_START);
    children::write_list(elements, &mut length);
    page.write_rest(&mut length)?;
    Ok(length.0)
}

/// What precedes the child list in the canonical form.
pub(super) const PAGE_START: &[u8] = b"{\"elements\":";

/// A page whose own members have been judged, except for the numbers in its metadata and for its
/// child list.
pub(super) struct Page<'t> {
    title: Slot<'t>,
    page_metadata: Slot<'t>,
}

impl<'t> Page<'t> {
    /// Steps 1 to 4 up to the numbers; also returns the child list.
    pub(super) fn read(value: Value<'t>) -> Result<(Self, Value<'t>), Violation> {
        let members = Members::of(value)?;
        let list = fields::mandatory(members.elements, ELEMENTS)?;
        Ok((Self::judge(members)?, list))
    }

    fn read_without_elements(value: Value<'t>) -> Result<Self, Violation> {
        let mut members = Members::of(value)?;
        if members.elements.is_some() {
            members.undefined.add_child_list(ELEMENTS);
        }
        Self::judge(members)
    }

    fn judge(members: Members<'t>) -> Result<Self, Violation> {
        members.undefined.refuse("this page")?;
        let title = fields::optional_string(members.title, "title")?;
        let page_metadata = fields::optional_object(members.page_metadata, "page_metadata")?;
        Ok(Self {
            title,
            page_metadata,
        })
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
        let (page, list) = Self::read(value)?;
        page.write_rest(&mut Nowhere)?;
        inline_elements(list).map(drop)
    }
}

/// Returns the elements of a page that has them inline.
pub(super) fn inline_elements(list: Value<'_>) -> Result<Items<'_>, Violation> {
    let items = list.items();
    items.ok_or_else(|| fields::wrong_type(ELEMENTS, "an array"))
}

/// The members by name, unjudged.
#[derive(Default)]
struct Members<'t> {
    title: Slot<'t>,
    page_metadata: Slot<'t>,
    elements: Slot<'t>,
    undefined: Undefined<'t>,
}

impl<'t> Members<'t> {
    fn of(value: Value<'t>) -> Result<Self, Violation> {
        let members = value
            .members()
            .ok_or_else(|| Violation::here("a page is an object"))?;
        let mut all = Self::default();
        for (name, value) in members {
            match &*name {
                "title" => all.title = Some(value),
                "page_metadata" => all.page_metadata = Some(value),
                ELEMENTS => all.elements = Some(value),
                _ => all.undefined.add(name),
            }
        }
        Ok(all)
    }
}
