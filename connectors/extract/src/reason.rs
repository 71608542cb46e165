//! Why a file gives no document: a closed list of reasons, and the words that go with one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The kinds of reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It cannot be read without a password.
    Encrypted,
    /// It claims a format and does not keep to it.
    Damaged,
    /// It is of a version of its format that is not read here.
    UnsupportedVersion,
    /// It has more bytes, entries, pages or elements than are taken.
    TooLarge,
    /// It unpacks to something out of proportion, or nests without end.
    Bomb,
    /// It took longer than a file may take.
    Timeout,
    /// The parser gave up on it: a defect of ours, or memory that ran out.
    ParserFailed,
    /// No format read here claims it.
    UnsupportedFormat,
}

impl Reason {
    /// All of them, in the order in which they are documented.
    pub const ALL: [Self; 8] = [
        Self::Encrypted,
        Self::Damaged,
        Self::UnsupportedVersion,
        Self::TooLarge,
        Self::Bomb,
        Self::Timeout,
        Self::ParserFailed,
        Self::UnsupportedFormat,
    ];

    /// Returns the name of the reason as messages and configurations write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::Damaged => "damaged",
            Self::UnsupportedVersion => "unsupported_version",
            Self::TooLarge => "too_large",
            Self::Bomb => "bomb",
            Self::Timeout => "timeout",
            Self::ParserFailed => "parser_failed",
            Self::UnsupportedFormat => "unsupported_format",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why a file gives no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ExtractError {
    /// The kind of reason.
    pub reason: Reason,
    /// What is wrong and where, for people.
    pub message: String,
}

impl ExtractError {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
        }
    }

    pub(crate) fn damaged(message: impl Into<String>) -> Self {
        Self::new(Reason::Damaged, message)
    }

    /// Whether it costs the whole file wherever in it it was found; anything else costs the part.
    pub(crate) fn is_fatal(&self) -> bool {
        matches!(self.reason, Reason::Bomb | Reason::TooLarge)
    }

    pub(crate) fn unsupported() -> Self {
        Self::new(
            Reason::UnsupportedFormat,
            "no known format claims this file",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Reason;

    #[test]
    fn a_reason_is_written_as_it_is_called() {
        for reason in Reason::ALL {
            let written = serde_json::to_value(reason).unwrap();
            assert_eq!(written, reason.name());
        }
    }
}
