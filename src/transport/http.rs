//! DPE/1 over HTTP, by reqwest.

use std::borrow::Cow;
use std::error::Error as _;
use std::ffi::OsString;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, header};
use reqwest::{Client, ClientBuilder, Url, redirect, retry};

use crate::config::{Mask, Network, RemoteUrl};
use crate::protocol::{Request, Response};
use crate::sync::ports::{LocalFault, Transport, TransportFailure};

use super::credential::Provider;
use super::error::TransportError;
use super::pace::Pace;
use super::patience::{self, Progress, Stalled};
use super::proxy::{self, Proxy, ProxyRule};
use super::upload::Upload;
use super::{gzip, header as value_rule, tls};

/// Below the five seconds after which some servers close an idle connection: a request that meets
/// the closing is lost, and a new connection costs less than finding out what became of it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Longest body of an error reply, in bytes: beyond any list of what is missing.
const LONGEST_ERROR: usize = 16 << 20;

/// A remote over the network.
pub struct Http {
    client: Client,
    base: String,
    timeout: Option<Duration>,
    pace: Option<Arc<Pace>>,
    provider: Provider,
    mask: Mask,
    takes_gzip: AtomicBool,
    sent_bytes: Arc<AtomicU64>,
}

/// A request as it is going to travel.
struct Prepared {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
    longest_reply: usize,
}

impl Http {
    /// Returns a transport to `remote`. `variable` reads the environment, for the proxy variables.
    ///
    /// # Errors
    ///
    /// [`TransportError`]; nothing was sent.
    pub fn new(
        remote: &RemoteUrl,
        network: &Network,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, TransportError> {
        let base = remote.as_str().to_owned();
        let proxy = proxy::decide(variable, &base)?;
        let of_proxy = proxy.as_ref().and_then(|proxy| proxy.authorization.clone());
        let mask = Mask::of_authorization(of_proxy);
        Ok(Self {
            client: client(&base, network, proxy.as_ref())?,
            base,
            timeout: network.timeout,
            pace: network.upload_limit.map(|rate| Arc::new(Pace::new(rate))),
            provider: Provider::new(network.credential.clone(), mask.clone()),
            mask,
            takes_gzip: AtomicBool::new(false),
            sent_bytes: Arc::default(),
        })
    }

    /// Says that the remote takes bodies compressed by gzip, as its capabilities tell.
    pub fn offer_gzip(&self, is_taken: bool) {
        self.takes_gzip.store(is_taken, Ordering::Relaxed);
    }

    /// Returns the bytes of request bodies so far, as they went over the wire.
    pub fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Ordering::Relaxed)
    }

    /// Returns what counts them, while they go.
    pub fn sent(&self) -> &Arc<AtomicU64> {
        &self.sent_bytes
    }

    async fn prepare(&self, request: Request) -> Result<Prepared, TransportFailure> {
        let is_compressed =
            self.takes_gzip.load(Ordering::Relaxed) && gzip::is_worthwhile(&request);
        let url = self.url(&request.target)?;
        let mut headers = HeaderMap::with_capacity(request.headers.len() + 2);
        for (name, value) in &request.headers {
            let value = value_rule::value(value).ok_or_else(|| {
                let why = format!("the header {name} has characters that no header can have");
                TransportFailure::local(LocalFault::Request, why)
            })?;
            headers.append(name, value);
        }
        let body = match request.body {
            Some(body) if is_compressed => {
                let gzip = HeaderValue::from_static("gzip");
                headers.insert(header::CONTENT_ENCODING, gzip);
                Some(gzip::compress(body).await)
            }
            body => body,
        };
        // A body of no bytes is one all the same (RFC 9110 §8.6); hyper would leave the field out.
        if body.as_ref().is_some_and(Bytes::is_empty) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        // Last, so that a token that lives for seconds is as fresh as can be.
        if let Some(authorization) = self.provider.authorization().await? {
            headers.insert(header::AUTHORIZATION, authorization);
        }
        Ok(Prepared {
            method: request.method,
            url,
            headers,
            body,
            longest_reply: request.longest_reply,
        })
    }

    /// Appends the target to the remote. What the URL layer would write in another way is not sent
    /// at all, rather than to another place.
    fn url(&self, target: &str) -> Result<Url, TransportFailure> {
        let written = format!("{}/{target}", self.base);
        let is_as_written = |url: &Url| url.as_str() == written && url.fragment().is_none();
        let url = Url::parse(&written).ok();
        url.filter(is_as_written).ok_or_else(|| {
            let why = "the address of the request cannot be used as it is written";
            TransportFailure::local(LocalFault::Request, why)
        })
    }

    /// Sends once and reads the whole reply.
    async fn exchange(&self, prepared: Prepared) -> Result<Response, TransportFailure> {
        let progress = Arc::new(Progress::begin());
        let mut request = reqwest::Request::new(prepared.method, prepared.url);
        *request.headers_mut() = prepared.headers;
        *request.body_mut() = prepared.body.map(|body| {
            let (pace, sent) = (self.pace.clone(), Arc::clone(&self.sent_bytes));
            reqwest::Body::wrap(Upload::new(body, Arc::clone(&progress), pace, sent))
        });
        let reply = self.client.execute(request);
        let mut reply = patience::until_reply(reply, &progress, self.timeout)
            .await
            .map_err(|Stalled| self.silent("the remote did not answer"))?
            .map_err(|error| not_answered(&error))?;
        let mut body = BytesMut::new();
        let longest = match reply.status().as_u16() {
            400.. => LONGEST_ERROR,
            _ => prepared.longest_reply,
        };
        loop {
            let part = patience::for_part(reply.chunk(), self.timeout)
                .await
                .map_err(|Stalled| self.silent("the reply of the remote stopped"))?;
            match part {
                Ok(Some(part)) if part.len() > longest - body.len() => {
                    let why = format!("the reply of the remote has more than {longest} bytes");
                    return Err(TransportFailure::lost(why));
                }
                Ok(Some(part)) if body.is_empty() => body = part.into(),
                Ok(Some(part)) => body.extend_from_slice(&part),
                Ok(None) => break,
                Err(error) => {
                    let why = format!("the reply of the remote broke off: {}", cause(&error));
                    return Err(TransportFailure::lost(why));
                }
            }
        }
        Ok(Response {
            status: reply.status().as_u16(),
            headers: std::mem::take(reply.headers_mut()),
            body: body.freeze(),
        })
    }

    fn silent(&self, what: &str) -> TransportFailure {
        let seconds = self.timeout.unwrap_or_default().as_secs_f32();
        TransportFailure::lost(format!("{what} for {seconds} seconds"))
    }
}

