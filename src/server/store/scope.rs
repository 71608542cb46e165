//! The scope in which content counts as available: one document's current state and one session
//! (http-binding §8.3). What anybody else holds does not exist here, whatever is stored.

use std::collections::HashSet;

use rusqlite::Connection;

use crate::model::{BlobRef, Contract, FileUri, Hash};
use crate::server::store::current::{self, Document};
use crate::server::store::staged;

/// A document, if it exists, and a session, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scope<'c> {
    pub(super) connection: &'c Connection,
    pub(super) document: Option<i64>,
    pub(super) session: Option<i64>,
}

impl<'c> Scope<'c> {
    /// Returns the scope of a document and a session for it.
    pub(super) fn of(
        connection: &'c Connection,
        uri: &FileUri,
        session: i64,
    ) -> rusqlite::Result<Self> {
        let document = Document::find(connection, uri)?;
        Ok(Self {
            connection,
            document: document.map(|document| document.id),
            session: Some(session),
        })
    }

    /// Returns the pages that are missing, in order and without repetition.
    pub(super) fn missing_pages(
        &self,
        pages: &[Hash],
        contract: Contract,
    ) -> rusqlite::Result<Vec<Hash>> {
        let current = match self.document {
            Some(document) => current::pages(self.connection, document, contract)?,
            None => Default::default(),
        };
        self.missing(pages, |scope, page| {
            if current.contains_key(&page) {
                return Ok(true);
            }
            scope.session.map_or(Ok(false), |session| {
                let staged = staged::complete_page(scope.connection, session, page)?;
                Ok(staged.is_some())
            })
        })
    }

    /// Returns the elements that are missing, in order and without repetition.
    pub(super) fn missing_elements(&self, elements: &[Hash]) -> rusqlite::Result<Vec<Hash>> {
        self.missing(elements, |scope, element| {
            if let Some(document) = scope.document
                && current::element(scope.connection, document, element)?.is_some()
            {
                return Ok(true);
            }
            scope.session.map_or(Ok(false), |session| {
                Ok(staged::element(scope.connection, session, element)?.is_some())
            })
        })
    }

    /// Whether the bytes of a blob are there.
    pub(super) fn has_blob(&self, blob: BlobRef) -> rusqlite::Result<bool> {
        if let Some(document) = self.document
            && current::has_blob(self.connection, document, blob.digest())?
        {
            return Ok(true);
        }
        self.session.map_or(Ok(false), |session| {
            Ok(staged::complete_blob(self.connection, session, blob)?.is_some())
        })
    }

    fn missing(
        &self,
        hashes: &[Hash],
        has: impl Fn(&Self, Hash) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<Vec<Hash>> {
        let mut seen = HashSet::with_capacity(hashes.len());
        let mut missing = Vec::new();
        for &hash in hashes {
            if seen.insert(hash) && !has(self, hash)? {
                missing.push(hash);
            }
        }
        Ok(missing)
    }
}
