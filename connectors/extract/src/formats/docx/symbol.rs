//! Characters of symbol fonts (`w:sym`), which have codes of their own, as characters of Unicode.

use crate::codepage;

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
        "Wingdings" => u8::try_from(own).ok().map(codepage::wingding),
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
