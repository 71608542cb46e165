//! Looks after what is kept of sources on this machine: lists it, and sets aside what is damaged.
//!
//! State is a cache of what the remote holds; but only a person may declare it lost, since nobody else
//! knows whether it is, or only away.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use miette::Diagnostic;
use thiserror::Error;

use crate::state::{Registration, StateDirectory};

pub use crate::state::{Content, Inventory, Kept, StateError};

/// How long another push of the same source is waited for.
const PATIENCE: Duration = Duration::from_millis(500);

/// State that cannot be looked after.
#[derive(Debug, Error, Diagnostic)]
pub enum UpkeepError {
    /// Nothing of the kind is kept.
    #[error("no state of {name} is kept in {}", state_dir.display())]
    #[diagnostic(
        code(dpe::upkeep::unknown),
        help(
            "`dpe state list` shows what is kept; name one by its folder, its prefix, or with --id ID"
        )
    )]
    Unknown {
        /// What was named.
        name: String,
        /// Where it was looked for.
        state_dir: PathBuf,
    },

    /// More than one is meant.
    #[error("{name} is pushed as {}", list(meant))]
    #[diagnostic(
        code(dpe::upkeep::ambiguous),
        help("say which one is meant with --id, such as --id {}", meant[0].id)
    )]
    Ambiguous {
        /// What was named.
        name: String,
        /// What it may be, at least two.
        meant: Vec<Registration>,
    },

    /// The state cannot be reached.
    #[error(transparent)]
    #[diagnostic(transparent)]
    State(#[from] StateError),
}

fn list(meant: &[Registration]) -> String {
    let names = meant.iter();
    let names = names.map(|one| format!("{} to {} ({})", one.uri_prefix, one.remote_url, one.id));
    names.collect::<Vec<_>>().join(", and as ")
}

/// Returns what is kept.
///
/// # Errors
///
/// When the state directory cannot be listed.
pub fn inventory(state_dir: &Path) -> Result<Inventory, StateError> {
    StateDirectory::at(state_dir).inventory()
}

/// Finds the instance of a source: by its folder, URL, prefix or id.
///
/// # Errors
///
/// [`UpkeepError`].
pub fn find(state_dir: &Path, name: &str) -> Result<Registration, UpkeepError> {
    let registered = StateDirectory::at(state_dir).registrations()?;
    let path = Path::new(name).canonicalize();
    let path = path.map(|path| path.display().to_string());
    let is_meant = |one: &Registration| {
        let prefix = one.uri_prefix.trim_end_matches('/');
        one.id == name
            || one.origin == name
            || path.as_ref().is_ok_and(|path| one.origin == *path)
            || name.trim_end_matches('/') == prefix
    };
    let mut meant: Vec<_> = registered.into_iter().filter(is_meant).collect();
    match meant.len() {
        0 => Err(unknown(state_dir, name)),
        1 => Ok(meant.remove(0)),
        _ => Err(UpkeepError::Ambiguous {
            name: name.to_owned(),
            meant,
        }),
    }
}

/// Sets the state of an instance aside, and returns where it is now.
///
/// # Errors
///
/// [`UpkeepError::Unknown`] if there is none; [`StateError::Busy`] while the source is being pushed.
pub fn reset(state_dir: &Path, id: &str) -> Result<PathBuf, UpkeepError> {
    let directory = StateDirectory::at(state_dir);
    // What nobody has pushed leaves no lock behind.
    if !directory.holds(id) {
        return Err(unknown(state_dir, id));
    }
    let lock = directory.lock(id, PATIENCE)?;
    let aside = lock.set_aside(&date())?;
    aside.ok_or_else(|| unknown(state_dir, id))
}

/// Sets the registry aside, and returns where it is now.
///
/// # Errors
///
/// [`UpkeepError::Unknown`] if there is none.
pub fn reset_registry(state_dir: &Path) -> Result<PathBuf, UpkeepError> {
    let aside = StateDirectory::at(state_dir).set_registry_aside(&date())?;
    aside.ok_or_else(|| unknown(state_dir, "the registry"))
}

fn unknown(state_dir: &Path, name: &str) -> UpkeepError {
    UpkeepError::Unknown {
        name: name.to_owned(),
        state_dir: state_dir.to_owned(),
    }
}

/// The time, as it may be part of the name of a file.
fn date() -> String {
    Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string()
}
