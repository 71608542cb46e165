//! Where the pictures of a round lie until they are asked for (connector contract §14.2).
//!
//! They were found within files and are nowhere else. So their bytes are kept in a file without a name, which
//! goes with the round or with the process, however that ends: in memory there is only where each of them is.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

/// Where temporary files lie that may be large: unlike the usual place it is no part of the memory.
const LARGE_TEMPORARY: &str = "/var/tmp";

/// SHA-256 of the bytes of a picture.
type Sum = [u8; 32];

/// The pictures of one round, each once.
#[derive(Debug, Default)]
pub(crate) struct Spool(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// Made with the first picture.
    file: Option<Arc<File>>,
    end: u64,
    pictures: HashMap<Sum, Picture>,
}

/// Bytes in the file of a spool.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    file: Arc<File>,
    start: u64,
    length: u64,
}

impl Spool {
    /// Keeps bytes, and returns them with a name that equal bytes share.
    ///
    /// # Errors
    ///
    /// When there is no place for temporary files, or no room left.
    pub(crate) fn keep(&self, bytes: &[u8]) -> io::Result<(String, Picture)> {
        let sum: Sum = Sha256::digest(bytes).into();
        // Written under the lock: who finds a picture may read it at once.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let picture = match kept.pictures.get(&sum) {
            Some(known) => known.clone(),
            None => kept.append(sum, bytes)?,
        };
        let name = sum.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok((name, picture))
    }
}

impl Kept {
    fn append(&mut self, sum: Sum, bytes: &[u8]) -> io::Result<Picture> {
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(nameless()?))),
        };
        // Should it fail halfway, the next picture is written over what there is of it.
        file.write_all_at(bytes, self.end)?;
        let picture = Picture {
            file,
            start: self.end,
            length: bytes.len() as u64,
        };
        self.end += picture.length;
        self.pictures.insert(sum, picture.clone());
        Ok(picture)
    }
}

impl Picture {
    /// Returns at most `most` bytes from `offset` on, and whether they reach the end.
    ///
    /// # Errors
    ///
    /// When the disk does not give them back.
    pub(crate) fn read(&self, offset: u64, most: u64) -> io::Result<(Vec<u8>, bool)> {
        let rest = self.length.saturating_sub(offset);
        let length = rest.min(most);
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        if length > 0 {
            self.file.read_exact_at(&mut bytes, self.start + offset)?;
        }
        Ok((bytes, length == rest))
    }
}

/// Makes a file that nobody else can find.
fn nameless() -> io::Result<File> {
    let place = match std::env::var_os("TMPDIR") {
        Some(given) if !given.is_empty() => return nameless_in(PathBuf::from(given)),
        _ => nameless_in(PathBuf::from(LARGE_TEMPORARY)),
    };
    place.or_else(|_| nameless_in(std::env::temp_dir()))
}

fn nameless_in(folder: PathBuf) -> io::Result<File> {
    tempfile::tempfile_in(&folder)
        .map_err(|why| io::Error::new(why.kind(), format!("{}: {why}", folder.display())))
}

#[cfg(test)]
mod tests {
    use super::Spool;

    #[test]
    fn pictures_are_read_from_anywhere_as_often_as_wanted() {
        let spool = Spool::default();
        let (_, first) = spool.keep(b"0123456789").unwrap();
        let (_, second) = spool.keep(b"abc").unwrap();
        for (offset, most, bytes, is_end) in [
            (4, 3, &b"456"[..], false),
            (0, 100, b"0123456789", true),
            (7, 3, b"789", true),
            (4, 3, b"456", false),
            (10, 1, b"", true),
            (u64::MAX, 1, b"", true),
        ] {
            let read = first.read(offset, most).unwrap();
            assert_eq!(read, (bytes.to_vec(), is_end), "{offset} {most}");
        }
        assert_eq!(second.read(1, 9).unwrap(), (b"bc".to_vec(), true));
    }

    #[test]
    fn equal_pictures_lie_there_once_and_share_a_name() {
        let spool = Spool::default();
        let (name, _) = spool.keep(b"abc").unwrap();
        let (other, _) = spool.keep(b"abd").unwrap();
        let (again, picture) = spool.keep(b"abc").unwrap();
        assert_eq!(name, again);
        assert_ne!(name, other);
        assert_eq!(picture.start, 0);
        assert_eq!(picture.file.metadata().unwrap().len(), 6);
    }
}
