//! What a remote repeats of a credential reaches nobody, and hiding it breaks no reply.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use dpe::config::{Mask, Secret};
use dpe::json::Text;
use dpe::model::{BlobRef, Contract, FileUri, Tree};
use dpe::protocol::wire::capabilities::{self, Limits};
use dpe::protocol::{Request, Response};
use dpe::runner::{Client, Precondition};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::blobs::{BlobBytes, Blobs};
use dpe::sync::failure::Failure;
use dpe::sync::ports::{Transport, TransportFailure};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use tempfile::TempDir;

use super::fixture::tree;

const TOKEN: &str = "s3cr3t-t0ken";

/// A remote that answers as it is told, if it is, behind a transport with a credential.
struct Telltale {
    remote: InProcess,
    says: Mutex<Option<Response>>,
    mask: Mask,
    _directory: TempDir,
}

impl Telltale {
    fn new(token: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(&directory.path().join("store"), OpenMode::Create).unwrap();
        let service = Service::new(store, Limits::default(), Options::default());
        let credential = Secret::new(format!("Bearer {token}"));
        Self {
            remote: InProcess::new(&service),
            says: Mutex::default(),
            mask: Mask::of_authorization(Some(credential)),
            _directory: directory,
        }
    }
}

impl Transport for Telltale {
    async fn send(&self, request: Request) -> Result<Response, TransportFailure> {
        let told = self.says.lock().unwrap().clone();
        match told {
            Some(reply) => Ok(reply),
            None => self.remote.send(request).await,
        }
    }

    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask.hide(text)
    }
}

fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Response {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let value = HeaderValue::from_str(value).unwrap();
        map.insert(HeaderName::from_static(name), value);
    }
    Response {
        status,
        headers: map,
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

fn problem(code: &str, detail: &str) -> Response {
    let body = json!({"code": code, "detail": detail}).to_string();
    reply(403, &[("content-type", "application/problem+json")], &body)
}

fn uri() -> FileUri {
    FileUri::parse("t://document").unwrap()
}

#[tokio::test]
async fn no_text_of_a_failure_shows_a_secret_that_the_remote_repeats() {
    let client = Client::connect(Telltale::new(TOKEN), Contract::Dpe1)
        .await
        .unwrap();
    let said = format!("not for {TOKEN}");
    let cut = format!("{}{TOKEN}", "a".repeat(195));
    for (said, shows) in [
        (problem("DPE_FORBIDDEN", &said), "not for [REDACTED]"),
        (problem(TOKEN, "no"), "[REDACTED]"),
        (reply(502, &[], &said), "not for [REDACTED]"),
        (reply(502, &[], &cut), "aaa[REDA\""),
        (reply(200, &[("dpe-doc-hash", TOKEN)], ""), "[REDACTED]"),
    ] {
        *client.transport().says.lock().unwrap() = Some(said);
        let error = client.head(&uri()).await.unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("s3c"), "{shown}");
        assert!(shown.contains(shows), "{shown}");
    }
}

#[tokio::test]
async fn protocol_of_a_foreign_server_is_shown_without_a_secret() {
    let foreign = Telltale::new(TOKEN);
    let asked = foreign.remote.send(capabilities::Request.into_http()).await;
    let own = String::from_utf8(asked.unwrap().body.to_vec()).unwrap();
    let body = own.replace("\"dpe/1\"", &format!("\"{TOKEN}\""));
    *foreign.says.lock().unwrap() = Some(reply(200, &[], &body));
    let connected = Client::connect(foreign, Contract::Dpe1).await;
    let failure: Failure = connected.map(|_| ()).unwrap_err();
    assert!(failure.message.contains("[REDACTED]"), "{failure:?}");
    assert!(!format!("{failure:?}").contains("s3c"), "{failure:?}");
}

#[tokio::test]
async fn secret_that_is_a_word_of_the_protocol_breaks_no_list_of_what_is_missing() {
    for token in ["blobs", "missing", "400", "sha256", "DPE_MISSING_CONTENT"] {
        let client = Client::connect(Telltale::new(token), Contract::Dpe1)
            .await
            .unwrap();
        let bytes = Bytes::from_static(b"image");
        let blob = BlobRef::of(&bytes);
        let image = json!({"category": "Image", "blob": blob.to_string()});
        let pages = json!([{"elements": [image]}]);
        let update = json!({"file_type": "txt", "pages": pages}).to_string();
        let update = Text::parse(update.as_bytes()).unwrap();
        let update = Tree::of_expanded(update.root(), Contract::Dpe1, |_| Ok(None));
        let (old, update) = (tree("old"), update.unwrap());
        let blobs: Blobs = [(blob, Arc::new(bytes) as Arc<dyn BlobBytes>)]
            .into_iter()
            .collect();
        let new = Precondition::IfAbsent;
        client
            .deliver(&uri(), new, &old, &Blobs::default())
            .await
            .unwrap();
        // The blob is named by the missing list of the first commit.
        let base = Precondition::Base(old.doc_hash);
        let delivered = client.deliver(&uri(), base, &update, &blobs).await;
        assert_eq!(delivered.unwrap().doc_hash, update.doc_hash, "{token}");
    }
}
