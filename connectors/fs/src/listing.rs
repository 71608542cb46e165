//! What a round found, kept for the next one.

use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::stat::Stat;

/// One file. Paths are bytes relative to the root, with `/` between their components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which file.
    pub(crate) path: Box<[u8]>,
    /// Its state when it was read.
    pub(crate) stat: Stat,
    /// Whether an equal state next time proves equal content.
    pub(crate) trusted: bool,
    /// What its document was made of; `None` if there was no document.
    pub(crate) content: Option<Content>,
}

/// Enough to tell whether two files give the same document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Content {
    /// Of the bytes.
    pub(crate) fingerprint: Fingerprint,
    /// `file_type` of the document.
    pub(crate) format: Arc<str>,
}

/// The first half of the SHA-256 of a file's bytes: short, since every byte of it travels in
/// the cursor, and still out of reach for an accidental or a made collision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint(pub(crate) [u8; Self::BYTES]);

impl Fingerprint {
    pub(crate) const BYTES: usize = 16;

    /// Returns the fingerprint of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(bytes))
    }

    /// Returns the fingerprint of bytes that were hashed piece by piece.
    pub(crate) fn finish(hasher: Sha256) -> Self {
        let digest = hasher.finalize();
        let mut short = [0; Self::BYTES];
        short.copy_from_slice(&digest[..Self::BYTES]);
        Self(short)
    }
}

/// Returns whether `path` is `folder` or lies below it; the root's path is empty.
pub(crate) fn is_within(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty()
        || path
            .strip_prefix(folder)
            .is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_holds_what_is_below_it_and_not_its_namesakes() {
        assert!(is_within(b"a/b", b"a"));
        assert!(is_within(b"a", b"a"));
        assert!(is_within(b"x", b""));
        assert!(!is_within(b"ab", b"a"));
        assert!(!is_within(b"a", b"a/b"));
    }

    #[test]
    fn a_fingerprint_is_the_beginning_of_sha_256() {
        // sha256("abc"), FIPS 180-2 appendix B.1
        let expected = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae,
            0x22, 0x23,
        ];
        assert_eq!(Fingerprint::of(b"abc").0, expected);
    }
}
