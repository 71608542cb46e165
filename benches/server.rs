//! How fast the embedded remote is with small documents, over the in-process transport: commits
//! with 1 and with 16 clients, every one durable before its reply; then the same commits again,
//! which change nothing, batch_head of 500, and a list of everything.
//!
//! `cargo bench --bench server [-- DOCUMENTS]`

#![allow(
    clippy::print_stdout,
    reason = "its figures are the point of a benchmark"
)]

use std::time::Instant;

use dpe::json::Text;
use dpe::model::{self, Contract, Contracts, FileUri, Hash};
use dpe::protocol::wire;
use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::ports::Transport;
use futures_util::{StreamExt, stream};

const CONTRACT: Contract = Contract::Dpe1;

struct Document {
    uri: FileUri,
    hash: Hash,
    document: String,
    page: String,
    elements: Vec<String>,
}

fn hash_of(text: &str, hash: impl Fn(dpe::json::Value<'_>) -> Hash) -> Hash {
    hash(Text::parse(text.as_bytes()).expect("valid JSON").root())
}

fn document(number: usize) -> Document {
    let declared = Contracts::only(CONTRACT);
    let elements: Vec<_> = (0..3)
        .map(|part| format!(r#"{{"category":"NarrativeText","text":"document {number}, paragraph {part}: some sentence of ordinary length that says little"}}"#))
        .collect();
    let hashes: Vec<_> = elements
        .iter()
        .map(|text| {
            hash_of(text, |value| {
                model::element(value, CONTRACT).expect("valid").hash
            })
        })
        .map(|hash| format!("\"{hash}\""))
        .collect();
    let page = format!(r#"{{"elements":[{}]}}"#, hashes.join(","));
    let page_hash = hash_of(&page, |value| {
        model::page(value, CONTRACT, declared).expect("valid").hash
    });
    let document = format!(r#"{{"file_type":"md","pages":["{page_hash}"]}}"#);
    Document {
        uri: FileUri::parse(&format!("bench://docs/{number:06}.md")).expect("a URI"),
        hash: hash_of(&document, |value| {
            model::document(value, CONTRACT, declared)
                .expect("valid")
                .hash
        }),
        document,
        page,
        elements,
    }
}

async fn commit(transport: &InProcess, document: &Document) -> wire::commit::Status {
    let objects: Vec<_> = document.elements.iter().map(String::as_str).collect();
    let request = wire::commit::Request {
        uri: &document.uri,
        precondition: wire::commit::Precondition::IfAbsent,
        document: &document.document,
        pages: &[&document.page],
        objects: &objects,
        staging_session: None,
    };
    let response = transport.send(request.into_http(CONTRACT)).await;
    let response = response.expect("in-process requests are answered");
    wire::commit::decode(&response, CONTRACT, document.hash, 3)
        .expect("the commit is accepted")
        .status
}

async fn commit_all(
    transport: &InProcess,
    documents: &[Document],
    in_flight: usize,
    expected: wire::commit::Status,
) {
    stream::iter(documents)
        .map(|document| commit(transport, document))
        .buffer_unordered(in_flight)
        .for_each(|status| async move { assert_eq!(status, expected) })
        .await;
}

async fn heads(transport: &InProcess, documents: &[Document]) {
    for batch in documents.chunks(500) {
        let uris: Vec<_> = batch.iter().map(|document| document.uri.as_str()).collect();
        let request = wire::heads::Request { uris: &uris }.into_http(CONTRACT);
        let response = transport.send(request).await.expect("answered");
        let heads = wire::heads::decode(&response, CONTRACT, batch.len()).expect("heads");
        let expected = batch.iter().map(|document| Some(document.hash));
        assert!(heads.into_iter().eq(expected));
    }
}

async fn list(transport: &InProcess, count: usize) {
    let mut listed = 0;
    let mut cursor = None;
    loop {
        let request = wire::list::Request {
            prefix: "bench://docs/",
            cursor: cursor.as_deref(),
            limit: None,
        };
        let response = transport.send(request.into_http(CONTRACT)).await;
        let reply = wire::list::decode(&response.expect("answered"), CONTRACT, "bench://docs/")
            .expect("a list");
        listed += reply.documents.len();
        cursor = reply.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(listed, count);
}

/// Time since the last thing that was measured.
struct Measure(Instant);

impl Measure {
    fn begin() -> Self {
        Self(Instant::now())
    }

    fn say(&mut self, what: &str, count: usize) {
        let seconds = self.0.elapsed().as_secs_f64();
        println!(
            "{what:<22} {count:>7} in {seconds:6.2} s, {:8.0} per second",
            count as f64 / seconds
        );
        self.0 = Instant::now();
    }
}

#[tokio::main]
async fn main() {
    let mut numbers = std::env::args().filter_map(|argument| argument.parse().ok());
    let count: usize = numbers.next().unwrap_or(100_000).max(2);
    let directory = tempfile::tempdir().expect("a directory");
    let store = Store::open(directory.path(), OpenMode::Create).expect("a store");
    let service = Service::new(store, Limits::default(), Options::default());
    let transport = InProcess::new(&service);
    let documents: Vec<_> = (0..count).map(document).collect();
    // A single client waits for the disk at every commit; a few of them say enough.
    let (alone, together) = documents.split_at(count / 50);

    let mut measure = Measure::begin();
    commit_all(&transport, alone, 1, wire::commit::Status::Created).await;
    measure.say("created by 1 client", alone.len());
    commit_all(&transport, together, 16, wire::commit::Status::Created).await;
    measure.say("created by 16 clients", together.len());
    commit_all(&transport, &documents, 16, wire::commit::Status::Unchanged).await;
    measure.say("unchanged, 16 clients", count);
    heads(&transport, &documents).await;
    measure.say("heads, 500 at once", count);
    list(&transport, count).await;
    measure.say("listed", count);
}
