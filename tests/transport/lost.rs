//! What is known of a request that got no reply (HTTP binding §15.1).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dpe::sync::ports::Transport;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use super::raw::{
    self, NO_CONTENT, assert_lost, assert_not_sent, get, network, put, read_request, serve,
};

#[tokio::test]
async fn a_refused_connection_is_not_sent_and_its_body_not_counted() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let url = format!("http://{address}/r");
    let transport = raw::http(&url, &network());
    let message = assert_not_sent(transport.send(put("application/json", "{}")).await);
    assert!(message.contains("refused"), "{message}");
    assert!(!message.contains("http://"), "{message}");
    assert_eq!(transport.sent_bytes(), 0);
}

#[tokio::test]
async fn a_host_without_an_address_is_not_sent() {
    // RFC 6761 §6.4: names below `.invalid` never resolve.
    let url = "http://nowhere.invalid/r";
    assert_not_sent(raw::send(url, &network(), get("x")).await);
}

#[tokio::test]
async fn a_connection_that_hangs_ends_as_one_that_was_not_made() {
    // The handshake of TLS belongs to connecting; this server never answers it.
    let address = serve(|_, stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let begun = Instant::now();
    let network = authorities();
    let url = format!("https://{address}/r");
    assert_not_sent(raw::send(&url, &network.1, get("x")).await);
    let elapsed = begun.elapsed();
    assert!(elapsed < Duration::from_secs(3), "{elapsed:?}");
}

/// Settings that trust some authority, so that none of the machine is needed.
pub(super) fn authorities() -> (tempfile::NamedTempFile, dpe::config::Network) {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), signed.cert.pem()).unwrap();
    let network = dpe::config::Network {
        authorities: Some(file.path().to_owned()),
        ..network()
    };
    (file, network)
}

#[tokio::test]
async fn a_request_that_is_swallowed_is_lost_after_the_timeout() {
    let address = serve(|_, mut stream| async move {
        read_request(&mut stream).await;
        std::future::pending::<()>().await;
    })
    .await;
    for request in [get("x"), put("application/json", "{}")] {
        let begun = Instant::now();
        let message =
            assert_lost(raw::send(&format!("http://{address}"), &network(), request).await);
        assert!(message.contains("1 seconds"), "{message}");
        let elapsed = begun.elapsed().as_millis();
        assert!((1000..3000).contains(&elapsed), "{elapsed}");
    }
}

#[tokio::test]
async fn a_connection_that_ends_without_a_reply_is_lost_and_nothing_is_repeated() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = serve(move |_, mut stream| {
        let counted = Arc::clone(&counted);
        async move {
            read_request(&mut stream).await;
            counted.fetch_add(1, Ordering::SeqCst);
        }
    })
    .await;
    let url = format!("http://{address}");
    for (count, request) in [get("x"), put("application/json", "{}")]
        .into_iter()
        .enumerate()
    {
        assert_lost(raw::send(&url, &network(), request).await);
        assert_eq!(requests.load(Ordering::SeqCst), count + 1);
    }
}

#[tokio::test]
async fn a_connection_that_is_reset_is_lost() {
    let address = serve(|_, mut stream| async move {
        raw::read_head(&mut stream).await;
        // What was not read makes the system reset the connection.
        tokio::time::sleep(Duration::from_millis(50)).await;
    })
    .await;
    let request = put("application/octet-stream", vec![0; 100_000]);
    assert_lost(raw::send(&format!("http://{address}"), &network(), request).await);
}

#[tokio::test]
async fn a_used_connection_that_ends_at_the_next_request_is_lost_and_not_repeated() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    let address = serve(move |_, mut stream| {
        let counted = Arc::clone(&counted);
        async move {
            read_request(&mut stream).await;
            stream.write_all(NO_CONTENT.as_bytes()).await.unwrap();
            if read_request(&mut stream).await.is_some() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        }
    })
    .await;
    let transport = raw::http(&format!("http://{address}"), &network());
    assert_eq!(transport.send(get("x")).await.unwrap().status, 204);
    assert_lost(transport.send(put("application/json", "{}")).await);
    assert_eq!(requests.load(Ordering::SeqCst), 1);
    assert_eq!(transport.send(get("x")).await.unwrap().status, 204);
}

#[tokio::test]
async fn a_used_connection_that_ended_meanwhile_is_replaced() {
    let address = serve(|_, mut stream| async move {
        read_request(&mut stream).await;
        stream.write_all(NO_CONTENT.as_bytes()).await.unwrap();
    })
    .await;
    let transport = raw::http(&format!("http://{address}"), &network());
    for _ in 0..5 {
        assert_eq!(transport.send(get("x")).await.unwrap().status, 204);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let connections = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&connections);
    let address = serve(move |number, mut stream| {
        counted.store(number + 1, Ordering::SeqCst);
        async move {
            while read_request(&mut stream).await.is_some() {
                stream.write_all(NO_CONTENT.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let transport = raw::http(&format!("http://{address}"), &network());
    for _ in 0..10 {
        transport.send(put("application/json", "{}")).await.unwrap();
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_reply_that_breaks_off_or_stops_is_lost() {
    for stops in [false, true] {
        let address = serve(move |_, mut stream| async move {
            read_request(&mut stream).await;
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf";
            stream.write_all(head.as_bytes()).await.unwrap();
            if stops {
                std::future::pending::<()>().await;
            }
        })
        .await;
        let sent = raw::send(&format!("http://{address}"), &network(), get("x")).await;
        let message = assert_lost(sent);
        assert!(
            message.contains(if stops { "stopped" } else { "broke off" }),
            "{message}"
        );
    }
}

#[tokio::test]
async fn what_is_no_http_is_lost() {
    let address = serve(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n").await;
    })
    .await;
    assert_lost(raw::send(&format!("http://{address}"), &network(), get("x")).await);
}

#[tokio::test]
async fn without_a_timeout_a_late_reply_is_taken() {
    let address = serve(|_, mut stream| async move {
        read_request(&mut stream).await;
        tokio::time::sleep(Duration::from_millis(2000)).await;
        stream.write_all(NO_CONTENT.as_bytes()).await.unwrap();
    })
    .await;
    let mut network = network();
    let url = format!("http://{address}");
    assert_lost(raw::send(&url, &network, get("x")).await);
    network.timeout = None;
    assert_eq!(
        raw::send(&url, &network, get("x")).await.unwrap().status,
        204
    );
}

#[tokio::test]
async fn an_error_reply_of_more_than_16_mib_is_given_up_and_another_is_read_in_full() {
    const LIMIT: usize = 16 << 20;
    for (status, length, is_read) in [
        ("502 Bad Gateway", LIMIT, true),
        ("502 Bad Gateway", LIMIT + 1, false),
        ("200 OK", LIMIT + 1, true),
    ] {
        let address = serve(move |_, mut stream| async move {
            let _request = read_request(&mut stream).await;
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            // The client may have gone away.
            let _ = stream.write_all(&vec![b'x'; length]).await;
        })
        .await;
        let mut request = get("x");
        request.longest_reply = 2 * LIMIT;
        let sent = raw::send(&format!("http://{address}"), &network(), request).await;
        if is_read {
            assert_eq!(sent.unwrap().body.len(), length);
        } else {
            let message = assert_lost(sent);
            assert!(message.contains("more than 16777216 bytes"), "{message}");
        }
    }
}
