//! Turns one file into what is said about it. Runs on worker threads.

use std::sync::Arc;

use dpe_connector::path;
use dpe_connector_files::{
    self as files, ExtractError, Failure, Input, Made, Maker, NoDocument, Reason, file_name,
    too_large,
};

use crate::beside::Around;
use crate::connector::Setup;
use crate::diff::Task;
use crate::door::Door;
use crate::held::Held;
use crate::listing::{Content, Fingerprint, Seen};
use crate::read::{ReadFile, read_file};
use crate::stat::Stat;
use crate::walk::Found;

/// Everything about a scan that a worker needs.
#[derive(Debug)]
pub(crate) struct Examiner {
    /// The way into the folder.
    pub(crate) door: Arc<Door>,
    /// What a walk found in it.
    pub(crate) files: Arc<Vec<Found>>,
    /// How many bytes of a fingerprint are known of what was seen before.
    pub(crate) precision: usize,
    /// Where its documents live.
    pub(crate) setup: Arc<Setup>,
    /// Makes them.
    pub(crate) maker: Maker<Held>,
    /// When the scan began, in nanoseconds since 1970.
    pub(crate) scan_start: i64,
    /// Whether pictures may differ from those that the documents of before show.
    pub(crate) has_pictures: bool,
    /// The way to what lies beside files that somebody named.
    pub(crate) around: Option<Around>,
}

/// What became of a file.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Read, and found to be what it was.
    Unchanged(Seen),
    /// New content.
    Document(Seen, Made),
    /// Of a format nobody here understands.
    Unsupported(Seen),
    /// Vanished since the walk.
    Gone,
    /// The system did not let it be read.
    Refused(String),
    /// No document can be made of its bytes.
    Invalid(Seen, ExtractError),
    /// No document can be made of it now.
    Failed(Failure),
}

impl Outcome {
    /// Returns how many bytes it occupies until it is said.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Document(_, made) => made.weight(),
            _ => 0,
        }
    }
}

impl Examiner {
    /// Reads a file and makes its document, unless it has the content it had before.
    pub(crate) fn examine(&self, task: &Task) -> Outcome {
        let (bytes, fingerprint, stat) = match self.read(task.file) {
            ReadFile::Whole {
                bytes,
                fingerprint,
                stat,
            } => (bytes, fingerprint, stat),
            ReadFile::Unwanted(stat) => {
                return Outcome::Unsupported(self.refused(stat, Reason::UnsupportedFormat));
            }
            ReadFile::TooLarge(stat, limit) => {
                let why = too_large(stat.size, limit, self.maker.limits);
                return Outcome::Invalid(self.refused(stat, why.reason), why);
            }
            ReadFile::Gone => return Outcome::Gone,
            ReadFile::Changing => {
                let why = "the file kept changing while it was read";
                return Outcome::Failed(Failure::of_source(why));
            }
            ReadFile::Refused(error) => return Outcome::Refused(error.to_string()),
        };
        let mut seen = self.seen(stat, self.content_of(task.file, &bytes, fingerprint));
        if self.is_as_before(task, &seen) {
            seen.shows_neighbours = shows_neighbours(task);
            return Outcome::Unchanged(seen);
        }
        self.document(task, seen, &bytes)
    }

    /// Reads a file, given by its number, only to know its content; `None` if there would be no
    /// document. Of the fingerprint there is as much as is known of what was seen before.
    pub(crate) fn probe(&self, file: usize) -> Option<Content> {
        let ReadFile::Whole {
            bytes, fingerprint, ..
        } = self.read(file)
        else {
            return None;
        };
        let content = self.content_of(file, &bytes, fingerprint)?;
        Some(content.cut(self.precision))
    }

    /// Returns whether a file has the content it had before, and so gives the same document.
    fn is_as_before(&self, task: &Task, seen: &Seen) -> bool {
        let before = task.previous.as_ref().and_then(|p| p.content.as_ref());
        let now = seen.content.as_ref().map(|now| now.cut(self.precision));
        let has_other_pictures = self.has_pictures && shows_neighbours(task);
        self.precision > 0 && !has_other_pictures && now.is_some() && now.as_ref() == before
    }

    fn content_of(&self, file: usize, bytes: &[u8], fingerprint: Fingerprint) -> Option<Content> {
        Some(Content {
            format: files::format_of(file_name(self.path(file)), bytes)?,
            fingerprint,
        })
    }

    /// Returns how long a file was when the walk saw it.
    pub(crate) fn size(&self, file: usize) -> u64 {
        self.files[file].stat.size
    }

    fn path(&self, file: usize) -> &[u8] {
        &self.files[file].path
    }

    fn read(&self, file: usize) -> ReadFile {
        let path = self.path(file);
        let open = || self.door.open(path);
        let name = file_name(path);
        read_file(open, |head| files::wanted(name, head, self.maker.limits))
    }

    fn seen(&self, stat: Stat, content: Option<Content>) -> Seen {
        Seen {
            stat,
            trusted: stat.is_trusted(self.scan_start),
            content,
            refused: None,
            shows_neighbours: false,
        }
    }

    /// Returns what was seen of a file that gives no document.
    fn refused(&self, stat: Stat, reason: Reason) -> Seen {
        Seen {
            refused: Some(reason),
            ..self.seen(stat, None)
        }
    }

    fn document(&self, task: &Task, mut seen: Seen, bytes: &[u8]) -> Outcome {
        let path = self.path(task.file);
        let uri = path::file_uri(&self.setup.prefix, path);
        let held = || Held {
            door: Arc::clone(&self.door),
            path: path.into(),
            stat: seen.stat,
        };
        let input = Input {
            path,
            bytes,
            size: seen.stat.size,
        };
        let give = || self.maker.handles.give(task.file, held());
        match self.maker.document(uri, input, self, give) {
            Ok(made) => {
                seen.shows_neighbours = made.shows_neighbours;
                Outcome::Document(seen, made)
            }
            Err(NoDocument::Refused(error)) if error.reason == Reason::UnsupportedFormat => {
                Outcome::Unsupported(self.refused(seen.stat, error.reason))
            }
            Err(NoDocument::Refused(error)) => {
                Outcome::Invalid(self.refused(seen.stat, error.reason), error)
            }
            Err(NoDocument::Failed(failure)) => Outcome::Failed(failure),
        }
    }
}

/// Returns whether the document of before spoke of pictures beside it.
fn shows_neighbours(task: &Task) -> bool {
    let previous = task.previous.as_ref();
    previous.is_some_and(|seen| seen.shows_neighbours)
}
