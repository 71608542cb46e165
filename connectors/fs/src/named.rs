//! The enumeration of files somebody named one by one (`only`).
//!
//! Whoever names a file means it: ignore rules do not count, a link is followed, and what cannot
//! be a document is a failure, not something to be passed over.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::read::is_gone;
use crate::stat::Stat;
use crate::walk::{Found, Trouble, Walked};

/// Looks at `paths` below `root`.
pub(crate) fn look_at(root: &Path, paths: &[PathBuf]) -> Walked {
    let mut walked = Walked::default();
    for path in paths {
        match look(root, path) {
            Ok(stat) => walked.files.push(Found {
                path: bytes(path),
                stat,
            }),
            Err((message, retryable)) => walked.troubles.push(Trouble {
                path: bytes(path),
                is_folder: false,
                message,
                retryable,
            }),
        }
    }
    walked.sort();
    walked.files.dedup();
    walked
}

/// Returns the state of a file, or why it cannot be a document and whether waiting may help.
fn look(root: &Path, path: &Path) -> Result<Stat, (String, bool)> {
    if path.iter().any(|part| part == ".git") {
        return Err(("nothing below `.git` is enumerated".into(), false));
    }
    match fs::metadata(root.join(path)) {
        Ok(found) if found.is_file() => Ok(Stat::of(&found)),
        Ok(found) if found.is_dir() => Err(("is a folder, not a file".into(), false)),
        Ok(_) => Err(("is neither a file nor a folder".into(), false)),
        Err(error) => Err((error.to_string(), !is_gone(&error))),
    }
}

/// Returns the names in `path` joined by single slashes.
fn bytes(path: &Path) -> Box<[u8]> {
    let clean: PathBuf = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .collect();
    clean.as_os_str().as_bytes().into()
}
