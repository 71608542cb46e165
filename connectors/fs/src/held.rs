//! A file whose bytes a runner may ask for (connector contract §14.2).
//!
//! It stands for the file as it was when it was enumerated: should it have changed, no more of it
//! is given out. Nothing is held but a name and a state.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams};
use dpe_connector::{ErrorCode, RpcError};
use dpe_connector_files::{CHUNK_BYTES, shown};

use crate::door::Door;
use crate::stat::Stat;

/// A file, as it was.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    /// How to get to it.
    pub(crate) door: Arc<Door>,
    /// Where it is, relative to the root.
    pub(crate) path: Box<[u8]>,
    /// How it was.
    pub(crate) stat: Stat,
}

impl Held {
    /// Reads bytes of it.
    ///
    /// # Errors
    ///
    /// `source_failed` if it changed or cannot be read.
    pub(crate) fn read(&self, wanted: &ReadBlobParams) -> Result<BlobChunk, RpcError> {
        let most = wanted.max_bytes.min(CHUNK_BYTES);
        self.chunk(wanted.offset, most).map_err(|why| {
            let path = shown(&self.path);
            RpcError::new(ErrorCode::SourceFailed, format!("{path}: {why}")).retryable()
        })
    }

    fn chunk(&self, offset: u64, max_bytes: u64) -> io::Result<BlobChunk> {
        let file = self.door.open(&self.path)?;
        let changed = || io::Error::other("the file changed after it was enumerated");
        if Stat::of(&file.metadata()?) != self.stat {
            return Err(changed());
        }
        let rest = self.stat.size.saturating_sub(offset);
        let length = rest.min(max_bytes);
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, offset)?;
        if Stat::of(&file.metadata()?) != self.stat {
            return Err(changed());
        }
        Ok(BlobChunk::new(&bytes, length == rest))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::door::Links;

    type Change = fn(&Path);

    fn wanted(offset: u64, max_bytes: u64) -> ReadBlobParams {
        ReadBlobParams {
            handle: String::new(),
            offset,
            max_bytes,
        }
    }

    fn held(path: &Path) -> Held {
        Held {
            door: Arc::new(Door::to(path.parent().unwrap(), Links::Refused)),
            path: path.file_name().unwrap().as_encoded_bytes().into(),
            stat: Stat::of(&fs::metadata(path).unwrap()),
        }
    }

    #[test]
    fn any_range_is_read_at_any_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        fs::write(&path, b"0123456789").unwrap();
        let held = held(&path);
        for (offset, most, bytes, eof) in [
            (4, 3, &b"456"[..], false),
            (0, 100, b"0123456789", true),
            (7, 3, b"789", true),
            (4, 3, b"456", false),
            (10, 1, b"", true),
            (u64::MAX, 1, b"", true),
        ] {
            let chunk = held.read(&wanted(offset, most));
            assert_eq!(chunk, Ok(BlobChunk::new(bytes, eof)), "{offset} {most}");
        }
    }

    #[test]
    fn a_file_that_changed_gives_no_more_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let changes: [(&str, Change); 4] = [
            ("appended", |path| fs::write(path, b"0123456789+").unwrap()),
            ("replaced", |path| {
                fs::write(path.with_extension("new"), b"0123456789").unwrap();
                fs::rename(path.with_extension("new"), path).unwrap();
            }),
            ("touched", |path| {
                let file = fs::File::options().write(true).open(path).unwrap();
                file.set_modified(std::time::UNIX_EPOCH).unwrap();
            }),
            ("removed", |path| fs::remove_file(path).unwrap()),
        ];
        for (name, change) in changes {
            let path = folder.path().join(name);
            fs::write(&path, b"0123456789").unwrap();
            let held = held(&path);
            assert!(held.read(&wanted(0, 4)).is_ok());
            change(&path);
            let error = held.read(&wanted(4, 4)).unwrap_err();
            assert_eq!(error.code, ErrorCode::SourceFailed, "{name}");
            assert!(error.retryable, "{name}");
        }
    }
}
