//! The file that lines are kept in besides what stderr shows: appended to, turned over by size.
//!
//! Several processes may write to one file: a line is one write at its end, whoever turns the file over
//! holds its lock, and who finds another file under the name goes on with that. It knows nothing of what
//! the lines say.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How the lines of a log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// What stderr says, with the time.
    #[default]
    Text,
    /// One object a line (connector contract §27).
    Json,
}

/// A file of lines.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    /// It is turned over before it gets longer, in bytes.
    max_bytes: u64,
    /// So many files that were turned over are kept.
    kept: u32,
    file: Mutex<File>,
}

impl LogFile {
    /// Opens the file, which only its owner may read if it is new.
    ///
    /// # Errors
    ///
    /// When it cannot be appended to.
    pub fn open(path: &Path, max_bytes: u64, kept: u32) -> io::Result<Self> {
        // A command that changes its directory goes on with the same file.
        let path = std::path::absolute(path)?;
        Ok(Self {
            file: Mutex::new(append(&path)?),
            path,
            max_bytes,
            kept,
        })
    }

    /// Appends a line, which ends with a line feed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn append(&self, line: &[u8]) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.is_current(&file) {
            *file = append(&self.path)?;
        }
        let length = file.metadata()?.len();
        if length > 0 && length + line.len() as u64 > self.max_bytes {
            self.turn_over(&mut file)?;
        }
        file.write_all(line)
    }

    /// Returns whether the file is the one that has the name: somebody may have turned it over.
    fn is_current(&self, file: &File) -> bool {
        let (Ok(ours), Ok(named)) = (file.metadata(), fs::metadata(&self.path)) else {
            return false;
        };
        (ours.dev(), ours.ino()) == (named.dev(), named.ino())
    }

    fn turn_over(&self, file: &mut File) -> io::Result<()> {
        file.lock()?;
        // Another process may have been first.
        if self.is_current(file) {
            for number in (1..self.kept).rev() {
                // One that is not there leaves a gap, and nothing else.
                let _ = fs::rename(self.numbered(number), self.numbered(number + 1));
            }
            if self.kept == 0 {
                fs::remove_file(&self.path)?;
            } else {
                fs::rename(&self.path, self.numbered(1))?;
            }
        }
        *file = append(&self.path)?;
        Ok(())
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }
}

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600).open(path)
}

/// A log file as a place to write whole lines to.
#[derive(Clone, Debug)]
pub(super) struct Lines(pub(super) Arc<LogFile>);

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.append(line).map(|()| line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::LogFile;

    #[test]
    fn a_full_file_is_turned_over_and_so_many_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("log");
        let log = LogFile::open(&path, 10, 2).unwrap();
        for line in ["one 56\n", "two 56\n", "three\n", "four\n"] {
            log.append(line.as_bytes()).unwrap();
        }
        let text = |name: &str| fs::read_to_string(place.path().join(name)).unwrap();
        assert_eq!(text("log"), "four\n");
        assert_eq!(text("log.1"), "three\n");
        assert_eq!(text("log.2"), "two 56\n");
        assert!(!place.path().join("log.3").exists());
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn many_writers_lose_and_cut_no_line() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("log");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let log = LogFile::open(&path, 2000, 1000).unwrap();
                scope.spawn(move || {
                    for number in 0..200 {
                        let line = format!("{writer} {number} {}\n", "x".repeat(40));
                        log.append(line.as_bytes()).unwrap();
                    }
                });
            }
        });
        let mut lines = Vec::new();
        for file in fs::read_dir(place.path()).unwrap() {
            let text = fs::read_to_string(file.unwrap().path()).unwrap();
            lines.extend(text.lines().map(str::to_owned));
        }
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), 800);
        assert!(lines.iter().all(|line| line.ends_with(&"x".repeat(40))));
    }
}
