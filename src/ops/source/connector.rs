//! The connector of a source: its manifest, and how it is started.

use std::ffi::OsString;
use std::path::PathBuf;

use dpe_connector::manifest::Manifest;

use crate::host::bundled;

use super::error::SourceError;

/// A connector that can be started.
#[derive(Clone, Debug)]
pub struct Connector {
    /// Its manifest.
    pub manifest: Manifest,
    /// What is executed; nothing for this very program.
    pub program: Option<PathBuf>,
    /// Its arguments.
    pub args: Vec<OsString>,
}

impl Connector {
    /// Returns a connector that is part of this program.
    ///
    /// # Errors
    ///
    /// [`SourceError::NoConnector`].
    pub fn bundled(name: &'static str) -> Result<Self, SourceError> {
        let bundled = bundled(name).ok_or(SourceError::NoConnector { name })?;
        Ok(Self {
            manifest: bundled.manifest,
            program: None,
            args: bundled.args.iter().map(OsString::from).collect(),
        })
    }

    /// Returns what is executed.
    pub(super) fn program(&self) -> Result<PathBuf, SourceError> {
        match &self.program {
            Some(program) => Ok(program.clone()),
            None => std::env::current_exe().map_err(SourceError::Executable),
        }
    }
}
