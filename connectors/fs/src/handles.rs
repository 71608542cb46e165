//! The files whose bytes a runner may ask for (connector contract §14.2).
//!
//! A handle stands for a file as it was when it was enumerated: should it have changed, no more of
//! it is given out. Nothing is held but names and states.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams};
use dpe_connector::{ErrorCode, RpcError};
use dpe_connector_files::shown;

use crate::door::Door;
use crate::stat::Stat;

/// Most bytes of one answer, whatever is asked for.
const CHUNK_BYTES: u64 = 1 << 20;

/// The handles of one round.
#[derive(Debug)]
pub(crate) struct Handles {
    /// Sets the handles of this round apart from those of the rounds before.
    round: u64,
    files: Mutex<HashMap<String, Held>>,
}

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

impl Handles {
    /// Returns an empty table for a round with this number.
    pub(crate) fn of_round(round: u64) -> Self {
        Self {
            round,
            files: Mutex::default(),
        }
    }

    /// Returns the number of the round.
    pub(crate) fn round(&self) -> u64 {
        self.round
    }

    /// Returns a handle for the bytes of a file.
    pub(crate) fn give(&self, held: Held) -> String {
        let mut files = self.files();
        let handle = format!("{}.{}", self.round, files.len());
        files.insert(handle.clone(), held);
        handle
    }

    /// Reads bytes behind a handle.
    ///
    /// # Errors
    ///
    /// `unknown_handle`; `source_failed` if the file changed or cannot be read.
    pub(crate) fn read(&self, wanted: &ReadBlobParams) -> Result<BlobChunk, RpcError> {
        let held = self.files().get(&wanted.handle).cloned();
        let held = held.ok_or_else(|| RpcError::new(ErrorCode::UnknownHandle, "no such handle"))?;
        held.read(wanted.offset, wanted.max_bytes.min(CHUNK_BYTES))
            .map_err(|why| {
                let path = shown(&held.path);
                RpcError::new(ErrorCode::SourceFailed, format!("{path}: {why}")).retryable()
            })
    }

    fn files(&self) -> MutexGuard<'_, HashMap<String, Held>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    fn read(&self, offset: u64, max_bytes: u64) -> io::Result<BlobChunk> {
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

    fn wanted(handle: &str, offset: u64, max_bytes: u64) -> ReadBlobParams {
        ReadBlobParams {
            handle: handle.to_owned(),
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
        let handles = Handles::of_round(3);
        let handle = handles.give(held(&path));
        for (offset, most, bytes, eof) in [
            (4, 3, &b"456"[..], false),
            (0, 100, b"0123456789", true),
            (7, 3, b"789", true),
            (4, 3, b"456", false),
            (10, 1, b"", true),
            (u64::MAX, 1, b"", true),
        ] {
            let chunk = handles.read(&wanted(&handle, offset, most));
            assert_eq!(chunk, Ok(BlobChunk::new(bytes, eof)), "{offset} {most}");
        }
        let unknown = Handles::of_round(4).read(&wanted(&handle, 0, 1));
        assert_eq!(unknown.unwrap_err().code, ErrorCode::UnknownHandle);
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
            let handles = Handles::of_round(1);
            let handle = handles.give(held(&path));
            assert!(handles.read(&wanted(&handle, 0, 4)).is_ok());
            change(&path);
            let error = handles.read(&wanted(&handle, 4, 4)).unwrap_err();
            assert_eq!(error.code, ErrorCode::SourceFailed, "{name}");
            assert!(error.retryable, "{name}");
        }
    }
}
