//! JSON-RPC envelopes and the error codes of the contract (connector contract §9).
//!
//! Knows how a message is wrapped, not what the methods mean.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// What the contract's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCode {
    /// −32700: the line is no JSON.
    ParseError,
    /// −32600: not a request, or not allowed now.
    InvalidRequest,
    /// −32601: no such method.
    MethodNotFound,
    /// −32602: the parameters do not fit, or `next` has expired.
    InvalidParams,
    /// −32603: a defect of the plugin.
    InternalError,
    /// −32001: given up after `cancel`.
    Cancelled,
    /// −32002: no such blob handle.
    UnknownHandle,
    /// −32003: the source cannot be read.
    SourceFailed,
    /// −32004: no common protocol version.
    VersionUnsupported,
    /// −32005: the configuration cannot be used.
    InvalidConfig,
}

impl ErrorCode {
    const ALL: [Self; 10] = [
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::InternalError,
        Self::Cancelled,
        Self::UnknownHandle,
        Self::SourceFailed,
        Self::VersionUnsupported,
        Self::InvalidConfig,
    ];

    /// Returns the number on the wire.
    pub fn number(self) -> i64 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::InternalError => -32603,
            Self::Cancelled => -32001,
            Self::UnknownHandle => -32002,
            Self::SourceFailed => -32003,
            Self::VersionUnsupported => -32004,
            Self::InvalidConfig => -32005,
        }
    }

    /// Returns the code with this number, if the contract has one.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::ParseError => "parse_error",
            Self::InvalidRequest => "invalid_request",
            Self::MethodNotFound => "method_not_found",
            Self::InvalidParams => "invalid_params",
            Self::InternalError => "internal_error",
            Self::Cancelled => "cancelled",
            Self::UnknownHandle => "unknown_handle",
            Self::SourceFailed => "source_failed",
            Self::VersionUnsupported => "version_unsupported",
            Self::InvalidConfig => "invalid_config",
        }
    }
}

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// The code.
    pub code: ErrorCode,
    /// For people; never holds a credential.
    pub message: String,
    /// Whether asking again may help. Only sent when true.
    pub retryable: bool,
}

impl RpcError {
    /// Returns an error that is not retryable.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retryable: false,
        }
    }

    /// Returns the same error, marked as worth another attempt.
    #[must_use]
    pub fn retryable(self) -> Self {
        Self {
            retryable: true,
            ..self
        }
    }

    /// Returns the answer to a cancelled request.
    pub fn cancelled() -> Self {
        Self::new(ErrorCode::Cancelled, "cancelled")
    }
}

/// A request or notification as it arrives; members nobody asked for are ignored.
#[derive(Debug, Deserialize)]
pub(crate) struct Incoming {
    pub(crate) jsonrpc: String,
    #[serde(default)]
    pub(crate) id: Option<Box<RawValue>>,
    pub(crate) method: String,
    #[serde(default)]
    pub(crate) params: Option<Box<RawValue>>,
}

/// A request or notification as the host sends it.
#[derive(Debug, Serialize)]
pub struct Outgoing<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    params: P,
}

impl<'a, P: Serialize> Outgoing<'a, P> {
    /// Returns a request that wants an answer.
    pub fn request(id: i64, method: &'a str, params: P) -> Self {
        Self {
            jsonrpc: "2.0",
            id: Some(id),
            method,
            params,
        }
    }

    /// Returns a notification.
    pub fn notification(method: &'a str, params: P) -> Self {
        Self {
            jsonrpc: "2.0",
            id: None,
            method,
            params,
        }
    }
}

/// Parameters of the notification `cancel`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CancelParams {
    /// The request to give up.
    pub id: i64,
}

/// An empty object, the parameters and the result of `shutdown`.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Empty {}

#[derive(Serialize)]
struct ResultLine<'a, R> {
    jsonrpc: &'static str,
    id: Option<i64>,
    result: &'a R,
}

#[derive(Serialize)]
struct ErrorLine<'a> {
    jsonrpc: &'static str,
    id: Option<i64>,
    error: ErrorBody<'a>,
}

#[derive(Serialize)]
struct ErrorBody<'a> {
    code: i64,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<ErrorData>,
}

#[derive(Serialize)]
struct ErrorData {
    retryable: bool,
}

/// Returns the text of a response, without its line end.
pub(crate) fn response<R: Serialize>(
    id: Option<i64>,
    outcome: &Result<R, RpcError>,
) -> serde_json::Result<Vec<u8>> {
    let jsonrpc = "2.0";
    match outcome {
        Ok(result) => serde_json::to_vec(&ResultLine {
            jsonrpc,
            id,
            result,
        }),
        Err(error) => serde_json::to_vec(&ErrorLine {
            jsonrpc,
            id,
            error: ErrorBody {
                code: error.code.number(),
                message: &error.message,
                data: error.retryable.then_some(ErrorData { retryable: true }),
            },
        }),
    }
}

/// Deserialises an optional member that may be absent but never null.
pub(crate) fn not_null<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_of_the_contract_leads_back_to_its_code() {
        for code in ErrorCode::ALL {
            assert_eq!(ErrorCode::from_number(code.number()), Some(code));
        }
        assert_eq!(ErrorCode::from_number(-1), None);
    }

    #[test]
    fn retryable_is_sent_as_data_and_only_when_true() {
        let error = RpcError::new(ErrorCode::SourceFailed, "gone");
        let plain = response::<Empty>(Some(2), &Err(error.clone())).unwrap();
        assert_eq!(
            String::from_utf8(plain).unwrap(),
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32003,"message":"gone"}}"#
        );
        let again = response::<Empty>(Some(2), &Err(error.retryable())).unwrap();
        assert_eq!(
            String::from_utf8(again).unwrap(),
            r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32003,"message":"gone","data":{"retryable":true}}}"#
        );
    }
}
