//! A file as the bytes of a blob.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use bytes::{Bytes, BytesMut};

use crate::model::{BlobHasher, BlobRef};
use crate::sync::blobs::BlobBytes;

/// A file is hashed in parts of so many bytes.
const PART_BYTES: usize = 1 << 20;

/// A file that was hashed, and still is what it was then.
#[derive(Debug)]
pub(super) struct BlobFile {
    file: File,
    state: State,
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
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let state = State::of(&metadata);
        let mut hasher = BlobHasher::new();
        let mut part = vec![0; PART_BYTES];
        loop {
            match file.read(&mut part)? {
                0 => break,
                length => hasher.update(&part[..length]),
            }
        }
        let hashed = Self { file, state };
        hashed.check()?;
        if hasher.length() != state.length {
            return Err(changed());
        }
        Ok((hasher.finish(), hashed))
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
