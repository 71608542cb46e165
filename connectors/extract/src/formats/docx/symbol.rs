//! Characters of symbol fonts (`w:sym`), which have codes of their own, as characters of Unicode.

use crate::codepage;

/// Those of Wingdings that stand in texts.
const WINGDINGS: [(u32, char); 24] = [
    (0x28, '☎'),
    (0x2A, '✉'),
    (0x4A, '☺'),
    (0x4C, '☹'),
    (0x6C, '●'),
    (0x6E, '■'),
    (0x6F, '□'),
    (0x71, '❑'),
    (0x75, '◆'),
    (0x76, '❖'),
    (0x9F, '•'),
    (0xA7, '▪'),
    (0xA8, '◻'),
    (0xD8, '➢'),
    (0xDF, '←'),
    (0xE0, '→'),
    (0xE1, '↑'),
    (0xE2, '↓'),
    (0xE8, '➔'),
    (0xF0, '⇨'),
    (0xFB, '✗'),
    (0xFC, '✓'),
    (0xFD, '☒'),
    (0xFE, '☑'),
];

/// Returns the character that a code (hexadecimal) means in a font; codes of symbol fonts are often written above
/// 0xF000. One that is not known stays the character of its code.
pub(super) fn character(font: &str, code: &str) -> Option<char> {
    let code = u32::from_str_radix(code, 16).ok()?;
    let own = if (0xF000..=0xF0FF).contains(&code) {
        code - 0xF000
    } else {
        code
    };
    let known = match font {
        "Symbol" => u8::try_from(own).ok().map(codepage::symbol),
        "Wingdings" => WINGDINGS
            .iter()
            .find(|(known, _)| *known == own)
            .map(|(_, character)| *character),
        _ => None,
    };
    let plain = || char::from_u32(code).filter(|character| !character.is_control());
    known.or_else(plain)
}

#[cfg(test)]
mod tests {
    use super::character;

    #[test]
    fn codes_of_symbol_fonts_are_characters() {
        assert_eq!(character("Symbol", "F061"), Some('α'));
        assert_eq!(character("Symbol", "B3"), Some('≥'));
        assert_eq!(character("Wingdings", "F0FC"), Some('✓'));
        assert_eq!(character("Arial", "00E9"), Some('é'));
        assert_eq!(character("Wingdings", "F0AA"), Some('\u{F0AA}'));
        assert_eq!(character("Arial", "x"), None);
    }
}
