//! Says of paths which rule of which file decides whether they are pushed with their folder.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use dpe_connector_fs::Judge;
use miette::Diagnostic;
use thiserror::Error;

pub use dpe_connector_fs::Verdict;

/// Why nothing can be said.
#[derive(Debug, Error, Diagnostic)]
pub enum CheckIgnoreError {
    /// The folder is not there.
    #[error("cannot look into the folder {}", root.display())]
    #[diagnostic(
        code(dpe::check_ignore::root),
        help("give the folder that is pushed with --source")
    )]
    Root {
        /// The folder.
        root: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },

    /// The path lies somewhere else.
    #[error("{} is not below {}", path.display(), root.display())]
    #[diagnostic(
        code(dpe::check_ignore::outside),
        help("give the folder that is pushed with --source")
    )]
    Outside {
        /// The path.
        path: PathBuf,
        /// The folder.
        root: PathBuf,
    },

    /// The rules on the way, or what is there, cannot be read.
    #[error("cannot tell what becomes of {}", path.display())]
    #[diagnostic(
        code(dpe::check_ignore::unreadable),
        help("a push leaves alone what is in such a folder, and says so")
    )]
    Unreadable {
        /// The path.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: io::Error,
    },
}

/// Knows what becomes of the paths of one folder.
#[derive(Debug)]
pub struct Checker {
    root: PathBuf,
    judge: Judge,
    /// What a person should hear of the rules.
    pub notes: Vec<String>,
}

impl Checker {
    /// Returns the checker of the folder `root`, as a push of it without further configuration sees it.
    ///
    /// # Errors
    ///
    /// [`CheckIgnoreError::Root`].
    pub fn of(root: &Path) -> Result<Self, CheckIgnoreError> {
        let unusable = |source| CheckIgnoreError::Root {
            root: root.to_owned(),
            source,
        };
        let root = root.canonicalize().map_err(unusable)?;
        let mut notes = Vec::new();
        let judge = Judge::of(&root, (&[], &[]), false, &mut notes).map_err(unusable)?;
        Ok(Self { root, judge, notes })
    }

    /// Returns what decides about a path, which is relative to the working directory and need not exist. Links on the
    /// way are not followed; a slash at the end says that it is a folder.
    ///
    /// # Errors
    ///
    /// [`CheckIgnoreError`].
    pub fn check(&self, path: &Path) -> Result<Verdict, CheckIgnoreError> {
        let unreadable = |source| CheckIgnoreError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let here = std::env::current_dir()
            .and_then(|here| here.canonicalize())
            .map_err(unreadable)?;
        let whole = plain(&here.join(path));
        let Ok(below) = whole.strip_prefix(&self.root) else {
            return Err(CheckIgnoreError::Outside {
                path: path.to_owned(),
                root: self.root.clone(),
            });
        };
        let is_folder = path.as_os_str().as_bytes().ends_with(b"/");
        self.judge.verdict(below, is_folder).map_err(unreadable)
    }
}

/// Returns the path without `.` and `..`, by its text alone, as git does it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
