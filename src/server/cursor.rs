//! Cursors of list: the last URI, with a check that this store issued them (http-binding §7.4).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

/// Length of the check in bytes.
const CHECK: usize = 8;

/// Returns the cursor that goes on after `uri`.
pub(super) fn issue(key: &[u8], uri: &str) -> String {
    let mut cursor = check(key, uri).to_vec();
    cursor.extend_from_slice(uri.as_bytes());
    URL_SAFE_NO_PAD.encode(cursor)
}

/// Returns the URI after which to go on, or `None` for anything this store did not issue.
pub(super) fn recognise(key: &[u8], cursor: &str) -> Option<String> {
    let bytes = URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let (found, uri) = bytes.split_at_checked(CHECK)?;
    let uri = std::str::from_utf8(uri).ok()?;
    (found == check(key, uri)).then(|| uri.to_owned())
}

fn check(key: &[u8], uri: &str) -> [u8; CHECK] {
    let digest = Sha256::new_with_prefix(key).chain_update(uri).finalize();
    digest[..CHECK]
        .try_into()
        .expect("a digest is longer than the check")
}

#[cfg(test)]
mod tests {
    use super::{issue, recognise};

    #[test]
    fn only_cursors_of_the_same_store_are_recognised() {
        let cursor = issue(b"key", "x://h/a");
        assert_eq!(recognise(b"key", &cursor).as_deref(), Some("x://h/a"));
        assert_eq!(recognise(b"other", &cursor), None);
        for foreign in ["", "x", "eDovL2gvYQ", &cursor[1..], &format!("{cursor}A")] {
            assert_eq!(recognise(b"key", foreign), None, "{foreign}");
        }
    }
}
