//! What the file system says about a file without opening it, and when that can be believed.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{SystemTime, UNIX_EPOCH};

/// Times this close to the scan are not believed: a file written twice within the clock's
/// granularity shows the same times for both contents. Two seconds cover FAT.
const GRANULARITY_NS: i64 = 2_000_000_000;

/// The state of a file as far as `stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// Length in bytes.
    pub(crate) size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub(crate) mtime: i64,
    /// Last change of the inode, in nanoseconds since 1970.
    pub(crate) ctime: i64,
    /// Number of the inode.
    pub(crate) inode: u64,
}

impl Stat {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            size: metadata.size(),
            mtime: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    /// Returns whether an equal state seen by a later scan proves equal content, given that this
    /// state was seen by a scan that began at `scan_start`.
    pub(crate) fn is_trusted(&self, scan_start: i64) -> bool {
        self.mtime.max(self.ctime) < scan_start.saturating_sub(GRANULARITY_NS)
    }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

/// Returns the present time in nanoseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_touched_within_two_seconds_of_the_scan_is_not_trusted() {
        let second = 1_000_000_000;
        let stat = |mtime, ctime| Stat {
            size: 1,
            mtime,
            ctime,
            inode: 1,
        };
        assert!(stat(10 * second, second).is_trusted(14 * second));
        assert!(!stat(10 * second, 12 * second).is_trusted(14 * second));
        assert!(!stat(13 * second, second).is_trusted(14 * second));
        assert!(!stat(99 * second, second).is_trusted(14 * second));
    }
}
