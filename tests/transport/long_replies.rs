//! Replies that are longer than anything that is meant.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dpe::config::RemoteUrl;
use dpe::model::Contract;
use dpe::runner::Client;
use dpe::transport::Http;
use tokio::io::AsyncWriteExt;

use super::raw::{self, assert_lost, get, network, put, read_request, serve};

/// What may be under way between the two ends.
const BUFFERS: usize = 16 << 20;

/// Serves a reply that has no end, and counts what it takes.
async fn endless() -> (String, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let address = serve(move |_, mut stream| {
        let counted = Arc::clone(&counted);
        async move {
            read_request(&mut stream).await;
            let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n";
            stream.write_all(head).await.unwrap();
            while let Ok(written) = stream.write(&[b' '; 1 << 16]).await {
                counted.fetch_add(written, Ordering::SeqCst);
            }
        }
    })
    .await;
    (format!("http://{address}"), taken)
}

#[tokio::test]
async fn a_reply_is_read_no_further_than_its_request_allows_and_the_limit_is_named() {
    let (url, taken) = endless().await;
    for mut request in [get("x"), put("application/json", "{}")] {
        taken.store(0, Ordering::SeqCst);
        request.longest_reply = 1_000_000;
        let message = assert_lost(raw::send(&url, &network(), request).await);
        assert!(message.contains("1000000 bytes"), "{message}");
        let taken = taken.load(Ordering::SeqCst);
        assert!(taken < 1_000_000 + BUFFERS, "{taken}");
    }
}

#[tokio::test]
async fn capabilities_without_an_end_take_little_memory() {
    let (url, taken) = endless().await;
    let url = RemoteUrl::parse(&url).unwrap();
    let transport = Http::new(&url, &network(), |_| None).unwrap();
    let failure = Client::connect(transport, Contract::Dpe1)
        .await
        .unwrap_err();
    assert!(failure.message.contains("16777216 bytes"), "{failure:?}");
    // Asked three times, as after any reply that was lost (HTTP binding §22).
    let taken = taken.load(Ordering::SeqCst);
    assert!(taken < 3 * ((16 << 20) + BUFFERS), "{taken}");
}
