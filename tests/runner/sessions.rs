//! What a failed delivery uploaded is there for the next one in the same process.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use dpe::json::Text;
use dpe::model::{BlobRef, Contract, FileUri, Tree};
use dpe::protocol::wire::capabilities::Limits;
use dpe::protocol::{Request, Response};
use dpe::runner::{Client, Precondition};
use dpe::server::{InProcess, OpenMode, Options, Service, Store};
use dpe::sync::blobs::{BlobBytes, Blobs};
use dpe::sync::ports::{LocalFault, Transport, TransportFailure};
use serde_json::json;

/// Carries requests as long as there are any left, and keeps what it carried.
struct Limited {
    remote: InProcess,
    left: AtomicUsize,
    carried: Mutex<Vec<String>>,
}

impl Limited {
    fn carried(&self) -> Vec<String> {
        std::mem::take(&mut self.carried.lock().unwrap())
    }
}

impl Transport for Limited {
    async fn send(&self, request: Request) -> Result<Response, TransportFailure> {
        let next = |left: usize| left.checked_sub(1);
        let order = Ordering::SeqCst;
        if self.left.fetch_update(order, order, next).is_err() {
            return Err(TransportFailure::local(LocalFault::Credential, "none"));
        }
        let place = request.target.split(['?', '/']).next().unwrap();
        let line = format!("{} {place}", request.method);
        self.carried.lock().unwrap().push(line);
        self.remote.send(request).await
    }
}

#[tokio::test]
async fn delivery_goes_on_with_the_session_of_one_that_was_cut() {
    let directory = tempfile::tempdir().unwrap();
    let store = Store::open(&directory.path().join("store"), OpenMode::Create).unwrap();
    let limits = Limits {
        max_payload_bytes: 2000,
        blob_chunk_bytes: 1000,
        ..Limits::default()
    };
    let transport = Limited {
        remote: InProcess::new(&Service::new(store, limits, Options::default())),
        left: AtomicUsize::new(usize::MAX),
        carried: Mutex::default(),
    };
    let client = Client::connect(transport, Contract::Dpe1).await.unwrap();
    let bytes = Bytes::from(vec![7; 10_000]);
    let blob = BlobRef::of(&bytes);
    let image = json!({"category": "Image", "blob": blob.to_string()});
    let text = json!({"file_type": "txt", "pages": [{"elements": [image]}]}).to_string();
    let text = Text::parse(text.as_bytes()).unwrap();
    let tree = Tree::of_expanded(text.root(), Contract::Dpe1, |_| Ok(None)).unwrap();
    let blobs: Blobs = [(blob, Arc::new(bytes) as Arc<dyn BlobBytes>)]
        .into_iter()
        .collect();
    let uri = FileUri::parse("t://document").unwrap();
    client.transport().carried();

    // The negotiate and six chunks of ten.
    client.transport().left.store(7, Ordering::SeqCst);
    let deliver = || client.deliver(&uri, Precondition::IfAbsent, &tree, &blobs);
    let failed = deliver().await.unwrap_err();
    assert_eq!(failed.failure.code, "secret_missing");
    assert_eq!(client.transport().carried().len(), 7);

    client.transport().left.store(usize::MAX, Ordering::SeqCst);
    deliver().await.unwrap();
    let rest = ["PUT staging"; 4];
    let expected = [&["HEAD staging"][..], &rest, &["PUT documents"]].concat();
    assert_eq!(client.transport().carried(), expected);
}
