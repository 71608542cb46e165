//! negotiate: opens a staging session and tells what is missing (http-binding §8.2).

use http::Method;

use crate::json::{Value, Writer};
use crate::model::{Contract, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::timestamp::is_rfc3339;
use crate::protocol::wire::envelope::{self, InvalidEnvelope};
use crate::protocol::{self, Response, routes};

/// Opens a session for a document object, with page objects that are to be staged at once, each
/// given as JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Document to write.
    pub file_uri: &'a FileUri,
    /// Document object.
    pub document: &'a str,
    /// Page objects to attach.
    pub pages: &'a [&'a str],
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        let body = self.body();
        protocol::Request::new(Method::POST, routes::NEGOTIATE)
            .under(contract)
            // Only what the request names can be missing, and is named again.
            .expecting(body.len().saturating_mul(2))
            .with_json(body)
    }

    pub(in crate::protocol) fn body(&self) -> Vec<u8> {
        let length: usize = self.pages.iter().map(|page| page.len() + 1).sum();
        let mut body = Writer::with_capacity(self.document.len() + length + 256);
        body.begin_object();
        body.name("file_uri").string(self.file_uri.as_str());
        body.name("document").raw(self.document);
        if !self.pages.is_empty() {
            body.name("pages").begin_array();
            for page in self.pages {
                body.raw(page);
            }
            body.end_array();
        }
        body.end_object();
        body.into_bytes()
    }
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Pages of the document that neither the session nor its current state has.
    pub missing_pages: Vec<Hash>,
    /// Elements of the session's pages that neither the session nor the current state has.
    pub missing_content_hashes: Vec<Hash>,
    /// Id of the staging session; opaque.
    pub session: String,
    /// When the session expires, RFC 3339. Informative: only the server decides that it is over.
    pub expires_at: String,
}

impl Reply {
    /// Writes the body of the reply.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer::new();
        body.begin_object();
        for (name, hashes) in [
            ("missing_pages", &self.missing_pages),
            ("missing_content_hashes", &self.missing_content_hashes),
        ] {
            body.name(name).begin_array();
            for hash in hashes {
                body.string(&hash.to_string());
            }
            body.end_array();
        }
        body.name("staging_session").begin_object();
        body.name("id").string(&self.session);
        body.name("expires_at").string(&self.expires_at);
        body.end_object();
        body.end_object();
        body.into_bytes()
    }
}

/// Reads the reply.
///
/// # Errors
///
/// An error reply, or a reply that violates http-binding §14.2.
pub fn decode(response: &Response, contract: Contract) -> Result<Reply, ReplyError> {
    reply::expect(response, &[200], Some(contract))?;
    let text = reply::json(response)?;
    read(text.root(), contract).map_err(|why| ReplyError::unexpected(response, why))
}

fn read(body: Value<'_>, contract: Contract) -> Result<Reply, String> {
    let hashes = |name| reply::hashes(reply::member(body, name)?, name, contract);
    let session = reply::member(body, "staging_session")?;
    let id = reply::string(reply::member(session, "id")?, "id")?;
    if id.is_empty() {
        return Err("the session has an empty id".to_owned());
    }
    let expires_at = reply::string(reply::member(session, "expires_at")?, "expires_at")?;
    if !is_rfc3339(&expires_at) {
        return Err(format!("expires_at is {expires_at:?}"));
    }
    Ok(Reply {
        missing_pages: hashes("missing_pages")?,
        missing_content_hashes: hashes("missing_content_hashes")?,
        session: id.into_owned(),
        expires_at: expires_at.into_owned(),
    })
}

/// The body of the request as the server reads it; its objects are not judged yet.
#[derive(Clone, Debug)]
pub struct Shape<'t> {
    /// Document to write, normalised.
    pub file_uri: FileUri,
    /// Document object.
    pub document: Value<'t>,
    /// Attached page objects.
    pub pages: Vec<Value<'t>>,
}

impl<'t> Shape<'t> {
    /// Reads the envelope and the grammar of its URI.
    pub fn read(body: Value<'t>) -> Result<Self, InvalidEnvelope> {
        let [uri, document, pages] = envelope::members(body, ["file_uri", "document", "pages"])?;
        let uri = envelope::mandatory(uri, "file_uri")?;
        let document = envelope::mandatory(document, "document")?;
        if document.members().is_none() {
            return Err(InvalidEnvelope::new("document is not an object"));
        }
        Ok(Self {
            document,
            pages: envelope::array(pages, "pages")?,
            file_uri: envelope::file_uri(uri, "file_uri")?,
        })
    }
}
