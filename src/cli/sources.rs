//! The arguments that say which sources a command works on.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::error::Error;
use crate::ops::source::{RepositoryMode, RepositoryOptions, SourceKind, Wanted};
use crate::sync::guard::DeleteLimit;

use super::context::CommonArgs;

/// Sources, and what they are.
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// Folders, files or repositories
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    /// What reads the sources: fs for folders and files, git for repositories
    #[arg(
        long,
        env = "DPE_CONNECTOR",
        value_name = "fs|git",
        default_value = "fs",
        hide_possible_values = true
    )]
    connector: Connector,

    /// Of repositories: the branch, tag or commit to push [default: HEAD]
    #[arg(long = "ref", env = "DPE_REF", value_name = "REF")]
    reference: Option<String>,

    /// Of repositories: push their files, or their history with a document for each repository
    /// [default: files]
    #[arg(
        long,
        env = "DPE_MODE",
        value_name = "files|history",
        hide_possible_values = true
    )]
    mode: Option<Mode>,

    /// URI prefix of the documents [default: dpe://FOLDER/]
    #[arg(long, env = "DPE_PREFIX", value_name = "URI")]
    prefix: Option<String>,

    /// Allow a round to delete up to N documents, or N% of them [default: 20, or half of them if that is more]
    #[arg(
        long,
        env = "DPE_MAX_DELETE",
        value_name = "N|N%",
        allow_negative_numbers = true
    )]
    max_delete: Option<DeleteLimit>,
}

/// The connectors that sources are pushed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Connector {
    Fs,
    Git,
}

/// What the documents of a repository are.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Mode {
    Files,
    History,
}

impl SourceArgs {
    /// Refuses flags that have nothing to do with each other.
    ///
    /// # Errors
    ///
    /// [`Error::Usage`].
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_of_git = self.reference.is_some() || self.mode.is_some();
        if self.connector == Connector::Git || !is_of_git {
            return Ok(());
        }
        Err(Error::usage(
            "--ref and --mode are for repositories",
            "add --connector git",
        ))
    }

    /// Returns what is to be worked on.
    ///
    /// # Errors
    ///
    /// When the remote is not named clearly.
    pub(super) fn wanted(&self, common: &CommonArgs) -> Result<Wanted, Error> {
        Ok(Wanted {
            named: self.sources.clone(),
            kind: self.kind(),
            prefix: self.prefix.clone(),
            remote: common.remote()?,
            delete_limit: self.max_delete.unwrap_or(DeleteLimit::Usual),
        })
    }

    /// Returns what the sources are.
    fn kind(&self) -> SourceKind {
        match self.connector {
            Connector::Fs => SourceKind::Folders,
            Connector::Git => SourceKind::Repositories(RepositoryOptions {
                reference: self.reference.clone(),
                mode: match self.mode {
                    Some(Mode::History) => RepositoryMode::History,
                    Some(Mode::Files) | None => RepositoryMode::Files,
                },
            }),
        }
    }
}
