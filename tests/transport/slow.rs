//! Lines that are slow, and lines that are held back on purpose.

use std::time::{Duration, Instant};

use dpe::config::Network;
use dpe::sync::ports::Transport;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::raw::{self, NO_CONTENT, assert_lost, get, network, put, read_head, recorder, serve};

/// Bytes that a slow server takes at once.
const GULP: usize = 64 << 10;

/// A server that takes a gulp of each body every `every`, at most `gulps` of them.
async fn slow_server(every: Duration, gulps: usize) -> String {
    let address = serve(move |_, mut stream| async move {
        let seen = read_head(&mut stream).await.unwrap();
        let mut left: usize = seen.header("content-length").unwrap().parse().unwrap();
        let mut buffer = vec![0; GULP];
        for _ in 0..gulps {
            tokio::time::sleep(every).await;
            let length = left.min(GULP);
            stream.read_exact(&mut buffer[..length]).await.unwrap();
            left -= length;
            if left == 0 {
                stream.write_all(NO_CONTENT.as_bytes()).await.unwrap();
            }
        }
        std::future::pending::<()>().await;
    })
    .await;
    format!("http://{address}")
}

#[tokio::test]
async fn a_slow_upload_that_moves_is_never_cut() {
    // What fits in the buffers of this machine, and what does not; both take more than the
    // timeout.
    for (bytes, every) in [(20 * GULP, 150), (640 * GULP, 4)] {
        let url = slow_server(Duration::from_millis(every), usize::MAX).await;
        let begun = Instant::now();
        let request = put("application/octet-stream", vec![0; bytes]);
        let network = Network {
            timeout: Some(Duration::from_millis(1500)),
            ..network()
        };
        let reply = raw::send(&url, &network, request).await.unwrap();
        assert_eq!(reply.status, 204);
        let elapsed = begun.elapsed();
        assert!(elapsed > Duration::from_secs(2), "{elapsed:?}");
    }
}

#[tokio::test]
async fn an_upload_that_nobody_takes_is_lost() {
    let url = slow_server(Duration::ZERO, 10).await;
    let begun = Instant::now();
    let request = put("application/octet-stream", vec![0; 64 << 20]);
    assert_lost(raw::send(&url, &network(), request).await);
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(12), "{elapsed:?}");
}

#[tokio::test]
async fn a_reply_that_comes_before_the_body_is_taken_ends_the_request() {
    let address = serve(|_, mut stream| async move {
        read_head(&mut stream).await.unwrap();
        let reply = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(reply).await.unwrap();
        std::future::pending::<()>().await;
    })
    .await;
    let mut network = network();
    network.timeout = None;
    let url = format!("http://{address}");
    for _ in 0..3 {
        let request = put("application/octet-stream", vec![0; 64 << 20]);
        let reply = raw::send(&url, &network, request).await.unwrap();
        assert_eq!(reply.status, 413);
    }
}

#[tokio::test]
async fn the_limit_holds_over_all_bodies_together_and_reads_are_free() {
    let (address, _arrived) = recorder(NO_CONTENT).await;
    let mut network = network();
    network.upload_limit = Some("200K".parse().unwrap());
    let transport = raw::http(&format!("http://{address}"), &network);
    let begun = Instant::now();
    let upload = || {
        let transport = std::sync::Arc::clone(&transport);
        async move {
            let request = put("application/octet-stream", vec![0; 100 << 10]);
            transport.send(request).await.unwrap();
        }
    };
    tokio::join!(upload(), upload(), upload(), upload(), async {
        transport.send(get("x")).await.unwrap();
        assert!(begun.elapsed() < Duration::from_millis(1500));
    });
    // 400 KiB at 200 KiB a second, less the burst of a tenth of a second.
    let elapsed = begun.elapsed().as_millis();
    assert!((1850..6000).contains(&elapsed), "{elapsed}");
}

#[tokio::test]
async fn waiting_for_the_limit_is_no_silence() {
    let (address, _arrived) = recorder(NO_CONTENT).await;
    let mut network = network();
    network.timeout = Some(Duration::from_millis(200));
    // Each part, a tenth of a second's worth, is followed by a pause; the whole takes a second.
    network.upload_limit = Some("100".parse().unwrap());
    let request = put("application/octet-stream", vec![0; 110]);
    let url = format!("http://{address}");
    assert_eq!(
        raw::send(&url, &network, request).await.unwrap().status,
        204
    );
}
