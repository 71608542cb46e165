//! list: documents under a prefix, page by page (http-binding §7.4).

use http::Method;

use crate::json::{Value, Writer};
use crate::model::{Contract, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::request::LONG_REPLY;
use crate::protocol::{self, Response, routes};

/// What one entry of a reply may take, in bytes; URIs have no longest.
const ENTRY_BYTES: usize = 64 << 10;

/// Asks for documents whose normalised URI begins with `prefix`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Compared as is with normalised URIs; empty is everything.
    pub prefix: &'a str,
    /// Where the previous reply ended.
    pub cursor: Option<&'a str>,
    /// Most documents wanted, within `list_page_max`.
    pub limit: Option<u64>,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        let target = routes::list(self.prefix, self.cursor, self.limit);
        let longest = match self.limit.map(usize::try_from) {
            Some(Ok(limit)) => limit.saturating_mul(ENTRY_BYTES).min(LONG_REPLY),
            _ => LONG_REPLY,
        };
        protocol::Request::new(Method::GET, target)
            .under(contract)
            .expecting(longest)
    }
}

/// One reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Documents in the remote's order.
    pub documents: Vec<Listed>,
    /// Cursor of the next request, `None` at the end.
    pub next_cursor: Option<String>,
}

/// One listed document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Normalised URI.
    pub file_uri: String,
    /// Current version.
    pub doc_hash: Hash,
}

/// Reads the reply to a request for what begins with `prefix`.
///
/// # Errors
///
/// An error reply, or a reply that violates http-binding §14.2. A document that was not asked for
/// is such a violation, too: somebody may be about to delete what is listed.
pub fn decode(response: &Response, contract: Contract, prefix: &str) -> Result<Reply, ReplyError> {
    reply::expect(response, &[200], Some(contract))?;
    let text = reply::json(response)?;
    read(text.root(), contract, prefix).map_err(|why| ReplyError::unexpected(response, why))
}

fn read(body: Value<'_>, contract: Contract, prefix: &str) -> Result<Reply, String> {
    let documents = reply::array(reply::member(body, "documents")?, "documents")?
        .map(|document| {
            let file_uri = reply::string(reply::member(document, "file_uri")?, "file_uri")?;
            let normal = FileUri::parse(&file_uri);
            if !normal.is_ok_and(|normal| normal.as_str() == file_uri) {
                return Err(format!("{file_uri:?} is no normalised URI"));
            }
            if !file_uri.starts_with(prefix) {
                return Err(format!("{file_uri:?} does not begin with {prefix:?}"));
            }
            Ok(Listed {
                file_uri: file_uri.into_owned(),
                doc_hash: reply::hash(reply::member(document, "doc_hash")?, contract)?,
            })
        })
        .collect::<Result<_, String>>()?;
    let next = reply::member(body, "next_cursor")?;
    let next_cursor = if next.is_null() {
        None
    } else {
        Some(reply::string(next, "next_cursor")?.into_owned())
    };
    Ok(Reply {
        documents,
        next_cursor,
    })
}

/// Writes the body of the reply.
pub fn encode(documents: &[(FileUri, Hash)], next_cursor: Option<&str>) -> Vec<u8> {
    let mut body = Writer::new();
    body.begin_object();
    body.name("documents").begin_array();
    for (file_uri, doc_hash) in documents {
        body.begin_object();
        body.name("file_uri").string(file_uri.as_str());
        body.name("doc_hash").string(&doc_hash.to_string());
        body.end_object();
    }
    body.end_array();
    body.name("next_cursor");
    match next_cursor {
        Some(cursor) => body.string(cursor),
        None => body.null(),
    };
    body.end_object();
    body.into_bytes()
}
