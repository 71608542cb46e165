//! Servers that speak as much HTTP as a test tells them, and requests to send to them.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dpe::config::{Network, RemoteUrl};
use dpe::protocol::{Request, Response};
use dpe::sync::ports::{Transport, TransportFailure};
use dpe::transport::Http;
use http::{HeaderName, Method, header};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) line: String,
    /// Names in lowercase.
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|(_, value)| &**value);
        assert!(found.next().is_none(), "{name} came twice");
        value
    }

    /// The target of the request line.
    pub(super) fn target(&self) -> &str {
        self.line.split(' ').nth(1).unwrap()
    }
}

/// Runs `handle` for each connection, which it numbers from 0, and returns the address.
pub(super) async fn serve<F, H>(handle: F) -> SocketAddr
where
    F: Fn(usize, TcpStream) -> H + Send + Sync + 'static,
    H: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let number = AtomicUsize::new(0);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(handle(number.fetch_add(1, Ordering::SeqCst), stream));
        }
    });
    address
}

/// Serves every request with `reply` and hands what arrived to the returned channel.
pub(super) async fn recorder(
    reply: &'static str,
) -> (SocketAddr, tokio::sync::mpsc::UnboundedReceiver<Seen>) {
    let (seen, arrived) = tokio::sync::mpsc::unbounded_channel();
    let address = serve(move |_, mut stream| {
        let seen = seen.clone();
        async move {
            while let Some(request) = read_request(&mut stream).await {
                seen.send(request).unwrap();
                stream.write_all(reply.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    (address, arrived)
}

/// Reads the head of a request, or `None` at the end of the connection.
pub(super) async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let line = lines.next()?.to_owned();
    let headers = lines.map(|line| {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        (name.to_ascii_lowercase(), value.to_owned())
    });
    Some(Seen {
        line,
        headers: headers.collect(),
        body: Vec::new(),
    })
}

/// Reads a request with a body of known length, or `None` at the end of the connection.
pub(super) async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut seen = read_head(stream).await?;
    assert_eq!(seen.header("transfer-encoding"), None);
    let length = seen
        .header("content-length")
        .map_or(0, |n| n.parse().unwrap());
    seen.body = vec![0; length];
    stream.read_exact(&mut seen.body).await.ok()?;
    Some(seen)
}

pub(super) const NO_CONTENT: &str = "HTTP/1.1 204 No Content\r\n\r\n";

/// Settings with a timeout of one second.
pub(super) fn network() -> Network {
    Network {
        timeout: Some(Duration::from_secs(1)),
        ..Network::default()
    }
}

pub(super) fn http(url: &str, network: &Network) -> Arc<Http> {
    let url = RemoteUrl::parse(url).unwrap();
    Arc::new(Http::new(&url, network, |_| None).unwrap())
}

pub(super) fn get(target: &str) -> Request {
    Request {
        method: Method::GET,
        target: target.to_owned(),
        headers: Vec::new(),
        body: None,
        longest_reply: 100_000,
    }
}

/// A PUT with one media type.
pub(super) fn put(media_type: &str, body: impl Into<Bytes>) -> Request {
    Request {
        method: Method::PUT,
        target: "documents?uri=x".to_owned(),
        headers: vec![(header::CONTENT_TYPE, media_type.to_owned())],
        body: Some(body.into()),
        longest_reply: 100_000,
    }
}

pub(super) fn with(mut request: Request, name: HeaderName, value: &str) -> Request {
    request.headers.push((name, value.to_owned()));
    request
}

/// Sends one request by a transport of its own.
pub(super) async fn send(
    url: &str,
    network: &Network,
    request: Request,
) -> Result<Response, TransportFailure> {
    http(url, network).send(request).await
}

/// Asserts that a request did not get a reply, and what is known of it.
pub(super) fn assert_not_sent(sent: Result<Response, TransportFailure>) -> String {
    let failure = sent.unwrap_err();
    assert!(failure.definitely_not_sent, "{failure:?}");
    assert_eq!(failure.local, None, "{failure:?}");
    failure.message
}

/// Asserts that a request may have arrived.
pub(super) fn assert_lost(sent: Result<Response, TransportFailure>) -> String {
    let failure = sent.unwrap_err();
    assert!(!failure.definitely_not_sent, "{failure:?}");
    failure.message
}
