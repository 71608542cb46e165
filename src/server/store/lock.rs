//! The lock on a store: one process that writes, or any number that only read.
//!
//! The operating system's lock on the file decides. What is in the file counts only while a process
//! that writes holds the lock: its process number, for messages, and the URL at which it serves the
//! store, if it does.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::server::store::StoreError;

/// Name of the lock file in a store directory.
pub(super) const FILE: &str = "lock";

/// Most bytes of a lock file that are read.
const CONTENT_MAX: u64 = 4096;

/// A held lock; dropping it, or the end of the process however it comes, frees the store.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    /// Whether the file holds our process number.
    signed: bool,
    /// Whether it held another one.
    was_abandoned: bool,
}

impl Lock {
    /// Takes the store at `dir` for writing, without waiting.
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let mut file = open_or_create(&path).map_err(io("open the lock file", &path))?;
        locked(dir, &file, file.try_lock())?;
        let was_abandoned = file.metadata().is_ok_and(|found| found.len() > 0);
        let pid = std::process::id();
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{pid}"))
            .map_err(io("write the lock file", &path))?;
        Ok(Self {
            file,
            signed: true,
            was_abandoned,
        })
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
        locked(dir, &file, file.try_lock_shared())?;
        Ok(Self {
            file,
            signed: false,
            was_abandoned: false,
        })
    }

    /// Leaves word for other processes where the store is served. A lock that only reads has
    /// nothing to leave.
    pub(super) fn announce(&self, url: &str) -> std::io::Result<()> {
        if !self.signed {
            return Ok(());
        }
        let mut file = &self.file;
        file.seek(SeekFrom::End(0))?;
        // The line counts only with its end, so that nobody reads half of it.
        file.write_all(format!("{url}\n").as_bytes())
    }

    /// Whether the process that wrote last was killed, or the machine went down under it.
    pub(super) fn was_abandoned(&self) -> bool {
        self.was_abandoned
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

fn locked(dir: &Path, file: &File, attempt: Result<(), TryLockError>) -> Result<(), StoreError> {
    attempt.map_err(|error| match error {
        TryLockError::WouldBlock => {
            let holder = Holder::of(file);
            StoreError::InUse {
                dir: dir.to_owned(),
                pid: holder.pid,
                served_at: holder.served_at,
            }
        }
        TryLockError::Error(source) => io("lock", &dir.join(FILE))(source),
    })
}

/// What is known of the process that holds a store.
#[derive(Default)]
struct Holder {
    pid: Option<u32>,
    served_at: Option<String>,
}

impl Holder {
    /// Reads the file of a lock that could not be taken.
    fn of(file: &File) -> Self {
        if file.try_lock_shared().is_ok() {
            // Readers hold it; what is in the file was left by a writer that was killed.
            let _ = file.unlock();
            return Self::default();
        }
        let mut text = String::new();
        let mut from_start = file;
        let read = from_start
            .rewind()
            .and_then(|()| from_start.take(CONTENT_MAX).read_to_string(&mut text));
        let mut lines = text.split_inclusive('\n');
        let mut line = || lines.next()?.strip_suffix('\n');
        match read {
            Ok(_) => Self {
                pid: line().and_then(|pid| pid.parse().ok()),
                served_at: line().map(str::to_owned),
            },
            Err(_) => Self::default(),
        }
    }
}
