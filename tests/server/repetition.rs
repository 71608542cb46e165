//! Skeletons whose pages repeat: long replies from little content, sent in parts.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use dpe::model::{Contract, Contracts};
use dpe::protocol::Request;
use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::ports::Transport;
use dpe_hash::ObjectKind;
use http::{HeaderName, Method};
use http_body_util::BodyExt;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;
use tower::ServiceExt;

use super::content;
use super::remote::{self, Remote, target};

const BOTH: Contracts = Contracts::SUPPORTED.with(Contract::Dpex);

/// A page whose title has this many letters; it has no elements.
fn page(title: &str, letters: usize) -> Value {
    json!({"title": title.repeat(letters), "elements": []})
}

/// A commit body of pages that are referred to in this order, the hash of the document and the
/// pages as a skeleton tells them.
fn repeating(pages: &[Value], order: &[usize]) -> (Value, String, Vec<Value>) {
    let hashes = pages.iter();
    let hashes: Vec<_> = hashes
        .map(|page| content::hash(page, ObjectKind::Page, "dpe1"))
        .collect();
    let list: Vec<_> = order.iter().map(|page| hashes[*page].as_str()).collect();
    let (document, hash) = content::doc(&list);
    let told = order.iter().map(|page| pages[*page].clone()).collect();
    (json!({"document": document, "pages": pages}), hash, told)
}

fn service(dir: &TempDir, options: Options) -> (Store, Service) {
    let store = remote::open(dir.path(), BOTH);
    (
        store.clone(),
        Service::new(store, Limits::default(), options),
    )
}

fn get(contract: &str) -> Request {
    let name = HeaderName::from_static("dpe-hash-contract");
    Request {
        method: Method::GET,
        target: target("x:d"),
        headers: vec![(name, contract.to_owned())],
        body: None,
        longest_reply: 1 << 20,
    }
}

#[tokio::test]
async fn pages_are_told_as_often_as_they_are_referred_to() {
    // Shorter and longer than a part, and longer than what is kept.
    let pages = [("a", 3), ("b", 100_000), ("c", 300_000), ("d", 1_200_000)]
        .map(|(title, letters)| page(title, letters));
    let orders = [
        vec![0; 300],
        vec![1; 30],
        (0..40).map(|at| at * at % 3).collect(),
        vec![3, 0, 3, 3, 2, 0, 3],
        vec![0],
        vec![2],
        vec![],
    ];
    let dir = TempDir::new().unwrap();
    let (store, service) = service(&dir, Options::default());
    let remote = Remote::from_parts(store, InProcess::new(&service));
    for (number, order) in orders.iter().enumerate() {
        let uri = format!("x:{number}");
        let (body, hash, told) = repeating(&pages, order);
        remote.create(&uri, &body).await;
        let reply = remote.call("GET", &target(&uri), &[]).await;
        assert_eq!(reply.status, 200);
        let expected = json!({"file_uri": uri, "doc_hash": hash,
                              "document": body["document"], "pages": told});
        assert!(reply.json() == expected, "{order:?}");
        assert_eq!(reply.header("dpe-doc-hash"), Some(hash.as_str()));
        assert_eq!(reply.header("content-type"), Some("application/json"));
        let foreign = [("dpe-hash-contract", "dpex")];
        let reply = remote.send("GET", &target(&uri), &foreign, None).await;
        assert!(reply.json()["pages"] == json!(told), "{order:?}");
        // HEAD and 304 have no body and the same version.
        let head = remote.call("HEAD", &target(&uri), &[]).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""));
        let any = [("if-none-match", "*")];
        let unchanged = remote.call("GET", &target(&uri), &any).await;
        assert_eq!((unchanged.status, unchanged.text.as_str()), (304, ""));
        assert_eq!(unchanged.header("etag"), head.header("etag"));
    }
}

/// A remote with `x:d`, 20 pages of 300,000 letters each, the last one different.
async fn long(dir: &TempDir, options: Options) -> (Store, Service, Value) {
    let (store, service) = service(dir, options);
    let pages = ["a", "z"].map(|title| page(title, 300_000));
    let order: Vec<_> = [vec![0; 19], vec![1]].concat();
    let (body, _, told) = repeating(&pages, &order);
    let remote = Remote::from_parts(store.clone(), InProcess::new(&service));
    remote.create("x:d", &body).await;
    (store, service, json!(told))
}

/// Asks without an in-process transport, which would collect the whole reply.
async fn begin(service: &Service) -> Body {
    let request = http::Request::get(format!("http://x/{}", target("x:d")));
    let request = request.header("dpe-hash-contract", "dpe1");
    let request = request.body(Body::empty()).unwrap();
    let response = service.router().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    response.into_body()
}

#[tokio::test]
async fn long_reply_tells_one_version_though_another_is_written_meanwhile() {
    let dir = TempDir::new().unwrap();
    let (store, service, told) = long(&dir, Options::default()).await;
    let mut body = begin(&service).await;
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.len() < 700_000, "{} bytes at once", first.len());
    let remote = Remote::from_parts(store, InProcess::new(&service));
    let head = remote.head("x:d").await.unwrap();
    let tag = format!("\"{head}\"");
    let empty = json!({"document": content::empty()});
    let reply = remote.put("x:d", ("if-match", &tag), &empty).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let rest = body.collect().await.unwrap().to_bytes();
    let whole: Value = serde_json::from_slice(&[first, rest].concat()).unwrap();
    assert!(whole["pages"] == told && whole["doc_hash"] == json!(head));
    assert_eq!(remote.head("x:d").await.as_deref(), Some(content::EMPTY));
}

#[tokio::test]
async fn abandoned_reply_lets_the_store_go() {
    let dir = TempDir::new().unwrap();
    let (store, service, _) = long(&dir, Options::default()).await;
    let mut body = begin(&service).await;
    assert!(body.frame().await.is_some());
    drop((store, service));
    assert!(Store::open(dir.path(), OpenMode::MustExist).is_err());
    drop(body);
    Store::open(dir.path(), OpenMode::MustExist).unwrap();
}

#[tokio::test]
async fn reply_that_meets_damage_breaks_off_and_is_reported() {
    let dir = TempDir::new().unwrap();
    let incidents = Arc::<Mutex<Vec<String>>>::default();
    let log = Arc::clone(&incidents);
    let options = Options {
        on_incident: Arc::new(move |line| log.lock().unwrap().push(line.to_owned())),
        ..Options::default()
    };
    let (_store, service, _) = long(&dir, options).await;
    let database = Connection::open(dir.path().join("remote.db")).unwrap();
    let sql = "UPDATE page SET text = CAST(x'ff' AS TEXT) WHERE occurrences = 1";
    assert_eq!(database.execute(sql, []).unwrap(), 1);
    for contract in ["dpe1", "dpex"] {
        let lost = InProcess::new(&service).send(get(contract)).await;
        assert!(!lost.unwrap_err().definitely_not_sent);
    }
    assert_eq!(incidents.lock().unwrap().len(), 2);
}
