//! The lock on a store: one process that writes, or any number that only read.
//!
//! The operating system's lock on the file decides; the process number in it is for messages, and
//! only a process that writes leaves one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;

use crate::server::store::StoreError;

/// Name of the lock file in a store directory.
pub(super) const FILE: &str = "lock";

/// A held lock; dropping it, or the end of the process however it comes, frees the store.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether the file holds our process number.
    signed: bool,
}

impl Lock {
    /// Takes the store at `dir` for writing, without waiting.
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let mut file = open_or_create(&path).map_err(io("open the lock file", &path))?;
        locked(dir, file.try_lock())?;
        let pid = std::process::id();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{pid}"))
            .map_err(io("write the lock file", &path))?;
        Ok(Self { file, signed: true })
    }

    /// Keeps writers off the store at `dir`, without waiting and without writing to an existing
    /// lock file.
    pub(super) fn share(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => open_or_create(&path),
            opened => opened,
        };
        let file = file.map_err(io("open the lock file", &path))?;
        locked(dir, file.try_lock_shared())?;
        Ok(Self {
            file,
            signed: false,
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.signed {
            // A number that stays behind would be blamed for what a later reader holds up.
            let _ = self.file.set_len(0);
        }
    }
}

fn open_or_create(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.open(path)
}

fn io(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Io {
        doing,
        path,
        source,
    }
}

fn locked(dir: &Path, attempt: Result<(), TryLockError>) -> Result<(), StoreError> {
    let path = dir.join(FILE);
    attempt.map_err(|error| match error {
        TryLockError::WouldBlock => StoreError::InUse {
            dir: dir.to_owned(),
            pid: holder(&path),
        },
        TryLockError::Error(source) => io("lock", &path)(source),
    })
}

/// Process number in the lock file, if it can be read.
fn holder(path: &Path) -> Option<u32> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
