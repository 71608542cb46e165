//! Texts in code pages of DOS, which detectors for the web do not look for.
//!
//! They give themselves away: read as what they are not, letters become signs in the middle of words. So a code page
//! is taken only if the best guess otherwise reads like that, and the page does not. Knows no format and no locale.

use crate::codepage;

/// Those looked for; of two that read alike the first.
const PAGES: [u16; 4] = [437, 850, 852, 737];

/// Fewer characters beyond ASCII say nothing.
const FEWEST: usize = 4;

/// Returns the code page in which bytes read well, and their text in it, if they do not in the encoding they are
/// otherwise taken for.
pub(super) fn text(bytes: &[u8], otherwise: &str) -> Option<(u16, String)> {
    let Plausible { well, all } = plausible(otherwise);
    if all < FEWEST || well * 10 >= all * 7 {
        return None;
    }
    let mut best: Option<(usize, u16, String)> = None;
    for page in PAGES {
        let text = codepage::decode(page, bytes);
        let Plausible { well, all } = plausible(&text);
        let is_better = best.as_ref().is_none_or(|(most, ..)| well > *most);
        if well * 20 >= all * 19 && is_better {
            best = Some((well, page, text));
        }
    }
    best.map(|(_, page, text)| (page, text))
}

/// How many of the characters beyond ASCII stand where one expects them.
struct Plausible {
    well: usize,
    all: usize,
}

fn plausible(text: &str) -> Plausible {
    let mut found = Plausible { well: 0, all: 0 };
    let mut before = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if !character.is_ascii() {
            found.all += 1;
            found.well += usize::from(stands_well(before, character, characters.peek().copied()));
        }
        before = Some(character);
    }
    found
}

/// Whether a character fits between its neighbours: letters of one script and in the usual case, signs at the ends
/// of words and not within.
fn stands_well(before: Option<char>, character: char, after: Option<char>) -> bool {
    if !character.is_alphabetic() {
        let is_drawn = matches!(character, '\u{2500}'..='\u{259F}');
        let is_apart = |other: Option<char>| {
            other.is_none_or(|other| other.is_ascii() && !other.is_ascii_alphabetic())
        };
        let is_apostrophe = character == '\u{2019}';
        return !character.is_control()
            && (is_drawn || is_apostrophe || is_apart(before) || is_apart(after));
    }
    let is_letter = |other: &char| other.is_alphabetic();
    let (before, after) = (before.filter(is_letter), after.filter(is_letter));
    let is_late_capital = character.is_uppercase() && before.is_some_and(char::is_lowercase);
    let is_same_script = |other: &char| is_greek(*other) == is_greek(character);
    !is_late_capital && before.iter().chain(&after).all(is_same_script)
}

fn is_greek(character: char) -> bool {
    matches!(character, '\u{370}'..='\u{3FF}')
}

#[cfg(test)]
mod tests {
    use encoding_rs::{WINDOWS_1252, WINDOWS_1253};

    use super::text;

    /// The code page and the text, if another guess was the Western one of Windows.
    fn of(bytes: &[u8]) -> Option<(u16, String)> {
        text(bytes, &WINDOWS_1252.decode_without_bom_handling(bytes).0)
    }

    #[test]
    fn code_page_is_told_by_words_that_signs_would_cut() {
        // Encoded by Python's codecs.
        let german = b"Die B\x84ume bl\x81hen sch\x94n, gro\xE1 und \x81berall.";
        let expected = "Die B\u{E4}ume bl\u{FC}hen sch\u{F6}n, gro\u{DF} und \u{FC}berall.";
        assert_eq!(of(german), Some((437, expected.to_owned())));
        let danish = b"r\x9Bdgr\x9Bd med fl\x9Bde p\x86 \x9Bsterbro";
        let expected = "r\u{F8}dgr\u{F8}d med fl\u{F8}de p\u{E5} \u{F8}sterbro";
        assert_eq!(of(danish), Some((850, expected.to_owned())));
        let greek = b"\x89\x98\xA2\x9E\xA3\xE2\xA8\x98 \xA1\xE6\xA9\xA3\x9C";
        let otherwise = WINDOWS_1253.decode_without_bom_handling(greek).0;
        let (page, text) = text(greek, &otherwise).unwrap();
        assert_eq!(page, 737);
        assert_eq!(
            text,
            "\u{39A}\u{3B1}\u{3BB}\u{3B7}\u{3BC}\u{3AD}\u{3C1}\u{3B1} \u{3BA}\u{3CC}\u{3C3}\u{3BC}\u{3B5}"
        );
    }

    #[test]
    fn texts_of_windows_stay_what_they_are() {
        for bytes in [
            &b"\x84Gr\xFC\xDFe\x93 \x96 na\xEFve caf\xE9s \x85 don\x92t"[..],
            b"20 \x80, \xA9 2001 \x95 \xBB quoted \xAB",
            b"\xE9",
        ] {
            assert_eq!(of(bytes), None);
        }
    }
}
