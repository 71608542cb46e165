//! `dpe serve`: the embedded remote over HTTP.
//!
//! Signals and where text goes are the caller's; this runs until it is told to stop.

mod grants;

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::json::Writer;
use crate::model::{Contract, Contracts, InvalidRemoteUrl, check_remote_url};
pub use crate::protocol::wire::capabilities::Limits;
use crate::server::{self, OpenMode, Options, Service, Store, StoreError};
pub use crate::server::{Access, GrantError, OnIncident};
pub use grants::{GrantsError, add_from_file};

/// What to serve, and how.
#[derive(Clone, Debug)]
pub struct Serve {
    /// Directory of the store; created if it is missing.
    pub store: PathBuf,
    /// Address to listen on, `host:port`; port 0 picks a free one.
    pub listen: String,
    /// Path under which the remote lives, such as `/r/1`; empty for the root.
    pub prefix: String,
    /// URL of the remote as its callers see it, if it is not the one listened on.
    pub public_url: Option<String>,
    /// Names of the contracts to declare; none means `dpe1`.
    pub contracts: Vec<String>,
    /// Limits to announce and to keep.
    pub limits: Limits,
    /// Who may do what.
    pub access: Access,
    /// Path of the conformance side channel, beside that of the remote. Only for a loopback
    /// address: it asks nobody who he is.
    pub hooks: Option<String>,
}

/// Why a remote cannot be served.
#[derive(Debug, Error, Diagnostic)]
pub enum ServeError {
    /// The store cannot be opened.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// Nobody can listen on that address.
    #[error("cannot listen on {address}")]
    #[diagnostic(
        code(dpe::ops::serve::listen),
        help("give a free `host:port` of this machine; port 0 picks one")
    )]
    Listen {
        /// Address as it was given.
        address: String,
        /// Cause.
        source: io::Error,
    },
    /// The prefix is no path.
    #[error("{prefix:?} is not a path prefix")]
    #[diagnostic(
        code(dpe::ops::serve::prefix),
        help("begin with `/`, do not end with one, and percent-encode what a path cannot hold")
    )]
    Prefix {
        /// Prefix as it was given.
        prefix: String,
    },
    /// The path of the side channel is none, or hides or lies in the remote.
    #[error("the side channel cannot be at {path:?}")]
    #[diagnostic(
        code(dpe::ops::serve::hooks_path),
        help(
            "give a path beside the prefix, such as `/__hooks__`: neither at, above nor below it, \
             and with an empty prefix none that the protocol uses"
        )
    )]
    HooksPath {
        /// Path as it was given.
        path: String,
    },
    /// The side channel would be open to the network.
    #[error("the side channel is not offered on {address}, which others can reach")]
    #[diagnostic(
        code(dpe::ops::serve::hooks_exposed),
        help("listen on a loopback address, such as 127.0.0.1:7373, or leave out --hooks")
    )]
    HooksExposed {
        /// Address that would be listened on.
        address: SocketAddr,
    },
    /// The public URL is none. It may hold a misplaced secret and is not repeated.
    #[error("the public URL is not the URL of a remote")]
    #[diagnostic(
        code(dpe::ops::serve::public_url),
        help(
            "give an http or https URL without user, query and fragment and without `/` at the end"
        )
    )]
    PublicUrl(#[source] InvalidRemoteUrl),
    /// A contract that cannot be computed.
    #[error("there is no hash contract {name:?}")]
    #[diagnostic(
        code(dpe::ops::serve::contract),
        help("`dpe1` is the contract of production remotes, `dpex` one for drills")
    )]
    Contract {
        /// Name as it was given.
        name: String,
    },
    /// A grant that could not work.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Grant(#[from] GrantError),
    /// Grants of a file that could not work.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Grants(#[from] GrantsError),
    /// Signals cannot be caught.
    #[error("cannot wait for signals")]
    #[diagnostic(
        code(dpe::ops::serve::signals),
        help("raise the limits of the process and start it again")
    )]
    Signals(#[source] io::Error),
    /// The caller could not be told where the remote is.
    #[error("cannot say that the remote is ready")]
    #[diagnostic(code(dpe::ops::serve::ready), help("check where standard output goes"))]
    Ready(#[source] io::Error),
    /// The socket failed.
    #[error("the remote can no longer be served")]
    #[diagnostic(
        code(dpe::ops::serve::socket),
        help("start it again; acknowledged writes are in the store")
    )]
    Socket(#[source] io::Error),
}

