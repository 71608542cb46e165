//! The arguments that say which sources a command works on.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::error::Error;
use crate::ops::source::{
    self, NoSource, RepositoryMode, RepositoryOptions, Source, SourceKind, Wanted,
};
use crate::sync::guard::DeleteLimit;

use super::context::CommonArgs;

/// Sources, and what they are.
#[derive(Debug, clap::Args)]
pub(super) struct SourceArgs {
    /// Sources of dpe.toml by name, folders, files or repositories [default: all sources of dpe.toml]
    #[arg(value_name = "SOURCE")]
    sources: Vec<PathBuf>,

    /// What reads the sources: fs for folders and files, git for repositories [default: fs]
    #[arg(
        long,
        env = "DPE_CONNECTOR",
        value_name = "fs|git",
        hide_possible_values = true
    )]
    connector: Option<Connector>,

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
    fn check(&self) -> Result<(), Error> {
        let is_of_git = self.reference.is_some() || self.mode.is_some();
        let is_path = |source: &PathBuf| source.components().count() > 1 || source.is_dir();
        let mean_folders = match self.connector {
            Some(Connector::Git) => false,
            Some(Connector::Fs) => true,
            // A source of dpe.toml may be a repository.
            None => self.mode.is_some() || self.sources.iter().any(is_path),
        };
        if !is_of_git || !mean_folders {
            return Ok(());
        }
        Err(Error::usage(
            "--ref and --mode are for repositories",
            "add --connector git",
        ))
    }

    /// Returns the sources.
    ///
    /// # Errors
    ///
    /// When nothing is named and the configuration has no source, or when the configuration is of no use.
    pub(super) fn resolve(
        &self,
        common: &CommonArgs,
    ) -> Result<Vec<Result<Source, NoSource>>, Error> {
        self.check()?;
        let wanted = self.wanted(common)?;
        if wanted.named.is_empty() && wanted.layers.file_of_sources().is_none() {
            return Err(Error::usage(
                "nothing is named, and no dpe.toml here has a source",
                "give a folder, as in `dpe push ./docs`, or write a dpe.toml with `dpe init`",
            ));
        }
        let sources = source::resolve(&wanted)?;
        for note in sources
            .iter()
            .flatten()
            .filter_map(|source| source.note.as_ref())
        {
            common.voice().say(note);
        }
        Ok(sources)
    }

    /// Returns what is to be worked on.
    ///
    /// # Errors
    ///
    /// When the remote is not named clearly.
    fn wanted(&self, common: &CommonArgs) -> Result<Wanted, Error> {
        Ok(Wanted {
            named: self.sources.clone(),
            kind: self.connector.map(|connector| self.kind(connector)),
            reference: self.reference.clone(),
            prefix: self.prefix.clone(),
            delete_limit: self.max_delete,
            layers: common.layers()?,
        })
    }

    /// Returns what the sources are.
    fn kind(&self, connector: Connector) -> SourceKind {
        match connector {
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
