//! head: current doc_hash of one document (http-binding §7.3). Its reply has no body.

use http::Method;

use crate::model::{Contract, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::{self, ErrorCode, Response, headers, routes};

/// Asks for the head of `uri`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Document asked for; judged and normalised by the server.
    pub uri: &'a str,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        protocol::Request::new(Method::HEAD, routes::document(self.uri)).under(contract)
    }
}

/// Reads the reply; `None` if the remote says that the document is absent. A bare 404 is not such
/// a statement (http-binding §14.1).
///
/// # Errors
///
/// Any other error reply, or a reply that violates http-binding §14.2.
pub fn decode(response: &Response, contract: Contract) -> Result<Option<Hash>, ReplyError> {
    match reply::expect(response, &[200], Some(contract)) {
        Err(ReplyError::Coded(error)) if error.known == Some(ErrorCode::NotFound) => Ok(None),
        Err(error) => Err(error),
        Ok(()) => reply::doc_hash_header(response, contract)
            .and_then(|hash| hash.ok_or_else(|| format!("no {}", headers::DPE_DOC_HASH)))
            .map(Some)
            .map_err(|why| ReplyError::unexpected(response, why)),
    }
}
