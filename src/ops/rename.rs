//! Renames one document, under a condition read just before.

use crate::model::{FileUri, Hash};
use crate::runner::{ClientError, DryRun};
use crate::sync::ports::{Refusal, Remote};

use super::remote::RemoteClient;

/// How a rename ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// The document has its new name; it holds this.
    Moved(Hash),
    /// The remote refused the condition, or there is nothing to rename.
    Refused(Refusal),
}

/// Renames `from` to `to` if `from` holds `base`, or what it holds now. With `dry_run` nothing is
/// written.
///
/// # Errors
///
/// When the remote cannot be reached, or refuses for another reason than the condition.
pub async fn rename(
    client: &RemoteClient,
    from: &FileUri,
    to: &FileUri,
    base: Option<Hash>,
    dry_run: bool,
) -> Result<Renamed, ClientError> {
    let base = match base {
        Some(base) => base,
        None => match client.head(from).await? {
            Some(head) => head,
            None => return Ok(Renamed::Refused(Refusal::NotFound)),
        },
    };
    let moved = if dry_run {
        DryRun::over(Some(client)).rename(from, to, base).await
    } else {
        client.rename(from, to, base).await
    };
    match moved {
        Ok(hash) => Ok(Renamed::Moved(hash)),
        Err(error) => match error.refusal {
            Some(refusal) => Ok(Renamed::Refused(refusal)),
            None => Err(error.into()),
        },
    }
}
