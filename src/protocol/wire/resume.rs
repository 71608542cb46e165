//! resume query: how much of a page or blob a session has received (http-binding §9.5). Its reply
//! has no body.

use http::Method;

use crate::model::Contract;
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::staged::Staged;
use crate::protocol::{self, Response, headers};

/// Asks how much of a page or blob has been received; elements have no such query.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Session asked.
    pub session: &'a str,
    /// Page or blob asked for.
    pub object: Staged,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        protocol::Request::new(Method::HEAD, self.object.target(self.session)).under(contract)
    }
}

/// Reads the reply: bytes received in this session, the whole length if the object is complete.
///
/// # Errors
///
/// An error reply, or one without a valid offset.
pub fn decode(response: &Response, contract: Contract) -> Result<u64, ReplyError> {
    reply::expect(response, &[200], Some(contract))?;
    reply::upload_offset(response).ok_or_else(|| {
        let why = format!("no valid {}", headers::DPE_UPLOAD_OFFSET);
        ReplyError::unexpected(response, why)
    })
}
