//! Why the configuration cannot be used or changed.

use miette::Diagnostic;
use thiserror::Error;

use crate::config::FileError;

/// A configuration that is of no use, or cannot be changed as asked.
#[derive(Debug, Error, Diagnostic)]
pub enum ConfigError {
    /// A file says something that cannot be meant, or cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    File(#[from] FileError),
}
