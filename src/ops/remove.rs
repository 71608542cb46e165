//! Deletes documents, each under a condition read just before.

use crate::model::{FileUri, Hash};
use crate::runner::{ClientError, DryRun};
use crate::sync::ports::{Refusal, Remote};

use super::list::list;
use super::remote::RemoteClient;

/// How one delete ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removed {
    /// The document is gone.
    Deleted,
    /// There was none.
    Absent,
    /// There was none, but there are documents below it, as if it were a folder.
    Folder,
    /// The condition did not hold: somebody wrote in between, or `base` is not what is there.
    Refused,
}

/// Deletes `uri` if it holds `base`, or what it holds now. With `dry_run` nothing is written.
///
/// # Errors
///
/// When the remote cannot be reached, or refuses for another reason than the condition.
pub async fn remove(
    client: &RemoteClient,
    uri: &FileUri,
    base: Option<Hash>,
    dry_run: bool,
) -> Result<Removed, ClientError> {
    let base = match base {
        Some(base) => base,
        None => match client.head(uri).await? {
            Some(head) => head,
            None if has_documents_below(client, uri).await => return Ok(Removed::Folder),
            None => return Ok(Removed::Absent),
        },
    };
    let deleted = if dry_run {
        DryRun::over(Some(client)).delete(uri, base).await
    } else {
        client.delete(uri, base).await
    };
    match deleted {
        Ok(()) => Ok(Removed::Deleted),
        Err(error) => match error.refusal {
            Some(Refusal::NotFound) => Ok(Removed::Absent),
            Some(_) => Ok(Removed::Refused),
            None => Err(error.into()),
        },
    }
}

/// Returns whether there are documents below `uri`. A remote that does not say so has none for this purpose: it was
/// asked for the sake of a hint.
async fn has_documents_below(client: &RemoteClient, uri: &FileUri) -> bool {
    let mut folder = uri.to_string();
    if !folder.ends_with('/') {
        folder.push('/');
    }
    let mut found = false;
    let listed = list(client, &folder, |_, _| {
        found = true;
        false
    });
    listed.await.is_ok() && found
}
