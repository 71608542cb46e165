//! Staging sessions: http-binding §8, §9 and what §10 says of them.

mod chunks;
mod commit;
mod contracts;
mod garbage;
mod ladder;
mod lifetime;
mod migration;
mod negotiate;
mod restart;
mod whole;

use std::path::Path;

use dpe::model::Contracts;
use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{InProcess, Options, Service};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::content;
use super::remote::{self, DPE1, Remote, Reply};

const HOOKS: &str = "hooks";
const ALICE: (&str, &str) = ("authorization", "alice");
const BOB: (&str, &str) = ("authorization", "bob");

/// Limits that tell every step of the ladders apart.
fn limits() -> Limits {
    Limits {
        max_payload_bytes: 4000,
        page_max_bytes: 3000,
        blob_max_bytes: 3500,
        blob_chunk_bytes: 1000,
        staging_ttl_seconds: 3600,
        ..Limits::default()
    }
}

/// Limits that stand in nobody's way.
fn roomy() -> Limits {
    Limits {
        staging_ttl_seconds: 3600,
        ..Limits::default()
    }
}

fn options() -> Options {
    Options {
        hooks: Some(format!("/{HOOKS}")),
        ..Options::default()
    }
}

/// A remote with a side channel.
fn hooked(limits: Limits) -> Remote {
    Remote::with(limits, options())
}

/// A remote over somebody else's directory, which can be closed and opened again.
fn at(dir: &Path) -> Remote {
    let store = remote::open(dir, Contracts::SUPPORTED);
    let service = Service::new(store.clone(), roomy(), options());
    Remote::from_parts(store, InProcess::new(&service))
}

/// Reference of some bytes, by an independent implementation.
fn blob_ref(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{digits}")
}

/// Bytes of which no two stretches are alike.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// An image of a blob, and its hash.
fn image(blob: &str) -> (Value, String) {
    let element = json!({"category": "Image", "mime_type": "image/png", "blob": blob});
    let hash = content::hash(&element, dpe_hash::ObjectKind::Element, "dpe1");
    (element, hash)
}

fn json_bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

/// Opens a session for `uri`.
async fn open(remote: &Remote, uri: &str) -> String {
    let reply = negotiate(remote, uri, &content::empty(), &[]).await;
    session_of(&reply)
}

async fn negotiate(remote: &Remote, uri: &str, document: &Value, pages: &[&Value]) -> Value {
    let body = json!({"file_uri": uri, "document": document, "pages": pages});
    let reply = remote.post("negotiate", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

fn session_of(reply: &Value) -> String {
    reply["staging_session"]["id"].as_str().unwrap().to_owned()
}

fn path(session: &str, kind: &str, name: &str) -> String {
    format!("staging/{session}/{kind}/{name}")
}

/// Uploads an object whole, under `dpe1`.
async fn stage(remote: &Remote, session: &str, kind: &str, name: &str, body: &[u8]) -> Reply {
    let target = path(session, kind, name);
    remote.send("PUT", &target, &[DPE1], body.to_vec()).await
}

async fn stage_json(remote: &Remote, session: &str, kind: &str, name: &str, body: &Value) -> Reply {
    stage(remote, session, kind, name, &json_bytes(body)).await
}

/// Uploads one chunk of an object, under `dpe1`.
async fn chunk(
    remote: &Remote,
    session: &str,
    kind: &str,
    name: &str,
    range: &str,
    body: &[u8],
) -> Reply {
    let target = path(session, kind, name);
    let range = format!("bytes {range}");
    let headers = [DPE1, ("content-range", range.as_str())];
    remote.send("PUT", &target, &headers, body.to_vec()).await
}

/// Uploads an object in chunks of `size` and returns the reply to the last one.
async fn in_chunks(
    remote: &Remote,
    session: &str,
    kind: &str,
    name: &str,
    body: &[u8],
    size: usize,
) -> Reply {
    let mut first = 0;
    loop {
        let end = (first + size).min(body.len());
        let range = format!("{first}-{}/{}", end - 1, body.len());
        let reply = chunk(remote, session, kind, name, &range, &body[first..end]).await;
        if end == body.len() {
            return reply;
        }
        assert_eq!(reply.status, 202, "{}", reply.text);
        assert_eq!(
            reply.header("dpe-upload-offset"),
            Some(end.to_string().as_str())
        );
        assert_eq!(reply.text, "");
        first = end;
    }
}

/// Asks how much of an object a session has received.
async fn offset(remote: &Remote, session: &str, kind: &str, name: &str) -> u64 {
    let reply = remote.call("HEAD", &path(session, kind, name), &[]).await;
    assert_eq!((reply.status, reply.text.as_str()), (200, ""));
    assert!(reply.header("dpe-session-expires").is_some());
    reply.header("dpe-upload-offset").unwrap().parse().unwrap()
}

/// Body of a commit that refers to a session.
fn from_session(document: &Value, session: &str) -> Value {
    json!({"document": document, "staging_session": session})
}

/// Moves the clock of the remote.
async fn advance(remote: &Remote, seconds: u64) {
    let body = json_bytes(&json!({"advance_seconds": seconds}));
    let reply = remote
        .send("POST", &format!("{HOOKS}/clock/advance"), &[], body)
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}
