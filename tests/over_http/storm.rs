//! `kill -9` of the server during a storm of commits: every acknowledged commit is there, and no
//! document is there by halves.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dpe::model::{Contracts, FileUri, Hash};
use dpe::server::{OpenMode, Store};
use dpe_sdk::http::DpeClient;
use dpe_sdk::protocol::Precondition;
use dpe_sdk::wire::Skeleton;
use dpe_sdk::{CONTRACT, ExpandedDocument};
use serde_json::json;
use tempfile::TempDir;

use super::served::Served;

const WRITERS: u32 = 8;

/// The content of one document after its `version`th write: pages and elements in numbers that
/// differ from version to version.
fn content(writer: u32, version: u32) -> ExpandedDocument {
    let pages: Vec<_> = (0..=version % 4)
        .map(|page| {
            let elements: Vec<_> = (0..3)
                .map(|element| {
                    let text = format!("{writer} {page} {element} {}", version / (element + 1));
                    json!({"category": "NarrativeText", "text": text})
                })
                .collect();
            json!({"elements": elements})
        })
        .collect();
    let document = json!({"file_type": "md", "pages": pages}).to_string();
    ExpandedDocument::parse(&document, CONTRACT).unwrap()
}

fn uri(writer: u32, document: u32) -> String {
    format!("storm://{writer}/{document}")
}

/// What one document may hold: the last acknowledged version, and those sent after it.
#[derive(Clone, Debug, Default)]
struct Sent {
    acknowledged: Option<u32>,
    possible: Vec<u32>,
}

type Ledger = Mutex<BTreeMap<String, (u32, Sent)>>;

/// Writes and rewrites documents until the server is gone.
async fn write(
    url: String,
    writer: u32,
    ledger: Arc<Ledger>,
    stop: Arc<AtomicBool>,
    acknowledged: Arc<AtomicU32>,
) {
    let client = DpeClient::builder(url)
        .max_resends(0)
        .max_retries(0)
        .build()
        .unwrap();
    for round in 0.. {
        for document in 0..5 {
            if stop.load(Ordering::Relaxed) {
                return;
            }
            let uri = uri(writer, document);
            let precondition = {
                let mut ledger = ledger.lock().unwrap();
                let (_, sent) = ledger
                    .entry(uri.clone())
                    .or_insert((writer, Sent::default()));
                sent.possible.push(round);
                match sent.acknowledged {
                    None => Precondition::IfAbsent,
                    Some(version) => {
                        let base = content(writer, version).doc_hash(CONTRACT).unwrap();
                        Precondition::BaseHash(base)
                    }
                }
            };
            let committed = client
                .commit(&uri, &content(writer, round), precondition, None)
                .await;
            if committed.is_err() {
                return;
            }
            acknowledged.fetch_add(1, Ordering::Relaxed);
            let mut ledger = ledger.lock().unwrap();
            let (_, sent) = ledger.get_mut(&uri).unwrap();
            *sent = Sent {
                acknowledged: Some(round),
                possible: vec![round],
            };
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_commits_survive_the_kill_of_the_server() {
    for moment in [20, 60, 140, 300] {
        let store = TempDir::new().unwrap();
        let served = Served::start(store.path(), &[]);
        let ledger = Arc::<Ledger>::default();
        let stop = Arc::<AtomicBool>::default();
        let acknowledged = Arc::<AtomicU32>::default();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                tokio::spawn(write(
                    served.url.clone(),
                    writer,
                    Arc::clone(&ledger),
                    Arc::clone(&stop),
                    Arc::clone(&acknowledged),
                ))
            })
            .collect();
        // Not before there is something to lose.
        while acknowledged.load(Ordering::Relaxed) < 10 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tokio::time::sleep(Duration::from_millis(moment)).await;
        tokio::task::spawn_blocking(|| served.kill()).await.unwrap();
        stop.store(true, Ordering::Relaxed);
        for writer in writers {
            writer.await.unwrap();
        }
        let served = Served::start(store.path(), &[]);
        let client = DpeClient::new(&served.url).unwrap();
        let ledger = ledger.lock().unwrap().clone();
        let mut skeletons = BTreeMap::new();
        for uri in ledger.keys() {
            // The peer recomputes every hash from what it reads.
            skeletons.insert(uri, client.get_skeleton(uri).await.unwrap());
        }
        served.kill();
        let store = Store::open(store.path(), OpenMode::MustExist).unwrap();
        for (uri, (writer, sent)) in &ledger {
            assert_holds(skeletons[uri].as_ref(), &store, uri, *writer, sent);
        }
    }
}

/// Asserts that a document is one of the versions it may be, whole.
fn assert_holds(skeleton: Option<&Skeleton>, store: &Store, uri: &str, writer: u32, sent: &Sent) {
    let Some(skeleton) = skeleton else {
        assert_eq!(sent.acknowledged, None, "{uri} is gone: {sent:?}");
        return;
    };
    let mut versions = sent.possible.iter();
    let held = versions.find(|version| {
        content(writer, **version).doc_hash(CONTRACT).unwrap() == skeleton.doc_hash
    });
    let held = held.unwrap_or_else(|| panic!("{uri} holds none of {sent:?}"));
    assert_eq!(skeleton.pages.len(), content(writer, *held).pages.len());
    let uri = FileUri::parse(uri).unwrap();
    let stored = store.elements(&uri).unwrap().unwrap();
    let mut elements = 0;
    for page in &skeleton.pages {
        for element in &page.elements {
            let hash = Hash::parse(element, Contracts::SUPPORTED).unwrap();
            assert!(stored.contains_key(&hash), "{uri} lacks {element}");
            elements += 1;
        }
    }
    assert!(elements > 0);
}
