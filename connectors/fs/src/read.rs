//! Reads a file so that the bytes belong together: all of one state, none of the next.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::content::HEAD_BYTES;
use crate::stat::Stat;

/// How often a file that changes while it is read is read again.
const ATTEMPTS: u32 = 3;

/// What became of reading a file.
#[derive(Debug)]
pub(crate) enum ReadFile {
    /// All of it.
    Whole {
        /// The bytes.
        bytes: Vec<u8>,
        /// The state they belong to.
        stat: Stat,
    },
    /// The caller did not want it, seeing how it begins.
    Unwanted(Stat),
    /// Wanted, but longer than the limit.
    TooLarge(Stat),
    /// It is not there any more, or no regular file any more.
    Gone,
    /// It changed every time.
    Changing,
    /// The system refused.
    Refused(io::Error),
}

/// Reads the file at `path` if `wanted` says so of its first bytes.
///
/// A symbolic link is opened only with `follow`. `limit` is in bytes.
pub(crate) fn read_file(
    path: &Path,
    follow: bool,
    limit: u64,
    wanted: impl Fn(&[u8]) -> bool,
) -> ReadFile {
    for _ in 0..ATTEMPTS {
        match attempt(path, follow, limit, &wanted) {
            Ok(Some(outcome)) => return outcome,
            Ok(None) => {}
            Err(error) if is_gone(&error) => return ReadFile::Gone,
            Err(error) => return ReadFile::Refused(error),
        }
    }
    ReadFile::Changing
}

/// One attempt; nothing if the file changed meanwhile.
fn attempt(
    path: &Path,
    follow: bool,
    limit: u64,
    wanted: &impl Fn(&[u8]) -> bool,
) -> io::Result<Option<ReadFile>> {
    let mut file = open(path, follow)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Some(ReadFile::Gone));
    }
    let before = Stat::of(&metadata);
    let mut bytes = Vec::with_capacity(capacity(before.size, limit));
    (&mut file)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut bytes)?;
    if !wanted(&bytes) {
        return Ok(Some(ReadFile::Unwanted(before)));
    }
    if before.size > limit {
        return Ok(Some(ReadFile::TooLarge(before)));
    }
    // One byte more, since files of some kernels' file systems are longer than they say.
    let rest = limit.saturating_add(1).saturating_sub(bytes.len() as u64);
    (&mut file).take(rest).read_to_end(&mut bytes)?;
    let after = file.metadata()?;
    if !same_state(&metadata, &after) {
        return Ok(None);
    }
    Ok(Some(if bytes.len() as u64 > limit {
        ReadFile::TooLarge(before)
    } else {
        ReadFile::Whole {
            bytes,
            stat: before,
        }
    }))
}

/// Returns whether nothing was written between two looks at an open file.
fn same_state(before: &Metadata, after: &Metadata) -> bool {
    Stat::of(before) == Stat::of(after)
}

fn open(path: &Path, follow: bool) -> io::Result<File> {
    // Non-blocking: what was a file a moment ago may be a pipe nobody writes to.
    let mut flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if !follow {
        flags |= OFlags::NOFOLLOW;
    }
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

fn capacity(size: u64, limit: u64) -> usize {
    let expected = if size > limit {
        HEAD_BYTES as u64
    } else {
        size
    };
    // One more, so that finding the end needs no larger buffer.
    usize::try_from(expected.saturating_add(1)).unwrap_or(0)
}

/// Returns whether an error says that there is no such file: vanished, below something that is
/// no folder, a link where none is followed, or a socket.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    let gone = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NXIO];
    Errno::from_io_error(error).is_some_and(|errno| gone.contains(&errno))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    fn bytes_of(outcome: ReadFile) -> Vec<u8> {
        match outcome {
            ReadFile::Whole { bytes, .. } => bytes,
            other => panic!("expected bytes, found {other:?}"),
        }
    }

    #[test]
    fn a_file_is_read_whole_with_the_state_it_had() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let content = vec![7; 200_000];
        fs::write(&path, &content).unwrap();
        let outcome = read_file(&path, false, 1 << 20, |head| head.len() == HEAD_BYTES);
        assert_eq!(bytes_of(outcome), content);
    }

    #[test]
    fn the_limit_is_inclusive_and_judged_after_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(bytes_of(read_file(&path, false, 5, |_| true)), b"12345");
        let outcome = read_file(&path, false, 4, |_| true);
        assert!(matches!(outcome, ReadFile::TooLarge(_)));
        let outcome = read_file(&path, false, 4, |_| false);
        assert!(matches!(outcome, ReadFile::Unwanted(_)));
    }

    #[test]
    fn what_is_no_regular_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), b"x").unwrap();
        symlink(path("a"), path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), Mode::RUSR).unwrap();
        for name in ["missing", "link", "fifo", ".", "a/b"] {
            let outcome = read_file(&path(name), false, 9, |_| true);
            assert!(matches!(outcome, ReadFile::Gone), "{name}: {outcome:?}");
        }
        assert_eq!(bytes_of(read_file(&path("link"), true, 9, |_| true)), b"x");
    }

    #[test]
    fn a_file_written_to_between_two_looks_is_seen_to_have_changed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"x").unwrap();
        let mut file = File::options().append(true).open(&path).unwrap();
        let before = file.metadata().unwrap();
        assert!(same_state(&before, &file.metadata().unwrap()));
        file.write_all(b"y").unwrap();
        assert!(!same_state(&before, &file.metadata().unwrap()));
    }

    #[test]
    fn a_file_that_grows_whenever_it_is_read_is_reported_as_changing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"x").unwrap();
        // The format decision runs in the middle of reading and is used here as the writer.
        let outcome = read_file(&path, false, 1 << 20, |_| {
            let mut file = File::options().append(true).open(&path).unwrap();
            file.write_all(b"y").unwrap();
            true
        });
        assert!(matches!(outcome, ReadFile::Changing));
    }
}
