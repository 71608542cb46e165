//! The bytes behind handles: read as a runner does, then read again in other ways (connector
//! contract §14).

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use dpe_connector::read_blob::{ReadBlobParams, largest_chunk};

use crate::host::Reply;
use crate::model::{BlobHasher, BlobRef};
use crate::sync::assembly::{BlobTrouble, Fetched};
use crate::sync::byte_source::{ByteSource, Handle};
use crate::sync::ports::BlobChunk;

use super::bench::{Found, Why};
use super::session::Session;

/// So many bytes from the beginning of a blob are kept for comparing.
const KEPT_BYTES: usize = 64 << 10;

/// So many blobs are read again.
const READ_AGAIN: usize = 16;

/// All handles of a round.
#[derive(Debug, Default)]
pub(super) struct Blobs {
    read: HashMap<Handle, Result<BlobRef, BlobTrouble>>,
    /// The first few of those that could be read.
    known: Vec<Known>,
}

/// A blob that has been read.
#[derive(Debug)]
struct Known {
    handle: String,
    length: u64,
    beginning: Vec<u8>,
}

impl Blobs {
    /// Returns how many handles there were.
    pub(super) fn count(&self) -> usize {
        self.read.len()
    }

    /// Reads the bytes of a byte source, those of a handle once.
    pub(super) async fn fetch(
        &mut self,
        session: &mut Session<'_>,
        source: ByteSource,
    ) -> Found<Result<Fetched, BlobTrouble>> {
        let blob = match source {
            ByteSource::Inline(bytes) => Ok(BlobRef::of(&bytes)),
            ByteSource::Handle(handle) => match self.read.get(&handle) {
                Some(known) => known.clone(),
                None => self.read(session, handle).await?,
            },
        };
        Ok(blob.map(|blob| Fetched {
            blob,
            // Nothing is delivered, so nobody wants the bytes.
            bytes: Arc::new(Bytes::new()),
        }))
    }

    async fn read(
        &mut self,
        session: &mut Session<'_>,
        handle: Handle,
    ) -> Found<Result<BlobRef, BlobTrouble>> {
        let mut hasher = BlobHasher::new();
        let mut beginning = Vec::new();
        let max_bytes = largest_chunk(session.probe.limit());
        let trouble = loop {
            let chunk = read_blob(session, &handle.name, hasher.length(), max_bytes).await?;
            let BlobChunk { bytes, eof } = match chunk {
                Ok(chunk) => chunk,
                Err(why) => break Some(unread("blob_read_failed", why)),
            };
            hasher.update(&bytes);
            let room = KEPT_BYTES - beginning.len();
            beginning.extend_from_slice(&bytes[..bytes.len().min(room)]);
            let length = hasher.length();
            let is_wrong = |size| length > size || (eof && length < size);
            if handle.size.is_some_and(is_wrong) {
                let why = format!("has another length than its size: {length} or more");
                break Some(unread("blob_size_mismatch", why));
            }
            if eof {
                break None;
            }
        };
        let outcome = match trouble {
            Some(trouble) => Err(trouble),
            None => {
                self.keep(&handle.name, hasher.length(), beginning);
                Ok(hasher.finish())
            }
        };
        self.read.insert(handle, outcome.clone());
        Ok(outcome)
    }

    /// Remembers a blob that can be read again, as long as they are few.
    fn keep(&mut self, handle: &str, length: u64, beginning: Vec<u8>) {
        if self.known.len() < READ_AGAIN {
            self.known.push(Known {
                handle: handle.to_owned(),
                length,
                beginning,
            });
        }
    }

    /// Reads blobs again: from the beginning, from the middle, at their end and beyond it.
    pub(super) async fn read_again(&self, session: &mut Session<'_>) -> Found<()> {
        for known in &self.known {
            let kept = known.beginning.len() as u64;
            for (offset, max_bytes) in [(0, 1), (0, kept), (kept / 2, 7), (kept / 3, kept)] {
                let max_bytes = max_bytes.clamp(1, largest_chunk(session.probe.limit()));
                known.compare(session, offset, max_bytes).await?;
            }
            for offset in [known.length, known.length + 1000] {
                let chunk = known.chunk(session, offset, 1).await?;
                if !(chunk.bytes.is_empty() && chunk.eof) {
                    let why = "there are bytes at its end or beyond it";
                    return Err(known.broken(why));
                }
            }
        }
        Ok(())
    }
}

impl Known {
    async fn compare(&self, session: &mut Session<'_>, offset: u64, max_bytes: u64) -> Found<()> {
        let chunk = self.chunk(session, offset, max_bytes).await?;
        let rest = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = self.beginning.get(rest..).unwrap_or_default();
        let shared = chunk.bytes.len().min(rest.len());
        if chunk.bytes[..shared] != rest[..shared] {
            let why = format!("other bytes at offset {offset} than before");
            return Err(self.broken(&why));
        }
        let end = offset + chunk.bytes.len() as u64;
        if end > self.length || chunk.eof != (end == self.length) {
            return Err(self.broken("another end than before"));
        }
        Ok(())
    }

    async fn chunk(
        &self,
        session: &mut Session<'_>,
        offset: u64,
        max_bytes: u64,
    ) -> Found<BlobChunk> {
        let chunk = read_blob(session, &self.handle, offset, max_bytes).await?;
        chunk.map_err(|why| self.broken(&why))
    }

    fn broken(&self, why: &str) -> Why {
        Why::Broken(format!("handle {:?}: {why}", self.handle))
    }
}

fn unread(code: &'static str, message: String) -> BlobTrouble {
    BlobTrouble {
        code,
        message,
        retryable: false,
    }
}

async fn read_blob(
    session: &mut Session<'_>,
    handle: &str,
    offset: u64,
    max_bytes: u64,
) -> Found<Result<BlobChunk, String>> {
    let params = ReadBlobParams {
        handle: handle.to_owned(),
        offset,
        max_bytes,
    };
    let within = session.subject.deadlines.blob;
    Ok(match session.ask("read_blob", params, within).await? {
        Reply::Done(done) => done.chunk(max_bytes),
        Reply::Refused { name, message, .. } => Err(format!("refused: {name}: {message}")),
    })
}
