//! Paths of the binding and the percent-encoding of query values (http-binding §1.2, §2).
//!
//! Knows spelling only: which methods a path has and what an operation does is told elsewhere.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Path of capabilities.
pub const CAPABILITIES: &str = "capabilities";
/// Path of batch_head.
pub const HEADS: &str = "heads";
/// Path of the document resource and of list.
pub const DOCUMENTS: &str = "documents";
/// Path of move.
pub const MOVE: &str = "move";
/// Path of negotiate.
pub const NEGOTIATE: &str = "negotiate";
/// First segment of the paths of staged objects.
pub const STAGING: &str = "staging";
/// Segment of staged pages.
pub const PAGES: &str = "pages";
/// Segment of staged elements.
pub const OBJECTS: &str = "objects";
/// Segment of staged blobs.
pub const BLOBS: &str = "blobs";

/// Returns the target of the document resource of `uri`.
pub fn document(uri: &str) -> String {
    let mut target = String::with_capacity(DOCUMENTS.len() + 5 + uri.len() * 2);
    target.push_str(DOCUMENTS);
    target.push_str("?uri=");
    encode_into(uri, &mut target);
    target
}

/// Returns the target of list; `prefix` is always sent, also when empty (http-binding §13.2).
pub fn list(prefix: &str, cursor: Option<&str>, limit: Option<u64>) -> String {
    let mut target = format!("{DOCUMENTS}?prefix=");
    encode_into(prefix, &mut target);
    if let Some(cursor) = cursor {
        target.push_str("&cursor=");
        encode_into(cursor, &mut target);
    }
    if let Some(limit) = limit {
        target.push_str("&limit=");
        target.push_str(&limit.to_string());
    }
    target
}

/// Returns the target of a staged object. The `:` of its name is sent literally (http-binding
/// §1.2).
pub fn staged(session: &str, kind: &str, name: &str) -> String {
    let mut target = format!("{STAGING}/");
    encode_into(session, &mut target);
    for segment in [kind, name] {
        target.push('/');
        target.push_str(segment);
    }
    target
}

/// Appends `value` percent-encoded, with only unreserved characters left literal.
fn encode_into(value: &str, out: &mut String) {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    out.extend(utf8_percent_encode(value, RESERVED));
}

/// Undoes percent-encoding. A `%` without two hex digits stays as it is; `+` never means space.
pub fn percent_decode(text: &[u8]) -> Cow<'_, [u8]> {
    percent_encoding::percent_decode(text).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_values_leave_only_unreserved_characters_literal() {
        // The example of http-binding §1.2.
        assert_eq!(
            document("feishu://doc/a b"),
            "documents?uri=feishu%3A%2F%2Fdoc%2Fa%20b"
        );
        assert_eq!(document("x:-._~+é%"), "documents?uri=x%3A-._~%2B%C3%A9%25");
    }

    #[test]
    fn list_always_sends_its_prefix() {
        assert_eq!(list("", None, None), "documents?prefix=");
        assert_eq!(
            list("a/", Some("x=&"), Some(5)),
            "documents?prefix=a%2F&cursor=x%3D%26&limit=5"
        );
    }

    #[test]
    fn staged_objects_are_addressed_with_a_literal_colon_and_any_session_id() {
        assert_eq!(
            staged("st-1", BLOBS, "sha256:00"),
            "staging/st-1/blobs/sha256:00"
        );
        assert_eq!(
            staged("a/b c", PAGES, "dpe1:0"),
            "staging/a%2Fb%20c/pages/dpe1:0"
        );
    }

    #[test]
    fn decoding_keeps_plus_and_broken_triplets() {
        for (text, decoded) in [
            ("abc", "abc"),
            ("a%20b", "a b"),
            ("a+b", "a+b"),
            ("%c3%A9", "é"),
            ("%", "%"),
            ("%4", "%4"),
            ("%zz%41", "%zzA"),
            ("%2541", "%41"),
        ] {
            assert_eq!(
                &*percent_decode(text.as_bytes()),
                decoded.as_bytes(),
                "{text}"
            );
        }
    }
}
