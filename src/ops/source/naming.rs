//! Names of sources: how they are shown, what prefix they give, and what identifies them.

use std::path::Path;

use dpe_connector::path;
use sha2::{Digest, Sha256};

use crate::model::FileUri;

use super::error::SourceError;

/// Returns what was named, without what may be a credential: it may be a URL.
pub(super) fn shown(named: &Path) -> String {
    dpe_connector_git::without_credentials(&named.display().to_string())
}

/// Returns `dpe://NAME/`.
pub(super) fn prefix_of(name: &[u8]) -> String {
    // Below a prefix without an authority a name is encoded as the segment it is.
    let segment = path::file_uri("dpe:", name);
    let uri = format!("dpe://{}/", segment.trim_start_matches("dpe:"));
    FileUri::parse(&uri).map_or(uri, |uri| uri.to_string())
}

/// Returns the prefix as the contract wants it: normalised, and ending where names begin.
pub(super) fn normal_prefix(text: &str) -> Result<String, SourceError> {
    let uri = FileUri::parse(text).map_err(|source| SourceError::Prefix {
        prefix: text.to_owned(),
        source,
    })?;
    let mut prefix = uri.to_string();
    if !prefix.ends_with('/') {
        prefix.push('/');
    }
    Ok(prefix)
}

/// Hashes parts so that no two lists of parts run together.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    hasher
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{SourceError, normal_prefix};

    #[test]
    fn a_prefix_is_normalised_and_ends_with_a_slash() {
        assert_eq!(normal_prefix("DPE://Docs").unwrap(), "dpe://docs/");
        assert_eq!(normal_prefix("wiki:eng/").unwrap(), "wiki:eng/");
        assert!(matches!(
            normal_prefix("docs"),
            Err(SourceError::Prefix { .. })
        ));
    }
}
