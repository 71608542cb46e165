//! Where a remote and its side channel are: paths, addresses and the URLs made of them.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::model::check_remote_url;
use crate::ops::serve::ServeError;
use crate::server;

/// Returns the prefix without a lone `/`.
pub(super) fn checked_prefix(prefix: &str) -> Result<String, ServeError> {
    if matches!(prefix, "" | "/") {
        return Ok(String::new());
    }
    // Clients take the URL only if it follows the grammar of remote URLs.
    let is_path =
        prefix.starts_with('/') && check_remote_url(&format!("http://localhost{prefix}")).is_ok();
    if is_path {
        Ok(prefix.to_owned())
    } else {
        Err(ServeError::Prefix {
            prefix: prefix.to_owned(),
        })
    }
}

/// Refuses a path of the side channel that is no path or where the remote is.
pub(super) fn check_hooks(path: &str, prefix: &str) -> Result<(), ServeError> {
    let is_path = checked_prefix(path).is_ok_and(|path| !path.is_empty());
    let below = path.strip_prefix(prefix);
    let is_beside = match below.and_then(|rest| rest.strip_prefix('/')) {
        // With an empty prefix everything is below it.
        Some(rest) if prefix.is_empty() => {
            let first = rest.split('/').next().unwrap_or_default();
            !server::PATHS.contains(&first)
        }
        Some(_) => false,
        None => path != prefix && !prefix.starts_with(&format!("{path}/")),
    };
    if is_path && is_beside {
        Ok(())
    } else {
        Err(ServeError::HooksPath {
            path: path.to_owned(),
        })
    }
}

/// Refuses what is not `host:port`, whether or not there is such a host.
pub(super) fn check_listen(address: &str) -> Result<(), ServeError> {
    let is_address = match address.rsplit_once(':') {
        Some((host, port)) => {
            // The colons of an IPv6 address need their brackets: `::1` has no port.
            let is_host = !host.is_empty() && !host.contains([':', '[', ']']);
            address.parse::<SocketAddr>().is_ok() || (is_host && port.parse::<u16>().is_ok())
        }
        None => false,
    };
    if is_address {
        Ok(())
    } else {
        Err(ServeError::ListenAddress {
            address: address.to_owned(),
        })
    }
}

/// Refuses an address that other machines can reach.
pub(super) fn check_loopback(address: SocketAddr) -> Result<(), ServeError> {
    // `::ffff:127.0.0.1` is one, too.
    if address.ip().to_canonical().is_loopback() {
        Ok(())
    } else {
        Err(ServeError::HooksExposed { address })
    }
}

/// Returns where other processes of this machine reach the remote.
pub(super) fn url_here(mut address: SocketAddr, prefix: &str) -> String {
    if address.ip().is_unspecified() {
        address.set_ip(match address {
            SocketAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    format!("{}{prefix}", origin(address))
}

/// Returns the origin of an address; the port that goes without saying is left out, as the grammar
/// of remote URLs wants it (http-binding §1.1).
pub(super) fn origin(address: SocketAddr) -> String {
    match (address.port(), address) {
        (80, SocketAddr::V4(address)) => format!("http://{}", address.ip()),
        (80, SocketAddr::V6(address)) => format!("http://[{}]", address.ip()),
        _ => format!("http://{address}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{check_hooks, check_listen, check_loopback, checked_prefix, url_here};
    use crate::model::check_remote_url;

    #[test]
    fn remote_on_every_address_is_reached_on_the_loopback_one() {
        for (address, url) in [
            ("0.0.0.0:7373", "http://127.0.0.1:7373/r"),
            ("[::]:8080", "http://[::1]:8080/r"),
            ("0.0.0.0:80", "http://127.0.0.1/r"),
            ("[::1]:80", "http://[::1]/r"),
            ("10.0.0.1:1", "http://10.0.0.1:1/r"),
            ("[::1]:1", "http://[::1]:1/r"),
        ] {
            assert_eq!(url_here(address.parse().unwrap(), "/r"), url);
            assert!(check_remote_url(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn side_channel_is_beside_the_remote() {
        for (path, prefix) in [
            ("/__hooks__", ""),
            ("/x/documents", ""),
            ("/documentsx", ""),
            ("/__hooks__", "/r/1"),
            ("/r/2", "/r/1"),
            ("/r/10", "/r/1"),
            ("/documents", "/r"),
        ] {
            assert!(check_hooks(path, prefix).is_ok(), "{path} beside {prefix}");
        }
        for (path, prefix) in [
            ("", ""),
            ("/", ""),
            ("", "/r"),
            ("hooks", ""),
            ("/hooks/", ""),
            ("/h?x", ""),
            ("/documents", ""),
            ("/documents/x", ""),
            ("/staging", ""),
            ("/negotiate", ""),
            ("/r/1", "/r/1"),
            ("/r", "/r/1"),
            ("/r/1/hooks", "/r/1"),
        ] {
            assert!(check_hooks(path, prefix).is_err(), "{path} beside {prefix}");
        }
    }

    #[test]
    fn address_to_listen_on_has_a_host_and_a_port() {
        for address in [
            "127.0.0.1:0",
            "[::1]:7373",
            "[::]:1",
            "localhost:80",
            "a.b:65535",
        ] {
            assert!(check_listen(address).is_ok(), "{address}");
        }
        for address in [
            "",
            "7373",
            ":7373",
            "127.0.0.1",
            "localhost",
            "localhost:",
            "localhost:http",
            "127.0.0.1:65536",
            "::1",
            "[::1]",
            "[::1]:",
            "[x]:1",
            "127.0.0.1:-1",
        ] {
            assert!(check_listen(address).is_err(), "{address}");
        }
    }

    #[test]
    fn only_loopback_addresses_have_a_side_channel() {
        for (address, is_loopback) in [
            ("127.0.0.1:1", true),
            ("127.8.9.1:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("10.0.0.1:1", false),
            ("[::ffff:10.0.0.1]:1", false),
        ] {
            let checked = check_loopback(address.parse().unwrap());
            assert_eq!(checked.is_ok(), is_loopback, "{address}");
        }
    }

    #[test]
    fn prefixes_are_empty_or_paths_without_a_slash_at_the_end() {
        for (prefix, path) in [("", ""), ("/", ""), ("/r/1", "/r/1"), ("/a%20b", "/a%20b")] {
            assert_eq!(checked_prefix(prefix).unwrap(), path);
        }
        for prefix in [
            "r/1", "/r/", "/a b", "/é", "/a?b", "/a#b", "/%zz", "/%7e", "/a/../b", "dpe://x",
        ] {
            assert!(checked_prefix(prefix).is_err(), "{prefix}");
        }
    }
}
