//! What is enumerated: a folder, some files of it, or a repository.

use std::ffi::OsString;
use std::path::PathBuf;

use dpe_connector::manifest::Manifest;
use dpe_connector_git::Place;
use serde_json::value::RawValue;

use crate::config::Mask;
use crate::model::FileUri;
use crate::runner::Scope;

use super::error::Origin;
use super::folder::FolderSource;
use super::foreign::ForeignSource;
use super::repository::{self, RepositoryMode, RepositorySource};

/// What the documents of a source come from.
#[derive(Clone, Debug)]
pub enum Root {
    /// A folder, or some files of it.
    Folder(FolderSource),
    /// A repository.
    Repository(RepositorySource),
    /// What somebody else's connector reads.
    Foreign(ForeignSource),
}

impl Root {
    /// Returns the source as a person named it, without credentials.
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(folder) => &folder.name,
            Self::Repository(repository) => &repository.name,
            Self::Foreign(foreign) => &foreign.name,
        }
    }

    /// Returns the URI prefix of the documents; it ends with `/`.
    pub fn uri_prefix(&self) -> &str {
        match self {
            Self::Folder(folder) => &folder.uri_prefix,
            Self::Repository(repository) => &repository.uri_prefix,
            Self::Foreign(foreign) => &foreign.uri_prefix,
        }
    }

    /// Returns where the source is: a path, or a URL without credentials.
    pub fn origin(&self) -> String {
        match self {
            Self::Folder(folder) => folder.root.display().to_string(),
            Self::Repository(repository) => repository.place.to_string(),
            Self::Foreign(foreign) => foreign.origin.clone(),
        }
    }

    /// Returns what the source is.
    pub(in crate::ops) fn kind(&self) -> Origin {
        match self {
            Self::Folder(_) => Origin::Folder,
            Self::Repository(repository) => match repository.place {
                Place::Folder(_) => Origin::Repository,
                Place::Url(_) => Origin::Url,
            },
            Self::Foreign(_) => Origin::Connector,
        }
    }

    /// Returns of which documents a round speaks.
    pub(in crate::ops) fn scope(&self) -> Scope {
        match self {
            Self::Folder(folder) if folder.only.is_some() => Scope::Named,
            _ => Scope::Whole,
        }
    }

    /// Returns whether the connector says again by itself, in every round, what it has said to fail.
    pub(super) fn repeats_failures(&self) -> bool {
        match self {
            Self::Folder(_) | Self::Repository(_) => true,
            // Nothing says that it does.
            Self::Foreign(_) => false,
        }
    }

    /// Returns whether a full enumeration names everything that is to keep its document, if only as a failure.
    pub(super) fn enumerates_completely(&self) -> bool {
        match self {
            Self::Folder(folder) => folder.names_what_is_unreadable(),
            // A history without a commit for a while is passed over, and keeps its document.
            Self::Repository(repository) => repository.options.mode == RepositoryMode::Files,
            Self::Foreign(_) => false,
        }
    }

    /// Returns whether the source may still have what was pushed by its name.
    pub(in crate::ops) fn may_have(&self, uri: &FileUri) -> bool {
        match self {
            Self::Folder(folder) => folder.has(uri),
            // Nothing of others is pushed by its name.
            Self::Repository(_) | Self::Foreign(_) => true,
        }
    }

    /// Returns the configuration of the connector. Of a folder, `left_out` is not enumerated.
    pub(in crate::ops) fn config(&self, left_out: &[PathBuf]) -> Box<RawValue> {
        match self {
            Self::Folder(folder) => folder.config(left_out),
            Self::Repository(repository) => repository.config(),
            Self::Foreign(foreign) => foreign.config(),
        }
    }

    /// Returns what the connector gets to see of our environment besides the base variables.
    pub(in crate::ops) fn environment(&self) -> Vec<(OsString, OsString)> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Repository(_) => repository::environment(),
            Self::Foreign(foreign) => foreign.environment(),
        }
    }

    /// Returns what hides the credentials of the source.
    pub(in crate::ops) fn mask(&self) -> Mask {
        match self {
            Self::Folder(_) => Mask::default(),
            Self::Repository(repository) => repository.mask(),
            Self::Foreign(foreign) => foreign.mask(),
        }
    }

    /// Returns the id of the instance.
    pub(in crate::ops) fn instance_id(&self, remote_url: &str) -> String {
        match self {
            Self::Folder(folder) => folder.instance_id(remote_url),
            Self::Repository(repository) => repository.instance_id(remote_url),
            Self::Foreign(foreign) => foreign.instance_id(remote_url),
        }
    }

    /// Returns the content identity (connector contract §8.3).
    pub(in crate::ops) fn fingerprint(&self, remote_url: &str, plugin: &Manifest) -> String {
        match self {
            Self::Folder(folder) => folder.fingerprint(remote_url, plugin),
            Self::Repository(repository) => repository.fingerprint(remote_url, plugin),
            Self::Foreign(foreign) => foreign.fingerprint(remote_url, plugin),
        }
    }
}
