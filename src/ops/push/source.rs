//! What can be pushed: folders and files, or repositories.

mod folder;
mod repository;

use std::path::{Path, PathBuf};

use dpe_connector::manifest::Manifest;
use dpe_connector::path;
use dpe_connector_git::Place;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::config::Mask;
use crate::model::FileUri;
use crate::runner::Scope;

use super::error::{Origin, PushError};

pub use folder::FolderSource;
pub use repository::{RepositoryMode, RepositoryOptions, RepositorySource};

/// How the sources of a push are to be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SourceKind {
    /// Folders and files.
    #[default]
    Folders,
    /// Git repositories.
    Repositories(RepositoryOptions),
}

/// One source of a push.
#[derive(Clone, Debug)]
pub enum PushSource {
    /// A folder, or some files of it.
    Folder(FolderSource),
    /// A repository.
    Repository(RepositorySource),
}

/// What was named and why it cannot be pushed.
pub(super) type Unresolved = (String, Box<PushError>);

/// Turns what was named into sources.
///
/// # Errors
///
/// When the prefix is not a URI. What cannot be pushed is told for itself.
pub(super) fn resolve(
    named: &[PathBuf],
    kind: &SourceKind,
    prefix: Option<&str>,
) -> Result<Vec<Result<PushSource, Unresolved>>, PushError> {
    let prefix = prefix.map(normal_prefix).transpose()?;
    let prefix = prefix.as_deref();
    Ok(match kind {
        SourceKind::Folders => {
            let sources = folder::resolve(named, prefix).into_iter();
            sources
                .map(|source| source.map(PushSource::Folder))
                .collect()
        }
        SourceKind::Repositories(options) => {
            let source = |named: &PathBuf| repository::resolve(named, options, prefix);
            let sources = named.iter().map(source);
            sources
                .map(|source| source.map(PushSource::Repository))
                .collect()
        }
    })
}

impl SourceKind {
    /// Returns the name of the connector for such sources.
    pub(super) fn connector(&self) -> &'static str {
        match self {
            Self::Folders => dpe_connector_fs::NAME,
            Self::Repositories(_) => dpe_connector_git::NAME,
        }
    }
}

impl PushSource {
    /// Returns the source as a person named it, without credentials.
    pub fn name(&self) -> &str {
        match self {
            Self::Folder(folder) => &folder.name,
            Self::Repository(repository) => &repository.name,
        }
    }

    /// Returns the URI prefix of the documents; it ends with `/`.
    pub fn uri_prefix(&self) -> &str {
        match self {
            Self::Folder(folder) => &folder.uri_prefix,
            Self::Repository(repository) => &repository.uri_prefix,
        }
    }

    /// Returns where the source is: a path, or a URL without credentials.
    pub fn origin(&self) -> String {
        match self {
            Self::Folder(folder) => folder.root.display().to_string(),
            Self::Repository(repository) => repository.place.to_string(),
        }
    }

    /// Returns what the source is.
    pub(super) fn kind(&self) -> Origin {
        match self {
            Self::Folder(_) => Origin::Folder,
            Self::Repository(repository) => match repository.place {
                Place::Folder(_) => Origin::Repository,
                Place::Url(_) => Origin::Url,
            },
        }
    }

    /// Returns of which documents a round speaks.
    pub(super) fn scope(&self) -> Scope {
        match self {
            Self::Folder(folder) if folder.only.is_some() => Scope::Named,
            _ => Scope::Whole,
        }
    }

    /// Returns whether the source may still have what was pushed by its name.
    pub(super) fn may_have(&self, uri: &FileUri) -> bool {
        match self {
            Self::Folder(folder) => folder.has(uri),
            // Nothing of a repository is pushed by its name.
            Self::Repository(_) => true,
        }
    }

    /// Returns the configuration of the connector. Of a folder, `left_out` is not enumerated.
    pub(super) fn config(&self, left_out: &[PathBuf]) -> Box<RawValue> {
        match self {
            Self::Folder(folder) => folder.config(left_out),
            Self::Repository(repository) => repository.config(),
        }
    }

    /// Returns what the connector gets to see of our environment besides the base variables.
    pub(super) fn environment(&self) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Repository(_) => repository::environment(),
        }
    }

    /// Returns what hides the credentials of the source.
    pub(super) fn mask(&self) -> Mask {
        match self {
            Self::Folder(_) => Mask::default(),
            Self::Repository(repository) => repository.mask(),
        }
    }

    /// Returns the id of the instance.
    pub(super) fn instance_id(&self, remote_url: &str) -> String {
        match self {
            Self::Folder(folder) => folder.instance_id(remote_url),
            Self::Repository(repository) => repository.instance_id(remote_url),
        }
    }

    /// Returns the content identity (connector contract §8.3).
    pub(super) fn fingerprint(&self, remote_url: &str, plugin: &Manifest) -> String {
        match self {
            Self::Folder(folder) => folder.fingerprint(remote_url, plugin),
            Self::Repository(repository) => repository.fingerprint(remote_url, plugin),
        }
    }
}

/// Returns what was named, without what may be a credential: it may be a URL.
fn shown(named: &Path) -> String {
    dpe_connector_git::without_credentials(&named.display().to_string())
}

/// Returns `dpe://NAME/`.
fn prefix_of(name: &[u8]) -> String {
    // Below a prefix without an authority a name is encoded as the segment it is.
    let segment = path::file_uri("dpe:", name);
    let uri = format!("dpe://{}/", segment.trim_start_matches("dpe:"));
    FileUri::parse(&uri).map_or(uri, |uri| uri.to_string())
}

/// Returns the prefix as the contract wants it: normalised, and ending where names begin.
fn normal_prefix(text: &str) -> Result<String, PushError> {
    let uri = FileUri::parse(text).map_err(|source| PushError::Prefix {
        prefix: text.to_owned(),
        source,
    })?;
    let mut prefix = uri.to_string();
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    Ok(prefix)
}

/// Hashes parts so that no two lists of parts run together.
fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{PushError, normal_prefix};

    #[test]
    fn a_prefix_is_normalised_and_ends_with_a_slash() {
        assert_eq!(normal_prefix("DPE://Docs").unwrap(), "dpe://docs/");
        assert_eq!(normal_prefix("wiki:eng/").unwrap(), "wiki:eng/");
        assert!(matches!(
            normal_prefix("docs"),
            Err(PushError::Prefix { .. })
        ));
    }
}
