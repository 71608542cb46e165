//! commit: puts one document's new content in place (http-binding §10.1–§10.4).

use std::borrow::Cow;

use http::{Method, header};

use crate::json::{Value, Writer};
use crate::model::{Contract, FileUri, Hash};
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::wire::envelope::{self, InvalidEnvelope};
use crate::protocol::{self, Response, routes};

/// What must hold for the write to happen (core §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// The document does not exist.
    IfAbsent,
    /// The document has this version.
    Base(Hash),
    /// Nothing; overwrites whatever is there.
    Force,
}

/// Commits a document object with inline objects, each given as JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Document to write.
    pub uri: &'a FileUri,
    /// Condition of the write.
    pub precondition: Precondition,
    /// Document object.
    pub document: &'a str,
    /// Inline page objects.
    pub pages: &'a [&'a str],
    /// Inline element objects.
    pub objects: &'a [&'a str],
    /// Session whose content may be used.
    pub staging_session: Option<&'a str>,
}

impl Request<'_> {
    /// Returns the request as it travels.
    pub fn into_http(self, contract: Contract) -> protocol::Request {
        let request = protocol::Request::new(Method::PUT, routes::document(self.uri.as_str()))
            .under(contract)
            .with_json(self.body());
        match self.precondition {
            Precondition::IfAbsent => request.with_header(header::IF_NONE_MATCH, "*"),
            Precondition::Base(base) => {
                request.with_header(header::IF_MATCH, format!("\"{base}\""))
            }
            Precondition::Force => request,
        }
    }

    pub(in crate::protocol) fn body(&self) -> Vec<u8> {
        let lists = [("pages", self.pages), ("objects", self.objects)];
        let texts = lists.iter().flat_map(|(_, texts)| *texts);
        let length: usize = texts.map(|text| text.len() + 1).sum();
        let mut body = Writer::with_capacity(self.document.len() + length + 128);
        body.begin_object();
        body.name("document").raw(self.document);
        for (name, texts) in lists {
            if texts.is_empty() {
                continue;
            }
            body.name(name).begin_array();
            for text in texts {
                body.raw(text);
            }
            body.end_array();
        }
        if let Some(session) = self.staging_session {
            body.name("staging_session").string(session);
        }
        if self.precondition == Precondition::Force {
            body.name("force").boolean(true);
        }
        body.end_object();
        body.into_bytes()
    }
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The document did not exist before.
    Created,
    /// The document had other content before.
    Updated,
    /// The document had this content already; nothing was written.
    Unchanged,
}

impl Status {
    /// Returns the text that travels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Unchanged => "unchanged",
        }
    }
}

/// Multiset comparison of the element hashes of old and new document (core §3.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delta {
    /// New without old.
    pub added: u64,
    /// Old without new.
    pub removed: u64,
    /// In both.
    pub retained: u64,
}

/// The reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// What happened.
    pub status: Status,
    /// Version of the document now.
    pub doc_hash: Hash,
    /// Change of its elements.
    pub delta: Delta,
}

impl Reply {
    /// Writes the body of the reply.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer::new();
        body.begin_object();
        body.name("status").string(self.status.as_str());
        body.name("doc_hash").string(&self.doc_hash.to_string());
        body.name("delta").begin_object();
        for (name, count) in [
            ("added", self.delta.added),
            ("removed", self.delta.removed),
            ("retained", self.delta.retained),
        ] {
            body.name(name).integer(count);
        }
        body.end_object();
        body.end_object();
        body.into_bytes()
    }
}

/// Reads the reply to a commit of `submitted`, a document of `element_count` elements with
/// repetitions.
///
/// # Errors
///
/// An error reply, or a reply that violates http-binding §14.2.
pub fn decode(
    response: &Response,
    contract: Contract,
    submitted: Hash,
    element_count: u64,
) -> Result<Reply, ReplyError> {
    reply::expect(response, &[200, 201], Some(contract))?;
    let text = reply::json(response)?;
    read(text.root(), contract)
        .and_then(|reply| {
            check(reply, response.status, submitted, element_count)?;
            reply::same_doc_hash_header(response, contract, submitted)?;
            Ok(reply)
        })
        .map_err(|why| ReplyError::unexpected(response, why))
}

fn read(body: Value<'_>, contract: Contract) -> Result<Reply, String> {
    let status = match &*reply::string(reply::member(body, "status")?, "status")? {
        "created" => Status::Created,
        "updated" => Status::Updated,
        "unchanged" => Status::Unchanged,
        other => return Err(format!("unknown status {other:?}")),
    };
    let delta = reply::member(body, "delta")?;
    let count = |name| reply::count(reply::member(delta, name)?, name);
    Ok(Reply {
        status,
        doc_hash: reply::hash(reply::member(body, "doc_hash")?, contract)?,
        delta: Delta {
            added: count("added")?,
            removed: count("removed")?,
            retained: count("retained")?,
        },
    })
}

/// The rows of http-binding §14.2 for commit.
fn check(reply: Reply, http_status: u16, submitted: Hash, elements: u64) -> Result<(), String> {
    let Delta {
        added,
        removed,
        retained,
    } = reply.delta;
    if (http_status == 201) != (reply.status == Status::Created) {
        return Err(format!(
            "{http_status} with status {}",
            reply.status.as_str()
        ));
    }
    if reply.doc_hash != submitted {
        return Err(format!(
            "doc_hash {} instead of {submitted}",
            reply.doc_hash
        ));
    }
    if added.checked_add(retained) != Some(elements) {
        return Err(format!(
            "added {added} and retained {retained} of {elements}"
        ));
    }
    let counts_agree = match reply.status {
        Status::Created => removed == 0 && retained == 0,
        Status::Unchanged => added == 0 && removed == 0,
        Status::Updated => true,
    };
    if counts_agree {
        Ok(())
    } else {
        Err(format!(
            "a delta that contradicts {}",
            reply.status.as_str()
        ))
    }
}

/// The body of the request as the server reads it; its objects are not judged yet.
#[derive(Clone, Debug)]
pub struct Shape<'t> {
    /// Document object.
    pub document: Value<'t>,
    /// Inline page objects.
    pub pages: Vec<Value<'t>>,
    /// Inline element objects.
    pub objects: Vec<Value<'t>>,
    /// Session referred to.
    pub staging_session: Option<Cow<'t, str>>,
    /// Whether the write is to overwrite whatever is there.
    pub force: bool,
}

impl<'t> Shape<'t> {
    /// Reads the envelope.
    pub fn read(body: Value<'t>) -> Result<Self, InvalidEnvelope> {
        let names = ["document", "pages", "objects", "staging_session", "force"];
        let [document, pages, objects, session, force] = envelope::members(body, names)?;
        let document = envelope::mandatory(document, "document")?;
        if document.members().is_none() {
            return Err(InvalidEnvelope::new("document is not an object"));
        }
        Ok(Self {
            document,
            pages: envelope::array(pages, "pages")?,
            objects: envelope::array(objects, "objects")?,
            staging_session: session
                .map(|session| envelope::string(session, "staging_session"))
                .transpose()?,
            force: envelope::switch(force, "force")?,
        })
    }
}
