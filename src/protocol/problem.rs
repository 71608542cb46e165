//! Problem bodies in both directions (http-binding §11, §14.1).

use http::header;

use crate::json::{Text, Value, Writer};
use crate::model::{BlobRef, Contract, Contracts, Hash};
use crate::protocol::reply::{self, Coded};
use crate::protocol::{ErrorCode, Response, headers};

/// What a commit refers to and the remote does not have (http-binding §11.3).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    /// Page hashes.
    pub pages: Vec<Hash>,
    /// Element hashes.
    pub content_hashes: Vec<Hash>,
    /// Blob references.
    pub blobs: Vec<BlobRef>,
}

impl Missing {
    /// Whether nothing is missing.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty() && self.content_hashes.is_empty() && self.blobs.is_empty()
    }

    /// Keeps the first `budget` entries in the order pages, elements, blobs and says whether
    /// anything was dropped.
    pub fn truncate(&mut self, budget: usize) -> bool {
        let before = self.pages.len() + self.content_hashes.len() + self.blobs.len();
        self.pages.truncate(budget);
        let budget = budget - self.pages.len();
        self.content_hashes.truncate(budget);
        self.blobs.truncate(budget - self.content_hashes.len());
        before > self.pages.len() + self.content_hashes.len() + self.blobs.len()
    }
}

/// A missing list as a client read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    /// What is missing.
    pub missing: Missing,
    /// Whether there may be more.
    pub truncated: bool,
}

/// A problem as a server says it.
#[derive(Clone, Debug)]
pub struct Problem<'a> {
    /// Code.
    pub code: ErrorCode,
    /// HTTP status, which for some codes depends on the operation.
    pub status: u16,
    /// Text for people, non-empty.
    pub detail: &'a str,
    /// Missing list and whether it was truncated.
    pub missing: Option<(&'a Missing, bool)>,
}

impl Problem<'_> {
    /// Writes the body.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer::new();
        body.begin_object();
        body.name("type");
        body.string(&format!("urn:dpe:error:{}", self.code.words("-")));
        body.name("title").string(&self.code.words(" "));
        body.name("status").integer(i64::from(self.status));
        body.name("detail").string(self.detail);
        body.name("code").string(self.code.as_str());
        body.name("retryable").boolean(self.code.retryable());
        if let Some((missing, truncated)) = self.missing {
            body.name("missing").begin_object();
            write_list(&mut body, "pages", &missing.pages);
            write_list(&mut body, "content_hashes", &missing.content_hashes);
            write_list(&mut body, "blobs", &missing.blobs);
            body.end_object();
            body.name("missing_truncated").boolean(truncated);
        }
        body.end_object();
        body.into_bytes()
    }
}

fn write_list(body: &mut Writer, name: &str, items: &[impl ToString]) {
    body.name(name).begin_array();
    for item in items {
        body.string(&item.to_string());
    }
    body.end_array();
}

/// Reads an error reply: the code of the problem body, else that of the header, else nothing.
pub(crate) fn read(response: &Response, contract: Option<Contract>) -> Option<Coded> {
    let text = problem_body(response);
    let body = text.as_ref().map(Text::root);
    let from_body = body.and_then(|body| non_empty(body, "code"));
    // A body without a code counts as none at all.
    let body = body.filter(|_| from_body.is_some());
    let code = from_body.or_else(|| code_header(response))?;
    let known = ErrorCode::from_text(&code);
    let says_retryable = || body?.member("retryable")?.as_bool();
    Some(Coded {
        known,
        status: response.status,
        message: body
            .and_then(|body| non_empty(body, "detail").or_else(|| non_empty(body, "title")))
            .unwrap_or_else(|| code.clone()),
        retryable: known.map_or_else(|| says_retryable() == Some(true), ErrorCode::retryable),
        retry_after: reply::retry_after(response),
        upload_offset: reply::upload_offset(response),
        missing: (known == Some(ErrorCode::MissingContent)).then(|| reported(body, contract)),
        code,
    })
}

/// Parses the body if it claims to be a problem and is a JSON object.
fn problem_body(response: &Response) -> Option<Text<'_>> {
    let media_type = response.header(&header::CONTENT_TYPE)?;
    let essence = media_type.split(';').next().unwrap_or_default();
    if !essence
        .trim_matches([' ', '\t'])
        .eq_ignore_ascii_case(headers::MEDIA_TYPE_PROBLEM)
    {
        return None;
    }
    let text = Text::parse(&response.body).ok()?;
    let is_object = text.root().members().is_some();
    is_object.then_some(text)
}

/// The code in the header; a comma comes from repeated fields and counts as absent.
fn code_header(response: &Response) -> Option<String> {
    let value = response.header(&headers::DPE_ERROR_CODE)?;
    let code = value.trim_matches([' ', '\t']);
    (!code.is_empty() && !code.contains(',')).then(|| code.to_owned())
}

fn non_empty(object: Value<'_>, name: &str) -> Option<String> {
    let text = object.member(name)?.as_str()?;
    (!text.is_empty()).then(|| text.into_owned())
}

/// Reads the missing list; absent, malformed or all empty means that nothing is known.
fn reported(body: Option<Value<'_>>, contract: Option<Contract>) -> Reported {
    let unknown = Reported {
        missing: Missing::default(),
        truncated: true,
    };
    let read = || {
        let body = body?;
        let missing = missing_list(body.member("missing")?, contract?)?;
        let truncated = body
            .member("missing_truncated")
            .and_then(|says| says.as_bool());
        Some(Reported {
            missing,
            truncated: truncated == Some(true),
        })
    };
    read()
        .filter(|reported| !reported.missing.is_empty())
        .unwrap_or(unknown)
}

fn missing_list(list: Value<'_>, contract: Contract) -> Option<Missing> {
    let declared = Contracts::only(contract);
    let hashes = |name: &str| -> Option<Vec<Hash>> {
        list.member(name)?
            .items()?
            .map(|item| Hash::parse(&item.as_str()?, declared).ok())
            .collect()
    };
    let blobs = list.member("blobs")?.items()?;
    Some(Missing {
        pages: hashes("pages")?,
        content_hashes: hashes("content_hashes")?,
        blobs: blobs
            .map(|item| BlobRef::parse(&item.as_str()?).ok())
            .collect::<Option<_>>()?,
    })
}
