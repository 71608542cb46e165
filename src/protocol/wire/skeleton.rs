//! get_skeleton: the document object and its page objects (http-binding §7.3).

use http::Method;

use crate::json::{Value, Writer};
use crate::model::{self, Contract, Contracts, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::request::LONG_REPLY;
use crate::protocol::{self, ErrorCode, Response, routes};

/// Asks for the skeleton of `uri`.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Document asked for.
    pub uri: &'a FileUri,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        protocol::Request::new(Method::GET, routes::document(self.uri.as_str()))
            .under(contract)
            .expecting(LONG_REPLY)
    }
}

/// A skeleton whose hashes were recomputed from its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// Version of the document.
    pub doc_hash: Hash,
    /// The document object as JSON text.
    pub document: Box<str>,
    /// One page per entry of the document's `pages`, repeated entries repeated.
    pub pages: Vec<SkeletonPage>,
}

/// A page of a skeleton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkeletonPage {
    /// Recomputed hash of the page.
    pub page_hash: Hash,
    /// The page object as JSON text.
    pub page: Box<str>,
    /// Elements in reading order.
    pub elements: Vec<Hash>,
}

/// Reads the reply; `None` if the remote says that the document is absent.
///
/// # Errors
///
/// Any other error reply, or a reply that violates http-binding §14.2: another document, a page
/// that does not hash to its reference, a doc_hash that cannot be reproduced.
pub fn decode(
    response: &Response,
    contract: Contract,
    uri: &FileUri,
) -> Result<Option<Skeleton>, ReplyError> {
    match reply::expect(response, &[200], Some(contract)) {
        Err(ReplyError::Coded(error)) if error.known == Some(ErrorCode::NotFound) => {
            return Ok(None);
        }
        checked => checked?,
    }
    let text = reply::json(response)?;
    read(text.root(), contract, uri)
        .and_then(|skeleton| {
            reply::same_doc_hash_header(response, contract, skeleton.doc_hash)?;
            Ok(Some(skeleton))
        })
        .map_err(|why| ReplyError::unexpected(response, why))
}

fn read(body: Value<'_>, contract: Contract, uri: &FileUri) -> Result<Skeleton, String> {
    let declared = Contracts::only(contract);
    let answered = reply::string(reply::member(body, "file_uri")?, "file_uri")?;
    if answered != uri.as_str() {
        return Err(format!("file_uri is {answered:?}"));
    }
    let doc_hash = reply::hash(reply::member(body, "doc_hash")?, contract)?;
    let document = reply::member(body, "document")?;
    let object = model::document(document, contract, declared)
        .map_err(|violation| format!("document: {}", violation.message))?;
    if object.hash != doc_hash {
        return Err(format!("the document object hashes to {}", object.hash));
    }
    let pages: Vec<_> = reply::array(reply::member(body, "pages")?, "pages")?
        .map(|page| read_page(page, contract))
        .collect::<Result<_, String>>()?;
    if !pages.iter().map(|page| &page.page_hash).eq(&object.pages) {
        return Err("the pages are not those the document refers to".to_owned());
    }
    Ok(Skeleton {
        doc_hash,
        document: document.raw().into(),
        pages,
    })
}

fn read_page(page: Value<'_>, contract: Contract) -> Result<SkeletonPage, String> {
    let object = model::page(page, contract, Contracts::only(contract))
        .map_err(|violation| format!("page: {}", violation.message))?;
    Ok(SkeletonPage {
        page_hash: object.hash,
        page: page.raw().into(),
        elements: object.elements,
    })
}

/// Writes the body of the reply piece by piece: a document can refer to a page so often that the
/// whole would be far longer than what is stored.
#[derive(Debug)]
pub struct Encoder {
    body: Writer,
}

impl Encoder {
    /// Writes everything before the pages.
    pub fn begin(file_uri: &FileUri, doc_hash: Hash, document: &str) -> Self {
        let mut body = Writer::new();
        body.begin_object();
        body.name("file_uri").string(file_uri.as_str());
        body.name("doc_hash").string(&doc_hash.to_string());
        body.name("document").raw(document);
        body.name("pages").begin_array();
        Self { body }
    }

    /// Writes the next page, one per entry of the document's `pages`.
    pub fn page(&mut self, page: &str) {
        self.body.raw(page);
    }

    /// Writes what follows the last page.
    pub fn end(&mut self) {
        self.body.end_array();
        self.body.end_object();
    }

    /// Returns how many bytes there are to take out.
    pub fn len(&self) -> usize {
        self.body.len()
    }

    /// Returns true if there is nothing to take out.
    pub fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Takes out what was written since the last time.
    pub fn take(&mut self) -> Vec<u8> {
        self.body.take()
    }
}
