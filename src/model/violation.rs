//! What is wrong with an object: code, place and an explanation (hash contract §6).

use thiserror::Error;

use crate::json::{NumberError, SyntaxError, Value};

/// The codes a judgement of content can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Code {
    /// `DPE_VALIDATION`.
    Validation,
    /// `DPE_CATEGORY_UNKNOWN`.
    CategoryUnknown,
    /// `DPE_CONTRACT_UNSUPPORTED`.
    ContractUnsupported,
}

impl Code {
    /// Returns the code as it is written on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Validation => "DPE_VALIDATION",
            Self::CategoryUnknown => "DPE_CATEGORY_UNKNOWN",
            Self::ContractUnsupported => "DPE_CONTRACT_UNSUPPORTED",
        }
    }
}

/// The first violation of an object, in the order of hash contract §6.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Violation {
    /// Code of the protocol.
    pub code: Code,
    /// RFC 6901 pointer relative to the judged object. Never sent over the wire.
    pub pointer: String,
    /// Explanation for people.
    pub message: String,
}

impl Violation {
    /// Returns a violation.
    pub fn new(code: Code, pointer: String, message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            code,
            pointer,
            message,
        }
    }

    /// Returns a `DPE_VALIDATION` of the judged value itself.
    pub fn here(message: impl Into<String>) -> Self {
        Self::new(Code::Validation, String::new(), message)
    }

    /// Returns this violation of a part as one of the whole that has the part at `pointer`.
    #[must_use]
    pub fn under(mut self, pointer: &str) -> Self {
        self.pointer.insert_str(0, pointer);
        self
    }

    /// Returns the violation of a number somewhere inside `root`.
    pub(super) fn number(root: Value<'_>, error: NumberError) -> Self {
        let pointer = root.pointer_to(error.offset);
        Self::new(Code::Validation, pointer, error.to_string())
    }
}

impl From<SyntaxError> for Violation {
    fn from(error: SyntaxError) -> Self {
        Self::here(format!("not strict I-JSON: {error}"))
    }
}
