//! Availability: whether everything a commit refers to is inline or part of the document's current
//! state (step 6b of http-binding §10.2, the walk of §10.3).
//!
//! What other documents hold does not count, whatever is stored.

use std::collections::{HashMap, HashSet};

use rusqlite::Connection;

use crate::model::{BlobRef, Hash};
use crate::protocol::Missing;
use crate::server::store::commit::{Commit, InlineElement};
use crate::server::store::current::{self, Document, Page};
use crate::server::store::spelling::Digests;

/// Elements that inline pages of the document refer to, each with its digests if it is part of the
/// current state.
pub(super) type Found = HashMap<Hash, Option<Digests>>;

/// The walk over one document, once per distinct page, element and blob.
pub(super) struct Walk<'c> {
    connection: &'c Connection,
    commit: &'c Commit,
    current: Option<&'c Document>,
    old_pages: &'c HashMap<Hash, Page>,
    elements: Found,
    blobs: HashSet<BlobRef>,
    missing: Missing,
}

impl<'c> Walk<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        commit: &'c Commit,
        current: Option<&'c Document>,
        old_pages: &'c HashMap<Hash, Page>,
    ) -> Self {
        Self {
            connection,
            commit,
            current,
            old_pages,
            elements: Found::new(),
            blobs: HashSet::new(),
            missing: Missing::default(),
        }
    }

    pub(super) fn document(&mut self) -> rusqlite::Result<()> {
        let mut walked = HashSet::new();
        for page in &self.commit.document.pages {
            if walked.insert(page) {
                self.page(*page)?;
            }
        }
        Ok(())
    }

    /// Returns what was found, or everything that is missing.
    pub(super) fn finish(self) -> Result<Found, Missing> {
        if self.missing.is_empty() {
            Ok(self.elements)
        } else {
            Err(self.missing)
        }
    }

    /// A page of the current state is there with everything below it.
    fn page(&mut self, page: Hash) -> rusqlite::Result<()> {
        let Some(inline) = self.commit.pages.get(&page) else {
            if !self.old_pages.contains_key(&page) {
                self.missing.pages.push(page);
            }
            return Ok(());
        };
        for &element in &inline.elements {
            if !self.elements.contains_key(&element) {
                self.element(element)?;
            }
        }
        Ok(())
    }

    fn element(&mut self, hash: Hash) -> rusqlite::Result<()> {
        let current = match self.current {
            Some(document) => current::element(self.connection, document.id, hash)?,
            None => None,
        };
        self.elements.insert(hash, current);
        if current.is_some() {
            return Ok(());
        }
        match self.commit.elements.get(&hash) {
            None => self.missing.content_hashes.push(hash),
            Some(InlineElement { blob: None, .. }) => {}
            Some(InlineElement {
                blob: Some(blob), ..
            }) => self.blob(*blob)?,
        }
        Ok(())
    }

    /// Blobs cannot be inline, so only the current state can have it.
    fn blob(&mut self, blob: BlobRef) -> rusqlite::Result<()> {
        if !self.blobs.insert(blob) {
            return Ok(());
        }
        let current = match self.current {
            Some(document) => current::has_blob(self.connection, document.id, blob.digest())?,
            None => false,
        };
        if !current {
            self.missing.blobs.push(blob);
        }
        Ok(())
    }
}
