//! What can be wrong with state, each case with its way out.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use super::instance::FILE_NAME;

/// State that cannot be used. Nothing was changed.
#[derive(Debug, Error, Diagnostic)]
pub enum StateError {
    /// Another process holds the instance.
    #[error("another run of this source is in progress")]
    #[diagnostic(
        code(dpe::state::busy),
        help("wait for it to end; its lock is {}", lock.display())
    )]
    Busy {
        /// The lock file.
        lock: PathBuf,
    },

    /// Two instances would write the same documents.
    #[error(
        "{}: {owner} is pushed there, to the same remote",
        clash(wanted, existing)
    )]
    #[diagnostic(
        code(dpe::state::overlap),
        help("give this source a prefix of its own with --prefix, such as {suggestion}")
    )]
    Overlap {
        /// The prefix that was asked for.
        wanted: String,
        /// The prefix in use.
        existing: String,
        /// What uses it.
        owner: String,
        /// A prefix that is free.
        suggestion: String,
    },

    /// The documents below the prefix belong to a source that does not exist any more.
    #[error(
        "{}was pushed from {owner}; that is not there now",
        clash(wanted, existing)
    )]
    #[diagnostic(
        code(dpe::state::origin_gone),
        help(
            "if it was moved here or is gone for good, give --adopt to take its documents over; \
             if it is only away, such as an unmounted disk, give this source a prefix of its own \
             with --prefix"
        )
    )]
    OriginGone {
        /// The prefix that was asked for.
        wanted: String,
        /// The prefix in use.
        existing: String,
        /// Where it was pushed from.
        owner: String,
    },

    /// The files are there but are not what this program wrote.
    #[error("the state in {} is damaged", path.display())]
    #[diagnostic(
        code(dpe::state::damaged),
        help("it was left untouched. {}", way_out(path))
    )]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What the database said.
        #[source]
        source: rusqlite::Error,
    },

    /// A later version of this program wrote the files.
    #[error("the state in {} was written by a newer version of dpe (format {found})", path.display())]
    #[diagnostic(
        code(dpe::state::newer),
        help("it was left untouched; update dpe, or choose another place with --state-dir")
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its format version.
        found: i64,
    },

    /// The files cannot be reached just now.
    #[error("the state in {} cannot be used", path.display())]
    #[diagnostic(
        code(dpe::state::unavailable),
        help("check that the place exists, is writable and has free space")
    )]
    Unavailable {
        /// The file or directory.
        path: PathBuf,
        /// What went wrong.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

/// Says how two prefixes are in each other's way.
fn clash(wanted: &str, existing: &str) -> String {
    if wanted == existing {
        format!("{wanted} is taken")
    } else {
        format!("{wanted} overlaps with {existing}")
    }
}

/// Says how damaged state is set aside, and what follows.
fn way_out(path: &Path) -> String {
    let id = path.parent().and_then(Path::file_name);
    match id.filter(|_| path.file_name() == Some(FILE_NAME.as_ref())) {
        Some(id) => format!(
            "`dpe state reset --id {}` sets it aside; the next push compares everything with the remote \
             again, and says what is there that the source does not have any more",
            id.display()
        ),
        None => "`dpe state reset --registry` sets it aside; each source is then registered again by its next \
                 push"
            .to_owned(),
    }
}

impl StateError {
    /// Returns whether the same call may succeed later without anybody doing anything.
    pub fn retryable(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Unavailable { .. })
    }

    pub(super) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Unavailable {
            path: path.to_owned(),
            source: source.into(),
        }
    }

    /// Trouble with a database that did not exist before: there is nothing that could be damaged.
    pub(super) fn unfinished(path: &Path, source: rusqlite::Error) -> Self {
        Self::Unavailable {
            path: path.to_owned(),
            source: Box::new(source),
        }
    }

    /// Tells damage, which needs a person, from trouble that may pass.
    pub(super) fn database(path: &Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase, TypeMismatch};
        let damaged = match &source {
            rusqlite::Error::SqliteFailure(failure, message) => {
                matches!(failure.code, DatabaseCorrupt | NotADatabase | TypeMismatch)
                    || message
                        .as_deref()
                        .is_some_and(|text| text.starts_with("no such "))
            }
            rusqlite::Error::SqlInputError { .. }
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..) => true,
            _ => false,
        };
        let path = path.to_owned();
        if damaged {
            Self::Damaged { path, source }
        } else {
            Self::Unavailable {
                path,
                source: Box::new(source),
            }
        }
    }
}
