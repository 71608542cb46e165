//! The directories of the user that this program keeps things in.

use std::path::PathBuf;

use etcetera::BaseStrategy;
use miette::Diagnostic;
use thiserror::Error;

/// The user's directories, by the XDG rules on Unix.
#[derive(Clone, Debug)]
pub struct Places {
    data: PathBuf,
    state: PathBuf,
}

/// There is no home, so there are no places.
#[derive(Debug, Error, Diagnostic)]
#[error("the home directory of the user is not known, so there is no place for {what}")]
#[diagnostic(code(dpe::config::no_home), help("set HOME, or give {flag} PATH"))]
pub struct PlaceError {
    what: &'static str,
    flag: &'static str,
}

impl Places {
    /// Returns the default place of the embedded remote.
    ///
    /// # Errors
    ///
    /// When the home directory is not known.
    pub fn default_store() -> Result<PathBuf, PlaceError> {
        let places = Self::find().ok_or(PlaceError {
            what: "the embedded remote",
            flag: "--remote",
        })?;
        Ok(places.data.join("dpe").join("remote"))
    }

    /// Returns the default place of the state directory.
    ///
    /// # Errors
    ///
    /// When the home directory is not known.
    pub fn default_state() -> Result<PathBuf, PlaceError> {
        let places = Self::find().ok_or(PlaceError {
            what: "the state of pushes",
            flag: "--state-dir",
        })?;
        Ok(places.state.join("dpe"))
    }

    /// Returns the directory of the user's own connectors, each in a directory of its own; nothing
    /// if the home directory is not known.
    pub fn connectors() -> Option<PathBuf> {
        Some(Self::find()?.data.join("dpe").join("connectors"))
    }

    fn find() -> Option<Self> {
        let strategy = etcetera::choose_base_strategy().ok()?;
        let home = strategy.home_dir();
        if home.as_os_str().is_empty() || !home.is_absolute() {
            return None;
        }
        Some(Self {
            data: strategy.data_dir(),
            state: strategy.state_dir().unwrap_or_else(|| strategy.data_dir()),
        })
    }
}
