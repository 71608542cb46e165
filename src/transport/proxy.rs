//! Which proxy to use, decided once from the environment (HTTP binding §20).
//!
//! Pure: the environment comes in as a function. Settings of the operating system are never read.

mod exception;
mod server;

use std::ffi::OsString;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use miette::Diagnostic;
use thiserror::Error;

use crate::config::Secret;

/// A proxy to go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// `http://` or `https://`, host and perhaps port; no user information.
    pub url: String,
    /// Value of `Proxy-Authorization`, if the proxy wants one.
    pub authorization: Option<Secret>,
    /// Variable that named it.
    pub variable: &'static str,
}

/// The value of a proxy variable cannot be used. It may hold a password and is not repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Diagnostic)]
#[error("the variable {variable} names no proxy that can be used: {rule}")]
#[diagnostic(
    code(dpe::transport::proxy),
    help(
        "give it a URL like http://proxy.example.com:3128, or unset it, or name the remote in NO_PROXY"
    )
)]
pub struct ProxyError {
    /// The variable, in the spelling that was found.
    pub variable: &'static str,
    /// What is wrong.
    pub rule: ProxyRule,
}

/// What can be wrong with the value of a proxy variable (HTTP binding §20 no. 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProxyRule {
    /// Length, characters or triplets.
    #[error("it is longer than 4096 characters, or has characters that a URL cannot have")]
    Characters,
    /// Not a scheme.
    #[error("what stands before `://` is no scheme")]
    Scheme,
    /// A scheme, but not one of HTTP.
    #[error("proxies of this scheme are unsupported; the scheme is http or https")]
    Unsupported,
    /// Something after the authority.
    #[error("nothing but a single `/` may follow the host")]
    Path,
    /// User information.
    #[error("its user information is malformed")]
    UserInfo,
    /// Host.
    #[error("its host is malformed")]
    Host,
    /// Port.
    #[error("its port is malformed")]
    Port,
}

/// Returns the proxy for a remote, or `None` to connect directly.
///
/// # Errors
///
/// When the variable that applies has a value that breaks §20 no. 4.
pub fn decide(
    variable: impl Fn(&str) -> Option<OsString>,
    remote: &str,
) -> Result<Option<Proxy>, ProxyError> {
    // A CGI program gets HTTP_PROXY from the header `Proxy` of whoever calls it.
    if variable("REQUEST_METHOD").is_some() {
        return Ok(None);
    }
    let own = if remote.starts_with("https:") {
        ["HTTPS_PROXY", "https_proxy"]
    } else {
        ["HTTP_PROXY", "http_proxy"]
    };
    let found = look_up(&variable, own);
    let Some((name, value)) = found.or_else(|| look_up(&variable, ["ALL_PROXY", "all_proxy"]))
    else {
        return Ok(None);
    };
    let exceptions = look_up(&variable, ["NO_PROXY", "no_proxy"]);
    if exceptions.is_some_and(|(_, list)| exception::matches(&list, host_of(remote))) {
        return Ok(None);
    }
    let server = server::parse(&value).map_err(|rule| ProxyError {
        variable: name,
        rule,
    })?;
    Ok(Some(Proxy {
        url: server.url,
        authorization: authorization(&server.user_info),
        variable: name,
    }))
}

/// Returns the first variable that is set and not blank; what is no text is spoilt on purpose, so
/// that it matches no rule.
fn look_up(
    variable: &impl Fn(&str) -> Option<OsString>,
    spellings: [&'static str; 2],
) -> Option<(&'static str, String)> {
    spellings.into_iter().find_map(|name| {
        let value = variable(name)?;
        let value = trim(&value.to_string_lossy()).to_owned();
        (!value.is_empty()).then_some((name, value))
    })
}

/// Trims the ASCII whitespace of §20: space, tab, LF, CR, VT, FF.
fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

/// Returns the host of a valid remote URL, brackets included.
fn host_of(remote: &str) -> &str {
    let rest = remote.split_once("://").map_or(remote, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.split(':').next().unwrap_or_default()
}

/// Returns the value of `Proxy-Authorization` (§20 no. 5).
fn authorization(user_info: &str) -> Option<Secret> {
    if user_info.is_empty() {
        return None;
    }
    let mut pair: Vec<u8> = percent_encoding::percent_decode_str(user_info).collect();
    if !user_info.contains(':') {
        pair.push(b':');
    }
    Some(Secret::new(format!("Basic {}", STANDARD.encode(pair))))
}
