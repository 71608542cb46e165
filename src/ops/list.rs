//! Lists the documents of a remote.

use std::collections::HashSet;

use crate::model::Hash;
use crate::protocol::wire::list::Listed;
use crate::runner::ClientError;

use super::remote::RemoteClient;

/// Hands every document whose URI begins with `prefix` to `each`, in order of URI, until `each`
/// returns false.
///
/// # Errors
///
/// When the remote cannot be read.
pub async fn list(
    client: &RemoteClient,
    prefix: &str,
    mut each: impl FnMut(&str, Hash) -> bool,
) -> Result<(), ClientError> {
    let mut cursor: Option<String> = None;
    let mut seen = HashSet::new();
    loop {
        let page = client.list(prefix, cursor.as_deref()).await?;
        for Listed { file_uri, doc_hash } in &page.documents {
            if !each(file_uri, *doc_hash) {
                return Ok(());
            }
        }
        match page.next_cursor {
            Some(next) if !seen.insert(next.clone()) => {
                let why = "the remote lists in a circle: it gave the same cursor twice";
                return Err(ClientError::unexpected(200, why));
            }
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
}
