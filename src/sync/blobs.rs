//! The bytes of blobs, described rather than carried: whoever needs some reads them by range.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::model::BlobRef;

/// The bytes of one blob. They do not change as long as somebody holds this.
pub trait BlobBytes: fmt::Debug + Send + Sync {
    /// Returns the number of bytes.
    fn length(&self) -> u64;

    /// Reads `length` bytes from `offset` on; may block for as long as a disk takes.
    ///
    /// # Errors
    ///
    /// When the bytes cannot be read any more, or are not that many.
    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes>;
}

/// The blobs of one document whose bytes are at hand.
#[derive(Clone, Debug, Default)]
pub struct Blobs(HashMap<BlobRef, Arc<dyn BlobBytes>>);

impl Blobs {
    /// Adds the bytes of a blob; they are known to have that reference.
    pub fn insert(&mut self, blob: BlobRef, bytes: Arc<dyn BlobBytes>) {
        self.0.insert(blob, bytes);
    }

    /// Returns the bytes of a blob, if they are at hand.
    pub fn get(&self, blob: BlobRef) -> Option<&Arc<dyn BlobBytes>> {
        self.0.get(&blob)
    }

    /// Returns the length of every blob whose bytes are at hand.
    pub fn lengths(&self) -> impl Iterator<Item = (BlobRef, u64)> {
        self.0.iter().map(|(blob, bytes)| (*blob, bytes.length()))
    }
}

impl FromIterator<(BlobRef, Arc<dyn BlobBytes>)> for Blobs {
    fn from_iter<I: IntoIterator<Item = (BlobRef, Arc<dyn BlobBytes>)>>(blobs: I) -> Self {
        Self(blobs.into_iter().collect())
    }
}

/// A small blob, in memory.
impl BlobBytes for Bytes {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let start = usize::try_from(offset).map_err(io::Error::other)?;
        let end = start.checked_add(length).filter(|end| *end <= self.len());
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok(self.slice(start..end))
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::BlobBytes;

    #[test]
    fn bytes_in_memory_are_read_by_range_and_never_short() {
        let bytes = Bytes::from_static(b"hello");
        assert_eq!(bytes.length(), 5);
        assert_eq!(BlobBytes::read(&bytes, 1, 3).unwrap(), "ell");
        assert_eq!(BlobBytes::read(&bytes, 5, 0).unwrap(), "");
        assert!(BlobBytes::read(&bytes, 3, 3).is_err());
        assert!(BlobBytes::read(&bytes, 6, 0).is_err());
        assert!(BlobBytes::read(&bytes, u64::MAX, 2).is_err());
    }
}
