//! The door to dpe-extract: which format a file has, and what document it gives.

use std::sync::Arc;

use dpe_connector::Item;

/// How much of a file the format decision looks at, in bytes.
pub(crate) const HEAD_BYTES: usize = dpe_extract::HEAD_BYTES;

/// Returns the `file_type` of a file with this name that begins with `head`, if its format is
/// understood. Later bytes than [`HEAD_BYTES`] do not matter.
pub(crate) fn format_of(name: &[u8], head: &[u8]) -> Option<Arc<str>> {
    dpe_extract::format_of(name, head).map(|format| format.file_type().into())
}

/// Why a file gives no document.
pub(crate) enum NoDocument {
    /// Its format is not understood.
    Unsupported,
    /// It is not what its format says.
    Invalid(String),
}

/// Returns the document item of a file.
pub(crate) fn document(file_uri: String, name: &[u8], bytes: &[u8]) -> Result<Item, NoDocument> {
    match dpe_extract::extract(&dpe_extract::Input { name, bytes }) {
        Ok(extraction) => Ok(Item::document(file_uri, extraction.head, extraction.pages)),
        Err(dpe_extract::ExtractError::Unsupported) => Err(NoDocument::Unsupported),
        Err(dpe_extract::ExtractError::Invalid { message }) => Err(NoDocument::Invalid(message)),
    }
}
