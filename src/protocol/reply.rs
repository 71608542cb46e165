//! How a client reads replies: the strict part that all operations share (http-binding §14).
//!
//! A reply is either what its operation promises, a coded error, or "unexpected". What any of
//! them means for a document and whether to send again is decided elsewhere.

use std::borrow::Cow;

use http::header;
use miette::Diagnostic;

use crate::json::{Text, Value};
use crate::model::{Contract, Contracts, Hash};
use crate::protocol::problem::{self, Reported};
use crate::protocol::{ErrorCode, Response, RetryAfter, decimal, headers};

/// Most characters of an error page that are shown.
const LONGEST_LINE: usize = 200;
/// Where the line of an error page is looked for: a secret that begins among the characters that are
/// shown ends in there.
const SEARCHED_BYTES: usize = 64 << 10;

/// A reply that is not what the operation promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
pub enum ReplyError {
    /// The remote answered with a code.
    #[error("{0}")]
    #[diagnostic(
        code(dpe::protocol::coded),
        help("the code says what has to change before the request can succeed (DPE Core §6)")
    )]
    Coded(Box<Coded>),
    /// The reply violates the binding, or is no DPE reply at all.
    #[error("unexpected response (status {status}): {why}")]
    #[diagnostic(
        code(dpe::protocol::unexpected_response),
        help("check that the URL is that of a DPE remote and that no proxy answers in its place")
    )]
    Unexpected {
        /// HTTP status.
        status: u16,
        /// What is wrong with it.
        why: String,
        /// `Retry-After`, if there was one.
        retry_after: Option<RetryAfter>,
        /// The first line of the body of an error page; may hold secrets and anything else, and is
        /// cut to a length for people only when those are hidden.
        line: Option<Box<str>>,
    },
    /// The server speaks another protocol.
    #[error("the server speaks {protocol:?}, not \"dpe/1\"")]
    #[diagnostic(
        code(dpe::protocol::incompatible_server),
        help("use a client for that protocol, or another remote")
    )]
    Incompatible {
        /// Protocol it announced.
        protocol: String,
    },
}

/// An error reply with a code (http-binding §14.1).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} (status {status}): {message}")]
pub struct Coded {
    /// The code's text, also if it is unknown here.
    pub code: String,
    /// The code, if it is one of core §6.
    pub known: Option<ErrorCode>,
    /// HTTP status; never to be dispatched on.
    pub status: u16,
    /// First non-empty string of `detail` and `title`; the code if there is none.
    pub message: String,
    /// Whether the same request may succeed when sent again unchanged.
    pub retryable: bool,
    /// `Retry-After`, if there was one.
    pub retry_after: Option<RetryAfter>,
    /// `DPE-Upload-Offset`, if there was a valid one: where a chunked upload has to go on.
    pub upload_offset: Option<u64>,
    /// What is missing; always there for `DPE_MISSING_CONTENT`, never for another code.
    pub missing: Option<Reported>,
}

impl ReplyError {
    /// Returns an unexpected-response error for `response`.
    pub(crate) fn unexpected(response: &Response, why: impl Into<String>) -> Self {
        Self::Unexpected {
            status: response.status,
            why: why.into(),
            retry_after: retry_after(response),
            line: (response.status >= 400)
                .then(|| first_line(&response.body))
                .flatten(),
        }
    }

    /// Returns the error with `hide` applied to every text that came with the reply. A line is cut
    /// only then: a part of a secret would not be known for one.
    pub(super) fn hiding(self, hide: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Coded(mut coded) => {
                coded.message = hide(&coded.message);
                if coded.known.is_none() {
                    coded.code = hide(&coded.code);
                }
                Self::Coded(coded)
            }
            Self::Unexpected {
                status,
                why,
                retry_after,
                line,
            } => Self::Unexpected {
                status,
                why: hide(&why),
                retry_after,
                line: line.map(|line| hide(&line).chars().take(LONGEST_LINE).collect()),
            },
            Self::Incompatible { protocol } => Self::Incompatible {
                protocol: hide(&protocol),
            },
        }
    }

    /// Returns the refusal that the remote would have answered with, had not somebody between
    /// answered in its place (http-binding §15.3).
    pub(crate) fn concluded(code: ErrorCode, status: u16, message: impl Into<String>) -> Self {
        Self::Coded(Box::new(Coded {
            code: code.as_str().to_owned(),
            known: Some(code),
            status,
            message: message.into(),
            retryable: code.retryable(),
            retry_after: None,
            upload_offset: None,
            missing: None,
        }))
    }
}

