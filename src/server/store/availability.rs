//! Availability: whether everything a commit refers to is inline, staged, or part of the document's
//! current state (step 6b of http-binding §10.2, the walk of §10.3).

use std::collections::{HashMap, HashSet};

use crate::model::{BlobRef, Hash};
use crate::protocol::Missing;
use crate::server::store::commit::Commit;
use crate::server::store::current::{self, Page};
use crate::server::store::scope::Scope;
use crate::server::store::spelling::Digests;
use crate::server::store::staged;

/// What a walk found of a document whose content is all available.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Pages that are taken from the session.
    pub(super) pages: HashMap<Hash, StagedPage>,
    /// Elements of the pages that are inline or staged.
    pub(super) elements: HashMap<Hash, Source>,
}

/// A page of the session.
#[derive(Debug)]
pub(super) struct StagedPage {
    /// Its row.
    pub(super) row: i64,
    pub(super) elements: Vec<Hash>,
}

/// Where an element is. What the current state has may be inline, too.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Current(Digests),
    Inline,
    Staged { row: i64, blob: Option<BlobRef> },
    Nowhere,
}

/// The walk over one document, once per distinct page, element and blob.
pub(super) struct Walk<'c> {
    scope: Scope<'c>,
    commit: &'c Commit,
    old_pages: &'c HashMap<Hash, Page>,
    found: Found,
    blobs: HashSet<BlobRef>,
    missing: Missing,
}

impl<'c> Walk<'c> {
    pub(super) fn new(
        scope: Scope<'c>,
        commit: &'c Commit,
        old_pages: &'c HashMap<Hash, Page>,
    ) -> Self {
        Self {
            scope,
            commit,
            old_pages,
            found: Found::default(),
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
            Ok(self.found)
        } else {
            Err(self.missing)
        }
    }

    /// An inline page comes before a staged one, and that before the one of the current state,
    /// which is there with everything below it.
    fn page(&mut self, page: Hash) -> rusqlite::Result<()> {
        let commit = self.commit;
        if let Some(inline) = commit.pages.get(&page) {
            return self.elements(&inline.elements);
        }
        let staged = match self.scope.session {
            Some(session) => staged::page(self.scope.connection, session, page)?,
            None => None,
        };
        if let Some((row, elements)) = staged {
            self.elements(&elements)?;
            let staged = StagedPage { row, elements };
            self.found.pages.insert(page, staged);
        } else if !self.old_pages.contains_key(&page) {
            self.missing.pages.push(page);
        }
        Ok(())
    }

    fn elements(&mut self, elements: &[Hash]) -> rusqlite::Result<()> {
        for &element in elements {
            if !self.found.elements.contains_key(&element) {
                let source = self.element(element)?;
                self.found.elements.insert(element, source);
            }
        }
        Ok(())
    }

    fn element(&mut self, hash: Hash) -> rusqlite::Result<Source> {
        let Scope {
            connection,
            document,
            session,
        } = self.scope;
        if let Some(document) = document
            && let Some(digests) = current::element(connection, document, hash)?
        {
            return Ok(Source::Current(digests));
        }
        if let Some(inline) = self.commit.elements.get(&hash) {
            self.blob(inline.blob)?;
            return Ok(Source::Inline);
        }
        if let Some(session) = session
            && let Some((row, blob)) = staged::element(connection, session, hash)?
        {
            self.blob(blob)?;
            return Ok(Source::Staged { row, blob });
        }
        self.missing.content_hashes.push(hash);
        Ok(Source::Nowhere)
    }

    fn blob(&mut self, blob: Option<BlobRef>) -> rusqlite::Result<()> {
        if let Some(blob) = blob
            && self.blobs.insert(blob)
            && !self.scope.has_blob(blob)?
        {
            self.missing.blobs.push(blob);
        }
        Ok(())
    }
}
