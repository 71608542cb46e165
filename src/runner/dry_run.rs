//! A remote that is read for real and written only in the imagination.
//!
//! Its own writes are remembered, so that what a round reads after them is what it would have
//! read had they been real.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::{FileUri, Hash, Tree};
use crate::sync::blobs::Blobs;
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::{Base, Committed, Refusal, Remote, WriteError};

/// A dry run over another remote, or over one that does not exist yet and is empty.
#[derive(Debug)]
pub struct DryRun<'a, R> {
    remote: Option<&'a R>,
    imagined: Mutex<HashMap<FileUri, Option<Hash>>>,
}

impl<'a, R: Remote> DryRun<'a, R> {
    /// Returns a dry run over `remote`.
    pub fn over(remote: Option<&'a R>) -> Self {
        Self {
            remote,
            imagined: Mutex::default(),
        }
    }

    fn imagined(&self) -> MutexGuard<'_, HashMap<FileUri, Option<Hash>>> {
        self.imagined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn head(&self, uri: &FileUri) -> Result<Option<Hash>, WriteError> {
        let heads = self.heads(std::slice::from_ref(uri)).await?;
        Ok(heads.into_iter().flatten().next())
    }

    fn imagine(&self, uri: &FileUri, hash: Option<Hash>) {
        self.imagined().insert(uri.clone(), hash);
    }
}

impl<R: Remote> Remote for DryRun<'_, R> {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        let mut heads = match self.remote {
            Some(remote) => remote.heads(uris).await?,
            None => vec![None; uris.len()],
        };
        let imagined = self.imagined();
        for (uri, head) in uris.iter().zip(&mut heads) {
            if let Some(value) = imagined.get(uri) {
                *head = *value;
            }
        }
        Ok(heads)
    }

    fn heads_at_once(&self) -> usize {
        self.remote.map_or(usize::MAX, R::heads_at_once)
    }

    async fn is_empty(&self, prefix: &str) -> Result<bool, WriteError> {
        match self.remote {
            Some(remote) => remote.is_empty(prefix).await,
            None => Ok(true),
        }
    }

    async fn commit(
        &self,
        uri: &FileUri,
        base: Base,
        tree: &Tree,
        _blobs: &Blobs,
    ) -> Result<Committed, WriteError> {
        let committed = match (self.head(uri).await?, base) {
            (Some(head), _) if head == tree.doc_hash => Committed::Unchanged,
            (None, Base::Absent) => Committed::Created,
            (Some(head), Base::Hash(base)) if head == base => Committed::Updated,
            (Some(_), Base::Absent) => return Err(refused(Refusal::AlreadyExists)),
            (None, Base::Hash(_)) => return Err(refused(Refusal::NotFound)),
            (Some(_), Base::Hash(_)) => return Err(refused(Refusal::PreconditionFailed)),
        };
        self.imagine(uri, Some(tree.doc_hash));
        Ok(committed)
    }

    async fn delete(&self, uri: &FileUri, base: Hash) -> Result<(), WriteError> {
        match self.head(uri).await? {
            None => Err(refused(Refusal::NotFound)),
            Some(head) if head != base => Err(refused(Refusal::PreconditionFailed)),
            Some(_) => {
                self.imagine(uri, None);
                Ok(())
            }
        }
    }

    async fn rename(&self, from: &FileUri, to: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        match (self.head(from).await?, self.head(to).await?) {
            (None, _) => Err(refused(Refusal::NotFound)),
            (Some(source), _) if source != base => Err(refused(Refusal::PreconditionFailed)),
            (Some(_), Some(_)) => Err(refused(Refusal::AlreadyExists)),
            (Some(source), None) => {
                self.imagine(from, None);
                self.imagine(to, Some(source));
                Ok(source)
            }
        }
    }
}

fn refused(refusal: Refusal) -> WriteError {
    WriteError {
        failure: Failure::new(
            Level::Item,
            FailureSource::Remote,
            refusal.code(),
            "the remote would refuse this write",
        ),
        outcome_unknown: false,
        refusal: Some(refusal),
    }
}
