//! A remote in a temporary directory, called in-process.

use std::path::Path;

use bytes::Bytes;
use dpe::model::Contracts;
use dpe::protocol::Request;
use dpe::protocol::wire::capabilities::Limits;
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::ports::Transport;
use http::{HeaderMap, HeaderName, Method};
use serde_json::Value;
use tempfile::TempDir;

/// Percent-encodes everything but letters and digits: more than a client has to.
pub(super) fn encode(uri: &str) -> String {
    uri.bytes()
        .map(|byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Target of a document resource.
pub(super) fn target(uri: &str) -> String {
    format!("documents?uri={}", encode(uri))
}

/// Limits small enough to reach in a test.
pub(super) fn small_limits() -> Limits {
    Limits {
        max_payload_bytes: 2000,
        batch_head_max: 3,
        list_page_max: 5,
        ..Limits::default()
    }
}

pub(super) struct Remote {
    pub(super) store: Store,
    transport: InProcess,
    dir: Option<TempDir>,
}

/// A response, its body read as JSON if there is one.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: HeaderMap,
    pub(super) text: String,
}

impl Remote {
    pub(super) fn new() -> Self {
        Self::with(small_limits(), Options::default())
    }

    pub(super) fn roomy() -> Self {
        Self::with(Limits::default(), Options::default())
    }

    pub(super) fn with(limits: Limits, options: Options) -> Self {
        Self::declaring(Contracts::SUPPORTED, limits, options)
    }

    pub(super) fn declaring(contracts: Contracts, limits: Limits, options: Options) -> Self {
        let dir = TempDir::new().unwrap();
        let store = open(dir.path(), contracts);
        let service = Service::new(store.clone(), limits, options);
        let transport = InProcess::new(&service);
        Self {
            store,
            transport,
            dir: Some(dir),
        }
    }

    /// A remote whose directory is somebody else's.
    pub(super) fn from_parts(store: Store, transport: InProcess) -> Self {
        Self {
            store,
            transport,
            dir: None,
        }
    }

    pub(super) fn dir(&self) -> &Path {
        self.dir.as_ref().unwrap().path()
    }

    pub(super) async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: impl Into<Option<Vec<u8>>>,
    ) -> Reply {
        let name = |name: &str| HeaderName::from_bytes(name.as_bytes()).unwrap();
        let headers = headers.iter();
        let request = Request {
            method: Method::from_bytes(method.as_bytes()).unwrap(),
            target: target.to_owned(),
            headers: headers.map(|(n, v)| (name(n), (*v).to_owned())).collect(),
            body: body.into().map(Bytes::from),
            longest_reply: 1 << 20,
        };
        let response = self.transport.send(request).await.unwrap();
        Reply {
            status: response.status,
            headers: response.headers,
            text: String::from_utf8(response.body.to_vec()).unwrap(),
        }
    }

    /// Sends under `dpe1`.
    pub(super) async fn call(&self, method: &str, target: &str, headers: &[(&str, &str)]) -> Reply {
        let headers = [&[DPE1], headers].concat();
        self.send(method, target, &headers, None).await
    }

    /// Sends a JSON body under `dpe1`.
    pub(super) async fn post(&self, target: &str, body: &Value) -> Reply {
        self.send("POST", target, &[DPE1], body.to_string().into_bytes())
            .await
    }

    /// Commits under `dpe1` with one more header field.
    pub(super) async fn put(&self, uri: &str, condition: (&str, &str), body: &Value) -> Reply {
        let headers = [DPE1, condition];
        self.send("PUT", &target(uri), &headers, body.to_string().into_bytes())
            .await
    }

    /// Creates a document and expects that to succeed.
    pub(super) async fn create(&self, uri: &str, body: &Value) {
        let reply = self.put(uri, IF_ABSENT, body).await;
        assert_eq!(reply.status, 201, "{}", reply.text);
    }

    /// Current doc_hash under `dpe1`.
    pub(super) async fn head(&self, uri: &str) -> Option<String> {
        let reply = self.call("HEAD", &target(uri), &[]).await;
        reply.header("dpe-doc-hash").map(str::to_owned)
    }
}

pub(super) const DPE1: (&str, &str) = ("dpe-hash-contract", "dpe1");
pub(super) const IF_ABSENT: (&str, &str) = ("if-none-match", "*");

pub(super) fn open(dir: &Path, contracts: Contracts) -> Store {
    Store::open_declaring(dir, OpenMode::Create, contracts).unwrap()
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {}", self.text))
    }

    /// Status and code; checks on the way that problem body and header agree (http-binding §11.1).
    pub(super) fn verdict(&self) -> (u16, &str) {
        let code = self.header("dpe-error-code").unwrap_or_default();
        let is_problem = self.header("content-type") == Some("application/problem+json");
        assert_eq!(is_problem, !code.is_empty() && !self.text.is_empty());
        if is_problem {
            let body = self.json();
            assert_eq!(body["code"], code);
            assert_eq!(body["status"], self.status);
            let words = code.trim_start_matches("DPE_").to_lowercase();
            assert_eq!(body["title"], words.replace('_', " "));
            assert_eq!(
                body["type"],
                format!("urn:dpe:error:{}", words.replace('_', "-"))
            );
            assert!(!body["detail"].as_str().unwrap().is_empty());
            assert_eq!(
                body["retryable"],
                matches!(code, "DPE_RATE_LIMITED" | "DPE_UNAVAILABLE")
            );
            let is_missing = code == "DPE_MISSING_CONTENT";
            assert_eq!(body.get("missing").is_some(), is_missing);
            assert_eq!(body.get("missing_truncated").is_some(), is_missing);
        }
        (self.status, code)
    }
}
