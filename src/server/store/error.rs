//! Why a store cannot be opened or used.

use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;

use crate::server::store::damage::is_damage;

/// A store that cannot be opened.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum StoreError {
    /// There is no store and none may be created.
    #[error("there is no store at {}", dir.display())]
    #[diagnostic(
        code(dpe::server::store_missing),
        help("check the path, or push something to create the store")
    )]
    Missing {
        /// Directory of the store.
        dir: PathBuf,
    },
    /// Another process, or another part of this one, has the store open.
    #[error("the store at {} is in use{}", dir.display(), by(*pid, served_at.as_deref()))]
    #[diagnostic(
        code(dpe::server::store_in_use),
        help("wait until the other process has ended, or stop it")
    )]
    InUse {
        /// Directory of the store.
        dir: PathBuf,
        /// Process that holds the lock, as far as the lock file says.
        pid: Option<u32>,
        /// URL at which that process serves the store, if it does: the same documents are there.
        served_at: Option<String>,
    },
    /// The store was written by a later version of this program.
    #[error("the store at {} has schema version {found}; this program knows versions up to {supported}", dir.display())]
    #[diagnostic(
        code(dpe::server::store_newer),
        help("use the newer `dpe` that wrote the store, or another store; nothing was changed")
    )]
    Newer {
        /// Directory of the store.
        dir: PathBuf,
        /// Version found.
        found: i64,
        /// Newest version this program can read.
        supported: i64,
    },
    /// The directory has something else in it.
    #[error("{} is not a store", path.display())]
    #[diagnostic(
        code(dpe::server::not_a_store),
        help("name a directory that is empty, missing, or holds a store; nothing was changed")
    )]
    Foreign {
        /// Directory, or file in it that is no database of ours.
        path: PathBuf,
    },
    /// A file of the store cannot be read or written.
    #[error("cannot {doing} {}", path.display())]
    #[diagnostic(
        code(dpe::server::store_io),
        help("check that the directory exists, is writable and has space left")
    )]
    Io {
        /// What was being done.
        doing: &'static str,
        /// File or directory.
        path: PathBuf,
        /// Cause.
        source: io::Error,
    },
    /// The database is one of ours, but not what was written.
    #[error("the store in {} is damaged", path.display())]
    #[diagnostic(
        code(dpe::server::store_damaged),
        help("the file was left untouched; move the store aside and push again")
    )]
    Damaged {
        /// Database file.
        path: PathBuf,
        /// What is wrong with it.
        source: rusqlite::Error,
    },
    /// The database cannot be used just now.
    #[error("cannot use the database {}", path.display())]
    #[diagnostic(
        code(dpe::server::store_database),
        help("check permissions and free space, and whether another program has the file open")
    )]
    Database {
        /// Database file.
        path: PathBuf,
        /// Cause.
        source: rusqlite::Error,
    },
}

impl StoreError {
    /// Returns whether the same call may succeed later without anybody changing the store.
    pub fn may_pass(&self) -> bool {
        use io::ErrorKind::{NotADirectory, PermissionDenied, ReadOnlyFilesystem};
        match self {
            Self::InUse { .. } | Self::Database { .. } => true,
            Self::Io { source, .. } => !matches!(
                source.kind(),
                NotADirectory | PermissionDenied | ReadOnlyFilesystem
            ),
            _ => false,
        }
    }

    /// Tells damage, which needs a person, from trouble that may pass.
    pub(super) fn database(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        if is_damage(&source) {
            Self::Damaged { path, source }
        } else {
            Self::Database { path, source }
        }
    }
}

fn by(pid: Option<u32>, served_at: Option<&str>) -> String {
    let pid = pid.map(|pid| format!(" by process {pid}"));
    let url = served_at.map(|url| format!(", which serves it at {url}"));
    [pid, url].into_iter().flatten().collect()
}
