//! The handles a connector gave out (connector contract §14.2), and what each of them stands for.
//!
//! A handle stands for a whole file, which the connector can read again, or for a picture that was found
//! within one, which is kept here. Knows nothing of what files are to a connector. The handles of one
//! round are forgotten when the next begins.

use std::collections::HashMap;
use std::fmt::Display;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams};
use dpe_connector::{ErrorCode, RpcError};

use crate::spool::{Picture, Spool};

/// Most bytes of one answer to `read_blob`, whatever is asked for.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// The handles of one round.
#[derive(Debug)]
pub struct Handles<H> {
    /// Sets the handles of this round apart from those of the rounds before.
    round: u64,
    held: Mutex<HashMap<String, Held<H>>>,
    spool: Spool,
}

#[derive(Clone, Debug)]
enum Held<H> {
    /// What the connector reads itself.
    File(H),
    Picture(Picture),
}

impl<H: Clone> Handles<H> {
    /// Returns an empty table for a round with this number.
    pub fn of_round(round: u64) -> Self {
        Self {
            round,
            held: Mutex::default(),
            spool: Spool::default(),
        }
    }

    /// Returns the table for the round after this one.
    pub fn next(&self) -> Self {
        Self::of_round(self.round + 1)
    }

    /// Returns the handle of what is called `name` in this round. Bytes that are the same should
    /// have one name, for a runner reads a handle once.
    pub fn give(&self, name: impl Display, held: H) -> String {
        self.insert(format!("{}.{name}", self.round), Held::File(held))
    }

    /// Keeps the bytes of a picture for this round, and returns its handle. Equal bytes are kept
    /// once and have one handle.
    ///
    /// # Errors
    ///
    /// When there is no place or no room for temporary files.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<String> {
        let (name, picture) = self.spool.keep(bytes)?;
        let handle = format!("{}.picture.{name}", self.round);
        Ok(self.insert(handle, Held::Picture(picture)))
    }

    /// Answers a `read_blob`; what the connector holds itself is read by `file`.
    ///
    /// # Errors
    ///
    /// `unknown_handle`; `source_failed` for a picture that cannot be read any more; those of `file`.
    pub fn read(
        &self,
        wanted: &ReadBlobParams,
        file: impl FnOnce(H) -> Result<BlobChunk, RpcError>,
    ) -> Result<BlobChunk, RpcError> {
        match self.find(&wanted.handle)? {
            Held::File(held) => file(held),
            Held::Picture(picture) => {
                let read = picture.read(wanted.offset, wanted.max_bytes.min(CHUNK_BYTES));
                let (bytes, is_end) = read.map_err(|why| {
                    let why = format!("a picture cannot be read any more: {why}");
                    RpcError::new(ErrorCode::SourceFailed, why).retryable()
                })?;
                Ok(BlobChunk::new(&bytes, is_end))
            }
        }
    }

    fn find(&self, handle: &str) -> Result<Held<H>, RpcError> {
        let held = self.held().get(handle).cloned();
        held.ok_or_else(|| RpcError::new(ErrorCode::UnknownHandle, "no such handle"))
    }

    fn insert(&self, handle: String, held: Held<H>) -> String {
        self.held().insert(handle.clone(), held);
        handle
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, Held<H>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(handle: &str) -> ReadBlobParams {
        ReadBlobParams {
            handle: handle.to_owned(),
            offset: 0,
            max_bytes: 9,
        }
    }

    fn read(handles: &Handles<char>, handle: &str) -> Result<BlobChunk, ErrorCode> {
        let file = |held: char| Ok(BlobChunk::new(held.to_string().as_bytes(), true));
        handles
            .read(&wanted(handle), file)
            .map_err(|error| error.code)
    }

    #[test]
    fn a_handle_lives_as_long_as_its_round() {
        let handles = Handles::of_round(3);
        let file = handles.give(7, 'x');
        let picture = handles.keep(b"abc").unwrap();
        assert_eq!(read(&handles, &file), Ok(BlobChunk::new(b"x", true)));
        assert_eq!(read(&handles, &picture), Ok(BlobChunk::new(b"abc", true)));
        let next = handles.next();
        for handle in [file, picture] {
            assert_eq!(read(&next, &handle), Err(ErrorCode::UnknownHandle));
        }
    }

    #[test]
    fn no_two_things_have_one_handle() {
        let handles = Handles::of_round(0);
        let first = handles.keep(b"abc").unwrap();
        assert_eq!(handles.keep(b"abc").unwrap(), first);
        assert_ne!(handles.keep(b"abd").unwrap(), first);
        assert_ne!(handles.give(7, 'x'), handles.next().give(7, 'y'));
    }
}
