//! The encoding an HTML file declares.
//!
//! A byte order mark comes before it; without either the bytes decide, as for any text.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::reading::Reading;
use crate::{ExtractError, decode};

/// Where the HTML standard looks for a declaration.
const DECLARED_WITHIN: usize = 1024;

/// Returns the text of an HTML file. What is wrong in its encoding becomes U+FFFD, as in a browser.
pub(super) fn text<'b>(
    bytes: &'b [u8],
    reading: &mut Reading<'_>,
) -> Result<Cow<'b, str>, ExtractError> {
    let declared = declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]);
    decode::declared_as(declared, bytes, reading)
}

fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let of_meta = || decode::of_label(meta_label(&head.to_ascii_lowercase())?);
    let encoding = decode::of_xml(head).or_else(of_meta)?;
    // The declaration could be read, so the file is in no such encoding (HTML standard, prescan).
    let is_utf16 = encoding == UTF_16LE || encoding == UTF_16BE;
    Some(if is_utf16 { UTF_8 } else { encoding })
}

/// Returns the label of the first `<meta>` that has one, as attribute or inside its content.
fn meta_label(head: &[u8]) -> Option<&[u8]> {
    memchr::memmem::find_iter(head, b"<meta").find_map(|start| {
        let tag = &head[start..];
        let end = memchr::memchr(b'>', tag).unwrap_or(tag.len());
        value_after(&tag[..end], b"charset")
    })
}

fn value_after<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(text, name)?;
    let rest = text[at + name.len()..].trim_ascii_start();
    let value = rest.strip_prefix(b"=")?.trim_ascii_start();
    let value = value
        .strip_prefix(b"\"")
        .or_else(|| value.strip_prefix(b"'"))
        .unwrap_or(value);
    let end = value
        .iter()
        .position(|byte| matches!(byte, b'"' | b'\'' | b';' | b'/') || byte.is_ascii_whitespace());
    Some(&value[..end.unwrap_or(value.len())])
}

#[cfg(test)]
mod tests {
    use crate::Limits;
    use crate::reading::Reading;

    fn text(bytes: &[u8]) -> String {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, bytes.len() as u64);
        super::text(bytes, &mut reading).unwrap().into_owned()
    }

    #[test]
    fn declared_encoding_is_used() {
        for declaration in [
            "<meta charset=windows-1252>",
            "<META CHARSET='ISO-8859-1' >",
            "<meta http-equiv=Content-Type content=\"text/html; charset=latin1\">",
            "<?xml version='1.0' encoding='iso-8859-1'?>",
        ] {
            let bytes = [declaration.as_bytes(), b"caf\xE9"].concat();
            assert!(text(&bytes).ends_with("café"), "{declaration}");
        }
    }

    #[test]
    fn byte_order_mark_wins_over_the_declaration() {
        let bytes = "\u{FEFF}<meta charset=latin1>é".as_bytes();
        assert!(text(bytes).ends_with('é'));
    }

    #[test]
    fn text_that_is_not_as_declared_is_what_its_bytes_are() {
        assert_eq!(text("é".as_bytes()), "é");
        assert_eq!(text(b"caf\xE9"), "café");
        assert!(text(b"<meta charset=utf-8>caf\xE9").ends_with("café"));
        assert_eq!(text(b"<meta charset=utf-16>x"), "<meta charset=utf-16>x");
    }
}
