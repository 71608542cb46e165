//! One fetch at a time into one folder, among processes that know nothing of each other. The file may be
//! deleted with the cache at any time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use dpe_connector::{CancelFlag, RpcError};

use crate::place::{Place, source_failed};

/// How often it is looked whether somebody else has ended fetching.
const POLL: Duration = Duration::from_millis(50);

/// Held while something is fetched into a folder.
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Waits until nobody else fetches the same.
    pub(super) fn wait(
        folder: &Path,
        place: &Place,
        cancel: &CancelFlag,
    ) -> Result<Self, RpcError> {
        let path = folder.with_extension("lock");
        let failed = |why: io::Error| {
            source_failed(place, &format!("the cache {}: {why}", path.display())).retryable()
        };
        loop {
            let file = File::create(&path).map_err(failed)?;
            while let Err(why) = file.try_lock() {
                cancel.check()?;
                match why {
                    TryLockError::WouldBlock => thread::sleep(POLL),
                    TryLockError::Error(why) => return Err(failed(why)),
                }
            }
            let path = path.clone();
            let lock = Self { file, path };
            // Whoever deletes the cache deletes the file, and the next one locks another.
            if lock.is_held() {
                return Ok(lock);
            }
            cancel.check()?;
        }
    }

    /// Returns whether the lock still keeps others away.
    pub(super) fn is_held(&self) -> bool {
        let same = |ours: fs::Metadata, theirs: fs::Metadata| {
            (ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())
        };
        match (self.file.metadata(), fs::metadata(&self.path)) {
            (Ok(ours), Ok(theirs)) => same(ours, theirs),
            _ => false,
        }
    }
}
