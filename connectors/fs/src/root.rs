//! The root, before anything is concluded from what is in it: a folder that is not what it was is
//! a failure of the source, never a reason to delete.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use dpe_connector::{ErrorCode, RpcError};

use crate::listing::Entry;
use crate::rules::Unreadable;
use crate::walk::{self, Walked};

/// Returns the root without links in its path, if it is a folder that can be listed.
pub(crate) fn checked(root: &Path) -> Result<PathBuf, RpcError> {
    let failed = |why: &dyn Display, todo: &str| {
        source_failed(format!("root {}: {why}; {todo}", root.display()))
    };
    let canonical = fs::canonicalize(root)
        .map_err(|why| failed(&why, "mount it, or correct `root` in the configuration"))?;
    if !canonical.is_dir() {
        let todo = "name the folder it is in as `root` and the file in `only`";
        return Err(failed(&"not a folder", todo));
    }
    fs::read_dir(&canonical).map_err(|why| failed(&why, "allow this user to read it"))?;
    Ok(canonical)
}

/// A folder that held documents and now holds not one file is an unmounted disk far more often
/// than an intention.
pub(crate) fn refuse_sudden_emptiness(
    root: &Path,
    previous: &[Entry],
    walked: &Walked,
) -> Result<(), RpcError> {
    let documents = previous
        .iter()
        .filter(|entry| entry.content.is_some())
        .count();
    if documents == 0 || !walked.files.is_empty() || !walked.troubles.is_empty() {
        return Ok(());
    }
    Err(source_failed(format!(
        "root {} holds no file any more, last time it gave {documents} documents; check that it \
         is mounted and not ignored as a whole, or remove the documents yourself if it is meant \
         to be empty",
        root.display()
    )))
}

/// Returns the failure of a scan that does not know which rules count.
pub(crate) fn blind(why: &Unreadable) -> RpcError {
    source_failed(walk::blindness(why))
}

fn source_failed(message: String) -> RpcError {
    RpcError::new(ErrorCode::SourceFailed, message)
}
