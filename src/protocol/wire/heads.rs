//! batch_head: current doc_hash of many documents (http-binding §7.2).

use http::Method;

use crate::json::{Value, Writer};
use crate::model::{Contract, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::wire::envelope::{self, InvalidEnvelope};
use crate::protocol::{self, Response, routes};

/// What one entry of a reply may take, in bytes, many times what it does.
const ENTRY_BYTES: usize = 1 << 10;

/// Asks for the heads of `uris`, at most `batch_head_max` of them.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a, S> {
    /// Documents asked for; judged and normalised by the server.
    pub uris: &'a [S],
}

impl<S: AsRef<str>> Request<'_, S> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        let mut body = Writer::new();
        body.begin_object();
        body.name("uris").begin_array();
        for uri in self.uris {
            body.string(uri.as_ref());
        }
        body.end_array();
        body.end_object();
        protocol::Request::new(Method::POST, routes::HEADS)
            .under(contract)
            .expecting(self.uris.len().saturating_mul(ENTRY_BYTES))
            .with_json(body.into_bytes())
    }
}

/// Reads the reply to a request of `count` URIs: one entry for each, `None` where the document is
/// absent.
///
/// # Errors
///
/// An error reply, or a reply that violates http-binding §14.2.
pub fn decode(
    response: &Response,
    contract: Contract,
    count: usize,
) -> Result<Vec<Option<Hash>>, ReplyError> {
    reply::expect(response, &[200], Some(contract))?;
    let text = reply::json(response)?;
    read(text.root(), contract, count).map_err(|why| ReplyError::unexpected(response, why))
}

fn read(body: Value<'_>, contract: Contract, count: usize) -> Result<Vec<Option<Hash>>, String> {
    let heads: Vec<_> = reply::array(reply::member(body, "heads")?, "heads")?
        .map(|head| {
            if head.is_null() {
                return Ok(None);
            }
            reply::hash(reply::member(head, "doc_hash")?, contract).map(Some)
        })
        .collect::<Result<_, String>>()?;
    if heads.len() == count {
        Ok(heads)
    } else {
        Err(format!("{} heads for {count} URIs", heads.len()))
    }
}

/// The body of the request as the server reads it.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Documents asked for, normalised.
    pub uris: Vec<FileUri>,
}

impl Shape {
    /// Reads the envelope, its number of URIs and their grammar.
    pub fn read(body: Value<'_>, batch_head_max: u64) -> Result<Self, InvalidEnvelope> {
        let [uris] = envelope::members(body, ["uris"])?;
        let uris = envelope::array(Some(envelope::mandatory(uris, "uris")?), "uris")?;
        if u64::try_from(uris.len()).is_ok_and(|count| count > batch_head_max) {
            let message = format!("{} URIs, at most {batch_head_max}", uris.len());
            return Err(InvalidEnvelope::new(message));
        }
        let uris = uris.into_iter().map(|uri| envelope::file_uri(uri, "uris"));
        Ok(Self {
            uris: uris.collect::<Result<_, _>>()?,
        })
    }
}

/// Writes the body of the reply.
pub fn encode(heads: &[Option<Hash>]) -> Vec<u8> {
    let mut body = Writer::new();
    body.begin_object();
    body.name("heads").begin_array();
    for head in heads {
        match head {
            Some(hash) => {
                body.begin_object();
                body.name("doc_hash").string(&hash.to_string());
                body.end_object();
            }
            None => {
                body.null();
            }
        }
    }
    body.end_array();
    body.end_object();
    body.into_bytes()
}
