//! What arrives at the other end.

use std::io::Read;

use dpe::config::RemoteUrl;
use dpe::sync::ports::{LocalFault, Transport};
use dpe::transport::Http;
use http::header;

use super::raw::{self, NO_CONTENT, get, network, put, recorder, with};

#[tokio::test]
async fn the_target_arrives_as_written() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let targets = [
        "documents?uri=a%2Fb%3Ac",
        "documents?uri=..%2F..&x='()*!$,;=:@/?",
        "a//b",
        "a/%2f%zz/..;/c",
        "staging/s-1/pages/dpe1:00",
        "it's/a+b~_-.",
        "",
    ];
    for path in [
        "",
        "/r/1",
        "/a%2Fb",
        "//a",
        "/a//b",
        "/~:@!$&'()*+,;=",
        "/%C3%A9",
    ] {
        let base = format!("http://{address}{path}");
        let transport = raw::http(&base, &network());
        for target in targets {
            let sent = transport.send(get(target)).await;
            let written = format!("{path}/{target}");
            match sent {
                Ok(reply) => {
                    assert_eq!(reply.status, 204);
                    let seen = arrived.recv().await.unwrap();
                    assert_eq!(seen.line, format!("GET {written} HTTP/1.1"));
                    assert_eq!(seen.header("host"), Some(&*address.to_string()));
                }
                // The URL layer would have sent another one.
                Err(failure) => {
                    let query = written.split_once('?').map(|(_, query)| query);
                    assert!(query.is_some_and(|query| query.contains('\'')), "{written}");
                    assert_eq!(failure.local, Some(LocalFault::Request));
                }
            }
        }
    }
}

#[tokio::test]
async fn a_target_that_the_url_layer_would_rewrite_is_not_sent() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let transport = raw::http(&format!("http://{address}/r"), &network());
    for target in [
        "../secret",
        "a/../secret",
        "a/%2e%2E/secret",
        "a/./secret",
        "secret b",
        "secret\n",
        "secret#x",
    ] {
        let failure = transport.send(get(target)).await.unwrap_err();
        let known = (failure.definitely_not_sent, failure.local);
        assert_eq!(known, (true, Some(LocalFault::Request)), "{target}");
        assert!(!failure.message.contains("secret"), "{failure}");
    }
    assert!(arrived.try_recv().is_err());
}

#[tokio::test]
async fn ipv6_and_odd_hosts_are_used_as_written() {
    for host in [
        "[::1]:8443",
        "[1:0:0:2::3]",
        "[1:0:0:2::]",
        "ex_ample.com",
        "ex!am.com",
        "a.0xg",
        "xn--bcher-kva.example",
    ] {
        let url = RemoteUrl::parse(&format!("http://{host}/r")).unwrap();
        let shown = format!("{:?}", Http::new(&url, &network(), |_| None).unwrap());
        assert!(shown.contains(host), "{shown}");
    }
    let listener = tokio::net::TcpListener::bind("[::1]:0").await;
    let Ok(listener) = listener else { return };
    let address = listener.local_addr().unwrap();
    let sent = tokio::spawn(async move {
        raw::send(&format!("http://{address}/r"), &network(), get("x")).await
    });
    let (mut stream, _) = listener.accept().await.unwrap();
    let seen = raw::read_request(&mut stream).await.unwrap();
    assert_eq!(seen.header("host"), Some(&*address.to_string()));
    sent.abort();
}

#[tokio::test]
async fn a_host_that_the_url_layer_refuses_is_a_local_error_without_the_url() {
    let failure = raw::send("http://xn--a-secret-/r", &network(), get("x"))
        .await
        .unwrap_err();
    assert_eq!(failure.local, Some(LocalFault::Request), "{failure:?}");
    assert!(!failure.message.contains("secret"), "{failure}");
}

