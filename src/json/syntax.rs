//! Why a text is not strict I-JSON.
//!
//! The reasons are for people. The protocol has one code for all of them (hash contract §8), and
//! this file does not know it.

use thiserror::Error;

/// A text that is not strict I-JSON (hash contract §8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{reason} at byte {offset}")]
pub struct SyntaxError {
    /// Byte offset into the text at which the parser stopped.
    pub offset: usize,
    /// What was wrong there.
    pub reason: SyntaxReason,
}

/// The kinds of [`SyntaxError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SyntaxReason {
    /// The text is longer than a tape can address.
    #[error("the text is longer than 4 GiB")]
    TooLong,
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// The text begins with U+FEFF.
    #[error("byte order mark")]
    ByteOrderMark,
    /// The text ends inside a value.
    #[error("unexpected end of text")]
    UnexpectedEnd,
    /// A character that cannot stand here.
    #[error("unexpected character")]
    UnexpectedCharacter,
    /// A raw control character inside a string.
    #[error("unescaped control character in a string")]
    ControlCharacter,
    /// A backslash that starts no escape of RFC 8259.
    #[error("invalid escape")]
    InvalidEscape,
    /// Half of a surrogate pair.
    #[error("lone surrogate")]
    LoneSurrogate,
    /// A number outside the grammar of RFC 8259.
    #[error("invalid number")]
    InvalidNumber,
    /// The same member name twice in one object, compared after unescaping.
    #[error("duplicate member name")]
    DuplicateName,
    /// More nested containers than [`MAX_CONTAINERS`](super::MAX_CONTAINERS).
    #[error("too many nested containers")]
    TooDeep,
    /// Something after the value.
    #[error("unexpected character after the value")]
    TrailingCharacters,
}

impl SyntaxReason {
    pub(super) fn at(self, offset: usize) -> SyntaxError {
        SyntaxError {
            offset,
            reason: self,
        }
    }
}
