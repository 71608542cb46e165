//! The address of a remote: one grammar, no normalisation (HTTP binding §1.1).
//!
//! A URL is used exactly as written, so everything that could be written in two ways is refused.
//! Messages name the rule and never the URL, which might carry a misplaced secret.

// From `core`, which has addresses as values and no network.
use core::net::{Ipv4Addr, Ipv6Addr};

use thiserror::Error;

use super::file_uri::FileUri;

/// The rule of HTTP binding §1.1 a remote URL breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidRemoteUrl {
    /// Rule 1.
    #[error(
        "a remote URL is a URI in normal form: lowercase scheme and host, uppercase hexadecimal \
         digits in percent triplets, nothing encoded that need not be"
    )]
    NotNormal,
    /// Rule 2.
    #[error("a remote URL has no query and no fragment")]
    QueryOrFragment,
    /// Rule 3.
    #[error("the scheme of a remote URL is http or https")]
    Scheme,
    /// Rule 4.
    #[error("`//` follows the scheme of a remote URL, and its authority has no user information")]
    Authority,
    /// Rule 5.
    #[error(
        "the host of a remote URL is a name, a dotted IPv4 address or a bracketed IPv6 address in \
         its canonical form"
    )]
    Host,
    /// Rule 6.
    #[error("the port of a remote URL is 1 to 65535 and not the default of its scheme")]
    Port,
    /// Rule 7.
    #[error(
        "the path of a remote URL does not end with `/` and has no `.` or `..` segments and no \
         brackets"
    )]
    Path,
}

/// Checks the address of a remote.
///
/// # Errors
/// The first rule of HTTP binding §1.1 the URL breaks.
pub fn check_remote_url(url: &str) -> Result<(), InvalidRemoteUrl> {
    let is_normal = FileUri::parse(url).is_ok_and(|uri| uri.as_str() == url);
    if !is_normal {
        return Err(InvalidRemoteUrl::NotNormal);
    }
    if url.contains(['?', '#']) {
        return Err(InvalidRemoteUrl::QueryOrFragment);
    }
    let (scheme, rest) = url.split_once(':').ok_or(InvalidRemoteUrl::Scheme)?;
    let default_port = match scheme {
        "http" => "80",
        "https" => "443",
        _ => return Err(InvalidRemoteUrl::Scheme),
    };
    let rest = rest.strip_prefix("//").ok_or(InvalidRemoteUrl::Authority)?;
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err(InvalidRemoteUrl::Authority);
    }
    let port = after_host(authority)?;
    check_port(port, default_port)?;
    check_path(path)
}

/// Checks the host and returns what follows it.
fn after_host(authority: &str) -> Result<&str, InvalidRemoteUrl> {
    let is_valid;
    let rest;
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (address, after) = bracketed.split_once(']').ok_or(InvalidRemoteUrl::Host)?;
        is_valid = is_canonical_ipv6(address);
        rest = after;
    } else {
        let (host, after) = authority.split_at(authority.find(':').unwrap_or(authority.len()));
        is_valid = is_name_or_ipv4(host);
        rest = after;
    }
    if is_valid {
        Ok(rest)
    } else {
        Err(InvalidRemoteUrl::Host)
    }
}

fn is_name_or_ipv4(host: &str) -> bool {
    let in_label = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte);
    let are_labels = host.split('.').all(|label| !label.is_empty()) && host.bytes().all(in_label);
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let looks_numeric = last.bytes().all(|byte| byte.is_ascii_digit())
        || last.strip_prefix("0x").is_some_and(is_hex);
    are_labels && (!looks_numeric || is_ipv4(host))
}

fn is_ipv4(host: &str) -> bool {
    host.parse::<Ipv4Addr>()
        .is_ok_and(|address| address.to_string() == host)
}

fn is_canonical_ipv6(text: &str) -> bool {
    !text.contains('.')
        && text
            .parse::<Ipv6Addr>()
            .is_ok_and(|address| canonical_ipv6(address) == text)
}

