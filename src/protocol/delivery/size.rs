//! Sizes of bodies, measured before they are built and before compression (http-binding §13.2).

use std::borrow::Cow;

use crate::model::{Hash, Object, Tree};
use crate::protocol::OperationError;
use crate::protocol::delivery::Job;
use crate::protocol::delivery::path::Path;
use crate::protocol::operation_error::Oversize;
use crate::protocol::wire::capabilities::Limits;
use crate::protocol::wire::{commit, negotiate};

/// What `,"pages":[]` adds to an envelope.
const PAGES: u64 = 11;
/// What `,"objects":[]` adds to an envelope.
const OBJECTS: u64 = 13;

/// Returns the length of a negotiate body without pages.
pub(super) fn negotiate_envelope(job: &Job<'_>) -> u64 {
    let envelope = negotiate::Request {
        file_uri: job.uri,
        document: "",
        pages: &[],
    };
    (envelope.body().len() + job.tree.document.len()) as u64
}

/// Returns the length of a commit body without inline objects.
pub(super) fn commit_envelope(job: &Job<'_>, session: Option<&str>) -> u64 {
    let envelope = commit::Request {
        uri: job.uri,
        precondition: job.precondition,
        document: "",
        pages: &[],
        objects: &[],
        staging_session: session,
    };
    (envelope.body().len() + job.tree.document.len()) as u64
}

/// Returns the length of a commit body without inline objects that names a session.
pub(super) fn commit_envelope_in_session(job: &Job<'_>) -> u64 {
    // The id of the session is not known yet; ids are rarely longer.
    const LONG_ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    commit_envelope(job, Some(LONG_ID))
}

/// Adds up the objects of the two lists of a body.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lists {
    pages: (u64, u64),
    objects: (u64, u64),
}

impl Lists {
    pub(super) fn add_page(&mut self, length: usize) {
        self.pages = (self.pages.0 + 1, self.pages.1 + length as u64);
    }

    pub(super) fn add_object(&mut self, length: usize) {
        self.objects = (self.objects.0 + 1, self.objects.1 + length as u64);
    }

    /// Returns the bytes they add to an envelope.
    pub(super) fn length(&self) -> u64 {
        let list = |(count, bytes): (u64, u64), frame| {
            // One comma fewer than objects.
            if count == 0 {
                0
            } else {
                frame + bytes + count - 1
            }
        };
        list(self.pages, PAGES) + list(self.objects, OBJECTS)
    }
}

/// Returns what all pages and elements of a tree add to an envelope.
pub(super) fn everything(tree: &Tree) -> u64 {
    let mut lists = Lists::default();
    for page in &tree.pages {
        lists.add_page(page.text.len());
    }
    for element in &tree.elements {
        lists.add_object(element.text.len());
    }
    lists.length()
}

/// Returns the text of an element as it is uploaded: without an empty metadata member, which says
/// nothing, where it fits by that alone.
pub(super) fn element_text<'a>(element: &'a Object, limits: &Limits) -> Cow<'a, str> {
    if element.text.len() as u64 > limits.max_payload_bytes
        && let Some((before, behind)) = element.around_empty_metadata()
    {
        return Cow::Owned([before, behind].concat());
    }
    Cow::Borrowed(&element.text)
}

/// Refuses objects that the remote cannot take on the path of the document.
///
/// # Errors
///
/// [`OperationError::TooLarge`], naming the first such object.
pub(super) fn check(job: &Job<'_>, path: Path, limits: &Limits) -> Result<(), OperationError> {
    let smallest = match path {
        Path::Fast => commit_envelope(job, None),
        Path::Straight | Path::Difference => {
            commit_envelope_in_session(job).max(negotiate_envelope(job))
        }
    };
    let limit = limits.max_payload_bytes;
    let too_large = if smallest > limit {
        let doc_hash = job.tree.doc_hash;
        Some((Oversize::Document { doc_hash }, smallest, limit))
    } else {
        first_oversize(job, limits)
    };
    match too_large {
        None => Ok(()),
        Some((object, size, limit)) => Err(OperationError::TooLarge {
            object,
            size,
            limit,
        }),
    }
}

/// Returns the first page, element or blob above its limit, with its size and the limit.
fn first_oversize(job: &Job<'_>, limits: &Limits) -> Option<(Oversize, u64, u64)> {
    let tree = job.tree;
    for page in &tree.pages {
        let size = page.text.len() as u64;
        if size > limits.page_max_bytes {
            let position = tree.page_list.iter().position(|hash| *hash == page.hash);
            let page = Oversize::Page {
                page_hash: page.hash,
                position: position.unwrap_or_default(),
            };
            return Some((page, size, limits.page_max_bytes));
        }
    }
    for element in &tree.elements {
        let size = element_text(element, limits).len() as u64;
        if size > limits.max_payload_bytes {
            let element = Oversize::Element {
                content_hash: element.hash,
                page: page_of(tree, element.hash),
            };
            return Some((element, size, limits.max_payload_bytes));
        }
    }
    let length = |blob| job.blobs.get(blob).copied().unwrap_or_default();
    let blob = tree
        .blobs
        .iter()
        .find(|blob| length(blob) > limits.blob_max_bytes)?;
    Some((
        Oversize::Blob { blob: *blob },
        length(blob),
        limits.blob_max_bytes,
    ))
}

/// Returns the first page that refers to an element. Its text names no other hash.
fn page_of(tree: &Tree, content_hash: Hash) -> Option<usize> {
    let name = content_hash.to_string();
    let page = tree.pages.iter().find(|page| page.text.contains(&name))?;
    tree.page_list.iter().position(|hash| *hash == page.hash)
}
