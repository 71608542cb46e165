//! Where the objects of a document stand in its tree, by what replies call them.

use std::collections::{HashMap, HashSet};

use crate::model::{BlobRef, Hash, Object, Tree};
use crate::protocol::{OperationError, ReplyError};

/// Finds objects by hash.
#[derive(Debug)]
pub(super) struct Places {
    pages: HashMap<Hash, usize>,
    elements: HashMap<Hash, usize>,
    blobs: HashSet<BlobRef>,
}

impl Places {
    pub(super) fn of(tree: &Tree) -> Self {
        let places = |objects: &[Object]| {
            let places = objects.iter().enumerate();
            places.map(|(place, object)| (object.hash, place)).collect()
        };
        Self {
            pages: places(&tree.pages),
            elements: places(&tree.elements),
            blobs: tree.blobs.iter().copied().collect(),
        }
    }

    /// Returns where a page stands.
    pub(super) fn page(&self, hash: &Hash) -> Option<usize> {
        self.pages.get(hash).copied()
    }

    /// Returns where an element stands.
    pub(super) fn element(&self, hash: &Hash) -> Option<usize> {
        self.elements.get(hash).copied()
    }

    /// Returns where the pages stand that a reply lists.
    ///
    /// # Errors
    ///
    /// One that is no part of the document makes it no reply to this document (http-binding §21).
    pub(super) fn listed_pages(&self, hashes: &[Hash]) -> Result<Vec<usize>, OperationError> {
        let place = |hash| self.page(hash).ok_or_else(|| foreign(hash));
        hashes.iter().map(place).collect()
    }

    /// Returns where the elements stand that a reply lists.
    ///
    /// # Errors
    ///
    /// Like [`Self::listed_pages`].
    pub(super) fn listed_elements(&self, hashes: &[Hash]) -> Result<Vec<usize>, OperationError> {
        let place = |hash| self.element(hash).ok_or_else(|| foreign(hash));
        hashes.iter().map(place).collect()
    }

    /// Makes sure that a listed blob is one of the document's.
    ///
    /// # Errors
    ///
    /// Like [`Self::listed_pages`].
    pub(super) fn listed_blob(&self, blob: BlobRef) -> Result<(), OperationError> {
        if self.blobs.contains(&blob) {
            Ok(())
        } else {
            Err(foreign(&blob))
        }
    }
}

fn foreign(name: &dyn std::fmt::Display) -> OperationError {
    let reply = ReplyError::Unexpected {
        status: 200,
        why: format!("{name} is said to be missing and is no part of the document"),
        retry_after: None,
        line: None,
    };
    reply.into()
}
