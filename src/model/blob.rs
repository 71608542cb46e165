//! References to the bytes of blobs (hash contract §12).
//!
//! A reference depends on the bytes alone: it carries no contract and never is a contract error.

use std::fmt;

use sha2::{Digest, Sha256};
use thiserror::Error;

use super::hex;
use crate::json::canonical::Sink;

const PREFIX: &str = "sha256:";

/// Reference to a blob: the SHA-256 of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobRef([u8; 32]);

/// A string that is not a blob reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a blob reference is `sha256:` and 64 lowercase hexadecimal digits")]
pub struct InvalidBlobRef;

impl BlobRef {
    /// Returns the reference to bytes at hand.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the reference that has this digest.
    pub fn from_digest(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// Reads a reference in its exact form.
    ///
    /// # Errors
    /// [`InvalidBlobRef`] for everything else.
    pub fn parse(text: &str) -> Result<Self, InvalidBlobRef> {
        text.strip_prefix(PREFIX)
            .and_then(|digits| hex::decode(digits.as_bytes()))
            .map(Self)
            .ok_or(InvalidBlobRef)
    }

    /// Returns the digest.
    pub fn digest(self) -> [u8; 32] {
        self.0
    }

    /// Writes the reference as a JSON string.
    pub(super) fn put_quoted(self, sink: &mut (impl Sink + ?Sized)) {
        sink.put(b"\"sha256:");
        sink.put(&hex::encode(&self.0));
        sink.put(b"\"");
    }
}

impl fmt::Display for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = hex::encode(&self.0);
        f.write_str(PREFIX)?;
        f.write_str(std::str::from_utf8(&digits).expect("digits are ASCII"))
    }
}

impl fmt::Debug for BlobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Computes the reference of a blob that is read in chunks.
#[derive(Clone, Debug, Default)]
pub struct BlobHasher {
    digest: Sha256,
    length: u64,
}

impl BlobHasher {
    /// Returns a hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.digest.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// Returns how many bytes have been taken.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Returns the reference of the bytes taken so far; more may follow.
    pub fn finish(&self) -> BlobRef {
        BlobRef(self.digest.clone().finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::{BlobHasher, BlobRef};

    /// Values of hash contract §12.
    #[test]
    fn chunks_give_the_reference_of_the_whole_and_finishing_twice_the_same() {
        let hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
        let mut hasher = BlobHasher::new();
        assert_eq!(hasher.finish(), BlobRef::of(b""));
        hasher.update(b"hel");
        hasher.update(b"lo");
        assert_eq!(hasher.length(), 5);
        assert_eq!(hasher.finish().to_string(), hello);
        assert_eq!(hasher.finish(), BlobRef::parse(hello).unwrap());
    }
}
