//! Reads what the remote holds, and narrows a refused batch down to who is refused (connector
//! contract §19.5).

use futures_util::StreamExt;

use crate::model::{FileUri, Hash};
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, Level};
use crate::sync::ports::{Remote, WriteError};

/// At most so many single reads at once.
const SINGLE_READS: usize = 8;

/// What the remote says of one document: what it holds, or why it does not tell.
pub type Head = Result<Option<Hash>, Failure>;

/// Reads the heads of `uris`. A batch that is refused for good, for instance because one document
/// lies where the caller may not read, is read again one by one; only the refused ones fail.
///
/// # Errors
///
/// When the remote cannot be read at all.
pub async fn read<R: Remote>(
    remote: &R,
    uris: &[FileUri],
    observer: &dyn Observer,
) -> Result<Vec<Head>, Failure> {
    let mut heads = Vec::with_capacity(uris.len());
    for uris in uris.chunks(remote.heads_at_once()) {
        heads.extend(batch(remote, uris, observer).await?);
    }
    Ok(heads)
}

async fn batch<R: Remote>(
    remote: &R,
    uris: &[FileUri],
    observer: &dyn Observer,
) -> Result<Vec<Head>, Failure> {
    let refused = match remote.heads(uris).await {
        Ok(heads) => return Ok(heads.into_iter().map(Ok).collect()),
        Err(error) if error.failure.level != Level::Item => return Err(error.failure),
        Err(error) => error.failure,
    };
    let heads = futures_util::stream::iter(uris)
        .map(|uri| async move { single(remote.heads(std::slice::from_ref(uri)).await) })
        .buffered(SINGLE_READS)
        .collect::<Vec<_>>()
        .await
        .into_iter()
        .collect::<Result<Vec<Head>, Failure>>()?;
    observer.event(Event::BatchReadRejected {
        code: &refused.code,
        entries: uris.len(),
        denied: heads.iter().filter(|head| head.is_err()).count(),
    });
    Ok(heads)
}

/// A refusal is that document's own; everything else ends the round.
fn single(read: Result<Vec<Option<Hash>>, WriteError>) -> Result<Head, Failure> {
    match read {
        Ok(heads) => Ok(Ok(heads.into_iter().next().flatten())),
        Err(error) if error.failure.level == Level::Item => Ok(Err(error.failure)),
        Err(error) => Err(error.failure),
    }
}
