//! Bytes to text: byte order marks, declared and detected encodings, line ends.
//!
//! [`text`] is for what has to be UTF-8 or marked; [`any`] takes what people have. Neither knows a
//! format, and the locale of the machine has no say.

mod declared;
mod detect;
mod dos;

use std::borrow::Cow;

use encoding_rs::{EUC_KR, Encoding, GBK, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use crate::ExtractError;
use crate::reading::Reading;
use detect::{Order, Wide};

pub(crate) use declared::{of_label, of_xml};

/// One in this many characters may be a control character that text has no use for; logs with terminal
/// colours stay text.
pub(crate) const CONTROL_SHARE: usize = 32;

const UTF32_LE_MARK: &[u8] = &[0xFF, 0xFE, 0, 0];
const UTF32_BE_MARK: &[u8] = &[0, 0, 0xFE, 0xFF];

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

/// Returns the text of a file in whatever encoding it is, with `\n` as its only line end and without a
/// byte order mark: that of its mark, or that it declares for people and programs in its first lines, or
/// UTF-8 if it can be, or what its bytes are most likely. Bytes that are no characters become U+FFFD. What
/// was guessed or replaced is noted.
///
/// # Errors
///
/// `damaged` if the bytes are no text in any encoding.
pub(crate) fn any<'b>(
    bytes: &'b [u8],
    reading: &mut Reading<'_>,
) -> Result<Cow<'b, str>, ExtractError> {
    declared_as(declared::encoding(bytes), bytes, reading)
}

/// As [`any`], of a file that declares its encoding in the way of its format.
pub(crate) fn declared_as<'b>(
    declared: Option<&'static Encoding>,
    bytes: &'b [u8],
    reading: &mut Reading<'_>,
) -> Result<Cow<'b, str>, ExtractError> {
    let (text, replaced) = by_encoding(declared, bytes, reading);
    if is_junk(&text, bytes) {
        let strict = self::text(bytes).err();
        return Err(strict.unwrap_or_else(|| {
            ExtractError::damaged("what claims to be a text is full of control characters")
        }));
    }
    if replaced {
        reading.note("bytes of its text that are no characters became U+FFFD");
    }
    Ok(unified_line_ends(text))
}

/// Whether a text is none: by its zeros if it is UTF-8, and else by all its control characters, of which a
/// zero is one too many.
fn is_junk(text: &str, bytes: &[u8]) -> bool {
    let zeros = memchr::memchr_iter(0, text.as_bytes()).count();
    if std::str::from_utf8(bytes).is_ok() {
        return zeros * CONTROL_SHARE > text.len();
    }
    let strange = text
        .bytes()
        .filter(|byte| is_strange_control(*byte))
        .count();
    strange * CONTROL_SHARE > text.len() || (zeros > 0 && !is_wide(bytes))
}

/// Returns the text, and whether some bytes of it could not be read.
fn by_encoding<'b>(
    declared: Option<&'static Encoding>,
    bytes: &'b [u8],
    reading: &mut Reading<'_>,
) -> (Cow<'b, str>, bool) {
    if let Some(rest) = bytes.strip_prefix(UTF32_LE_MARK) {
        return utf32(rest, u32::from_le_bytes);
    }
    if let Some(rest) = bytes.strip_prefix(UTF32_BE_MARK) {
        return utf32(rest, u32::from_be_bytes);
    }
    if let Some((encoding, length)) = Encoding::for_bom(bytes) {
        return decoded(encoding, &bytes[length..]);
    }
    if let Some(encoding) = declared.filter(|encoding| *encoding != UTF_8) {
        return decoded(encoding, bytes);
    }
    if let Some(wide) = detect::wide(bytes) {
        return by_zeros(wide, bytes);
    }
    if let Some(text) = by_escapes(bytes) {
        return text;
    }
    if std::str::from_utf8(bytes).is_ok() || detect::is_damaged_utf8(bytes) {
        return decoded(UTF_8, bytes);
    }
    let guessed = detect::narrow(bytes);
    let (text, replaced) = decoded(guessed, bytes);
    if guessed.is_single_byte()
        && let Some((page, text)) = dos::text(bytes, &text)
    {
        reading.note(format!("its text is taken for code page {page}"));
        return (Cow::Owned(text), false);
    }
    reading.note(format!("its text is taken for {}", guessed.name()));
    (text, replaced)
}

/// Returns the text if its bytes are all ASCII and change to another script by escapes.
fn by_escapes(bytes: &[u8]) -> Option<(Cow<'_, str>, bool)> {
    if detect::is_iso_2022_jp(bytes) {
        return Some(decoded(ISO_2022_JP, bytes));
    }
    let korean = detect::iso_2022_kr_as_euc(bytes).map(|euc| (EUC_KR, euc));
    let chinese = || detect::hz_as_gbk(bytes).map(|gbk| (GBK, gbk));
    let (encoding, shifted) = korean.or_else(chinese)?;
    let (text, replaced) = decoded(encoding, &shifted);
    Some((Cow::Owned(text.into_owned()), replaced))
}

