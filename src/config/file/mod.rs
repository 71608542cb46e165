//! A configuration file: `dpe.toml` of a project, or the `config.toml` of a user. Both have one shape.
//!
//! Text goes in and values come out, or all mistakes of the file at once, each with its place. The
//! room opens nothing: whose file it is, and where it lies, it is told. What depends on the manifest of
//! a connector is judged by whoever has manifests.

mod defaults;
mod mistake;
mod read;
mod remote;
mod source;
mod token;
mod values;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::credential::Credential;
use super::credential_source::CredentialSource;
use super::definition::ConflictPolicy;
use super::network::Rate;
use super::remote::RemoteLocation;

pub use defaults::{SETTINGS, Setting, SettingKind};
pub use mistake::{FileError, Mistake};
pub use read::nearest;
pub use token::{hidden, is_secret_name, looks_like_token};

/// Whose file it is: what others wrote starts no programs for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user's, or the system's.
    Trusted,
    /// Somebody else's.
    Stranger,
}

/// What a configuration file says.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Where it is; absolute.
    pub path: PathBuf,
    /// Whose it is.
    pub owner: Owner,
    /// Its text.
    pub text: String,
    /// Remotes by name.
    pub remotes: BTreeMap<String, RemoteEntry>,
    /// Sources by name.
    pub sources: BTreeMap<String, SourceEntry>,
    /// What holds where nothing else is said, by the key below `defaults`.
    pub defaults: BTreeMap<&'static str, DefaultEntry>,
}

/// `[remote.NAME]`.
#[derive(Clone, Debug)]
pub struct RemoteEntry {
    /// Where it is.
    pub location: RemoteLocation,
    /// Where its `Authorization` value comes from.
    pub credential: Option<Credential>,
    /// Seconds without a sign of life after which a request is given up; 0 waits for ever.
    pub timeout: Option<u32>,
    /// Most bytes sent in a second.
    pub limit_upload: Option<Rate>,
    /// PEM file with authorities to trust.
    pub cacert: Option<PathBuf>,
    /// PEM file with a client certificate and its key.
    pub client_cert: Option<PathBuf>,
    /// Where its name is in the text.
    pub span: Range<usize>,
}

/// `[source.NAME]`.
#[derive(Clone, Debug)]
pub struct SourceEntry {
    /// What reads it.
    pub connector: ConnectorEntry,
    /// URI prefix, as written; by default `dpe://NAME/`.
    pub prefix: String,
    /// Name of its remote.
    pub remote: Option<String>,
    /// Configuration of the connector: a JSON object.
    pub config: String,
    /// Where the parts of the configuration are in the text, by RFC 6901 pointer.
    pub config_spans: BTreeMap<String, Range<usize>>,
    /// What becomes of conflicts.
    pub conflict: ConflictPolicy,
    /// A number of documents or a share: a round that would delete more stops.
    pub max_delete: Option<String>,
    /// Where the secrets of its connector are.
    pub secrets: Vec<(String, CredentialSource)>,
    /// Variables for its connector.
    pub environment: Vec<(String, String)>,
    /// How long one scan may take.
    pub scan_timeout: Option<Duration>,
    /// How long reading a part of a blob may take.
    pub blob_timeout: Option<Duration>,
    /// Where its name is in the text.
    pub span: Range<usize>,
}

/// What reads a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConnectorEntry {
    /// Part of this program.
    Bundled(String),
    /// An installed one, which the name is looked up for.
    Installed {
        /// Its name.
        name: String,
        /// What is executed, and its arguments.
        command: Vec<String>,
    },
    /// One whose manifest is named.
    Manifest {
        /// File with the manifest.
        manifest: PathBuf,
        /// What is executed, and its arguments.
        command: Vec<String>,
    },
}

/// A key below `defaults`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultEntry {
    /// The value as a flag would have it. Paths are absolute.
    pub value: String,
    /// Where it is in the text.
    pub span: Range<usize>,
}

impl ConfigFile {
    /// Reads the text of the file at `path`, which is absolute: paths in it begin at its directory.
    ///
    /// # Errors
    ///
    /// All mistakes of the file.
    pub fn parse(text: &str, path: &Path, owner: Owner) -> Result<Self, FileError> {
        read::file(text, path, owner)
    }

    /// Returns the line of a place in the text, from 1.
    pub fn line(&self, span: &Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        before.iter().filter(|&&byte| byte == b'\n').count() + 1
    }

    /// Returns the error of mistakes that were found by looking at more than this file.
    pub fn error(&self, mistakes: Vec<Mistake>) -> FileError {
        FileError::mistakes(&self.path, &self.text, mistakes)
    }
}
