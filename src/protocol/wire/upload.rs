//! upload: puts a page, an element or a blob into a staging session, whole or in chunks
//! (http-binding §9).

use http::{Method, header};

use crate::json::{Value, Writer};
use crate::model::{BlobRef, Contract, Hash};
use crate::protocol::content_range::ContentRange;
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::staged::Staged;
use crate::protocol::{self, Response, headers};

/// Uploads one object or one chunk of it. The bytes are attached by whoever has them.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Session to upload to.
    pub session: &'a str,
    /// Object that is uploaded.
    pub object: Staged,
    /// Which bytes of it follow; `None` for all of them. Never for an element.
    pub chunk: Option<ContentRange>,
}

impl Request<'_> {
    /// Returns the request as it travels, but for its body.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        let media_type = match self.object {
            Staged::Page(_) | Staged::Element(_) => headers::MEDIA_TYPE_JSON,
            // The server ignores the type of a blob, and a `mime_type` of an element need not be a
            // legal header value (http-binding §23).
            Staged::Blob(_) => headers::MEDIA_TYPE_BYTES,
        };
        let request = protocol::Request::new(Method::PUT, self.object.target(self.session))
            .under(contract)
            .with_header(header::CONTENT_TYPE, media_type);
        match self.chunk {
            Some(range) => request.with_header(header::CONTENT_RANGE, range.to_string()),
            None => request,
        }
    }
}

/// What an uploaded object refers to and neither the session nor the document's current state has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingBelow {
    /// Elements of a page.
    pub content_hashes: Vec<Hash>,
    /// The blob of an element.
    pub blobs: Vec<BlobRef>,
    /// Whether there may be more of them; only for a page that came in chunks.
    pub truncated: bool,
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The object is complete in the session.
    Complete(MissingBelow),
    /// The chunk was taken and more has to follow.
    Incomplete {
        /// Bytes received so far, if the server said so in a valid form.
        offset: Option<u64>,
    },
}

/// Reads the reply to an upload of `object`, in chunks or not.
///
/// # Errors
///
/// An error reply, or a reply that violates http-binding §14.2.
pub fn decode(
    response: &Response,
    contract: Contract,
    object: Staged,
    is_chunk: bool,
) -> Result<Reply, ReplyError> {
    let promised: &[u16] = if is_chunk {
        &[200, 201, 202]
    } else {
        &[200, 201]
    };
    reply::expect(response, promised, Some(contract))?;
    if response.status == 202 {
        return Ok(Reply::Incomplete {
            offset: reply::upload_offset(response),
        });
    }
    let text = reply::json(response)?;
    read(text.root(), contract, object)
        .map(Reply::Complete)
        .map_err(|why| ReplyError::unexpected(response, why))
}

/// Lists may be absent, which means empty, but not null.
fn read(body: Value<'_>, contract: Contract, object: Staged) -> Result<MissingBelow, String> {
    if body.members().is_none() {
        return Err("the body is not an object".to_owned());
    }
    let mut missing = MissingBelow::default();
    match object {
        Staged::Page(_) => {
            if let Some(list) = body.member("missing_content_hashes") {
                missing.content_hashes = reply::hashes(list, "missing_content_hashes", contract)?;
            }
            if let Some(truncated) = body.member("missing_truncated") {
                missing.truncated = truncated
                    .as_bool()
                    .ok_or("missing_truncated is not a boolean")?;
            }
        }
        Staged::Element(_) => {
            if let Some(list) = body.member("missing_blobs") {
                missing.blobs = reply::array(list, "missing_blobs")?
                    .map(|item| {
                        let text = reply::string(item, "missing_blobs")?;
                        BlobRef::parse(&text).map_err(|invalid| invalid.to_string())
                    })
                    .collect::<Result<_, String>>()?;
            }
        }
        Staged::Blob(_) => {}
    }
    Ok(missing)
}

/// Writes the body of the reply to a complete page.
pub fn encode_page(missing_content_hashes: &[Hash], truncated: bool) -> Vec<u8> {
    let mut body = Writer::new();
    body.begin_object();
    body.name("missing_content_hashes").begin_array();
    for hash in missing_content_hashes {
        body.string(&hash.to_string());
    }
    body.end_array();
    body.name("missing_truncated").boolean(truncated);
    body.end_object();
    body.into_bytes()
}

/// Writes the body of the reply to an element.
pub fn encode_element(missing_blobs: &[BlobRef]) -> Vec<u8> {
    let mut body = Writer::new();
    body.begin_object();
    body.name("missing_blobs").begin_array();
    for blob in missing_blobs {
        body.string(&blob.to_string());
    }
    body.end_array();
    body.end_object();
    body.into_bytes()
}

/// Writes the body of the reply to a complete blob.
pub fn encode_blob() -> Vec<u8> {
    b"{}".to_vec()
}