#[tokio::test]
async fn headers_arrive_in_full_and_nothing_is_asked_for_besides() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let request = with(get("x"), header::IF_MATCH, "\"dpe1:00\"");
    let url = format!("http://{address}");
    raw::send(&url, &network(), request).await.unwrap();
    let seen = arrived.recv().await.unwrap();
    assert_eq!(seen.header("if-match"), Some("\"dpe1:00\""));
    for absent in [
        "accept-encoding",
        "authorization",
        "content-encoding",
        "referer",
    ] {
        assert_eq!(seen.header(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn a_header_value_that_http_forbids_is_a_local_error_without_the_value() {
    for value in [
        "secret\r\nx: y",
        " secret",
        "secret\t",
        "se\u{e9}cret",
        "secret\0",
    ] {
        let (address, mut arrived) = recorder(NO_CONTENT).await;
        let request = with(get("x"), header::IF_MATCH, value);
        let failure = raw::send(&format!("http://{address}"), &network(), request)
            .await
            .unwrap_err();
        let known = (failure.definitely_not_sent, failure.local);
        assert_eq!(known, (true, Some(LocalFault::Request)));
        assert!(!failure.message.contains("cret"), "{failure}");
        assert!(arrived.try_recv().is_err());
    }
}

#[tokio::test]
async fn bodies_have_a_length_and_empty_ones_too() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let transport = raw::http(&format!("http://{address}"), &network());
    for body in [Vec::new(), vec![7; 10], vec![9; 3 << 20]] {
        let request = put("application/octet-stream", body.clone());
        transport.send(request).await.unwrap();
        let seen = arrived.recv().await.unwrap();
        assert_eq!(
            seen.header("content-length"),
            Some(&*body.len().to_string())
        );
        assert_eq!(seen.body, body);
    }
    assert_eq!(transport.sent_bytes(), 10 + (3 << 20));
}

#[tokio::test]
async fn json_is_compressed_once_the_remote_takes_that_and_chunks_never() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let transport = raw::http(&format!("http://{address}"), &network());
    let json = || put("application/json", vec![b' '; 200_000]);
    transport.send(json()).await.unwrap();
    let seen = arrived.recv().await.unwrap();
    assert_eq!(
        (seen.header("content-encoding"), seen.body.len()),
        (None, 200_000)
    );
    transport.offer_gzip(true);
    let before = transport.sent_bytes();
    transport.send(json()).await.unwrap();
    let first = arrived.recv().await.unwrap();
    assert_eq!(first.header("content-encoding"), Some("gzip"));
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&*first.body)
        .read_to_end(&mut plain)
        .unwrap();
    assert_eq!(plain, vec![b' '; 200_000]);
    assert_eq!(transport.sent_bytes() - before, first.body.len() as u64);
    transport.send(json()).await.unwrap();
    assert_eq!(arrived.recv().await.unwrap().body, first.body);
    let chunk = with(json(), header::CONTENT_RANGE, "bytes 0-199999/400000");
    for request in [chunk, put("application/octet-stream", vec![0; 200_000])] {
        transport.send(request).await.unwrap();
        let seen = arrived.recv().await.unwrap();
        assert_eq!(
            (seen.header("content-encoding"), seen.body.len()),
            (None, 200_000)
        );
    }
}

#[tokio::test]
async fn a_redirect_is_a_reply_like_any_other() {
    let reply = "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
    let (address, _arrived) = recorder(reply).await;
    let reply = raw::send(&format!("http://{address}"), &network(), get("x")).await;
    let reply = reply.unwrap();
    assert_eq!(reply.status, 307);
    assert!(reply.headers.contains_key(header::LOCATION));
}

#[tokio::test]
async fn a_compressed_reply_is_left_as_it_is() {
    let reply = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd";
    let (address, _arrived) = recorder(reply).await;
    let reply = raw::send(&format!("http://{address}"), &network(), get("x")).await;
    let reply = reply.unwrap();
    assert_eq!((reply.status, &*reply.body), (200, &b"abcd"[..]));
    assert_eq!(reply.headers[header::CONTENT_ENCODING], "gzip");
}
