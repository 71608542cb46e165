//! Why a round over a source cannot begin, or did not end.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::config::UnknownRemote;
use crate::model::InvalidUri;
use crate::ops::causes::with_causes;
use crate::ops::remote::RemoteError;
use crate::runner;
use crate::state::StateError;
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::report::{Outcome, Report};

/// A source, or a round over it, that is of no use.
#[derive(Debug, Error, Diagnostic)]
pub enum SourceError {
    /// What was named is not there.
    #[error("cannot push {name}")]
    #[diagnostic(
        code(dpe::push::source),
        help("give what exists; nothing was deleted on the remote")
    )]
    Source {
        /// What was named, without credentials.
        name: String,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },

    /// What was named is neither a source of the configuration nor a path.
    #[error("there is no source and no path {name}")]
    #[diagnostic(code(dpe::push::unknown), help("{way_out}"))]
    Unknown {
        /// What was named.
        name: String,
        /// What to name instead.
        way_out: String,
    },

    /// A source of the configuration is described in a way that leads nowhere.
    #[error("the source {name} cannot be used: {why}")]
    #[diagnostic(
        code(dpe::push::entry),
        help(
            "mend its table in the configuration file; `dpe source show {name}` says where it is"
        )
    )]
    Entry {
        /// Its name.
        name: String,
        /// What is wrong with it.
        why: String,
    },

    /// Which remote is meant cannot be found out.
    #[error(transparent)]
    #[diagnostic(transparent)]
    UnknownRemote(#[from] UnknownRemote),

    /// What was named is a URL, and folders are pushed.
    #[error("{url} is no folder or file, but a URL")]
    #[diagnostic(
        code(dpe::push::connector),
        help("for the URL of a git repository add --connector git")
    )]
    Connector {
        /// What was named, without credentials.
        url: String,
    },

    /// What was named is neither here nor a URL that is fetched from.
    #[error("cannot push {url}: {why}")]
    #[diagnostic(
        code(dpe::push::url),
        help(
            "give the URL of a repository, like https://host/path, ssh://user@host/path or user@host:path"
        )
    )]
    Url {
        /// What was named, without credentials.
        url: String,
        /// What is wrong with it.
        why: String,
    },

    /// What was named is a device, a socket or a pipe.
    #[error("{} is neither a folder nor a file", path.display())]
    #[diagnostic(code(dpe::push::special), help("give a folder or a regular file"))]
    Special {
        /// What was named.
        path: PathBuf,
    },

    /// What was named belongs to git.
    #[error("{} is inside git's own folder", path.display())]
    #[diagnostic(code(dpe::push::git), help("push the work tree instead"))]
    Git {
        /// What was named.
        path: PathBuf,
    },

    /// What was named is a repository without a work tree.
    #[error("{} is a git repository without a work tree", path.display())]
    #[diagnostic(
        code(dpe::push::bare_repository),
        help("push what is committed in it, with --connector git")
    )]
    Bare {
        /// What was named.
        path: PathBuf,
    },

    /// The name cannot be handed to the connector.
    #[error("the path {} is not valid Unicode", path.display())]
    #[diagnostic(
        code(dpe::push::not_unicode),
        help("push the folder that contains it: names inside a folder may be of any bytes")
    )]
    NotUnicode {
        /// What was named.
        path: PathBuf,
    },

    /// The prefix is not a URI.
    #[error("the prefix {prefix:?} is not a URI")]
    #[diagnostic(code(dpe::push::prefix), help("give something like dpe://docs/"))]
    Prefix {
        /// What was given.
        prefix: String,
        /// What is wrong with it.
        #[source]
        source: InvalidUri,
    },

    /// The binary has no such connector.
    #[error("this build of dpe has no connector {name}")]
    #[diagnostic(
        code(dpe::push::no_connector),
        help("use a build with the connector {name}")
    )]
    NoConnector {
        /// Its name.
        name: &'static str,
    },

    /// The path of this very program is not known, so that it cannot be started again.
    #[error("cannot find the program itself to start the connector")]
    #[diagnostic(
        code(dpe::push::executable),
        help("check that the program still exists")
    )]
    Executable(#[source] std::io::Error),

    /// The program itself is at fault.
    #[error("the program has a defect: {message}")]
    #[diagnostic(
        code(dpe::push::defect),
        help("please report it; what has landed is kept, and the next push goes on from there")
    )]
    Defect {
        /// What the program said of it.
        message: String,
    },

    /// Somebody wants the round to end.
    #[error("the round was interrupted")]
    #[diagnostic(
        code(dpe::push::interrupted),
        help("what has landed is kept; the next push goes on from there")
    )]
    Interrupted,

    /// The remote cannot be opened.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Remote(#[from] RemoteError),

    /// The state cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    State(#[from] StateError),

    /// Something ended the round.
    #[error("{} [{}]", failure.message, failure.code)]
    #[diagnostic(code(dpe::push::round), help("{}", way_out(failure, *origin)))]
    Round {
        /// As reported.
        failure: Failure,
        /// What the source is.
        origin: Origin,
    },
}

