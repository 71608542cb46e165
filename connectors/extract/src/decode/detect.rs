//! Which encoding a text is in that does not say so: by what its bytes can be, all of them looked at.
//!
//! Knows no format and no locale.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EUC_JP, EUC_KR, Encoding, ISO_2022_JP};

/// So many characters of UTF-8 outweigh one fault: the text is UTF-8 and was damaged or cut.
const CHARACTERS_PER_FAULT: usize = 4;

/// The order of the bytes in units of two or four.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

/// What the zero bytes of a text without byte order mark speak for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wide {
    Utf16(Order),
    Utf32(Order),
}

/// Returns the wide encoding in which the zero bytes are the upper halves of common characters: zero at
/// one place of a unit in most units, and hardly ever at the last.
pub(super) fn wide(bytes: &[u8]) -> Option<Wide> {
    let mut zeros = [0usize; 4];
    for at in memchr::memchr_iter(0, bytes) {
        zeros[at % 4] += 1;
    }
    let units = bytes.len() / 4;
    if units == 0 {
        return None;
    }
    let many = |count: usize| count * 10 >= units * 9;
    let few = |count: usize| count * 50 <= units;
    let [first, second, third, fourth] = zeros;
    let is_whole = |unit| bytes.len().is_multiple_of(unit);
    if is_whole(4) && many(first) && many(second) && few(fourth) {
        return Some(Wide::Utf32(Order::Big));
    }
    if is_whole(4) && many(third) && many(fourth) && few(first) {
        return Some(Wide::Utf32(Order::Little));
    }
    // A text of another script has zeros only in its spaces and line ends.
    let some = |count: usize| count * 20 >= units * 2;
    if is_whole(2) && some(first + third) && few(second) && few(fourth) {
        return Some(Wide::Utf16(Order::Big));
    }
    (is_whole(2) && some(second + fourth) && few(first) && few(third))
        .then_some(Wide::Utf16(Order::Little))
}

/// Whether a text that is not quite UTF-8 is more of it than of anything else.
pub(super) fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let mut characters = 0;
    let mut faults = 0;
    for chunk in bytes.utf8_chunks() {
        let continued = |byte: &u8| !(0x80..0xC0).contains(byte);
        let high = chunk.valid().bytes().filter(|byte| *byte >= 0x80);
        characters += high.filter(continued).count();
        faults += usize::from(!chunk.invalid().is_empty());
    }
    characters >= faults * CHARACTERS_PER_FAULT
}

/// Whether an ASCII text changes to Japanese by escape sequences (ISO-2022-JP) and back.
pub(super) fn is_iso_2022_jp(bytes: &[u8]) -> bool {
    let escapes: [&[u8]; 2] = [b"\x1B$B", b"\x1B$@"];
    escapes
        .into_iter()
        .any(|escape| memchr::memmem::find(bytes, escape).is_some())
        && ISO_2022_JP
            .decode_without_bom_handling_and_without_replacement(bytes)
            .is_some()
}

/// Returns the bytes of a text in ISO-2022-KR (RFC 1557) as EUC-KR.
pub(super) fn iso_2022_kr_as_euc(bytes: &[u8]) -> Option<Vec<u8>> {
    const DESIGNATOR: &[u8] = b"\x1B$)C";
    let (shift_out, shift_in) = (0x0E, 0x0F);
    if !bytes.is_ascii() || memchr::memchr(shift_out, bytes).is_none() {
        return None;
    }
    let start = memchr::memmem::find(bytes, DESIGNATOR)?;
    let (before, rest) = bytes.split_at(start);
    let mut euc = before.to_vec();
    let mut high = 0;
    for byte in &rest[DESIGNATOR.len()..] {
        match *byte {
            byte if byte == shift_out => high = 0x80,
            byte if byte == shift_in => high = 0,
            byte if byte <= b' ' => euc.push(byte),
            byte => euc.push(byte | high),
        }
    }
    Some(euc)
}

/// Returns the bytes of a text in HZ (RFC 1843) as GBK; `None` if some tilde in it means nothing there.
pub(super) fn hz_as_gbk(bytes: &[u8]) -> Option<Vec<u8>> {
    if !bytes.is_ascii() || memchr::memmem::find(bytes, b"~{").is_none() {
        return None;
    }
    let mut gbk = Vec::with_capacity(bytes.len());
    let mut is_wide = false;
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        let second = after.first().copied();
        let (taken, written): (usize, &[u8]) = match (is_wide, first, second) {
            (false, b'~', Some(b'~')) => (2, b"~"),
            (false, b'~', Some(b'\n')) => (2, b""),
            (false, b'~', Some(b'{')) | (true, b'~', Some(b'}')) => {
                is_wide = !is_wide;
                (2, b"")
            }
            (false, b'~', _) => return None,
            (false, ..) => (1, &rest[..1]),
            (true, 0x21..=0x77, Some(second @ 0x21..=0x7E)) => {
                gbk.extend([first | 0x80, second | 0x80]);
                (2, b"")
            }
            (true, ..) => return None,
        };
        gbk.extend(written);
        rest = &rest[taken..];
    }
    (!is_wide).then_some(gbk)
}

