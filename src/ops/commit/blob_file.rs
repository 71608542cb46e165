//! A file as the bytes of a blob.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::{Bytes, BytesMut};

use crate::model::{BlobHasher, BlobRef};
use crate::sync::blobs::BlobBytes;

/// A file is hashed in parts of so many bytes.
const PART_BYTES: usize = 1 << 20;

/// A file that was hashed, or is while it is read, and still is what it was when it was opened.
#[derive(Debug)]
pub(super) struct BlobFile {
    file: File,
    state: State,
    /// Set while it is only said whose bytes these are.
    claim: Option<Claim>,
}

/// What the bytes of a file are said to be, and those that have been looked at.
#[derive(Debug)]
struct Claim {
    blob: BlobRef,
    seen: Mutex<BlobHasher>,
}

/// What changes when somebody writes to a file: length, times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl BlobFile {
    /// Opens and hashes a file.
    ///
    /// # Errors
    ///
    /// When it cannot be read, is no regular file, or changes meanwhile.
    pub(super) fn hash(path: &Path) -> io::Result<(BlobRef, Self)> {
        let file = Self::open(path)?;
        let mut hasher = BlobHasher::new();
        file.hash_up_to(file.state.length, &mut hasher)?;
        file.check()?;
        Ok((hasher.finish(), file))
    }

    /// Opens a file that is said to have the bytes of `blob`. They are hashed as they are read, and
    /// the last of them are given only if that is true.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or is no regular file.
    pub(super) fn claimed(path: &Path, blob: BlobRef) -> io::Result<Self> {
        let seen = Mutex::default();
        Ok(Self {
            claim: Some(Claim { blob, seen }),
            ..Self::open(path)?
        })
    }

    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Self {
            state: State::of(&metadata),
            file,
            claim: None,
        })
    }

    /// Goes on hashing where `hasher` has stopped.
    fn hash_up_to(&self, end: u64, hasher: &mut BlobHasher) -> io::Result<()> {
        let mut part = vec![0; PART_BYTES];
        while hasher.length() < end {
            let left = usize::try_from(end - hasher.length()).unwrap_or(PART_BYTES);
            let part = &mut part[..left.min(PART_BYTES)];
            self.file.read_exact_at(part, hasher.length())?;
            hasher.update(part);
        }
        Ok(())
    }

    /// Looks at what is about to be given, and with the end of the file at all of it.
    fn check_claim(&self, claim: &Claim, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut seen = claim.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.length() == offset {
            seen.update(bytes);
        }
        if offset + bytes.len() as u64 == self.state.length {
            self.hash_up_to(self.state.length, &mut seen)?;
            if seen.finish() != claim.blob {
                let why = format!("the file that was given is not blob {}", claim.blob);
                return Err(io::Error::other(why));
            }
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        if State::of(&self.file.metadata()?) == self.state {
            return Ok(());
        }
        Err(changed())
    }
}

impl BlobBytes for BlobFile {
    fn length(&self) -> u64 {
        self.state.length
    }

    fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
        let mut bytes = BytesMut::zeroed(length);
        self.file.read_exact_at(&mut bytes, offset)?;
        if let Some(claim) = &self.claim {
            self.check_claim(claim, offset, &bytes)?;
        }
        self.check()?;
        Ok(bytes.freeze())
    }
}

impl State {
    fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

fn changed() -> io::Error {
    io::Error::other("the file changed while it was read")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::BlobFile;
    use crate::model::BlobRef;
    use crate::sync::blobs::BlobBytes;

    #[test]
    fn the_end_of_a_claimed_file_is_given_only_if_the_claim_is_true() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let bytes: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 999) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let blob = BlobRef::of(&bytes);
        for (claimed, is_true) in [(blob, true), (BlobRef::of(b"else"), false)] {
            // In order, from where somebody else had stopped, the end alone, and twice.
            for reads in [
                &[(0, 1_500_000), (1_500_000, 1_500_000)][..],
                &[(1_000_000, 1_000_000), (2_000_000, 1_000_000)],
                &[(2_999_999, 1)],
                &[(0, 3_000_000), (0, 3_000_000)],
            ] {
                let file = BlobFile::claimed(&path, claimed).unwrap();
                for &(offset, length) in reads {
                    let read = file.read(offset as u64, length);
                    let is_end = offset + length == bytes.len();
                    assert_eq!(read.is_ok(), is_true || !is_end, "{reads:?}");
                    if let Ok(read) = read {
                        assert_eq!(read, bytes[offset..offset + length]);
                    }
                }
            }
        }
        let empty = place.path().join("empty");
        fs::write(&empty, b"").unwrap();
        assert!(
            BlobFile::claimed(&empty, BlobRef::of(b""))
                .unwrap()
                .read(0, 0)
                .is_ok()
        );
        assert!(BlobFile::claimed(&empty, blob).unwrap().read(0, 0).is_err());
    }

    #[test]
    fn a_file_is_hashed_and_read_by_range_until_it_changes() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a");
        let bytes: Vec<u8> = (0..2_500_000_u32).map(|n| (n / 1000) as u8).collect();
        fs::write(&path, &bytes).unwrap();
        let (blob, file) = BlobFile::hash(&path).unwrap();
        assert_eq!((blob, file.length()), (BlobRef::of(&bytes), 2_500_000));
        let read = file.read(1_234_567, 1000).unwrap();
        assert_eq!(read, bytes[1_234_567..1_235_567]);
        assert!(file.read(2_499_999, 2).is_err());
        fs::write(&path, &bytes[1..]).unwrap();
        assert!(file.read(0, 1).is_err());
        assert!(BlobFile::hash(place.path()).is_err());
    }
}
