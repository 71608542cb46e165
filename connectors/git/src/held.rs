//! A blob whose bytes a runner may ask for (connector contract §14.2).
//!
//! It is named by its hash, so that it cannot change between two reads.

use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams};
use dpe_connector::{ErrorCode, RpcError};
use dpe_connector_files::CHUNK_BYTES;
use gix::ObjectId;

use crate::repository::Repository;

/// A blob, and where it is.
#[derive(Clone)]
pub(crate) struct Held {
    /// The objects.
    pub(crate) repository: Arc<Repository>,
    /// Which of them.
    pub(crate) blob: ObjectId,
}

/// The blob that was read last, since blobs are read in many pieces and git has them only as a
/// whole.
#[derive(Debug, Default)]
pub(crate) struct LastRead(Option<(ObjectId, Vec<u8>)>);

impl LastRead {
    /// Reads bytes of a blob.
    ///
    /// # Errors
    ///
    /// `source_failed` if it cannot be read any more.
    pub(crate) fn read(
        &mut self,
        held: &Held,
        wanted: &ReadBlobParams,
    ) -> Result<BlobChunk, RpcError> {
        let bytes = self.bytes(held)?;
        let length = wanted.max_bytes.min(CHUNK_BYTES);
        let start = usize::try_from(wanted.offset).map_or(bytes.len(), |at| at.min(bytes.len()));
        let rest = &bytes[start..];
        let taken = usize::try_from(length).map_or(rest.len(), |length| length.min(rest.len()));
        let is_end = taken == rest.len();
        let chunk = BlobChunk::new(&rest[..taken], is_end);
        if is_end {
            self.0 = None;
        }
        Ok(chunk)
    }

    fn bytes(&mut self, held: &Held) -> Result<&[u8], RpcError> {
        // Two large ones need not be in memory at a time.
        let last = self.0.take().filter(|(id, _)| *id == held.blob);
        let last = match last {
            Some(last) => last,
            None => {
                let bytes = held.repository.blob(held.blob).map_err(|unread| {
                    let why = format!("blob {}: {}", held.blob, unread.why);
                    RpcError::new(ErrorCode::SourceFailed, why).retryable()
                })?;
                (held.blob, bytes)
            }
        };
        Ok(&self.0.insert(last).1)
    }
}
