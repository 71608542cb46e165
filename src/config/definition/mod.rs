//! The definition of an instance: one plugin, one configuration, one prefix, one remote (connector
//! contract §6).
//!
//! Reads text and gives values: it opens no file, looks up no credential, and knows no manifest, so
//! what depends on these is judged elsewhere. Errors name places and rules. They never repeat a
//! value, which could be a misplaced secret.

mod error;
mod members;
mod read;
mod tuning;

use std::path::{Path, PathBuf};

use crate::json::{Text, Value, canonical};

use super::credential_source::CredentialSource;
use super::remote::RemoteUrl;

pub use error::DefinitionError;
pub use tuning::Tuning;

/// Deepest nesting of a definition (§6).
const MAX_DEPTH: usize = 64;

/// An instance as somebody defined it. Its paths are complete.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Its id, unique in a state directory.
    pub id: String,
    /// URL of its remote.
    pub remote_url: RemoteUrl,
    /// Where the `Authorization` value is, if there is to be one.
    pub credential: Option<CredentialSource>,
    /// URI prefix, its own normal form.
    pub uri_prefix: String,
    /// File with the manifest of the plugin.
    pub manifest: PathBuf,
    /// What is executed: the program as it is written, and its arguments.
    pub command: Vec<String>,
    /// Variables for the plugin; that none of them is one of its secrets is not judged here.
    pub environment: Vec<(String, String)>,
    /// Configuration of the plugin: an object, unchanged.
    pub config: Text<'static>,
    /// Where the secrets of the plugin are; whether it declares them is not judged here.
    pub secrets: Vec<(String, CredentialSource)>,
    /// What becomes of conflicts.
    pub conflict_policy: ConflictPolicy,
    /// The member `runner`, not judged yet: see [`Definition::tuning`].
    runner: Option<Text<'static>>,
    /// The directory of the definition: paths begin there.
    directory: PathBuf,
}

/// Whose content stays when the remote holds something else than expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictAction {
    /// The source's.
    SourceWins,
    /// The remote's; the conflict is reported.
    Report,
}

/// The member `conflict_policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConflictPolicy {
    /// For documents and moves.
    pub commit: ConflictAction,
    /// For deletions.
    pub delete: ConflictAction,
}

impl Default for ConflictPolicy {
    fn default() -> Self {
        Self {
            commit: ConflictAction::SourceWins,
            delete: ConflictAction::Report,
        }
    }
}

/// What a definition says of an instance, whatever else is wrong with it: each is absent if it is
/// missing or invalid, and all are if the text is none or of another version (§26).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Its id.
    pub id: Option<String>,
    /// Its prefix.
    pub uri_prefix: Option<String>,
    /// URL of its remote.
    pub remote_url: Option<String>,
}

impl Definition {
    /// Reads the text of a definition whose paths begin at `directory`.
    ///
    /// # Errors
    ///
    /// The first rule of §6 that is broken.
    pub fn parse(bytes: &[u8], directory: &Path) -> Result<Self, DefinitionError> {
        let text = strict(bytes)?;
        read::definition(text.root(), directory)
    }

    /// Reads as much of a definition as its deletion needs: the id (§29).
    ///
    /// # Errors
    ///
    /// When it is no I-JSON within the limits, or of another version, or the id breaks a rule.
    pub fn parse_id(bytes: &[u8]) -> Result<String, DefinitionError> {
        let text = strict(bytes)?;
        read::id(text.root())
    }

    /// Returns the member `runner` as settings.
    ///
    /// # Errors
    ///
    /// For a known key with a value it cannot have (§34).
    pub fn tuning(&self) -> Result<Tuning, DefinitionError> {
        match &self.runner {
            Some(runner) => Tuning::read(runner.root()),
            None => Ok(Tuning::default()),
        }
    }

    /// Returns a path of the definition as one from here.
    pub fn path(&self, path: &str) -> PathBuf {
        self.directory.join(path)
    }
}

impl Known {
    /// Reads what can be known of an instance from the text of its definition.
    pub fn of(bytes: &[u8]) -> Self {
        strict(bytes).map_or_else(|_| Self::default(), |text| read::known(text.root()))
    }
}

/// Parses a text within the limits of §6.
fn strict(bytes: &[u8]) -> Result<Text<'_>, DefinitionError> {
    let text = Text::parse(bytes).map_err(DefinitionError::Syntax)?;
    let depth = text.root().depth_bound();
    if depth > MAX_DEPTH {
        return Err(DefinitionError::Depth { depth });
    }
    if let Err(error) = canonical::write(text.root(), &mut canonical::Nowhere) {
        let place = text.root().pointer_to(error.offset);
        return Err(DefinitionError::Number {
            place: read::defined(&place).to_owned(),
            offset: error.offset,
            reason: error.reason,
        });
    }
    Ok(text)
}

/// Returns an integer literal above zero.
fn positive_integer(value: Value<'_>) -> Option<u64> {
    let integer = value.number()?.as_integer()?;
    u64::try_from(integer).ok().filter(|&integer| integer > 0)
}

#[cfg(test)]
mod tests;
