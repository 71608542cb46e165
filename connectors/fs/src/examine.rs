//! Turns one file into what is said about it. Runs on worker threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

use dpe_connector::{ItemErrorCode, encode_segments, path};
use serde_json::value::RawValue;

use crate::content::{self, NoDocument};
use crate::diff::Task;
use crate::listing::{Content, Entry, Fingerprint, file_name};
use crate::read::{ReadFile, read_file};
use crate::stat::Stat;
use crate::walk::absolute;

/// Everything about a scan that a worker needs.
#[derive(Clone, Debug)]
pub(crate) struct Examiner {
    /// The folder.
    pub(crate) root: PathBuf,
    /// Where its documents live.
    pub(crate) prefix: String,
    /// Largest file that is read, in bytes.
    pub(crate) max_file_bytes: u64,
    /// Whether a link at the end of a path is followed.
    pub(crate) follow_links: bool,
    /// Longest text of an item, in bytes.
    pub(crate) item_limit: usize,
    /// When the scan began, in nanoseconds since 1970.
    pub(crate) scan_start: i64,
}

/// What became of a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Read, and found to be what it was.
    Unchanged(Entry),
    /// New content, as the texts of its items.
    Document(Entry, Vec<Box<RawValue>>),
    /// Of a format nobody here understands.
    Unsupported(Entry),
    /// Vanished since the walk.
    Gone,
    /// The system did not let it be read.
    Refused(String),
    /// No document can be made of it.
    Failed {
        /// The kind of failure.
        code: ItemErrorCode,
        /// For people.
        message: String,
        /// Whether waiting may help.
        retryable: bool,
    },
}

impl Examiner {
    /// Reads a file and makes its document, unless it has the content it had before.
    pub(crate) fn examine(&self, task: &Task) -> Outcome {
        let (bytes, stat) = match self.read(task) {
            ReadFile::Whole { bytes, stat } => (bytes, stat),
            ReadFile::Unwanted(stat) => return Outcome::Unsupported(self.entry(task, stat, None)),
            ReadFile::TooLarge(stat) => return self.too_large(stat),
            ReadFile::Gone => return Outcome::Gone,
            ReadFile::Changing => return changing(),
            ReadFile::Refused(error) => return Outcome::Refused(error.to_string()),
        };
        let content = content_of(task, &bytes);
        let entry = self.entry(task, stat, content);
        let previous = task.previous.as_ref().and_then(|p| p.content.as_ref());
        if entry.content.is_some() && entry.content.as_ref() == previous {
            return Outcome::Unchanged(entry);
        }
        self.document(entry, &bytes)
    }

    /// Reads a file only to know its content; `None` if there would be no document.
    pub(crate) fn probe(&self, task: &Task) -> Option<Entry> {
        let ReadFile::Whole { bytes, stat } = self.read(task) else {
            return None;
        };
        let content = content_of(task, &bytes)?;
        Some(self.entry(task, stat, Some(content)))
    }

    fn read(&self, task: &Task) -> ReadFile {
        let path = absolute(&self.root, &task.found.path);
        let name = file_name(&task.found.path);
        read_file(&path, self.follow_links, self.max_file_bytes, |head| {
            content::format_of(name, head).is_some()
        })
    }

    fn entry(&self, task: &Task, stat: Stat, content: Option<Content>) -> Entry {
        Entry {
            path: task.found.path.clone(),
            stat,
            trusted: stat.is_trusted(self.scan_start),
            content,
        }
    }

    fn document(&self, entry: Entry, bytes: &[u8]) -> Outcome {
        let uri = path::file_uri(&self.prefix, &entry.path);
        let name = file_name(&entry.path);
        // One file that trips over a defect must not end the round of all others.
        let made = catch_unwind(AssertUnwindSafe(|| content::document(uri, name, bytes)));
        match made {
            Ok(Ok(item)) => Outcome::Document(entry, encode_segments(&item, self.item_limit)),
            Ok(Err(NoDocument::Unsupported)) => Outcome::Unsupported(Entry {
                content: None,
                ..entry
            }),
            Ok(Err(NoDocument::Invalid(message))) => Outcome::Failed {
                code: ItemErrorCode::ContentInvalid,
                message,
                retryable: false,
            },
            Err(_) => Outcome::Failed {
                code: ItemErrorCode::Internal,
                message: "the extraction failed; see the connector's messages".into(),
                retryable: false,
            },
        }
    }

    fn too_large(&self, stat: Stat) -> Outcome {
        Outcome::Failed {
            code: ItemErrorCode::ContentInvalid,
            message: format!(
                "the file has {} bytes, more than max_file_bytes ({}); leave it out with .dpeignore",
                stat.size, self.max_file_bytes
            ),
            retryable: false,
        }
    }
}

fn changing() -> Outcome {
    Outcome::Failed {
        code: ItemErrorCode::SourceUnavailable,
        message: "the file kept changing while it was read".into(),
        retryable: true,
    }
}

fn content_of(task: &Task, bytes: &[u8]) -> Option<Content> {
    Some(Content {
        format: content::format_of(file_name(&task.found.path), bytes)?,
        fingerprint: Fingerprint::of(bytes),
    })
}
