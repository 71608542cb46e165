//! The document object: its schema, its judgement, its preimage (hash contract §5, §6).

use super::children;
use super::contract::{Contract, Contracts};
use super::depth;
use super::fields::{self, Slot, Undefined};
use super::file_type::check_file_type;
use super::hash::Hash;
use super::preimage::Preimage;
use super::violation::{Code, Violation};
use crate::json::Value;
use crate::json::canonical::{self, Sink};

/// Name of the child list.
pub(super) const PAGES: &str = "pages";

/// A valid document object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentObject {
    /// Its doc_hash.
    pub hash: Hash,
    /// The page_hash of its pages in reading order, repetition kept.
    pub pages: Vec<Hash>,
}

/// Validates and hashes a document object whose pages are hashes under contracts of `declared` or
/// under `contract` itself.
///
/// # Errors
/// The first violation in the order of hash contract §6.1.
pub fn document(
    value: Value<'_>,
    contract: Contract,
    declared: Contracts,
) -> Result<DocumentObject, Violation> {
    depth::check(value, Some(PAGES))?;
    let (document, list) = Document::read(value)?;
    let mut preimage = Preimage::new(contract);
    document.write_start(&mut preimage)?;
    let pages = children::write_wire_list(list, PAGES, contract, declared, &mut preimage)?;
    document.write_end(&mut preimage);
    let hash = preimage.finish();
    Ok(DocumentObject { hash, pages })
}

/// Validates and hashes a document given as its own members, without `pages`, and the hashes of
/// its pages: how a document is computed again under another contract (hash contract §14.1).
///
/// # Errors
/// The first violation in the order of hash contract §6.1; `pages` among the members is
/// undefined.
pub fn doc_hash(
    fields: Value<'_>,
    pages: &[Hash],
    contract: Contract,
    declared: Contracts,
) -> Result<Hash, Violation> {
    depth::check(fields, Some(PAGES))?;
    let document = Document::read_without_pages(fields)?;
    let mut preimage = Preimage::new(contract);
    document.write_start(&mut preimage)?;
    children::check_list(pages, PAGES, contract, declared)?;
    children::write_list(pages, &mut preimage);
    document.write_end(&mut preimage);
    Ok(preimage.finish())
}

/// A document whose own members have been judged, except for the numbers in its metadata and for
/// its child list.
pub(super) struct Document<'t> {
    file_type: Value<'t>,
    title: Slot<'t>,
    doc_metadata: Slot<'t>,
}

impl<'t> Document<'t> {
    /// Steps 1 to 4 up to the numbers; also returns the child list.
    pub(super) fn read(value: Value<'t>) -> Result<(Self, Value<'t>), Violation> {
        let members = Members::of(value)?;
        let pages = fields::mandatory(members.pages, PAGES)?;
        Ok((Self::judge(members)?, pages))
    }

    /// Reads a document that must not have pages: they come from elsewhere.
    pub(super) fn read_without_pages(value: Value<'t>) -> Result<Self, Violation> {
        let mut members = Members::of(value)?;
        if members.pages.is_some() {
            members.undefined.add_child_list(PAGES);
        }
        Self::judge(members)
    }

    fn judge(members: Members<'t>) -> Result<Self, Violation> {
        let file_type = fields::mandatory(members.file_type, "file_type")?;
        members.undefined.refuse("this document")?;
        let name = file_type
            .as_str()
            .ok_or_else(|| fields::wrong_type("file_type", "a string"))?;
        check_file_type(&name).map_err(|error| {
            Violation::new(Code::Validation, "/file_type".to_owned(), error.to_string())
        })?;
        let title = fields::optional_string(members.title, "title")?;
        let doc_metadata = fields::optional_object(members.doc_metadata, "doc_metadata")?;
        Ok(Self {
            file_type,
            title,
            doc_metadata,
        })
    }

    /// Writes what precedes the child list and judges the numbers.
    pub(super) fn write_start(&self, sink: &mut (impl Sink + ?Sized)) -> Result<(), Violation> {
        sink.put(b"{\"doc_metadata\":");
        fields::write_metadata(self.doc_metadata, "doc_metadata", sink)?;
        sink.put(b",\"file_type\":");
        canonical::write_string_value(self.file_type, sink);
        sink.put(b",\"pages\":");
        Ok(())
    }

    /// Writes what follows the child list.
    pub(super) fn write_end(&self, sink: &mut (impl Sink + ?Sized)) {
        fields::write_string(",\"title\":", self.title, sink);
        sink.put(b"}");
    }
}

/// The members by name, unjudged.
#[derive(Default)]
struct Members<'t> {
    file_type: Slot<'t>,
    title: Slot<'t>,
    doc_metadata: Slot<'t>,
    pages: Slot<'t>,
    undefined: Undefined<'t>,
}

impl<'t> Members<'t> {
    fn of(value: Value<'t>) -> Result<Self, Violation> {
        let members = value
            .members()
            .ok_or_else(|| Violation::here("a document is an object"))?;
        let mut all = Self::default();
        for (name, value) in members {
            match &*name {
                "file_type" => all.file_type = Some(value),
                "title" => all.title = Some(value),
                "doc_metadata" => all.doc_metadata = Some(value),
                PAGES => all.pages = Some(value),
                _ => all.undefined.add(name),
            }
        }
        Ok(all)
    }
}
