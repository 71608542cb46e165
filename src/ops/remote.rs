//! Opens the remote that a command works on.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use miette::Diagnostic;
use thiserror::Error;

use crate::config::{Network, Remote, RemoteLocation, RemoteUrl};
use crate::model::Contract;
use crate::protocol::wire::capabilities::Limits;
use crate::protocol::{Request, Response};
use crate::runner::{Client, Metered, way_out};
use crate::server::{InProcess, OpenMode, Options, Service, Store, StoreError};
use crate::sync::failure::Failure;
use crate::sync::ports::{Transport, TransportFailure};
use crate::transport::{Http, TransportError};

/// Largest request that the embedded remote takes from this process. Nothing travels, so this
/// only bounds memory; it is far above what a socket should take.
const IN_PROCESS_PAYLOAD_BYTES: u64 = 512 << 20;

/// Writes to an embedded remote share one sync of the disk if they come at once, and nothing
/// travels: many at a time cost nothing and save most of the waiting.
const EMBEDDED_CONCURRENCY: usize = 64;

/// Enough to fill the time that replies travel, and bearable for a remote that others use too.
const NETWORK_CONCURRENCY: usize = 8;

/// The client of an opened remote.
pub type RemoteClient = Client<Metered<AnyTransport>>;

/// A remote that can be worked with.
#[derive(Debug)]
pub struct OpenRemote {
    /// Speaks DPE/1 with it.
    pub client: RemoteClient,
    /// The store itself, for what never travels; `None` if the remote is behind a URL.
    pub store: Option<Store>,
}

/// The way to a remote.
#[derive(Debug)]
pub enum AnyTransport {
    /// A store of this machine, in this process.
    Store(InProcess),
    /// The network.
    Http(Http),
}

/// A remote that cannot be opened.
#[derive(Debug, Error, Diagnostic)]
pub enum RemoteError {
    /// The store of an embedded remote cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// The settings of the network cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Transport(#[from] TransportError),
    /// The remote does not answer as it should.
    #[error("{}", .0.message)]
    #[diagnostic(code(dpe::ops::remote), help("{}", way_out(.0)))]
    Failed(Failure),
}

impl OpenRemote {
    /// Returns how many writes to have on their way at once.
    pub fn concurrency(&self) -> usize {
        match self.client.transport().inner() {
            AnyTransport::Store(_) => EMBEDDED_CONCURRENCY,
            AnyTransport::Http(_) => NETWORK_CONCURRENCY,
        }
    }
}

impl Transport for AnyTransport {
    async fn send(&self, request: Request) -> Result<Response, TransportFailure> {
        match self {
            Self::Store(store) => store.send(request).await,
            Self::Http(http) => http.send(request).await,
        }
    }

    fn wire_bytes(&self) -> Option<&Arc<AtomicU64>> {
        match self {
            Self::Store(_) => None,
            Self::Http(http) => Some(http.sent()),
        }
    }

    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self {
            Self::Store(store) => store.hide(text),
            Self::Http(http) => http.hide(text),
        }
    }
}

/// Opens a remote. A store that does not exist is created under [`OpenMode::Create`].
///
/// # Errors
///
/// [`RemoteError`].
pub async fn open(remote: &Remote, mode: OpenMode) -> Result<OpenRemote, RemoteError> {
    match &remote.location {
        RemoteLocation::Store(directory) => match open_store(directory, mode).await {
            Err(RemoteError::Store(error)) => open_served(error, &remote.network).await,
            opened => opened,
        },
        RemoteLocation::Url(url) => {
            open_url(url, &remote.network, |name| std::env::var_os(name)).await
        }
    }
}

async fn open_store(directory: &Path, mode: OpenMode) -> Result<OpenRemote, RemoteError> {
    let store = Store::open(directory, mode)?;
    let limits = Limits {
        max_payload_bytes: IN_PROCESS_PAYLOAD_BYTES,
        ..Limits::default()
    };
    let service = Service::new(store.clone(), limits, Options::default());
    let client = connect(AnyTransport::Store(InProcess::new(&service))).await?;
    Ok(OpenRemote {
        // Nothing travels, so a larger body costs less than a staging session.
        client: client.updating_inline_up_to(IN_PROCESS_PAYLOAD_BYTES),
        store: Some(store),
    })
}

/// Opens the remote of a store that another process serves: the same documents are there. It is
/// on this machine, so that no proxy is between.
async fn open_served(error: StoreError, network: &Network) -> Result<OpenRemote, RemoteError> {
    let url = match &error {
        StoreError::InUse { served_at, .. } => served_at.as_deref().map(RemoteUrl::parse),
        _ => None,
    };
    match url {
        Some(Ok(url)) => open_url(&url, network, |_| None).await,
        _ => Err(error.into()),
    }
}

async fn open_url(
    url: &RemoteUrl,
    network: &Network,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<OpenRemote, RemoteError> {
    let http = Http::new(url, network, variable)?;
    let client = connect(AnyTransport::Http(http)).await?;
    let codings = &client.capabilities().content_encodings;
    if let AnyTransport::Http(http) = client.transport().inner() {
        http.offer_gzip(codings.iter().any(|coding| coding == "gzip"));
    }
    Ok(OpenRemote {
        client,
        store: None,
    })
}

async fn connect(transport: AnyTransport) -> Result<RemoteClient, RemoteError> {
    Client::connect(Metered::new(transport), Contract::DEFAULT)
        .await
        .map_err(RemoteError::Failed)
}

/// Returns the name of a remote that stays the same however its place is spelled. A URL has one
/// spelling (HTTP binding §1.1).
pub fn remote_url(location: &RemoteLocation) -> String {
    match location {
        RemoteLocation::Store(directory) => RemoteLocation::Store(resolved(directory)).to_string(),
        RemoteLocation::Url(url) => url.as_str().to_owned(),
    }
}

/// Resolves links as far as the path exists.
pub(super) fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = path.canonicalize() {
        return path;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::remote_url;
    use crate::config::RemoteLocation;

    #[test]
    fn a_store_has_one_name_before_and_after_it_exists_and_through_links() {
        let place = tempfile::tempdir().unwrap();
        let (real, link) = (place.path().join("real"), place.path().join("link"));
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let location = RemoteLocation::Store(link.join("store"));
        let before = remote_url(&location);
        std::fs::create_dir(real.join("store")).unwrap();
        assert_eq!(remote_url(&location), before);
        assert_eq!(
            remote_url(&RemoteLocation::Store(real.join("store"))),
            before
        );
    }
}
