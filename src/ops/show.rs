//! Reads one document of a remote.

use std::collections::HashMap;

use miette::Diagnostic;
use thiserror::Error;

use crate::model::{FileUri, Hash};
use crate::protocol::wire::skeleton::Skeleton;
use crate::runner::ClientError;
use crate::server::StoreError;

use super::remote::OpenRemote;

/// A document: its skeleton, and the elements where they can be had.
#[derive(Debug)]
pub struct Shown {
    /// Document object and page objects.
    pub skeleton: Skeleton,
    /// Element objects by their content_hash, as JSON. Elements never travel; these come from
    /// the store itself.
    pub elements: HashMap<Hash, Box<str>>,
}

/// A document that cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum ShowError {
    /// The remote did not give the skeleton.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Remote(#[from] ClientError),
    /// The store did not give the elements.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Store(#[from] StoreError),
}

/// Returns the document, or `None` if there is none.
///
/// # Errors
///
/// [`ShowError`].
pub async fn show(remote: &OpenRemote, uri: &FileUri) -> Result<Option<Shown>, ShowError> {
    let Some(skeleton) = remote.client.skeleton(uri).await? else {
        return Ok(None);
    };
    let elements = match &remote.store {
        Some(store) => store.elements(uri)?,
        None => None,
    };
    Ok(Some(Shown {
        skeleton,
        elements: elements.unwrap_or_default(),
    }))
}
