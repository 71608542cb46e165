//! Turns one blob into what is said about it. Runs on worker threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dpe_connector::path;
use dpe_connector_files::{
    self as files, ExtractError, Failure, HEAD_BYTES, Input, Made, Maker, NoDocument, Reason,
    file_name, too_large,
};
use gix::ObjectId;

use crate::connector::Setup;
use crate::held::Held;
use crate::repository::Repository;

/// A pointer file of git-lfs is shorter than this (its specification).
const POINTER_BYTES: u64 = 1024;

/// The beginning of something that is no text, so that only a name can speak for a format.
pub(crate) const NO_TEXT: &[u8] = b"\0";

/// A blob at a path, to be made a document.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// Relative to the folder that is enumerated.
    pub(crate) path: Box<[u8]>,
    /// The blob.
    pub(crate) id: ObjectId,
    /// Its length in bytes.
    pub(crate) size: u64,
    /// The blob it was before, at the path it was at before.
    pub(crate) before: Option<(Box<[u8]>, ObjectId)>,
}

/// What became of a blob.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// One that was made.
    Document(Made),
    /// Of a format nobody here understands.
    Unsupported,
    /// It only says where git-lfs keeps the content.
    Pointer,
    /// No document can be made of its bytes.
    Invalid(ExtractError),
    /// No document can be made of it now.
    Failed(Failure),
}

impl Outcome {
    /// Returns how many bytes it occupies until it is said.
    pub(crate) fn weight(&self) -> u64 {
        match self {
            Self::Document(made) => made.weight(),
            _ => 0,
        }
    }
}

/// Everything about a round that a worker needs.
pub(crate) struct Examiner {
    /// The objects.
    pub(crate) repository: Arc<Repository>,
    /// Says which paths are enumerated, and below which prefix the documents live.
    pub(crate) setup: Arc<Setup>,
    /// The tree that is enumerated; nothing if there is none.
    pub(crate) tree: Option<ObjectId>,
    /// Makes the documents.
    pub(crate) maker: Maker<Held>,
    /// Whether something could not be read that has to be there.
    pub(crate) is_damaged: AtomicBool,
}

impl Examiner {
    /// Reads a blob and makes its document.
    pub(crate) fn examine(&self, task: &Task) -> Outcome {
        let name = file_name(&task.path);
        let limits = self.maker.limits;
        match files::wanted_by_name(name, limits) {
            Some(wanted) if task.size > wanted.limit => {
                return Outcome::Invalid(too_large(task.size, wanted.limit, limits));
            }
            // Not read to find out whether it begins like a text: there is no beginning without the rest.
            None if task.size > limits.file => return Outcome::Unsupported,
            _ => {}
        }
        let bytes = match self.repository.blob(task.id) {
            Ok(bytes) => bytes,
            Err(unread) => {
                let why = format!("blob {}: {}", task.id, unread.why);
                if unread.is_too_large {
                    return Outcome::Failed(Failure::of_content(why));
                }
                self.is_damaged.store(true, Ordering::Relaxed);
                return Outcome::Failed(Failure::of_source(why));
            }
        };
        if is_pointer(&bytes) {
            return Outcome::Pointer;
        }
        if files::format_of(name, head(&bytes)).is_none() {
            return Outcome::Unsupported;
        }
        self.document(task, &bytes)
    }

    /// Returns whether a blob gave a document. As long as nobody can tell, it may have.
    pub(crate) fn had_document(&self, path: &[u8], id: ObjectId) -> bool {
        !matches!(self.format(path, id), Ok(None))
    }

    /// Returns the format of the document that a blob gives; nothing if it gives none. How large
    /// blobs may be does not matter here.
    ///
    /// # Errors
    ///
    /// When the blob cannot be read.
    pub(crate) fn format(&self, path: &[u8], id: ObjectId) -> Result<Option<Arc<str>>, String> {
        let name = file_name(path);
        let by_name = files::format_of(name, NO_TEXT);
        let size = self.repository.blob_size(id)?;
        if size == 0 {
            return Ok(files::format_of(name, b""));
        }
        if size >= POINTER_BYTES && by_name.is_some() {
            return Ok(by_name);
        }
        if size > self.maker.limits.file {
            return Ok(None);
        }
        let bytes = self.repository.blob(id).map_err(|unread| unread.why)?;
        if is_pointer(&bytes) {
            return Ok(None);
        }
        Ok(by_name.or_else(|| {
            // Only its beginning speaks for it; the rest may speak against it.
            match self.maker.extractor.extract(name, &bytes) {
                Err(NoDocument::Refused(error)) if error.reason == Reason::UnsupportedFormat => {
                    None
                }
                _ => files::format_of(name, head(&bytes)),
            }
        }))
    }

    fn document(&self, task: &Task, bytes: &[u8]) -> Outcome {
        let uri = path::file_uri(&self.setup.prefix, &task.path);
        let input = Input {
            path: &task.path,
            bytes,
            size: task.size,
        };
        let give = || self.maker.handles.give(task.id, self.held(task.id));
        match self.maker.document(uri, input, self, give) {
            Ok(made) => Outcome::Document(made),
            Err(NoDocument::Refused(error)) if error.reason == Reason::UnsupportedFormat => {
                Outcome::Unsupported
            }
            Err(NoDocument::Refused(error)) => Outcome::Invalid(error),
            Err(NoDocument::Failed(failure)) => Outcome::Failed(failure),
        }
    }

    /// Returns what a handle of a blob stands for.
    pub(crate) fn held(&self, blob: ObjectId) -> Held {
        let repository = Arc::clone(&self.repository);
        Held { repository, blob }
    }
}

fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD_BYTES)]
}

/// Returns whether these bytes only say where git-lfs keeps the content of a file: the key
/// `version` comes first, the others follow in alphabetical order.
fn is_pointer(bytes: &[u8]) -> bool {
    let begins = |start: &[u8]| bytes.starts_with(start);
    let holds = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    (bytes.len() as u64) < POINTER_BYTES
        && (begins(b"version https://git-lfs.github.com/spec/")
            || begins(b"version https://hawser.github.com/spec/"))
        && holds(b"\noid ")
        && holds(b"\nsize ")
}

#[cfg(test)]
mod tests {
    use super::is_pointer;

    #[test]
    fn a_pointer_is_known_by_its_keys() {
        // The example of the specification of git-lfs.
        let pointer = b"version https://git-lfs.github.com/spec/v1\n\
            oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n\
            size 12345\n";
        assert!(is_pointer(pointer));
        assert!(!is_pointer(
            b"version https://git-lfs.github.com/spec/v1 is what we use\n"
        ));
        assert!(!is_pointer(&pointer[8..]));
    }
}
