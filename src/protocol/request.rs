//! A request as a value: everything a transport needs, nothing it has to interpret.

use bytes::Bytes;
use http::{HeaderName, Method, header};

use crate::model::Contract;
use crate::protocol::headers;

/// Longest body of most replies, in bytes: far beyond anything that is meant.
pub const SHORT_REPLY: usize = 16 << 20;
/// Longest body of a reply whose length nothing tells, in bytes: the pages of a document, of which
/// each element takes about 75, or a list of documents.
pub const LONG_REPLY: usize = 512 << 20;

/// One request, relative to a remote.
///
/// Credentials, compression and connection headers belong to the transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// HTTP method.
    pub method: Method,
    /// Path and query relative to the remote, such as `documents?uri=…`; appended after a `/` and
    /// not encoded again (http-binding §1.2).
    pub target: String,
    /// Header fields in the order they are to be sent.
    pub headers: Vec<(HeaderName, String)>,
    /// Body, if the operation has one.
    pub body: Option<Bytes>,
    /// Longest body, in bytes, of a reply that is read, unless it is the reply of an error.
    pub longest_reply: usize,
}

impl Request {
    /// Returns a request without headers and body.
    pub(crate) fn new(method: Method, target: impl Into<String>) -> Self {
        Self {
            method,
            target: target.into(),
            headers: Vec::new(),
            body: None,
            longest_reply: SHORT_REPLY,
        }
    }

    /// Adds one header field.
    pub(crate) fn with_header(mut self, name: HeaderName, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// Expects up to `bytes` in the body of the reply, if that is more than most have.
    pub(crate) fn expecting(mut self, bytes: usize) -> Self {
        self.longest_reply = self.longest_reply.max(bytes);
        self
    }

    /// Declares the contract of all hashes in this request and its reply (http-binding §3).
    pub(crate) fn under(self, contract: Contract) -> Self {
        self.with_header(headers::DPE_HASH_CONTRACT, contract.name())
    }

    /// Attaches a JSON body (http-binding §4).
    pub(crate) fn with_json(mut self, body: impl Into<Bytes>) -> Self {
        self.body = Some(body.into());
        self.with_header(header::CONTENT_TYPE, headers::MEDIA_TYPE_JSON)
    }
}
