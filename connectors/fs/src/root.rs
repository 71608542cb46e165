//! The root, before anything is concluded from what is in it: a folder that is not what it was is
//! a failure of the source, never a reason to delete.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dpe_connector::{ErrorCode, RpcError};

use crate::cursor::Previous;
use crate::listing::Entry;
use crate::rules::Unreadable;
use crate::walk::{self, Walked};

/// The root of a round.
#[derive(Debug)]
pub(crate) struct Place {
    /// Without links in it.
    pub(crate) path: PathBuf,
    /// What it is on.
    pub(crate) device: u64,
    inode: u64,
}

/// Returns the root, if it is a folder that can be listed.
pub(crate) fn checked(root: &Path) -> Result<Place, RpcError> {
    let failed = |why: &dyn Display, todo: &str| {
        source_failed(format!("root {}: {why}; {todo}", root.display()))
    };
    let look = || {
        let path = fs::canonicalize(root)?;
        let metadata = fs::metadata(&path)?;
        Ok::<_, io::Error>((path, metadata))
    };
    let (path, metadata) =
        look().map_err(|why| failed(&why, "mount it, or correct `root` in the configuration"))?;
    if !metadata.is_dir() {
        let todo = "name the folder it is in as `root` and the file in `only`";
        return Err(failed(&"not a folder", todo));
    }
    fs::read_dir(&path).map_err(|why| failed(&why, "allow this user to read it"))?;
    Ok(Place {
        path,
        device: metadata.dev(),
        inode: metadata.ino(),
    })
}

impl Place {
    /// Makes sure that the folder is the one it was when the round began. When a disk is unmounted
    /// or a folder replaced in the middle of a round, everything in it seems to be gone.
    pub(crate) fn is_still_there(&self) -> Result<(), RpcError> {
        let now = fs::metadata(&self.path);
        if now.is_ok_and(|now| (now.dev(), now.ino()) == (self.device, self.inode)) {
            return Ok(());
        }
        let why = "was replaced or unmounted while it was read; push it again when it stays";
        Err(source_failed(format!("root {} {why}", self.path.display())).retryable())
    }
}

/// A folder that held documents and now holds not one file is an unmounted disk far more often
/// than an intention.
pub(crate) fn refuse_sudden_emptiness(
    root: &Path,
    previous: Option<&Previous>,
    walked: &Walked,
) -> Result<(), RpcError> {
    if !walked.files.is_empty() || !walked.troubles.is_empty() {
        return Ok(());
    }
    let documents = previous.map_or(0, Previous::documents);
    if documents == 0 {
        return Ok(());
    }
    Err(source_failed(format!(
        "root {} holds no file any more, last time it gave {documents} documents; check that it \
         is mounted and not ignored as a whole, or remove the documents with `dpe rm -r` if it is \
         meant to be empty",
        root.display()
    )))
}

/// A folder that lies on another device than before and holds not one of the files it held is the place where a disk
/// is mounted most of the time, with whatever lies there while it is not.
pub(crate) fn refuse_another_disk(
    place: &Place,
    previous: Option<&Previous>,
    walked: &Walked,
) -> Result<(), RpcError> {
    let Some(previous) = previous.filter(|previous| previous.ground().device != place.device)
    else {
        return Ok(());
    };
    let is_left = |entry: &Entry| {
        let files = &walked.files;
        let found = files.binary_search_by(|file| file.path.cmp(&entry.path));
        found.is_ok()
    };
    let documents = previous.documents();
    if documents == 0 || previous.entries().flatten().any(|entry| is_left(&entry)) {
        return Ok(());
    }
    Err(source_failed(format!(
        "root {} is on another file system than last time, and none of the {documents} documents that it gave then is \
         there; check that the right disk is mounted, or remove the documents with `dpe rm -r` if they are not to \
         come back",
        place.path.display()
    )))
}

/// Returns the failure of a scan that cannot list the root to its end.
pub(crate) fn unlisted(root: &Path, why: &io::Error) -> RpcError {
    source_failed(format!("root {} cannot be listed: {why}", root.display())).retryable()
}

/// Returns the failure of a scan that does not know which rules count.
pub(crate) fn blind(why: &Unreadable) -> RpcError {
    source_failed(walk::blindness(why))
}

fn source_failed(message: String) -> RpcError {
    RpcError::new(ErrorCode::SourceFailed, message)
}