/// Serves until `shutdown` is ready and requests in flight are answered. `ready` is given the line
/// that says where, as JSON, once connections are taken.
///
/// # Errors
///
/// [`ServeError`]; before `ready` was called, nothing was served.
pub async fn serve(
    plan: Serve,
    shutdown: impl Future<Output = ()>,
    ready: impl FnOnce(&str) -> io::Result<()>,
    on_incident: OnIncident,
) -> Result<(), ServeError> {
    let prefix = checked_prefix(&plan.prefix)?;
    if let Some(url) = &plan.public_url {
        check_remote_url(url).map_err(ServeError::PublicUrl)?;
    }
    if let Some(path) = &plan.hooks {
        check_hooks(path, &prefix)?;
        if let Ok(address) = plan.listen.parse() {
            check_loopback(address)?;
        }
    }
    let contracts = contracts(&plan.contracts)?;
    // The store first: whoever cannot have it must not even take the address.
    let store = Store::open_declaring(&plan.store, OpenMode::Create, contracts)?;
    let listen = |source| ServeError::Listen {
        address: plan.listen.clone(),
        source,
    };
    let listener = TcpListener::bind(&plan.listen).await.map_err(listen)?;
    let address = listener.local_addr().map_err(listen)?;
    if plan.hooks.is_some() {
        // Only now it is certain what a name stands for.
        check_loopback(address)?;
    }
    let url = format!("{}{prefix}", origin(address));
    let options = Options {
        prefix,
        public_url: plan.public_url.unwrap_or_else(|| url.clone()),
        access: plan.access,
        hooks: plan.hooks,
        on_incident,
    };
    store.announce(&url_here(address, &options.prefix))?;
    let hooks = options.hooks.as_ref();
    let hooks = hooks.map(|path| format!("{}{path}", origin(address)));
    let line = ready_line(&url, hooks.as_deref());
    let service = Service::new(store, plan.limits, options);
    ready(&line).map_err(ServeError::Ready)?;
    server::serve(listener, &service, shutdown)
        .await
        .map_err(ServeError::Socket)
}

/// Returns where other processes of this machine reach the remote.
fn url_here(mut address: SocketAddr, prefix: &str) -> String {
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
fn origin(address: SocketAddr) -> String {
    match (address.port(), address) {
        (80, SocketAddr::V4(address)) => format!("http://{}", address.ip()),
        (80, SocketAddr::V6(address)) => format!("http://[{}]", address.ip()),
        _ => format!("http://{address}"),
    }
}

fn ready_line(url: &str, hooks: Option<&str>) -> String {
    let mut line = Writer::new();
    line.begin_object().name("url").string(url);
    if let Some(hooks) = hooks {
        line.name("hooks").string(hooks);
    }
    line.end_object();
    line.into_string()
}

/// Refuses a path of the side channel that is no path or where the remote is.
fn check_hooks(path: &str, prefix: &str) -> Result<(), ServeError> {
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

fn check_loopback(address: SocketAddr) -> Result<(), ServeError> {
    // `::ffff:127.0.0.1` is one, too.
    if address.ip().to_canonical().is_loopback() {
        Ok(())
    } else {
        Err(ServeError::HooksExposed { address })
    }
}

fn contracts(names: &[String]) -> Result<Contracts, ServeError> {
    if names.is_empty() {
        return Ok(Contracts::SUPPORTED);
    }
    let contract = |name: &String| {
        Contract::from_name(name).ok_or_else(|| ServeError::Contract { name: name.clone() })
    };
    names.iter().map(contract).collect()
}

/// Returns the prefix without a lone `/`.
fn checked_prefix(prefix: &str) -> Result<String, ServeError> {
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

#[cfg(test)]
mod tests {
    use super::{check_hooks, check_loopback, checked_prefix, url_here};
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
