//! The lock on a store: one process that writes, or any number that only read.
//!
//! The operating system's lock on the file decides. What is in the file counts only while a process
//! that writes holds the lock: its process number, for messages, and the URL at which it serves the
//! store, if it does.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use crate::server::store::StoreError;

/// Name of the lock file in a store directory.
pub(super) const FILE: &str = "lock";

/// Most bytes of a lock file that are read.
const CONTENT_MAX: u64 = 4096;

/// How long a lock is tried again: who asks who holds it holds it, too, for an instant, and so does
/// a child of a process that was killed until it is another program.
const PATIENCE: Duration = Duration::from_millis(500);

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

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
    /// Takes the store at `dir` for writing; waits for no more than [`PATIENCE`].
    pub(super) fn take(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let mut file = open_or_create(&path).map_err(io("open the lock file", &path))?;
        locked(dir, &file, File::try_lock)?;
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

    /// Keeps writers off the store at `dir` without writing to an existing lock file; waits for no
    /// more than [`PATIENCE`].
    pub(super) fn share(dir: &Path) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let file = match File::open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => open_or_create(&path),
            opened => opened,
        };
        let file = file.map_err(io("open the lock file", &path))?;
        locked(dir, &file, File::try_lock_shared)?;
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

fn locked(
    dir: &Path,
    file: &File,
    attempt: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<(), StoreError> {
    let begun = Instant::now();
    loop {
        match attempt(file) {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(source)) => return Err(io("lock", &dir.join(FILE))(source)),
            Err(TryLockError::WouldBlock) => {}
        }
        let holder = Holder::of(file);
        // Who serves the store goes on doing so.
        if holder.served_at.is_some() || begun.elapsed() >= PATIENCE {
            return Err(StoreError::InUse {
                dir: dir.to_owned(),
                pid: holder.pid,
                served_at: holder.served_at,
            });
        }
        thread::sleep(PAUSE);
    }
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

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::thread;
    use std::time::{Duration, Instant};

    use tempfile::TempDir;

    use super::{FILE, Lock};
    use crate::server::store::StoreError;

    /// Takes the lock by `take` while somebody else has it by `hold` for 100 ms.
    fn taken_after(hold: fn(&File), take: fn(&TempDir) -> Result<Lock, StoreError>) {
        let dir = TempDir::new().unwrap();
        let other = File::create(dir.path().join(FILE)).unwrap();
        hold(&other);
        let begun = Instant::now();
        let holder = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(other);
        });
        take(&dir).expect("it is free before patience ends");
        assert!(begun.elapsed() >= Duration::from_millis(100));
        holder.join().unwrap();
    }

    #[test]
    fn lock_that_is_held_for_a_moment_is_taken_after_it() {
        let exclusive = |file: &File| file.try_lock().unwrap();
        taken_after(exclusive, |dir| Lock::take(dir.path()));
        taken_after(exclusive, |dir| Lock::share(dir.path()));
        taken_after(
            |file| file.try_lock_shared().unwrap(),
            |dir| Lock::take(dir.path()),
        );
    }

    #[test]
    fn who_serves_a_store_is_told_at_once() {
        let dir = TempDir::new().unwrap();
        let held = Lock::take(dir.path()).unwrap();
        held.announce("http://127.0.0.1:7373").unwrap();
        let begun = Instant::now();
        let refused = Lock::take(dir.path()).unwrap_err();
        assert!(matches!(
            refused,
            StoreError::InUse {
                served_at: Some(_),
                ..
            }
        ));
        assert!(begun.elapsed() < Duration::from_millis(400));
    }
}
