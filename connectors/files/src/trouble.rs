//! What a configuration wants done about what becomes no document, and why a file became none.

use dpe_connector::ItemErrorCode;
use dpe_extract::{ExtractError, Reason};
use serde::{Deserialize, Serialize};

use crate::content::Limits;

/// Whether something is passed over or reported as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnTrouble {
    /// An `error` item: the round ends as partial.
    Error,
    /// A line on stderr.
    Skip,
}

/// What an `error` item says of a file (connector contract §12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of failure.
    pub code: ItemErrorCode,
    /// For people.
    pub message: String,
    /// Whether waiting may help.
    pub retryable: bool,
}

impl Failure {
    /// Returns a failure that lasts until the content is another one.
    pub fn of_content(message: impl Into<String>) -> Self {
        Self {
            code: ItemErrorCode::ContentInvalid,
            message: message.into(),
            retryable: false,
        }
    }

    /// Returns what is to be said of a file that was refused; its reason comes first.
    pub fn refused(error: &ExtractError) -> Self {
        Self::of_content(format!("{}: {}", error.reason, error.message))
    }

    /// Returns a failure of the source, which may be over next time.
    pub fn of_source(message: impl Into<String>) -> Self {
        Self {
            code: ItemErrorCode::SourceUnavailable,
            message: message.into(),
            retryable: true,
        }
    }
}

/// Returns why a file is refused of whose format only its beginning was asked.
pub fn unsupported() -> ExtractError {
    ExtractError {
        reason: Reason::UnsupportedFormat,
        message: "no known format claims this file".to_owned(),
    }
}

/// Returns why a file of `bytes` bytes is refused, more than `limit`, which is one of `limits`.
pub fn too_large(bytes: u64, limit: u64, limits: Limits) -> ExtractError {
    let whose = if limit == limits.blob {
        "the remote takes in one blob"
    } else {
        "max_file_bytes"
    };
    ExtractError {
        reason: Reason::TooLarge,
        message: format!(
            "the file has {bytes} bytes, more than {whose} ({limit}); leave it out with `exclude` \
             or .dpeignore"
        ),
    }
}
