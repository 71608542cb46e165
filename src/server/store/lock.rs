//! The lock that keeps a second server off a store.
//!
//! The operating system's lock on the file decides; the process number in it is for messages.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use crate::server::store::StoreError;

/// Name of the lock file in a store directory.
pub(super) const FILE: &str = "lock";

/// A held lock; dropping it, or the end of the process however it comes, frees the store.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock of the store at `dir` without waiting.
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let io = |doing| {
            let path = path.clone();
            move |source| StoreError::Io {
                doing,
                path,
                source,
            }
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(io("open the lock file"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse {
                    dir: dir.to_owned(),
                    pid: holder(&path),
                });
            }
            Err(TryLockError::Error(source)) => return Err(io("lock")(source)),
        }
        let pid = std::process::id();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{pid}"))
            .map_err(io("write the lock file"))?;
        Ok(Self { _file: file })
    }
}

/// Process number in the lock file, if it can be read.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
