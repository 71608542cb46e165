//! Opens the remote that a command works on.

use std::path::{Path, PathBuf};

use miette::Diagnostic;
use thiserror::Error;

use crate::config::RemoteLocation;
use crate::model::Contract;
use crate::protocol::wire::capabilities::Limits;
use crate::runner::{Client, Metered};
use crate::server::{InProcess, OpenMode, Options, Service, Store, StoreError};
use crate::sync::failure::Failure;

/// Largest request that the embedded remote takes from this process. Nothing travels, so this
/// only bounds memory; it is far above what a socket should take.
const IN_PROCESS_PAYLOAD_BYTES: u64 = 512 << 20;

/// The client of an opened remote.
pub type RemoteClient = Client<Metered<InProcess>>;

/// A remote that can be worked with.
#[derive(Debug)]
pub struct OpenRemote {
    /// Speaks DPE/1 with it.
    pub client: RemoteClient,
    /// The store itself, for what never travels.
    pub store: Store,
}

/// A remote that cannot be opened.
#[derive(Debug, Error, Diagnostic)]
pub enum RemoteError {
    /// The store of an embedded remote cannot be used.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
    /// The remote does not answer as it should.
    #[error("{}", .0.message)]
    #[diagnostic(
        code(dpe::ops::remote),
        help("check that the location is that of a DPE remote")
    )]
    Failed(Failure),
}

/// Opens a remote. A store that does not exist is created under [`OpenMode::Create`].
///
/// # Errors
///
/// [`RemoteError`].
pub async fn open(location: &RemoteLocation, mode: OpenMode) -> Result<OpenRemote, RemoteError> {
    let RemoteLocation::Store(directory) = location;
    let store = Store::open(directory, mode)?;
    let limits = Limits {
        max_payload_bytes: IN_PROCESS_PAYLOAD_BYTES,
        ..Limits::default()
    };
    let service = Service::new(store.clone(), limits, Options::default());
    let transport = Metered::new(InProcess::new(&service));
    let client = Client::connect(transport, Contract::DEFAULT)
        .await
        .map_err(RemoteError::Failed)?;
    Ok(OpenRemote { client, store })
}

/// Returns the name of a remote that stays the same however its place is spelled.
pub fn remote_url(location: &RemoteLocation) -> String {
    let RemoteLocation::Store(directory) = location;
    RemoteLocation::Store(resolved(directory)).to_string()
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
