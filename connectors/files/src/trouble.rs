//! What a configuration wants done about what becomes no document, and why a file became none.

use std::collections::BTreeMap;

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

/// What is to be done about files that were refused, by reason: the member `on_refused` of a configuration.
/// A reason that is not named is an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<Reason, OnTrouble>")]
pub struct OnRefused(BTreeMap<Reason, OnTrouble>);

impl OnRefused {
    /// Returns what is to be done about a file that was refused for this reason.
    pub fn of(&self, reason: Reason) -> OnTrouble {
        self.0.get(&reason).copied().unwrap_or(OnTrouble::Error)
    }
}

impl TryFrom<BTreeMap<Reason, OnTrouble>> for OnRefused {
    type Error = &'static str;

    fn try_from(given: BTreeMap<Reason, OnTrouble>) -> Result<Self, Self::Error> {
        if given.contains_key(&Reason::UnsupportedFormat) {
            return Err("what to do about unsupported formats is said by `unsupported`");
        }
        Ok(Self(given))
    }
}

/// How the message of an `error` item begins that is about a file that is passed over, and so is no failure.
pub const SKIPPED: &str = "skipped: ";

/// How it goes on if the file, or the folder, could not be read.
pub const UNREADABLE: &str = "unreadable: ";

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

    /// Returns what is said of a file that is passed over, to whoever asked for that by `say_skipped`.
    pub fn skipped(why: &str) -> Self {
        Self::of_content(format!("{SKIPPED}{why}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_that_are_not_named_are_errors() {
        let given: OnRefused = serde_json::from_str(r#"{"encrypted":"skip"}"#).unwrap();
        assert_eq!(given.of(Reason::Encrypted), OnTrouble::Skip);
        assert_eq!(given.of(Reason::Damaged), OnTrouble::Error);
        for wrong in [
            r#"{"unsupported_format":"skip"}"#,
            r#"{"lost":"skip"}"#,
            r#"{"bomb":1}"#,
        ] {
            assert!(serde_json::from_str::<OnRefused>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_refusal_begins_with_its_reason() {
        let failure = Failure::refused(&ExtractError {
            reason: Reason::Encrypted,
            message: "the document wants a password".to_owned(),
        });
        assert_eq!(failure.code, ItemErrorCode::ContentInvalid);
        assert_eq!(failure.message, "encrypted: the document wants a password");
    }
}