impl Transport for Http {
    async fn send(&self, request: Request) -> Result<Response, TransportFailure> {
        let prepared = self.prepare(request).await?;
        self.exchange(prepared).await
    }

    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask.hide(text)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

fn client(base: &str, network: &Network, proxy: Option<&Proxy>) -> Result<Client, TransportError> {
    let has_tls =
        base.starts_with("https:") || proxy.is_some_and(|proxy| proxy.url.starts_with("https:"));
    let tls = if has_tls {
        tls::config(network)?
    } else {
        tls::unused()?
    };
    let mut builder = ClientBuilder::new()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("dpe/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .pool_idle_timeout(IDLE_TIMEOUT)
        // The variables are read by rules of our own.
        .no_proxy();
    if let Some(timeout) = network.timeout {
        // A hanging connection ends as one that was not made (HTTP binding §13.5).
        builder = builder.connect_timeout(timeout.mul_f32(0.9));
        #[cfg(target_os = "linux")]
        {
            builder = builder.tcp_user_timeout(timeout);
        }
    }
    if let Some(proxy) = proxy {
        builder = builder.proxy(through(proxy)?);
    }
    builder.build().map_err(|error| TransportError::Client {
        reason: cause(&error),
    })
}

fn through(proxy: &Proxy) -> Result<reqwest::Proxy, TransportError> {
    let refused = |rule| proxy::ProxyError {
        variable: proxy.variable,
        rule,
    };
    let mut through = reqwest::Proxy::all(&proxy.url).map_err(|_| refused(ProxyRule::Host))?;
    if let Some(authorization) = &proxy.authorization {
        let mut value = value_rule::value(authorization.expose())
            .ok_or_else(|| refused(ProxyRule::UserInfo))?;
        value.set_sensitive(true);
        through = through.custom_http_auth(value);
    }
    Ok(through)
}

/// Only an error of connecting proves that nothing was sent (HTTP binding §15.1). A connection
/// that breaks later may have carried the request, also if it was an old one.
fn not_answered(error: &reqwest::Error) -> TransportFailure {
    if error.is_builder() {
        let why = "the address of the remote cannot be used";
        TransportFailure::local(LocalFault::Request, why)
    } else if error.is_connect() {
        TransportFailure::not_sent(format!("cannot connect to the remote: {}", cause(error)))
    } else {
        TransportFailure::lost(format!("the connection was lost: {}", cause(error)))
    }
}

/// Returns the innermost cause, which says most and holds no URL.
fn cause(error: &reqwest::Error) -> String {
    let mut cause = error.source();
    while let Some(inner) = cause.and_then(|error| error.source()) {
        cause = Some(inner);
    }
    cause.map_or_else(|| "no reason is known".to_owned(), ToString::to_string)
}
