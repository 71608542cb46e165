//! What a source is, and what a round over it needs.
//!
//! A source carries everything that a round has to know: what is enumerated and by which connector,
//! where the documents go, and under which rules. Whoever pushes, looks or compares takes the same
//! sources from here and runs the same rounds.

mod error;
mod folder;
mod looking;
mod naming;
mod remotes;
mod repository;
mod root;
mod round;
mod strangers;

use std::path::PathBuf;

use crate::config::Remote;
use crate::host::{Bundled, bundled};
use crate::ops::remote;
use crate::runner::Instance;
use crate::sync::decision::Policies;
use crate::sync::guard::DeleteLimit;

pub use error::{Origin, SourceError};
pub use folder::FolderSource;
pub use looking::PassedOver;
pub use remotes::Remotes;
pub use repository::{RepositoryMode, RepositoryOptions, RepositorySource};
pub use root::Root;
pub use round::SourceRound;
pub(in crate::ops) use round::limits;

/// How what was named is to be understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SourceKind {
    /// Folders and files.
    #[default]
    Folders,
    /// Git repositories.
    Repositories(RepositoryOptions),
}

/// What somebody wants to work on, and what holds for all of it.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Paths, or URLs of repositories.
    pub named: Vec<PathBuf>,
    /// What they are.
    pub kind: SourceKind,
    /// URI prefix; by default that of the folder's name.
    pub prefix: Option<String>,
    /// The remote.
    pub remote: Remote,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
}

/// A source, and all that a round over it has to know.
#[derive(Clone, Debug)]
pub struct Source {
    /// What is enumerated.
    pub root: Root,
    /// What enumerates it.
    pub connector: Bundled,
    /// The remote.
    pub remote: Remote,
    /// What becomes of conflicts.
    pub policies: Policies,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
}

/// Something that was named and is no source.
#[derive(Debug)]
pub struct NoSource {
    /// What was named, without credentials.
    pub name: String,
    /// The remote it was meant for.
    pub remote: Box<Remote>,
    /// Why it is none.
    pub error: Box<SourceError>,
}

/// What was named and why it is no source.
type Unresolved = (String, Box<SourceError>);

/// Turns what was named into sources.
///
/// # Errors
///
/// When there is no connector, or the prefix is not a URI. What is no source is told for itself.
pub fn resolve(wanted: &Wanted) -> Result<Vec<Result<Source, NoSource>>, SourceError> {
    let name = wanted.kind.connector();
    let connector = bundled(name).ok_or(SourceError::NoConnector { name })?;
    let source = |root| Source {
        root,
        connector: connector.clone(),
        remote: wanted.remote.clone(),
        policies: Policies::default(),
        delete_limit: wanted.delete_limit,
    };
    let no_source = |(name, error): Unresolved| NoSource {
        name,
        remote: Box::new(wanted.remote.clone()),
        error,
    };
    let roots = wanted.roots()?.into_iter();
    Ok(roots
        .map(|root| root.map(source).map_err(no_source))
        .collect())
}

impl Wanted {
    fn roots(&self) -> Result<Vec<Result<Root, Unresolved>>, SourceError> {
        let prefix = self.prefix.as_deref().map(naming::normal_prefix);
        let prefix = prefix.transpose()?;
        let prefix = prefix.as_deref();
        Ok(match &self.kind {
            SourceKind::Folders => {
                let folders = folder::resolve(&self.named, prefix).into_iter();
                folders.map(|folder| folder.map(Root::Folder)).collect()
            }
            SourceKind::Repositories(options) => {
                let named = self.named.iter();
                named
                    .map(|named| repository::resolve(named, options, prefix).map(Root::Repository))
                    .collect()
            }
        })
    }
}

impl SourceKind {
    /// Returns the name of the connector for such sources.
    fn connector(&self) -> &'static str {
        match self {
            Self::Folders => dpe_connector_fs::NAME,
            Self::Repositories(_) => dpe_connector_git::NAME,
        }
    }
}

impl Source {
    /// Returns the source as a person named it, without credentials.
    pub fn name(&self) -> &str {
        self.root.name()
    }

    /// Returns the URI prefix of the documents; it ends with `/`.
    pub fn uri_prefix(&self) -> &str {
        self.root.uri_prefix()
    }

    /// Returns who pushes what where.
    pub fn instance(&self) -> Instance {
        let remote_url = remote::remote_url(&self.remote.location);
        Instance {
            id: self.root.instance_id(&remote_url),
            fingerprint: self.root.fingerprint(&remote_url, &self.connector.manifest),
            uri_prefix: self.uri_prefix().to_owned(),
            remote_url,
        }
    }
}
