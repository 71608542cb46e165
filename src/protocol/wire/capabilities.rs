//! capabilities: what a remote speaks and its limits (http-binding §7.1, §13.1).

use http::Method;

use crate::json::{MAX_INTEGER, Value, Writer};
use crate::model::Contract;
use crate::protocol::reply::{self, ReplyError};
use crate::protocol::{self, Response, routes};

/// Name of the protocol this crate speaks.
pub const PROTOCOL: &str = "dpe/1";

/// Asks for the capabilities; declares no contract.
#[derive(Clone, Copy, Debug)]
pub struct Request;

impl Request {
    /// Returns the request as it travels.
    pub fn into_http(self) -> protocol::Request {
        protocol::Request::new(Method::GET, routes::CAPABILITIES)
    }
}

/// Limits a remote announces; all are positive, and sizes are in bytes before compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest body of one request.
    pub max_payload_bytes: u64,
    /// Longest page object, chunked or not.
    pub page_max_bytes: u64,
    /// Lifetime of an idle staging session in seconds, at least 3600.
    pub staging_ttl_seconds: u64,
    /// Longest blob.
    pub blob_max_bytes: u64,
    /// Longest chunk of a page or blob.
    pub blob_chunk_bytes: u64,
    /// Most URIs in one batch_head.
    pub batch_head_max: u64,
    /// Most documents in one reply of list.
    pub list_page_max: u64,
}

impl Default for Limits {
    /// The suitable defaults of http-binding §7.1.
    fn default() -> Self {
        Self {
            max_payload_bytes: 8 << 20,
            page_max_bytes: 256 << 20,
            staging_ttl_seconds: 86_400,
            blob_max_bytes: 100 << 20,
            blob_chunk_bytes: 8 << 20,
            batch_head_max: 500,
            list_page_max: 1000,
        }
    }
}

impl Limits {
    /// Names as they travel, in the order of http-binding §7.1.
    const NAMES: [&str; 7] = [
        "max_payload_bytes",
        "page_max_bytes",
        "staging_ttl_seconds",
        "blob_max_bytes",
        "blob_chunk_bytes",
        "batch_head_max",
        "list_page_max",
    ];

    fn values(&self) -> [u64; 7] {
        [
            self.max_payload_bytes,
            self.page_max_bytes,
            self.staging_ttl_seconds,
            self.blob_max_bytes,
            self.blob_chunk_bytes,
            self.batch_head_max,
            self.list_page_max,
        ]
    }
}

/// The reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Names of the contracts the remote accepts; some may be unknown here.
    pub hash_contracts: Vec<String>,
    /// Limits of requests and replies.
    pub limits: Limits,
    /// Codings the remote accepts for request bodies.
    pub content_encodings: Vec<String>,
    /// Extension point; `move` is mandatory in v1.
    pub features: Vec<String>,
}

impl Capabilities {
    /// Whether the remote accepts hashes of `contract`.
    pub fn accepts(&self, contract: Contract) -> bool {
        self.hash_contracts
            .iter()
            .any(|name| name == contract.name())
    }

    /// Writes the body of the reply.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer::new();
        body.begin_object();
        body.name("protocol").string(PROTOCOL);
        write_strings(&mut body, "hash_contracts", &self.hash_contracts);
        body.name("limits").begin_object();
        for (name, value) in Limits::NAMES.into_iter().zip(self.limits.values()) {
            body.name(name)
                .integer(value.min(MAX_INTEGER.unsigned_abs()));
        }
        body.end_object();
        write_strings(&mut body, "content_encodings", &self.content_encodings);
        write_strings(&mut body, "features", &self.features);
        body.end_object();
        body.into_bytes()
    }
}

fn write_strings(body: &mut Writer, name: &str, items: &[String]) {
    body.name(name).begin_array();
    for item in items {
        body.string(item);
    }
    body.end_array();
}

/// Reads the reply strictly.
///
/// # Errors
///
/// An error reply, a reply that violates http-binding §13.1, or another protocol
/// ([`ReplyError::Incompatible`]).
pub fn decode(response: &Response) -> Result<Capabilities, ReplyError> {
    reply::expect(response, &[200], None)?;
    let text = reply::json(response)?;
    let read = read(text.root()).map_err(|why| ReplyError::unexpected(response, why))?;
    match read {
        (protocol, capabilities) if protocol == PROTOCOL => Ok(capabilities),
        (protocol, _) => Err(ReplyError::Incompatible { protocol }),
    }
}

fn read(body: Value<'_>) -> Result<(String, Capabilities), String> {
    let protocol = reply::string(reply::member(body, "protocol")?, "protocol")?;
    let limits = reply::member(body, "limits")?;
    if limits.members().is_none() {
        return Err("limits is not an object".to_owned());
    }
    let mut values = [0; 7];
    for (value, name) in values.iter_mut().zip(Limits::NAMES) {
        *value = limit(reply::member(limits, name)?)
            .ok_or_else(|| format!("{name} is not a positive integer"))?;
    }
    let [
        max_payload_bytes,
        page_max_bytes,
        staging_ttl_seconds,
        blob_max_bytes,
        blob_chunk_bytes,
        batch_head_max,
        list_page_max,
    ] = values;
    if staging_ttl_seconds < 3600 {
        return Err("staging_ttl_seconds is below 3600".to_owned());
    }
    let capabilities = Capabilities {
        hash_contracts: strings(body, "hash_contracts")?,
        limits: Limits {
            max_payload_bytes,
            page_max_bytes,
            staging_ttl_seconds,
            blob_max_bytes,
            blob_chunk_bytes,
            batch_head_max,
            list_page_max,
        },
        content_encodings: strings(body, "content_encodings")?,
        features: strings(body, "features")?,
    };
    Ok((protocol.into_owned(), capabilities))
}

/// Reads an integer literal of at least 1; beyond the machine range it saturates.
fn limit(value: Value<'_>) -> Option<u64> {
    let number = value.number()?;
    let text = number.literal();
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let value = text.parse().unwrap_or(u64::MAX);
    (value >= 1).then_some(value)
}

fn strings(body: Value<'_>, name: &str) -> Result<Vec<String>, String> {
    reply::array(reply::member(body, name)?, name)?
        .map(|item| Ok(reply::string(item, name)?.into_owned()))
        .collect()
}
