//! Lists the documents of a remote.

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
    loop {
        let page = client.list(prefix, cursor.as_deref()).await?;
        for Listed { file_uri, doc_hash } in &page.documents {
            if !each(file_uri, *doc_hash) {
                return Ok(());
            }
        }
        match page.next_cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
}
