//! Why the configuration cannot be used or changed.

use std::io;
use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::config::FileError;

/// A configuration that is of no use, or cannot be changed as asked.
#[derive(Debug, Error, Diagnostic)]
pub enum ConfigError {
    /// A file says something that cannot be meant, or cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] FileError),
    /// It would say something that cannot be meant.
    #[error("the change was not made: {0}")]
    #[diagnostic(transparent)]
    WouldNotLoad(FileError),
    /// It cannot be written.
    #[error("cannot change the configuration file {}", path.display())]
    #[diagnostic(
        code(dpe::config::unwritable),
        help("check its directory and its permissions; nothing was changed")
    )]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The user has no home, and so no file.
    #[error(
        "the home directory of the user is not known, so there is no configuration file of the user"
    )]
    #[diagnostic(code(dpe::config::no_user_file), help("set HOME or XDG_CONFIG_HOME"))]
    NoHome,
    /// It is no key.
    #[error("{key:?} is no key")]
    #[diagnostic(
        code(dpe::config::key),
        help(
            "keys look like defaults.timeout or remote.origin.url; a name with dots stands in quotes"
        )
    )]
    Key {
        /// What was given.
        key: String,
    },
    /// There is something already.
    #[error("there is {what} already")]
    #[diagnostic(code(dpe::config::exists), help("{way_out}"))]
    Exists {
        /// What is there.
        what: String,
        /// What to do instead.
        way_out: String,
    },
    /// There is no such thing.
    #[error("there is no {what}")]
    #[diagnostic(code(dpe::config::missing), help("{way_out}"))]
    Missing {
        /// What was named.
        what: String,
        /// What to do instead.
        way_out: String,
    },
    /// Something else needs it.
    #[error("the remote {name} is in use: {users} would have none")]
    #[diagnostic(
        code(dpe::config::in_use),
        help(
            "remove these sources or give them another remote first, or remove it all the same with --force"
        )
    )]
    InUse {
        /// The remote.
        name: String,
        /// Who uses it.
        users: String,
    },
}

impl ConfigError {
    pub(super) fn unwritable(path: &Path, source: io::Error) -> Self {
        Self::Unwritable {
            path: path.to_owned(),
            source,
        }
    }
}