/// What a source is, as far as advice is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A folder, or files of one.
    Folder,
    /// A repository on this machine.
    Repository,
    /// A repository somewhere else.
    Url,
    /// What somebody else's connector reads.
    Connector,
}

impl SourceError {
    /// Returns the error of a round that failed, from its report.
    pub(in crate::ops) fn of_report(report: &Report, origin: Origin) -> Option<Self> {
        if report.outcome != Outcome::Failed {
            return None;
        }
        let ending = report.failures.iter().rev();
        let mut ending = ending.filter(|failure| failure.level != Level::Item);
        ending
            .next()
            .cloned()
            .map(|failure| Self::Round { failure, origin })
    }

    /// Returns the error as a failure object (connector contract §25).
    pub fn failure(&self) -> Failure {
        let runner = FailureSource::Runner;
        let (level, source, code, retryable) = match self {
            Self::Round { failure, .. } | Self::Remote(RemoteError::Failed(failure)) => {
                return failure.clone();
            }
            Self::Remote(RemoteError::Store(error)) => {
                let passing = error.may_pass();
                let level = if passing {
                    Level::Round
                } else {
                    Level::Instance
                };
                (level, FailureSource::Remote, "remote_unavailable", passing)
            }
            Self::State(StateError::Busy { .. }) => (Level::Round, runner, "instance_busy", true),
            Self::State(StateError::Overlap { .. } | StateError::OriginGone { .. }) => {
                (Level::Instance, runner, "definition_invalid", false)
            }
            Self::Defect { .. } => (Level::Round, runner, "runner_internal_error", false),
            Self::Interrupted => (Level::Round, runner, "interrupted", true),
            Self::State(error) => (Level::Round, runner, "state_unavailable", error.retryable()),
            _ => (Level::Instance, runner, "definition_invalid", false),
        };
        Failure::new(level, source, code, with_causes(self)).retryable(retryable)
    }
}

/// What a person can do about a round that failed.
fn way_out(failure: &Failure, origin: Origin) -> &'static str {
    match &*failure.code {
        "mass_delete" => {
            "none of these was deleted. If the documents are really to go, push again with \
             --max-delete N or --max-delete N%"
        }
        "source_failed" if origin == Origin::Url => {
            "nothing was deleted on the remote; check the URL, --ref, and the credential: GIT_TOKEN, \
             or what git itself is set up with. If all of them are right, push again later"
        }
        "source_failed" if !failure.retryable && origin == Origin::Repository => {
            "nothing was deleted on the remote; check that the repository is the right one, and mounted if \
             it is on a disk of its own, and --ref"
        }
        "source_failed" if !failure.retryable => {
            "nothing was deleted on the remote; check that the source is the right one, and mounted if it \
             is on a disk of its own"
        }
        "remote_unauthorized" | "secret_missing" => runner::way_out(failure),
        "state_unavailable" if !failure.retryable => {
            "what has landed is kept. `dpe state reset SOURCE` sets the damaged state aside; the next push then \
             compares everything with the remote again"
        }
        "state_unavailable" => {
            "check that the state directory is writable and has free space, and push again; what has landed is \
             kept and not sent twice"
        }
        _ if failure.retryable => "push again later; what has landed is kept and not sent twice",
        _ => "what has landed is kept; run with -v to see more",
    }
}
