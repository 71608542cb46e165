//! delete: removes one document (http-binding §10.5). Neither side sends a body.

use http::{Method, header};

use crate::model::{Contract, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::{self, Response, routes};

/// Deletes `uri` if its current version is `base`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Document to delete.
    pub uri: &'a FileUri,
    /// Version it must have.
    pub base: Hash,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        protocol::Request::new(Method::DELETE, routes::document(self.uri.as_str()))
            .under(contract)
            .with_header(header::IF_MATCH, format!("\"{}\"", self.base))
    }
}

/// Reads the reply.
///
/// # Errors
///
/// Anything but 204. `DPE_NOT_FOUND` after a resend means success (http-binding §15.2); that is
/// for the caller to know.
pub fn decode(response: &Response, contract: Contract) -> Result<(), ReplyError> {
    reply::expect(response, &[204], Some(contract))
}
