//! Why a command cannot go on: transparent over the rooms.

use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::config::{CredentialError, LocationError, PlaceError, UnknownRemote};
use crate::ops::check_ignore::CheckIgnoreError;
use crate::ops::commit::CommitError;
use crate::ops::config::ConfigError;
use crate::ops::connector::ConnectorError;
use crate::ops::hash_object::HashObjectError;
use crate::ops::remote::RemoteError;
use crate::ops::serve::ServeError;
use crate::ops::show::ShowError;
use crate::ops::source::SourceError;
use crate::ops::state::UpkeepError;
use crate::runner::ClientError;
use crate::sync::failure::Failure;

/// Any error that ends a command.
#[derive(Debug, Error, Diagnostic)]
pub enum Error {
    /// No place for data or state.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Place(#[from] PlaceError),
    /// The location of the remote is of no use.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Location(#[from] LocationError),
    /// The credential of the remote is not named clearly.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Credential(#[from] CredentialError),
    /// The remote cannot be opened.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Remote(#[from] RemoteError),
    /// The remote did not do what was asked.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Client(#[from] ClientError),
    /// A document cannot be shown.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Show(#[from] ShowError),
    /// A configuration file is of no use.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    /// Which remote is meant cannot be found out.
    #[error(transparent)]
    #[diagnostic(transparent)]
    UnknownRemote(#[from] UnknownRemote),
    /// What is to be worked on is no source.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Source(#[from] SourceError),
    /// It cannot be told what is left out.
    #[error(transparent)]
    #[diagnostic(transparent)]
    CheckIgnore(#[from] CheckIgnoreError),
    /// State cannot be looked after.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Upkeep(#[from] UpkeepError),
    /// The remote cannot be served.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Serve(#[from] ServeError),
    /// A connector cannot be examined.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Connector(#[from] ConnectorError),
    /// A document cannot be committed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Commit(#[from] CommitError),
    /// Objects cannot be hashed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    HashObject(#[from] HashObjectError),
    /// The command line cannot be meant as it is.
    #[error("{message}")]
    #[diagnostic(code(dpe::usage), help("{way_out}"))]
    Usage {
        /// What is wrong with it.
        message: String,
        /// What to type.
        way_out: String,
    },
    /// The manual cannot be written to the directory that was named.
    #[error("cannot write the manual to {}", path.display())]
    #[diagnostic(
        code(dpe::manual),
        help("give a directory that can be written to, or none for standard output")
    )]
    Manual {
        /// What was named.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The log cannot be appended to.
    #[error("cannot write the log {}", path.display())]
    #[diagnostic(
        code(dpe::log),
        help("give --log-file a file that this user may write, or leave it out")
    )]
    Log {
        /// What was named.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Standard input is named more than once.
    #[error("`-` is named twice, but standard input can be read once")]
    #[diagnostic(code(dpe::extract::stdin), help("name `-` once"))]
    StdinTwice,
    /// `-C` names no directory that can be entered.
    #[error("cannot enter the directory {}", path.display())]
    #[diagnostic(code(dpe::directory), help("give an existing directory to -C"))]
    Directory {
        /// What was named.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The threads of the program cannot be started.
    #[error("cannot start the threads of the program")]
    #[diagnostic(code(dpe::runtime), help("check the limits on processes and memory"))]
    Runtime(#[source] io::Error),
    /// Where this very program is cannot be found out.
    #[error("cannot find the file of this program")]
    #[diagnostic(code(dpe::executable), help("check that /proc is mounted"))]
    Executable(#[source] io::Error),
    /// Standard input cannot be read.
    #[error("cannot read standard input")]
    #[diagnostic(code(dpe::input), help("check where standard input comes from"))]
    Input(#[source] io::Error),
    /// The result cannot be written.
    #[error("cannot write the result")]
    #[diagnostic(code(dpe::output), help("check where standard output goes"))]
    Output(#[source] io::Error),
}

impl Error {
    /// Returns the error of a command line that cannot be meant as it is.
    pub fn usage(message: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self::Usage {
            message: message.into(),
            way_out: way_out.into(),
        }
    }

    /// Returns the failure of a remote that ended the command, if it was one.
    pub fn remote_failure(&self) -> Option<&Failure> {
        match self {
            Self::Remote(RemoteError::Failed(failure)) => Some(failure),
            Self::Client(error) | Self::Show(ShowError::Remote(error)) => Some(&error.failure),
            _ => None,
        }
    }
}