/// RFC 5952 without its dotted form for embedded IPv4, which the standard library would choose.
fn canonical_ipv6(address: Ipv6Addr) -> String {
    let groups = address.segments();
    let zeros_from = |start: usize| {
        groups[start..]
            .iter()
            .take_while(|&&group| group == 0)
            .count()
    };
    let longest = (0..8)
        .map(|start| (zeros_from(start), start))
        .max_by_key(|&(length, start)| (length, std::cmp::Reverse(start)));
    let join = |groups: &[u16]| {
        let groups: Vec<String> = groups.iter().map(|group| format!("{group:x}")).collect();
        groups.join(":")
    };
    match longest {
        Some((length, start)) if length >= 2 => {
            let (before, after) = (&groups[..start], &groups[start + length..]);
            format!("{}::{}", join(before), join(after))
        }
        _ => join(&groups),
    }
}

fn check_port(rest: &str, default_port: &str) -> Result<(), InvalidRemoteUrl> {
    if rest.is_empty() {
        return Ok(());
    }
    let valid = rest.strip_prefix(':').is_some_and(|port| {
        let number = port.parse::<u16>();
        number.is_ok_and(|number| number > 0 && number.to_string() == port) && port != default_port
    });
    if valid {
        Ok(())
    } else {
        Err(InvalidRemoteUrl::Port)
    }
}

fn check_path(path: &str) -> Result<(), InvalidRemoteUrl> {
    let valid = !path.ends_with('/')
        && !path.contains(['[', ']'])
        && path
            .split('/')
            .all(|segment| segment != "." && segment != "..");
    if valid {
        Ok(())
    } else {
        Err(InvalidRemoteUrl::Path)
    }
}

#[cfg(test)]
mod tests {
    use super::{InvalidRemoteUrl, check_remote_url};

    /// The table of HTTP binding §1.1.
    #[test]
    fn remote_urls_of_the_specification_are_judged_by_their_rule() {
        for url in [
            "http://example.com",
            "https://example.com/remotes/acme",
            "https://example.com:80/r",
            "http://127.0.0.1:8000/r/1",
            "https://[::1]:8443/r",
            "https://[1:0:0:2::3]",
            "https://[1:0:0:2::]",
            "https://ex_ample.com/r",
            "https://ex!am.com",
            "https://a.0xg",
            "https://xn--bcher-kva.example/r",
            "https://h/~",
            "https://h/%2F",
            "https://h/%C3%A9",
            "https://h/a:b@c",
            "https://h/a//b",
            "https://h//a",
            "http://example.com:65535",
        ] {
            assert_eq!(check_remote_url(url), Ok(()), "{url}");
        }
        let refused = |rule: InvalidRemoteUrl, urls: &[&str]| {
            for url in urls {
                assert_eq!(check_remote_url(url), Err(rule), "{url}");
            }
        };
        refused(
            InvalidRemoteUrl::NotNormal,
            &[
                "HTTPS://example.com",
                "https://Example.com",
                "https://ex%41.com",
                "https://h/%7e",
                "https://h/%2f",
                "",
                "https://h/a b",
            ],
        );
        refused(
            InvalidRemoteUrl::QueryOrFragment,
            &["https://h/a?b", "https://h/a#"],
        );
        refused(InvalidRemoteUrl::Scheme, &["ftp://h"]);
        refused(
            InvalidRemoteUrl::Authority,
            &["https://u@h", "https://@h", "https:h"],
        );
        refused(
            InvalidRemoteUrl::Host,
            &[
                "https://127.1/r",
                "https://0x7f.1",
                "https://01.2.3.4",
                "https://1.2.3.256",
                "https://123",
                "https://a.0x",
                "https://[0:0::1]",
                "https://[1:0:0:2:0:0:0:3]",
                "https://[::ffff:1.2.3.4]",
                "https://[fe80::1%25eth0]",
                "https://[v1.x]",
                "https://example.com.",
                "https://a..b",
                "https:///x",
            ],
        );
        refused(
            InvalidRemoteUrl::Port,
            &[
                "https://example.com:443/r",
                "http://example.com:80",
                "http://example.com:0",
                "http://example.com:65536",
                "http://example.com:080",
                "http://example.com:",
            ],
        );
        refused(
            InvalidRemoteUrl::Path,
            &[
                "https://example.com/",
                "https://h/a/./b",
                "https://h/a/../b",
                "https://h/[a]",
            ],
        );
    }
}