fn by_zeros(wide: Wide, bytes: &[u8]) -> (Cow<'_, str>, bool) {
    match wide {
        Wide::Utf16(Order::Little) => decoded(UTF_16LE, bytes),
        Wide::Utf16(Order::Big) => decoded(UTF_16BE, bytes),
        Wide::Utf32(Order::Little) => utf32(bytes, u32::from_le_bytes),
        Wide::Utf32(Order::Big) => utf32(bytes, u32::from_be_bytes),
    }
}

fn decoded<'b>(encoding: &'static Encoding, bytes: &'b [u8]) -> (Cow<'b, str>, bool) {
    encoding.decode_without_bom_handling(bytes)
}

fn utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> (Cow<'_, str>, bool) {
    let (units, odd) = bytes.as_chunks::<4>();
    let mut replaced = !odd.is_empty();
    let characters = units.iter().map(|bytes| {
        let character = char::from_u32(unit(*bytes));
        replaced |= character.is_none();
        character.unwrap_or(char::REPLACEMENT_CHARACTER)
    });
    let text: String = characters.collect();
    (Cow::Owned(text), replaced)
}

/// Whether a text has no use for a byte.
pub(crate) fn is_strange_control(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0C' | b'\x1B')
}

/// Whether bytes have the zeros of a text in UTF-16 or UTF-32, marked or not.
pub(crate) fn is_wide(bytes: &[u8]) -> bool {
    has_utf16_mark(bytes) || bytes.starts_with(UTF32_BE_MARK) || detect::wide(bytes).is_some()
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
    use super::{Reading, any, text};
    use crate::Limits;

    /// The text and the notes.
    fn read(bytes: &[u8]) -> (String, Vec<String>) {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, bytes.len() as u64);
        let text = any(bytes, &mut reading).unwrap().into_owned();
        (text, reading.finish().1)
    }

    #[test]
    fn old_encodings_are_detected_and_noted() {
        // Encoded by Python's codecs.
        let cases: [(&[u8], &str, &str); 3] = [
            (b"caf\xE9 cr\xE8me", "caf\u{E9} cr\u{E8}me", "windows-1252"),
            (
                b"\x93\xFA\x96{\x8C\xEA\x82\xCC\x95\xB6\x8F\xCD\x82\xC5\x82\xB7",
                "\u{65E5}\u{672C}\u{8A9E}\u{306E}\u{6587}\u{7AE0}\u{3067}\u{3059}",
                "Shift_JIS",
            ),
            (
                b"\xDD\xF2\xEE \xF0\xF3\xF1\xF1\xEA\xE8\xE9 \xF2\xE5\xEA\xF1\xF2",
                "\u{42D}\u{442}\u{43E} \u{440}\u{443}\u{441}\u{441}\u{43A}\u{438}\u{439} \u{442}\u{435}\u{43A}\u{441}\u{442}",
                "windows-1251",
            ),
        ];
        for (bytes, expected, name) in cases {
            let note = format!("its text is taken for {name}");
            assert_eq!(read(bytes), (expected.to_owned(), vec![note]));
        }
    }

    #[test]
    fn wide_encodings_need_no_mark() {
        assert_eq!(read(b"a\0b\0\r\0\n\0c\0d\0").0, "ab\ncd");
        assert_eq!(read(b"\0\0\0a\0\0\0b").0, "ab");
        assert_eq!(read(b"\xFF\xFE\0\0a\0\0\0").0, "a");
        assert_eq!(read(b"\x1B$BF|K\\8l\x1B(B.").0, "\u{65E5}\u{672C}\u{8A9E}.");
    }

    #[test]
    fn encoding_that_nobody_decodes_is_not_taken_at_its_word() {
        // HZ and ISO-2022-KR, encoded by Python's codecs.
        assert_eq!(
            read(b"# coding: hz\n~{VPND~}").0,
            "# coding: hz\n\u{4E2D}\u{6587}"
        );
        let korean = b"# coding: iso-2022-kr\n\x1B$)C\x0EGQ1[\x0F";
        assert!(
            read(korean).0.ends_with("\u{D55C}\u{AE00}"),
            "{:?}",
            read(korean)
        );
        assert_eq!(read(b"# coding: hz\nwords").0, "# coding: hz\nwords");
        assert_eq!(
            read(b"# coding: hz-gb-2312\nwords").0,
            "# coding: hz-gb-2312\nwords"
        );
    }

    #[test]
    fn damaged_utf8_stays_utf8() {
        let (text, notes) = read("\u{E4}\u{F6}\u{FC} \u{DF}\u{20AC}".as_bytes()[..10].into());
        assert_eq!(text, "\u{E4}\u{F6}\u{FC} \u{DF}\u{FFFD}");
        assert_eq!(
            notes,
            ["bytes of its text that are no characters became U+FFFD"]
        );
    }

    #[test]
    fn what_is_mostly_control_characters_is_no_text() {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 9);
        assert!(any(b"\x7FELF\x02\x01\x01\0\xE4", &mut reading).is_err());
        assert!(any(b"a\0b", &mut reading).is_err());
        assert!(any(&[b'a'; 99], &mut reading).is_ok());
        assert!(any(b"N\x08Na\x08a", &mut reading).is_ok());
    }

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
