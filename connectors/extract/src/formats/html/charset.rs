//! The encoding an HTML file declares.
//!
//! A byte order mark first, then a declaration in the first bytes, else UTF-8. Nothing is guessed.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

use crate::{ExtractError, decode};

/// Where the HTML standard looks for a declaration.
const DECLARED_WITHIN: usize = 1024;

/// Returns the text of an HTML file. What is wrong in an encoding other than UTF-8 becomes U+FFFD, as
/// in a browser; what is wrong in UTF-8 is an error, as everywhere else in this crate.
pub(super) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, ExtractError> {
    let has_mark = Encoding::for_bom(bytes).is_some();
    match declared(&bytes[..bytes.len().min(DECLARED_WITHIN)]) {
        Some(encoding) if !has_mark && encoding != UTF_8 => {
            let (text, _) = encoding.decode_without_bom_handling(bytes);
            Ok(decode::unified_line_ends(text))
        }
        _ => decode::text(bytes),
    }
}

fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.to_ascii_lowercase();
    let label = xml_label(&head).or_else(|| meta_label(&head))?;
    let encoding = Encoding::for_label(label)?;
    // The declaration could be read, so the file is in no such encoding (HTML standard, prescan).
    let is_utf16 = encoding == UTF_16LE || encoding == UTF_16BE;
    Some(if is_utf16 { UTF_8 } else { encoding })
}

/// Returns the label in `<?xml … encoding="label"?>`.
fn xml_label(head: &[u8]) -> Option<&[u8]> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let end = memchr::memmem::find(declaration, b"?>")?;
    value_after(&declaration[..end], b"encoding")
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
    use super::text;

    #[test]
    fn declared_encoding_is_used() {
        for declaration in [
            "<meta charset=windows-1252>",
            "<META CHARSET='ISO-8859-1' >",
            "<meta http-equiv=Content-Type content=\"text/html; charset=latin1\">",
            "<?xml version='1.0' encoding='iso-8859-1'?>",
        ] {
            let bytes = [declaration.as_bytes(), b"caf\xE9"].concat();
            assert!(text(&bytes).unwrap().ends_with("café"), "{declaration}");
        }
    }

    #[test]
    fn byte_order_mark_wins_over_the_declaration() {
        let bytes = "\u{FEFF}<meta charset=latin1>é".as_bytes();
        assert!(text(bytes).unwrap().ends_with('é'));
    }

    #[test]
    fn undeclared_text_is_utf8() {
        assert_eq!(text("é".as_bytes()).unwrap(), "é");
        assert!(text(b"caf\xE9").is_err());
        assert!(text(b"<meta charset=utf-8>caf\xE9").is_err());
        assert_eq!(
            text(b"<meta charset=utf-16>x").unwrap(),
            "<meta charset=utf-16>x"
        );
    }
}