/// Returns the encoding of one or two bytes per character that the bytes are most likely in.
pub(super) fn narrow(bytes: &[u8]) -> &'static Encoding {
    if let Some(encoding) = by_pairs(bytes) {
        return encoding;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    detector.guess(None, Utf8Detection::Deny)
}

/// Looks for the signs of Japanese and Korean in texts too short for statistics: kana, or hangul and hardly
/// a hanja. Rare characters that the encoding as it is decoded does not have are no reason against it.
fn by_pairs(bytes: &[u8]) -> Option<&'static Encoding> {
    const MANY: usize = 10;
    let (mut pairs, mut stray, mut kana, mut letters, mut hangul) = (0, 0, 0, 0, 0);
    let mut rest = bytes;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let is_pair = *first >= 0xA1 && after.first().is_some_and(|second| *second >= 0xA1);
        if !is_pair {
            stray += usize::from(*first >= 0x80);
            continue;
        }
        rest = &after[1..];
        pairs += 1;
        kana += usize::from(matches!(first, 0xA4 | 0xA5));
        letters += usize::from(*first >= 0xB0);
        hangul += usize::from(matches!(first, 0xB0..=0xC8));
    }
    if pairs < MANY || stray * 20 > pairs {
        return None;
    }
    if kana * 10 >= pairs * 3 {
        return Some(EUC_JP);
    }
    (letters >= MANY && hangul * 100 >= letters * 97).then_some(EUC_KR)
}

#[cfg(test)]
mod tests {
    use super::{Order, Wide, hz_as_gbk, is_damaged_utf8, iso_2022_kr_as_euc, narrow, wide};

    #[test]
    fn zero_bytes_tell_the_wide_encodings() {
        let text = "Some words,\r\nand more.";
        let utf16 = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect();
        let utf32 = |unit: fn(u32) -> [u8; 4]| text.chars().flat_map(|c| unit(c as u32)).collect();
        let wides: [(Vec<u8>, Wide); 4] = [
            (utf16(u16::to_le_bytes), Wide::Utf16(Order::Little)),
            (utf16(u16::to_be_bytes), Wide::Utf16(Order::Big)),
            (utf32(u32::to_le_bytes), Wide::Utf32(Order::Little)),
            (utf32(u32::to_be_bytes), Wide::Utf32(Order::Big)),
        ];
        for (bytes, expected) in wides {
            assert_eq!(wide(&bytes), Some(expected));
        }
        assert_eq!(wide(text.as_bytes()), None);
        assert_eq!(wide(b"a\0b"), None);
        assert_eq!(wide(&[0; 64]), None);
    }

    #[test]
    fn short_texts_of_korea_and_japan_are_told_by_their_letters() {
        // Encoded by Python's codecs.
        let korean = b"\xC6\xC4\xC0\xCC\xBD\xE3\xC0\xBA \xB9\xE8\xBF\xEC\xB1\xE2 \xBD\xB1\xB0\xED, \xB0\xAD\xB7\xC2\xC7\xD1";
        assert_eq!(narrow(korean).name(), "EUC-KR");
        let japanese = b"\xA4\xB3\xA4\xF3\xA4\xCB\xA4\xC1\xA4\xCF\xA1\xA2\xC0\xA4\xB3\xA6\xA4\xCE\xA4\xDF\xA4\xCA\xA4\xB5\xA4\xF3";
        assert_eq!(narrow(japanese).name(), "EUC-JP");
        let shifted = b"\x1B$)Ca \x0E0!3*\x0F b\n";
        let euc = iso_2022_kr_as_euc(shifted).unwrap();
        assert_eq!(euc, b"a \xB0\xA1\xB3\xAA b\n");
        assert_eq!(iso_2022_kr_as_euc(b"a \x0Eb"), None);
    }

    #[test]
    fn tildes_lead_to_chinese_and_back() {
        // The example of RFC 1843.
        let written = b"The next sentence is in GB.~{<:Ky2;S{#,NpJ)l6HK!#~}Bye.~~";
        let gbk = hz_as_gbk(written).unwrap();
        let text = encoding_rs::GBK.decode_without_bom_handling(&gbk).0;
        assert_eq!(
            text,
            "The next sentence is in GB.\u{5DF1}\u{6240}\u{4E0D}\u{6B32}\u{FF0C}\u{52FF}\u{65BD}\u{65BC}\u{4EBA}\u{3002}Bye.~"
        );
        for text in ["~/.config ~{<:~}", "a~{b}c", "~{abc~}", "~{ab", "no"] {
            assert_eq!(hz_as_gbk(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn one_fault_makes_no_other_encoding_of_utf8() {
        assert!(is_damaged_utf8(&"äöüß\u{20AC}".as_bytes()[..10]));
        assert!(!is_damaged_utf8(b"caf\xE9 cr\xE8me"));
    }
}
