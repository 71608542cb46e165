//! What a source is, and what a round over it needs.
//!
//! A source carries everything that a round has to know: what is enumerated and by which connector,
//! where the documents go, and under which rules. Whoever pushes, looks or compares takes the same
//! sources from here and runs the same rounds.

mod connector;
mod entry;
mod error;
mod folder;
mod foreign;
mod looking;
mod naming;
mod pruning;
mod remotes;
mod repository;
mod resolve;
mod root;
mod round;
mod strangers;

use crate::config::Remote;
use crate::host::Deadlines;
use crate::ops::remote;
use crate::runner::Instance;
use crate::sync::decision::Policies;
use crate::sync::guard::DeleteLimit;

pub use connector::Connector;
pub use error::{Origin, SourceError};
pub use folder::FolderSource;
pub use foreign::ForeignSource;
pub use looking::PassedOver;
pub use remotes::Remotes;
pub use repository::{RepositoryMode, RepositoryOptions, RepositorySource};
pub use resolve::{Wanted, resolve};
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

/// A source, and all that a round over it has to know.
#[derive(Clone, Debug)]
pub struct Source {
    /// What is enumerated.
    pub root: Root,
    /// What enumerates it.
    pub connector: Connector,
    /// The remote.
    pub remote: Remote,
    /// What becomes of conflicts.
    pub policies: Policies,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
    /// How long the connector may take.
    pub deadlines: Deadlines,
    /// What a person should know of how it was understood.
    pub note: Option<String>,
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

impl SourceKind {
    /// Returns the connector for such sources.
    fn connector(&self) -> Result<Connector, SourceError> {
        Connector::bundled(match self {
            Self::Folders => dpe_connector_fs::NAME,
            Self::Repositories(_) => dpe_connector_git::NAME,
        })
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
