//! `dpe serve`: the embedded remote over HTTP.
//!
//! Signals and where text goes are the caller's; this runs until it is told to stop.

mod grants;
mod place;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
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
use place::{check_hooks, check_listen, check_loopback, checked_prefix, origin, url_here};

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
    /// The address to listen on is none.
    #[error("{address:?} is no address to listen on")]
    #[diagnostic(
        code(dpe::ops::serve::listen_address),
        help("give `host:port`, such as 127.0.0.1:7373 or [::1]:7373; port 0 picks a free one")
    )]
    ListenAddress {
        /// Address as it was given.
        address: String,
    },
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
    check(&plan, &prefix)?;
    let contracts = contracts(&plan.contracts)?;
    // The store first: whoever cannot have it must not even take the address.
    let store = Store::open_declaring(&plan.store, OpenMode::Create, contracts)?;
    let (listener, address) = listen(&plan).await?;
    store.announce(&url_here(address, &prefix))?;
    let url = format!("{}{prefix}", origin(address));
    let hooks = plan.hooks.as_ref();
    let hooks = hooks.map(|path| format!("{}{path}", origin(address)));
    let line = ready_line(&url, hooks.as_deref());
    let options = Options {
        prefix,
        public_url: plan.public_url.unwrap_or(url),
        access: plan.access,
        hooks: plan.hooks,
        on_incident,
    };
    if let Some(warning) = open_to_everybody(address, &options.access) {
        (options.on_incident)(&warning);
    }
    let service = Service::new(store, plan.limits, options);
    ready(&line).map_err(ServeError::Ready)?;
    server::serve(listener, &service, shutdown).await;
    Ok(())
}

/// Refuses what can be seen to be wrong before anything is touched.
fn check(plan: &Serve, prefix: &str) -> Result<(), ServeError> {
    if let Some(url) = &plan.public_url {
        check_remote_url(url).map_err(ServeError::PublicUrl)?;
    }
    check_listen(&plan.listen)?;
    let Some(path) = &plan.hooks else {
        return Ok(());
    };
    check_hooks(path, prefix)?;
    match plan.listen.parse() {
        Ok(address) => check_loopback(address),
        // What a name stands for is certain only when it is listened on.
        Err(_) => Ok(()),
    }
}

async fn listen(plan: &Serve) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen {
        address: plan.listen.clone(),
        source,
    };
    let listener = TcpListener::bind(&plan.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    if plan.hooks.is_some() {
        check_loopback(address)?;
    }
    Ok((listener, address))
}

/// Returns the warning that everybody may write who reaches the remote from another machine.
fn open_to_everybody(address: SocketAddr, access: &Access) -> Option<String> {
    let is_open = check_loopback(address).is_err() && access.lets_everybody_write();
    is_open.then(|| {
        format!("whoever reaches {address} may write and delete everything; --grant binds callers")
    })
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

fn contracts(names: &[String]) -> Result<Contracts, ServeError> {
    if names.is_empty() {
        return Ok(Contracts::SUPPORTED);
    }
    let contract = |name: &String| {
        Contract::from_name(name).ok_or_else(|| ServeError::Contract { name: name.clone() })
    };
    names.iter().map(contract).collect()
}
