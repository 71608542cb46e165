//! A `file_uri` on the command line.

use crate::model::{Contracts, FileUri, Hash};

/// Reads a URI argument; for clap.
pub(super) fn document_uri(text: &str) -> Result<FileUri, String> {
    FileUri::parse(text).map_err(|invalid| {
        format!("{invalid}; the URIs of documents look like dpe://docs/a.md, see `dpe ls`")
    })
}

/// Reads a hash argument; for clap.
pub(super) fn base_hash(text: &str) -> Result<Hash, String> {
    Hash::parse(text, Contracts::SUPPORTED).map_err(|invalid| invalid.to_string())
}
