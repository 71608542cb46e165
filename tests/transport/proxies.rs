//! Through a proxy on loopback.

use std::ffi::OsString;

use dpe::config::{Network, RemoteUrl};
use dpe::protocol::Response;
use dpe::sync::ports::{Transport, TransportFailure};
use dpe::transport::Http;
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::TcpStream;

use super::lost::authorities;
use super::raw::{NO_CONTENT, assert_not_sent, get, network, read_head, recorder, serve};
use super::tls::Server;

async fn send(remote: &str, network: &Network, proxy: &str) -> Result<Response, TransportFailure> {
    let variable = |name: &str| (name == "ALL_PROXY").then(|| OsString::from(proxy));
    let remote = RemoteUrl::parse(remote).unwrap();
    let http = Http::new(&remote, network, variable).unwrap();
    http.send(get("capabilities")).await
}

#[tokio::test]
async fn plain_http_is_asked_of_the_proxy_in_absolute_form() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let remote = "http://docs.example.com:8000/a%2Fb";
    let proxy = format!("http://u%40x:p%3Aw@{address}/");
    let reply = send(remote, &network(), &proxy).await.unwrap();
    assert_eq!(reply.status, 204);
    let seen = arrived.recv().await.unwrap();
    assert_eq!(seen.target(), format!("{remote}/capabilities"));
    assert_eq!(seen.header("host"), Some("docs.example.com:8000"));
    assert_eq!(
        seen.header("proxy-authorization"),
        Some("Basic dUB4OnA6dw==")
    );
}

#[tokio::test]
async fn what_the_proxy_answers_for_plain_http_is_a_reply() {
    let reply = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n";
    let (address, _arrived) = recorder(reply).await;
    let reply = send("http://docs.example.com", &network(), &address.to_string()).await;
    assert_eq!(reply.unwrap().status, 502);
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_means_not_sent() {
    let (_file, network) = authorities();
    for remote in ["http://docs.example.com", "https://docs.example.com"] {
        assert_not_sent(send(remote, &network, "127.0.0.1:1").await);
    }
}

#[tokio::test]
async fn a_refused_tunnel_means_not_sent() {
    let (_file, network) = authorities();
    for status in [
        "403 Forbidden",
        "407 Proxy Authentication Required",
        "502 Bad Gateway",
    ] {
        let address = serve(move |_, mut stream| async move {
            read_head(&mut stream).await;
            let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(reply.as_bytes()).await.unwrap();
        })
        .await;
        let remote = "https://docs.example.com";
        assert_not_sent(send(remote, &network, &address.to_string()).await);
    }
}

#[tokio::test]
async fn https_goes_through_a_tunnel_that_alone_sees_the_proxy_credentials() {
    let server = Server::start(false).await;
    for host in ["localhost", "127.0.0.1"] {
        let to = server.address;
        let (seen, mut arrived) = tokio::sync::mpsc::unbounded_channel();
        let address = serve(move |_, mut stream| {
            let seen = seen.clone();
            async move {
                seen.send(read_head(&mut stream).await.unwrap()).unwrap();
                let reply = b"HTTP/1.1 200 Connection established\r\n\r\n";
                stream.write_all(reply).await.unwrap();
                let mut remote = TcpStream::connect(to).await.unwrap();
                let _ = copy_bidirectional(&mut stream, &mut remote).await;
            }
        })
        .await;
        let remote = format!("https://{host}:{}", server.address.port());
        let proxy = format!("user:pass@{address}");
        let reply = send(&remote, &server.network(), &proxy).await.unwrap();
        let body = String::from_utf8(reply.body.to_vec()).unwrap();
        assert!(body.starts_with("HTTP/2.0 /capabilities"), "{body}");
        assert!(!body.contains("proxy-authorization"), "{body}");
        let seen = arrived.recv().await.unwrap();
        let authority = format!("{host}:{}", server.address.port());
        assert_eq!(seen.line, format!("CONNECT {authority} HTTP/1.1"));
        let basic = seen.header("proxy-authorization");
        assert_eq!(basic, Some("Basic dXNlcjpwYXNz"));
    }
}
