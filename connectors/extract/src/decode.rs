//! Bytes to text: byte order marks, UTF-8, UTF-16, line ends.
//!
//! Knows no format and guesses no encoding: what neither declares itself by a mark nor is UTF-8
//! is refused with the place where it stops being text.

use std::borrow::Cow;

use crate::ExtractError;

const UTF16_LE_MARK: &[u8] = &[0xFF, 0xFE];
const UTF16_BE_MARK: &[u8] = &[0xFE, 0xFF];

/// Returns the text of a file with `\n` as its only line end and without a byte order mark.
///
/// # Errors
///
/// `damaged`, naming the byte offset in the file, if the bytes are neither UTF-8 nor UTF-16 with a
/// byte order mark.
pub(crate) fn text(bytes: &[u8]) -> Result<Cow<'_, str>, ExtractError> {
    let raw = if let Some(rest) = bytes.strip_prefix(UTF16_LE_MARK) {
        Cow::Owned(utf16(rest, u16::from_le_bytes)?)
    } else if let Some(rest) = bytes.strip_prefix(UTF16_BE_MARK) {
        Cow::Owned(utf16(rest, u16::from_be_bytes)?)
    } else {
        Cow::Borrowed(utf8(bytes)?)
    };
    Ok(unified_line_ends(raw))
}

/// Whether the bytes begin with the mark of UTF-16.
pub(crate) fn has_utf16_mark(bytes: &[u8]) -> bool {
    bytes.starts_with(UTF16_LE_MARK) || bytes.starts_with(UTF16_BE_MARK)
}

fn utf8(bytes: &[u8]) -> Result<&str, ExtractError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        ExtractError::damaged(format!(
            "the text is not valid UTF-8 at byte {}",
            error.valid_up_to()
        ))
    })?;
    Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, ExtractError> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(bytes.len());
    let mut offset = UTF16_LE_MARK.len();
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        let character = decoded.map_err(|_| invalid_utf16(offset))?;
        offset += 2 * character.len_utf16();
        text.push(character);
    }
    if !odd.is_empty() {
        return Err(invalid_utf16(offset));
    }
    Ok(text)
}

fn invalid_utf16(offset: usize) -> ExtractError {
    ExtractError::damaged(format!("the text is not valid UTF-16 at byte {offset}"))
}

/// Writes CRLF and a lone CR as LF: the same text checked out on another system is the same
/// content.
pub(crate) fn unified_line_ends(text: Cow<'_, str>) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'\r', text.as_bytes()) else {
        return text;
    };
    let mut unified = String::with_capacity(text.len());
    unified.push_str(&text[..first]);
    let mut rest = &text[first..];
    while let Some(at) = memchr::memchr(b'\r', rest.as_bytes()) {
        unified.push_str(&rest[..at]);
        unified.push('\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    unified.push_str(rest);
    Cow::Owned(unified)
}

#[cfg(test)]
mod tests {
    use super::text;

    fn failure(bytes: &[u8]) -> String {
        text(bytes).unwrap_err().to_string()
    }

    #[test]
    fn byte_order_mark_is_not_text() {
        assert_eq!(text(b"\xEF\xBB\xBFa").unwrap(), "a");
        assert_eq!(text(b"\xFF\xFEa\0=\xD8\0\xDE").unwrap(), "a\u{1F600}");
        assert_eq!(text(b"\xFE\xFF\0a\xD8=\xDE\0").unwrap(), "a\u{1F600}");
    }

    #[test]
    fn all_line_ends_become_one() {
        assert_eq!(text(b"a\r\nb\rc\n\r\n\r").unwrap(), "a\nb\nc\n\n\n");
    }

    #[test]
    fn invalid_text_names_the_byte_in_the_file() {
        assert_eq!(failure(b"ab\xE4c"), "the text is not valid UTF-8 at byte 2");
        assert_eq!(
            failure(b"\xEF\xBB\xBFa\xFF"),
            "the text is not valid UTF-8 at byte 4"
        );
        assert_eq!(
            failure(b"\xFF\xFEa\0\0\xDC"),
            "the text is not valid UTF-16 at byte 4"
        );
        assert_eq!(
            failure(b"\xFF\xFEa\0b"),
            "the text is not valid UTF-16 at byte 4"
        );
    }
}
