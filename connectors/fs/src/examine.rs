//! Turns one file into what is said about it. Runs on worker threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector::content::BlobSource;
use dpe_connector::{ItemErrorCode, encode_segments, path};
use dpe_connector_files::{self as files, Limits, NoDocument, file_name};
use serde_json::value::RawValue;

use crate::diff::Task;
use crate::handles::{Handles, Held};
use crate::listing::{Content, Entry, Fingerprint};
use crate::read::{ReadFile, read_file};
use crate::stat::Stat;
use crate::walk::absolute;

/// Longest file whose bytes travel inside its item.
const INLINE_BYTES: u64 = 64 << 10;

/// Everything about a scan that a worker needs.
#[derive(Clone, Debug)]
pub(crate) struct Examiner {
    /// The folder.
    pub(crate) root: PathBuf,
    /// Where its documents live.
    pub(crate) prefix: String,
    /// How large files may be.
    pub(crate) limits: Limits,
    /// Where files are noted whose bytes may be asked for.
    pub(crate) handles: Arc<Handles>,
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
        let (bytes, fingerprint, stat) = match self.read(task) {
            ReadFile::Whole {
                bytes,
                fingerprint,
                stat,
            } => (bytes, fingerprint, stat),
            ReadFile::Unwanted(stat) => return Outcome::Unsupported(self.entry(task, stat, None)),
            ReadFile::TooLarge(stat, limit) => return self.too_large(stat, limit),
            ReadFile::Gone => return Outcome::Gone,
            ReadFile::Changing => return changing(),
            ReadFile::Refused(error) => return Outcome::Refused(error.to_string()),
        };
        let content = content_of(task, &bytes, fingerprint);
        let entry = self.entry(task, stat, content);
        let previous = task.previous.as_ref().and_then(|p| p.content.as_ref());
        if entry.content.is_some() && entry.content.as_ref() == previous {
            return Outcome::Unchanged(entry);
        }
        self.document(entry, &bytes)
    }

    /// Reads a file only to know its content; `None` if there would be no document.
    pub(crate) fn probe(&self, task: &Task) -> Option<Entry> {
        let ReadFile::Whole {
            bytes,
            fingerprint,
            stat,
        } = self.read(task)
        else {
            return None;
        };
        let content = content_of(task, &bytes, fingerprint)?;
        Some(self.entry(task, stat, Some(content)))
    }

    fn read(&self, task: &Task) -> ReadFile {
        let path = absolute(&self.root, &task.found.path);
        let name = file_name(&task.found.path);
        read_file(&path, self.follow_links, |head| {
            files::wanted(name, head, self.limits)
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
        let whole = || self.whole(&entry, bytes);
        let made = catch_unwind(AssertUnwindSafe(|| {
            files::document(uri, name, bytes, whole)
        }));
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

    /// Returns where the bytes of a file are: in the item itself, if they are few.
    fn whole(&self, entry: &Entry, bytes: &[u8]) -> BlobSource {
        if entry.stat.size <= INLINE_BYTES && bytes.len() as u64 <= INLINE_BYTES {
            let inline = STANDARD.encode(bytes);
            return BlobSource::Inline { inline };
        }
        BlobSource::Handle {
            handle: self.handles.give(Held {
                path: absolute(&self.root, &entry.path),
                follow: self.follow_links,
                stat: entry.stat,
            }),
            size: Some(entry.stat.size),
        }
    }

    fn too_large(&self, stat: Stat, limit: u64) -> Outcome {
        let whose = if limit == self.limits.blob {
            "the remote takes in one blob"
        } else {
            "max_file_bytes"
        };
        Outcome::Failed {
            code: ItemErrorCode::ContentInvalid,
            message: format!(
                "the file has {} bytes, more than {whose} ({limit}); leave it out with .dpeignore",
                stat.size
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

fn content_of(task: &Task, bytes: &[u8], fingerprint: Fingerprint) -> Option<Content> {
    Some(Content {
        format: files::format_of(file_name(&task.found.path), bytes)?,
        fingerprint,
    })
}
