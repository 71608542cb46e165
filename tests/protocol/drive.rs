//! Drives a machine by a function that answers requests, and keeps what was sent.

use bytes::Bytes;
use dpe::json::Text;
use dpe::model::{BlobRef, Contract, FileUri, Tree};
use dpe::protocol::delivery::{Job, Precondition, Terms};
use dpe::protocol::wire::capabilities::Limits;
use dpe::protocol::{Fate, Machine, Request, Response, Step};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Runs a machine to its end; requests that are in flight together are answered in order.
pub(super) fn drive<M: Machine>(
    mut machine: M,
    mut answer: impl FnMut(&Request) -> Fate,
) -> (M::Outcome, Vec<Request>) {
    let now = "2026-11-30T00:00:00Z".parse().unwrap();
    let mut sent = Vec::new();
    let mut flying = std::collections::VecDeque::new();
    loop {
        match machine.poll() {
            Step::Done(outcome) => return (outcome, sent),
            Step::Send(id, outgoing) => {
                let mut request = outgoing.request;
                if let Some(part) = outgoing.part {
                    request.body = Some(Bytes::from(vec![0; part.length]));
                }
                flying.push_back((id, request));
            }
            Step::Idle => {
                let (id, request) = flying.pop_front().expect("something is in flight");
                assert!(sent.len() < 1000, "it never ends");
                let fate = answer(&request);
                sent.push(request);
                machine.handle(id, fate, now);
            }
        }
    }
}

/// Returns method and target of each request, session ids and digests cut short.
pub(super) fn lines(sent: &[Request]) -> Vec<String> {
    let line = |request: &Request| {
        let target = request.target.split('?').next().unwrap();
        let mut parts: Vec<&str> = target.split('/').collect();
        if parts.len() == 4 {
            parts = vec![parts[0], parts[2]];
        }
        format!("{} {}", request.method, parts.join("/"))
    };
    sent.iter().map(line).collect()
}

pub(super) fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Fate {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).unwrap();
        map.insert(HeaderName::from_static(name), value);
    }
    Fate::Answered(Response {
        status,
        headers: map,
        body: Bytes::copy_from_slice(body.as_bytes()),
    })
}

pub(super) fn problem(status: u16, body: &Value) -> Fate {
    let header = [("content-type", "application/problem+json")];
    reply(status, &header, &body.to_string())
}

pub(super) fn coded(status: u16, code: &str) -> Fate {
    problem(status, &json!({"code": code}))
}

pub(super) fn lost() -> Fate {
    Fate::Lost("lost".into())
}

/// A document of pages of elements.
pub(super) fn tree(pages: &[Vec<Value>]) -> Tree {
    let pages: Vec<Value> = pages
        .iter()
        .map(|elements| json!({"elements": elements}))
        .collect();
    let text = json!({"file_type": "txt", "pages": pages}).to_string();
    let text = Text::parse(text.as_bytes()).unwrap();
    Tree::of_expanded(text.root(), Contract::Dpe1, |_| Ok(None)).unwrap()
}

pub(super) fn text(text: impl Into<String>) -> Value {
    json!({"category": "NarrativeText", "text": text.into()})
}

pub(super) fn image(bytes: &[u8]) -> Value {
    json!({"category": "Image", "blob": BlobRef::of(bytes).to_string()})
}

pub(super) fn uri() -> FileUri {
    FileUri::parse("t://document").unwrap()
}

pub(super) fn job<'a>(
    uri: &'a FileUri,
    precondition: Precondition,
    tree: &'a Tree,
    blobs: &[&[u8]],
) -> Job<'a> {
    let blobs = blobs.iter();
    Job {
        uri,
        precondition,
        tree,
        blobs: blobs
            .map(|blob| (BlobRef::of(blob), blob.len() as u64))
            .collect(),
    }
}

pub(super) fn terms(limits: Limits) -> Terms {
    Terms::new(Contract::Dpe1, limits)
}
