//! Text strings outside of pages (ISO 32000-1 §7.9.2.2): UTF-16, UTF-8, or PDFDocEncoding.

use encoding_rs::{UTF_8, UTF_16BE, UTF_16LE};

/// What PDFDocEncoding has from 0x18 to 0x1F and from 0x80 to 0x9F (annex D.2); the rest is Latin-1.
const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
const HIGH: [char; 33] = [
    '•', '†', '‡', '…', '—', '–', 'ƒ', '⁄', '‹', '›', '−', '‰', '„', '“', '”', '‘', '’', '‚', '™',
    'ﬁ', 'ﬂ', 'Ł', 'Œ', 'Š', 'Ÿ', 'Ž', 'ı', 'ł', 'œ', 'š', 'ž', '\u{FFFD}', '€',
];

/// Returns the text of a string.
pub(super) fn text_string(bytes: &[u8]) -> String {
    let encoding = match bytes {
        [0xFE, 0xFF, ..] => UTF_16BE,
        [0xFF, 0xFE, ..] => UTF_16LE,
        [0xEF, 0xBB, 0xBF, ..] => UTF_8,
        _ => return bytes.iter().map(|byte| character(*byte)).collect(),
    };
    let (text, _) = encoding.decode_with_bom_removal(bytes);
    without_language_marks(&text)
}

fn character(byte: u8) -> char {
    match byte {
        0x18..=0x1F => LOW[usize::from(byte - 0x18)],
        0x80..=0xA0 => HIGH[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// Drops what stands between two escapes: the code of a language and of a country.
fn without_language_marks(text: &str) -> String {
    let parts = text.split('\u{1B}').enumerate();
    let kept = parts.filter(|(number, _)| number % 2 == 0);
    kept.map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::text_string;

    #[test]
    fn strings_are_read_in_the_encoding_they_begin_with() {
        assert_eq!(text_string(b"\xFE\xFF\0a\x20\xAC"), "a€");
        assert_eq!(text_string(b"\xFF\xFEa\0"), "a");
        assert_eq!(text_string(b"\xEF\xBB\xBF\xC3\xA9"), "é");
        assert_eq!(text_string(b"caf\xE9 \x92s \xA0"), "café ™s €");
        assert_eq!(text_string(b"\xFE\xFF\0\x1B\0e\0n\0\x1B\0x"), "x");
    }
}
