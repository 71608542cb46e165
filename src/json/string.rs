//! Inside of JSON strings: where they end, what their escapes mean.
//!
//! Strings are most of what the tool reads, so the scan looks at whole words and blocks. It does
//! not check UTF-8; the parser has done that for the whole text before.

use std::borrow::Cow;

use super::syntax::{SyntaxError, SyntaxReason};

/// How a string is spelled in its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Spelling {
    /// Without escapes: source, value and canonical form are the same.
    Plain,
    /// With escapes, each as RFC 8785 writes it: source and canonical form are the same.
    Canonical,
    /// With escapes that the canonical form spells differently.
    Other,
}

/// Returns the first quote, backslash or control character at or after `at`, or the length.
#[inline]
pub(super) fn next_special(bytes: &[u8], at: usize) -> usize {
    // Names and short values end within a word or two.
    match word_at(bytes, at) {
        Some(0) => next_special_in_long(bytes, at + 8),
        Some(hits) => at + first_hit(hits),
        None => tail_special(bytes, at),
    }
}

fn next_special_in_long(bytes: &[u8], at: usize) -> usize {
    let mut at = skip_plain_blocks(bytes, at);
    loop {
        match word_at(bytes, at) {
            Some(0) => at += 8,
            Some(hits) => return at + first_hit(hits),
            None => return tail_special(bytes, at),
        }
    }
}

/// Skips blocks that contain nothing special. The fold has no early exit on purpose: without one
/// the compiler turns it into vector instructions.
fn skip_plain_blocks(bytes: &[u8], mut at: usize) -> usize {
    const BLOCK: usize = 32;
    for block in bytes[at..].chunks_exact(BLOCK) {
        let special = block
            .iter()
            .fold(0, |found, &byte| found | u8::from(is_special(byte)));
        if special != 0 {
            break;
        }
        at += BLOCK;
    }
    at
}

fn tail_special(bytes: &[u8], at: usize) -> usize {
    let tail = &bytes[at..];
    at + tail
        .iter()
        .position(|&byte| is_special(byte))
        .unwrap_or(tail.len())
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

/// Marks the special bytes of the word at `at` in their top bits. Bytes above the first marked one
/// may be marked wrongly (borrows travel upwards), the first one never is.
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?);
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let equal = (quote.wrapping_sub(ONES) & !quote) | (backslash.wrapping_sub(ONES) & !backslash);
    Some((control | equal) & TOPS)
}

fn first_hit(hits: u64) -> usize {
    (hits.trailing_zeros() / 8) as usize
}

/// Judges the escape whose backslash is at `at`; returns where it ends and whether RFC 8785
/// spells it the same way.
pub(super) fn escape(bytes: &[u8], at: usize) -> Result<(usize, Spelling), SyntaxError> {
    match bytes.get(at + 1) {
        Some(b'"' | b'\\' | b'b' | b't' | b'n' | b'f' | b'r') => Ok((at + 2, Spelling::Canonical)),
        Some(b'/') => Ok((at + 2, Spelling::Other)),
        Some(b'u') => unicode_escape(bytes, at),
        Some(_) => Err(SyntaxReason::InvalidEscape.at(at)),
        None => Err(SyntaxReason::UnexpectedEnd.at(bytes.len())),
    }
}

fn unicode_escape(bytes: &[u8], at: usize) -> Result<(usize, Spelling), SyntaxError> {
    let unit = hex_unit(bytes, at + 2).ok_or(SyntaxReason::InvalidEscape.at(at))?;
    match unit {
        0xD800..=0xDBFF => {
            let paired = bytes.get(at + 6) == Some(&b'\\')
                && bytes.get(at + 7) == Some(&b'u')
                && matches!(hex_unit(bytes, at + 8), Some(0xDC00..=0xDFFF));
            if paired {
                Ok((at + 12, Spelling::Other))
            } else {
                Err(SyntaxReason::LoneSurrogate.at(at))
            }
        }
        0xDC00..=0xDFFF => Err(SyntaxReason::LoneSurrogate.at(at)),
        0x08 | 0x09 | 0x0A | 0x0C | 0x0D => Ok((at + 6, Spelling::Other)),
        0x00..0x20 if !bytes[at + 5].is_ascii_uppercase() => Ok((at + 6, Spelling::Canonical)),
        _ => Ok((at + 6, Spelling::Other)),
    }
}

fn hex_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits: &[u8; 4] = bytes.get(at..)?.first_chunk()?;
    digits.iter().try_fold(0, |unit, &digit| {
        Some(unit << 4 | char::from(digit).to_digit(16)?)
    })
}

/// Returns the value of a string from its source, quotes included, which the parser has accepted.
#[inline]
pub(super) fn value_of(source: &str, spelling: Spelling) -> Cow<'_, str> {
    let inside = &source[1..source.len() - 1];
    if spelling == Spelling::Plain {
        Cow::Borrowed(inside)
    } else {
        Cow::Owned(unescaped(inside))
    }
}

fn unescaped(inside: &str) -> String {
    let mut value = String::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        value.push_str(&rest[..at]);
        let (decoded, length) = decode_escape(&rest.as_bytes()[at..]);
        value.push(decoded);
        rest = &rest[at + length..];
    }
    value.push_str(rest);
    value
}

/// Decodes one accepted escape; returns the character and the length of its spelling.
fn decode_escape(bytes: &[u8]) -> (char, usize) {
    match bytes[1] {
        b'b' => ('\u{8}', 2),
        b't' => ('\t', 2),
        b'n' => ('\n', 2),
        b'f' => ('\u{C}', 2),
        b'r' => ('\r', 2),
        b'u' => {
            let accepted = "the parser accepted this escape";
            let unit = hex_unit(bytes, 2).expect(accepted);
            if !(0xD800..0xE000).contains(&unit) {
                return (char::from_u32(unit).expect(accepted), 6);
            }
            let low = hex_unit(bytes, 8).expect(accepted);
            let scalar = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(scalar).expect(accepted), 12)
        }
        literal => (char::from(literal), 2),
    }
}

#[cfg(test)]
mod tests {
    use super::{is_special, next_special};

    #[test]
    fn scan_finds_the_first_special_byte_at_every_offset_and_length() {
        for length in 0..200 {
            for at in 0..length {
                for special in [b'"', b'\\', 0, 0x1F, b'\n'] {
                    let mut bytes = vec![b'x'; length];
                    bytes[at] = special;
                    assert_eq!(next_special(&bytes, 0), at);
                    assert_eq!(next_special(&bytes, at), at);
                }
            }
            assert_eq!(next_special(&vec![0x80; length], 0), length);
        }
    }

    #[test]
    fn scan_agrees_with_the_plain_loop_on_every_byte_value() {
        for byte in 0..=255u8 {
            let mut bytes = vec![b'!'; 90];
            for at in [0, 3, 7, 8, 31, 32, 40, 70, 89] {
                bytes[at] = byte;
                let expected = if is_special(byte) { at } else { bytes.len() };
                assert_eq!(next_special(&bytes, 0), expected, "byte {byte} at {at}");
                bytes[at] = b'!';
            }
        }
    }
}
