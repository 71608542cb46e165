//! The value of a proxy variable (HTTP binding §20 no. 4).

use std::net::{Ipv4Addr, Ipv6Addr};

use super::ProxyRule;

/// Longest value in characters.
const LONGEST: usize = 4096;

/// A proxy as its variable names it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// Scheme in lowercase, host, and port if there is one.
    pub(super) url: String,
    /// As written, still percent-encoded.
    pub(super) user_info: String,
}

/// Reads the trimmed value of a proxy variable.
pub(super) fn parse(value: &str) -> Result<Server, ProxyRule> {
    let value = if value.contains("://") {
        value.to_owned()
    } else {
        format!("http://{value}")
    };
    if value.chars().count() > LONGEST || !has_only_url_characters(&value) {
        return Err(ProxyRule::Characters);
    }
    let (scheme, rest) = value.split_once("://").ok_or(ProxyRule::Scheme)?;
    let scheme = known_scheme(scheme)?;
    let (authority, after) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if !matches!(after, "" | "/") {
        return Err(ProxyRule::Path);
    }
    let (user_info, server) = authority.rsplit_once('@').unwrap_or(("", authority));
    if user_info.contains(['/', '?', '#', '[', ']', '@']) {
        return Err(ProxyRule::UserInfo);
    }
    let (host, port) = split_port(server)?;
    if !is_host(host) {
        return Err(ProxyRule::Host);
    }
    let port = match port {
        Some(port) => format!(":{}", read_port(port).ok_or(ProxyRule::Port)?),
        None => String::new(),
    };
    Ok(Server {
        url: format!("{scheme}://{host}{port}"),
        user_info: user_info.to_owned(),
    })
}

/// RFC 3986: unreserved, gen-delims, sub-delims, and `%` with two hexadecimal digits.
fn has_only_url_characters(value: &str) -> bool {
    let is_legal =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    let mut parts = value.split('%');
    parts.next();
    let are_triplets = parts.all(|part| {
        let digits = part.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    });
    value.bytes().all(is_legal) && are_triplets
}

fn known_scheme(scheme: &str) -> Result<String, ProxyRule> {
    let lowercase = scheme.to_ascii_lowercase();
    if matches!(&*lowercase, "http" | "https") {
        return Ok(lowercase);
    }
    let mut bytes = scheme.bytes();
    let is_scheme = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic())
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    Err(if is_scheme {
        ProxyRule::Unsupported
    } else {
        ProxyRule::Scheme
    })
}

/// Takes host and port apart; the host keeps its brackets.
fn split_port(server: &str) -> Result<(&str, Option<&str>), ProxyRule> {
    if !server.starts_with('[') {
        return Ok(match server.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (server, None),
        });
    }
    let end = server.find(']').ok_or(ProxyRule::Host)? + 1;
    let (host, after) = server.split_at(end);
    match after.strip_prefix(':') {
        Some(port) => Ok((host, Some(port))),
        None if after.is_empty() => Ok((host, None)),
        None => Err(ProxyRule::Host),
    }
}

fn is_host(host: &str) -> bool {
    if let Some(address) = host.strip_prefix('[') {
        let address = address.strip_suffix(']');
        return address.is_some_and(|address| address.parse::<Ipv6Addr>().is_ok());
    }
    let host = host.to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_ldh = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !label.is_empty() && label.bytes().all(is_ldh) && !label.starts_with("xn--")
    };
    let last = host.rsplit('.').next().unwrap_or_default();
    let looks_numeric = last.bytes().all(|byte| byte.is_ascii_digit()) || last.starts_with("0x");
    host.split('.').all(is_label) && (!looks_numeric || host.parse::<Ipv4Addr>().is_ok())
}

fn read_port(port: &str) -> Option<u16> {
    let is_decimal = (1..=5).contains(&port.len()) && port.bytes().all(|c| c.is_ascii_digit());
    port.parse().ok().filter(|_| is_decimal)
}
