//! move: renames one document (http-binding §10.6).

use std::borrow::Cow;

use http::Method;

use crate::json::{Value, Writer};
use crate::model::{Contract, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::wire::envelope::{self, InvalidEnvelope};
use crate::protocol::{self, Response, routes};

/// Moves `from` to `to` if the version of `from` is `base`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Source.
    pub from: &'a FileUri,
    /// Target; must be absent.
    pub to: &'a FileUri,
    /// Version the source must have.
    pub base: Hash,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        let mut body = Writer::new();
        body.begin_object();
        body.name("from_uri").string(self.from.as_str());
        body.name("to_uri").string(self.to.as_str());
        body.name("base_hash").string(&self.base.to_string());
        body.end_object();
        protocol::Request::new(Method::POST, routes::MOVE)
            .under(contract)
            .with_json(body.into_bytes())
    }
}

/// Reads the reply to a move based on `base` and returns the doc_hash of the target.
///
/// # Errors
///
/// An error reply, or a reply that violates http-binding §14.2.
pub fn decode(response: &Response, contract: Contract, base: Hash) -> Result<Hash, ReplyError> {
    reply::expect(response, &[200], Some(contract))?;
    let text = reply::json(response)?;
    let read = || {
        let doc_hash = reply::hash(reply::member(text.root(), "doc_hash")?, contract)?;
        if base.contract() == contract && doc_hash != base {
            return Err(format!("moved {doc_hash}, not the base {base}"));
        }
        reply::same_doc_hash_header(response, contract, doc_hash)?;
        Ok(doc_hash)
    };
    read().map_err(|why| ReplyError::unexpected(response, why))
}

/// The body of the request as the server reads it.
#[derive(Clone, Debug)]
pub struct Shape<'t> {
    /// Source, normalised.
    pub from: FileUri,
    /// Target, normalised.
    pub to: FileUri,
    /// Any string; one that is no hash just does not match (http-binding §5.2).
    pub base_hash: Option<Cow<'t, str>>,
}

impl<'t> Shape<'t> {
    /// Reads the envelope and the grammar of its URIs.
    pub fn read(body: Value<'t>) -> Result<Self, InvalidEnvelope> {
        let [from, to, base] = envelope::members(body, ["from_uri", "to_uri", "base_hash"])?;
        let from = envelope::mandatory(from, "from_uri")?;
        let to = envelope::mandatory(to, "to_uri")?;
        Ok(Self {
            base_hash: base
                .map(|base| envelope::string(base, "base_hash"))
                .transpose()?,
            from: envelope::file_uri(from, "from_uri")?,
            to: envelope::file_uri(to, "to_uri")?,
        })
    }
}

/// Writes the body of the reply.
pub fn encode(doc_hash: Hash) -> Vec<u8> {
    let mut body = Writer::new();
    body.begin_object();
    body.name("doc_hash").string(&doc_hash.to_string());
    body.end_object();
    body.into_bytes()
}