/// The first line that says something, without control characters.
fn first_line(body: &[u8]) -> Option<Box<str>> {
    let start = &body[..body.len().min(SEARCHED_BYTES)];
    let text = String::from_utf8_lossy(start);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let shown: String = line.chars().filter(|c| !c.is_control()).collect();
    Some(shown.into())
}

/// Checks that the status is one the operation promises, and reads an error reply.
///
/// `contract` is the one the request declared; hashes of a missing list are judged by it.
pub(super) fn expect(
    response: &Response,
    promised: &[u16],
    contract: Option<Contract>,
) -> Result<(), ReplyError> {
    if promised.contains(&response.status) {
        return Ok(());
    }
    if response.status < 400 {
        let why = "a status this operation does not have";
        return Err(ReplyError::unexpected(response, why));
    }
    Err(problem::read(response, contract).map_or_else(
        || ReplyError::unexpected(response, "an error without a DPE code"),
        |coded| ReplyError::Coded(Box::new(coded)),
    ))
}

/// Parses the body as strict I-JSON.
pub(super) fn json(response: &Response) -> Result<Text<'_>, ReplyError> {
    Text::parse(&response.body)
        .map_err(|error| ReplyError::unexpected(response, format!("body: {error}")))
}

/// Returns a mandatory member; unknown ones are ignored.
pub(super) fn member<'t>(object: Value<'t>, name: &str) -> Result<Value<'t>, String> {
    object
        .member(name)
        .ok_or_else(|| format!("member {name:?} is missing"))
}

/// Reads a string.
pub(super) fn string<'t>(value: Value<'t>, name: &str) -> Result<Cow<'t, str>, String> {
    value
        .as_str()
        .ok_or_else(|| format!("{name} is not a string"))
}

/// Reads an array.
pub(super) fn array<'t>(
    value: Value<'t>,
    name: &str,
) -> Result<impl Iterator<Item = Value<'t>> + use<'t>, String> {
    value
        .items()
        .ok_or_else(|| format!("{name} is not an array"))
}

/// Reads a non-negative integer.
pub(super) fn count(value: Value<'_>, name: &str) -> Result<u64, String> {
    value
        .number()
        .and_then(|number| number.as_integer())
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| format!("{name} is not a count"))
}

/// Reads a hash of the declared contract.
pub(super) fn hash(value: Value<'_>, contract: Contract) -> Result<Hash, String> {
    let text = string(value, "hash")?;
    Hash::parse(&text, Contracts::only(contract)).map_err(|error| format!("{text:?}: {error}"))
}

/// Reads an array of hashes of the declared contract.
pub(super) fn hashes(
    value: Value<'_>,
    name: &str,
    contract: Contract,
) -> Result<Vec<Hash>, String> {
    array(value, name)?
        .map(|item| hash(item, contract))
        .collect()
}

/// Returns `DPE-Upload-Offset`, if it consists of ASCII digits and fits the machine range
/// (http-binding §17).
pub(super) fn upload_offset(response: &Response) -> Option<u64> {
    decimal::parse(&response.header(&headers::DPE_UPLOAD_OFFSET)?)
}

/// Returns `DPE-Doc-Hash`, if present.
pub(super) fn doc_hash_header(
    response: &Response,
    contract: Contract,
) -> Result<Option<Hash>, String> {
    let Some(text) = response.header(&headers::DPE_DOC_HASH) else {
        return Ok(None);
    };
    Hash::parse(&text, Contracts::only(contract))
        .map(Some)
        .map_err(|error| format!("{} {text:?}: {error}", headers::DPE_DOC_HASH))
}

/// Checks that `DPE-Doc-Hash`, if present, says the same as the body.
pub(super) fn same_doc_hash_header(
    response: &Response,
    contract: Contract,
    doc_hash: Hash,
) -> Result<(), String> {
    match doc_hash_header(response, contract)? {
        Some(other) if other != doc_hash => Err(format!("{} says {other}", headers::DPE_DOC_HASH)),
        _ => Ok(()),
    }
}

/// Keeps `Retry-After`, if present.
pub(super) fn retry_after(response: &Response) -> Option<RetryAfter> {
    response.header(&header::RETRY_AFTER).map(RetryAfter::new)
}
