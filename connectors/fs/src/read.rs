//! Reads a file so that the bytes belong together: all of one state, none of the next.

use std::fs::{File, Metadata};
use std::io::{self, Read};

use dpe_connector_files::{HEAD_BYTES, Wanted};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::listing::Fingerprint;
use crate::stat::Stat;

/// How often a file that changes while it is read is read again.
const ATTEMPTS: u32 = 3;

/// What is not kept is read in parts of so many bytes.
const PART_BYTES: u64 = 256 << 10;

/// What became of reading a file.
#[derive(Debug)]
pub(crate) enum ReadFile {
    /// All of it.
    Whole {
        /// The bytes, or as many of them as were to be kept.
        bytes: Vec<u8>,
        /// Of all bytes.
        fingerprint: Fingerprint,
        /// The state they belong to.
        stat: Stat,
    },
    /// The caller did not want it, seeing how it begins.
    Unwanted(Stat),
    /// Wanted, but longer than this limit.
    TooLarge(Stat, u64),
    /// It is not there any more, or no regular file any more.
    Gone,
    /// It changed every time.
    Changing,
    /// The system refused.
    Refused(io::Error),
}

/// Reads the file that `open` opens, as far as `wanted` says it of its first bytes.
pub(crate) fn read_file(
    open: impl Fn() -> io::Result<File>,
    wanted: impl Fn(&[u8]) -> Option<Wanted>,
) -> ReadFile {
    for _ in 0..ATTEMPTS {
        match open().and_then(|file| attempt(file, &wanted)) {
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
    mut file: File,
    wanted: &impl Fn(&[u8]) -> Option<Wanted>,
) -> io::Result<Option<ReadFile>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Some(ReadFile::Gone));
    }
    let before = Stat::of(&metadata);
    let mut bytes = Vec::with_capacity(HEAD_BYTES);
    (&mut file)
        .take(HEAD_BYTES as u64)
        .read_to_end(&mut bytes)?;
    let Some(Wanted { limit, kept }) = wanted(&bytes) else {
        return Ok(Some(ReadFile::Unwanted(before)));
    };
    if before.size > limit {
        return Ok(Some(ReadFile::TooLarge(before, limit)));
    }
    // One byte more than allowed, since files of some kernels' file systems are longer than they
    // say.
    let most = limit.saturating_add(1);
    bytes.reserve_exact(capacity(before.size.min(kept)).saturating_sub(bytes.len()));
    let rest = kept.min(most).saturating_sub(bytes.len() as u64);
    (&mut file).take(rest).read_to_end(&mut bytes)?;
    let mut hasher = Sha256::new_with_prefix(&bytes);
    let rest = most.saturating_sub(bytes.len() as u64);
    let length = bytes.len() as u64 + hash_rest((&mut file).take(rest), &mut hasher)?;
    if !same_state(&metadata, &file.metadata()?) {
        return Ok(None);
    }
    Ok(Some(if length > limit {
        ReadFile::TooLarge(before, limit)
    } else {
        ReadFile::Whole {
            bytes,
            fingerprint: Fingerprint::finish(hasher),
            stat: before,
        }
    }))
}

/// Hashes what is not kept and returns its length.
fn hash_rest(mut rest: impl Read, hasher: &mut Sha256) -> io::Result<u64> {
    let mut part = Vec::new();
    let mut length = 0;
    loop {
        part.clear();
        let read = (&mut rest).take(PART_BYTES).read_to_end(&mut part)?;
        if read == 0 {
            return Ok(length);
        }
        hasher.update(&part);
        length += read as u64;
    }
}

/// Returns whether nothing was written between two looks at an open file.
fn same_state(before: &Metadata, after: &Metadata) -> bool {
    Stat::of(before) == Stat::of(after)
}

fn capacity(expected: u64) -> usize {
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

    use rustix::fs::Mode;

    use super::*;
    use crate::door::open;

    /// All of a file of at most so many bytes.
    fn up_to(limit: u64) -> Option<Wanted> {
        let kept = u64::MAX;
        Some(Wanted { limit, kept })
    }

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
        let outcome = read_file(
            || open(&path, false),
            |head| {
                assert_eq!(head.len(), HEAD_BYTES);
                up_to(200_000)
            },
        );
        assert_eq!(bytes_of(outcome), content);
    }

    #[test]
    fn the_limit_is_inclusive_and_judged_after_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, b"12345").unwrap();
        assert_eq!(
            bytes_of(read_file(|| open(&path, false), |_| up_to(5))),
            b"12345"
        );
        let outcome = read_file(|| open(&path, false), |_| up_to(4));
        assert!(matches!(outcome, ReadFile::TooLarge(_, 4)));
        let outcome = read_file(|| open(&path, false), |_| None);
        assert!(matches!(outcome, ReadFile::Unwanted(_)));
    }

    #[test]
    fn what_is_not_kept_still_enters_the_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let content: Vec<u8> = (0..700_000_u32).map(|n| (n / 1000) as u8).collect();
        fs::write(&path, &content).unwrap();
        for kept in [HEAD_BYTES as u64, 300_000, 700_000, u64::MAX] {
            let limit = 700_000;
            let outcome = read_file(|| open(&path, false), |_| Some(Wanted { limit, kept }));
            let ReadFile::Whole {
                bytes, fingerprint, ..
            } = outcome
            else {
                panic!("expected bytes, found {outcome:?}");
            };
            let kept = usize::try_from(kept.min(700_000)).unwrap();
            assert!(bytes == content[..kept]);
            assert_eq!(fingerprint, Fingerprint::of(&content));
        }
        let kept = HEAD_BYTES as u64;
        let limit = 699_999;
        let outcome = read_file(|| open(&path, false), |_| Some(Wanted { limit, kept }));
        assert!(matches!(outcome, ReadFile::TooLarge(_, 699_999)));
    }

    #[test]
    fn what_is_no_regular_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), b"x").unwrap();
        symlink(path("a"), path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), Mode::RUSR).unwrap();
        for name in ["missing", "link", "fifo", ".", "a/b"] {
            let outcome = read_file(|| open(&path(name), false), |_| up_to(9));
            assert!(matches!(outcome, ReadFile::Gone), "{name}: {outcome:?}");
        }
        assert_eq!(
            bytes_of(read_file(|| open(&path("link"), true), |_| up_to(9))),
            b"x"
        );
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
        let outcome = read_file(
            || open(&path, false),
            |_| {
                let mut file = File::options().append(true).open(&path).unwrap();
                file.write_all(b"y").unwrap();
                up_to(1 << 20)
            },
        );
        assert!(matches!(outcome, ReadFile::Changing));
    }
}
