//! The blobs whose bytes a runner may ask for (connector contract §14.2).
//!
//! A blob is named by its hash, so that it cannot change between two reads.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams};
use dpe_connector::{ErrorCode, RpcError};
use gix::ObjectId;

use crate::repository::Repository;

/// Most bytes of one answer, whatever is asked for.
const CHUNK_BYTES: u64 = 1 << 20;

/// The handles of one round.
pub(crate) struct Handles {
    /// Sets the handles of this round apart from those of the rounds before.
    round: u64,
    blobs: Mutex<HashMap<String, (Arc<Repository>, ObjectId)>>,
    /// The blob that was read last, since blobs are read in many pieces and git has them only as
    /// a whole.
    last: Mutex<Option<(ObjectId, Arc<Vec<u8>>)>>,
}

impl Handles {
    /// Returns an empty table for a round with this number.
    pub(crate) fn of_round(round: u64) -> Self {
        Self {
            round,
            blobs: Mutex::default(),
            last: Mutex::default(),
        }
    }

    /// Returns the number of the round.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// Returns a handle for the bytes of a blob.
    pub(crate) fn give(&self, repository: &Arc<Repository>, blob: ObjectId) -> String {
        let handle = format!("{}.{blob}", self.round);
        let held = (Arc::clone(repository), blob);
        lock(&self.blobs).insert(handle.clone(), held);
        handle
    }

    /// Reads bytes behind a handle.
    ///
    /// # Errors
    ///
    /// `unknown_handle`; `source_failed` if the blob cannot be read any more.
    pub(crate) fn read(&self, wanted: &ReadBlobParams) -> Result<BlobChunk, RpcError> {
        let held = lock(&self.blobs).get(&wanted.handle).cloned();
        let (repository, blob) =
            held.ok_or_else(|| RpcError::new(ErrorCode::UnknownHandle, "no such handle"))?;
        let bytes = self.bytes(&repository, blob)?;
        let length = wanted.max_bytes.min(CHUNK_BYTES);
        let start = usize::try_from(wanted.offset).map_or(bytes.len(), |at| at.min(bytes.len()));
        let rest = &bytes[start..];
        let taken = usize::try_from(length).map_or(rest.len(), |length| length.min(rest.len()));
        let is_end = taken == rest.len();
        let chunk = BlobChunk::new(&rest[..taken], is_end);
        if is_end {
            *lock(&self.last) = None;
        }
        Ok(chunk)
    }

    fn bytes(&self, repository: &Repository, blob: ObjectId) -> Result<Arc<Vec<u8>>, RpcError> {
        let mut last = lock(&self.last);
        if let Some((id, bytes)) = &*last
            && *id == blob
        {
            return Ok(Arc::clone(bytes));
        }
        // Two large ones need not be in memory at a time.
        *last = None;
        let bytes = repository.blob(blob).map_err(|why| {
            let why = format!("blob {blob}: {why}");
            RpcError::new(ErrorCode::SourceFailed, why).retryable()
        })?;
        let bytes = Arc::new(bytes);
        *last = Some((blob, Arc::clone(&bytes)));
        Ok(bytes)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
