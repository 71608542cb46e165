//! Code pages of Windows, DOS and the Macintosh, by the numbers that RTF and the binary office formats
//! give them.

use encoding_rs::Encoding;

/// The upper half of code page 437, which encodings of the web leave out.
const DOS_US: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}";

/// The upper half of code page 850.
const DOS_LATIN: &str = "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐└┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{AD}±‗¾¶§÷¸°¨·¹³²■\u{A0}";

/// The upper half of code page 737.
const DOS_GREEK: &str = "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρσςτυφχψ░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀ωάέήϊίόύϋώΆΈΉΊΌΎΏ±≥≤ΪΫ÷≈°∙·√ⁿ²■\u{A0}";

/// The upper half of code page 852.
const DOS_CENTRAL: &str = "ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐└┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{AD}˝˛ˇ˘§÷¸°¨˙űŘř■\u{A0}";

/// What the font Symbol shows for the bytes from 0x20 to 0x7E.
const SYMBOL_LOW: &str = " !\u{2200}#\u{2203}%&\u{220B}()\u{2217}+,\u{2212}./0123456789:;<=>?\
    \u{2245}ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[\u{2234}]\u{22A5}_\
    \u{203E}αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}\u{223C}";

/// What the font Symbol shows for the bytes from 0xA0 to 0xFE.
const SYMBOL_HIGH: &str = "\u{20AC}ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓\
    ◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\u{F0F0}〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭";

/// Those of Wingdings that stand in texts.
const WINGDINGS: [(u8, char); 24] = [
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

/// Western European, which stands in for what is not known.
pub(crate) const WESTERN: u16 = 1252;

/// Returns the text that bytes of a code page are.
pub(crate) fn decode(code_page: u16, bytes: &[u8]) -> String {
    let Some(half) = dos_half(code_page) else {
        return encoding(code_page)
            .decode_without_bom_handling(bytes)
            .0
            .into_owned();
    };
    let upper: Vec<char> = half.chars().collect();
    let character = |byte: &u8| match byte.checked_sub(0x80) {
        Some(at) => upper[usize::from(at)],
        None => char::from(*byte),
    };
    bytes.iter().map(character).collect()
}

/// Returns the characters of the bytes from 0x80 in a code page of DOS that encodings of the web leave out.
fn dos_half(code_page: u16) -> Option<&'static str> {
    match code_page {
        437 => Some(DOS_US),
        737 => Some(DOS_GREEK),
        850 | 858 => Some(DOS_LATIN),
        852 => Some(DOS_CENTRAL),
        _ => None,
    }
}

/// Returns the character that the font Symbol shows for a byte.
pub(crate) fn symbol(byte: u8) -> char {
    let shown = match byte {
        0x20..=0x7E => SYMBOL_LOW.chars().nth(usize::from(byte - 0x20)),
        0xA0..=0xFE => SYMBOL_HIGH.chars().nth(usize::from(byte - 0xA0)),
        _ => None,
    };
    shown.unwrap_or_else(|| dingbat(byte))
}

/// Returns the character that the font Wingdings shows for a byte.
pub(crate) fn wingding(byte: u8) -> char {
    let known = WINGDINGS.iter().find(|(known, _)| *known == byte);
    known.map_or_else(|| dingbat(byte), |(_, character)| *character)
}

/// Returns the character that stands for a byte of a font of pictures, as Windows numbers them.
pub(crate) fn dingbat(byte: u8) -> char {
    char::from_u32(0xF000 + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// Returns the code page that a character set of a font (`fcharset`, `lfCharSet`) means, if it means one.
pub(crate) fn of_character_set(character_set: u8) -> Option<u16> {
    let page = match character_set {
        0 => WESTERN,
        77 => 10000,
        78 | 128 => 932,
        79 | 129 | 130 => 949,
        80 | 134 => 936,
        81 | 136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        254 => 437,
        255 => 850,
        _ => return None,
    };
    Some(page)
}

fn encoding(code_page: u16) -> &'static Encoding {
    match code_page {
        866 => encoding_rs::IBM866,
        874 => encoding_rs::WINDOWS_874,
        932 | 10001 => encoding_rs::SHIFT_JIS,
        936 | 10008 | 54936 => encoding_rs::GB18030,
        949 | 1361 | 10003 | 51949 => encoding_rs::EUC_KR,
        950 | 10002 => encoding_rs::BIG5,
        1200 => encoding_rs::UTF_16LE,
        1201 => encoding_rs::UTF_16BE,
        1250 => encoding_rs::WINDOWS_1250,
        1251 => encoding_rs::WINDOWS_1251,
        1253 => encoding_rs::WINDOWS_1253,
        1254 => encoding_rs::WINDOWS_1254,
        1255 => encoding_rs::WINDOWS_1255,
        1256 => encoding_rs::WINDOWS_1256,
        1257 => encoding_rs::WINDOWS_1257,
        1258 => encoding_rs::WINDOWS_1258,
        10000 | 32768 => encoding_rs::MACINTOSH,
        10007 => encoding_rs::X_MAC_CYRILLIC,
        20866 => encoding_rs::KOI8_R,
        21866 => encoding_rs::KOI8_U,
        20932 | 51932 => encoding_rs::EUC_JP,
        28592 => encoding_rs::ISO_8859_2,
        28595 => encoding_rs::ISO_8859_5,
        28597 => encoding_rs::ISO_8859_7,
        28605 => encoding_rs::ISO_8859_15,
        65001 => encoding_rs::UTF_8,
        _ => encoding_rs::WINDOWS_1252,
    }
}

#[cfg(test)]
mod tests {
    use super::{
        DOS_CENTRAL, DOS_GREEK, DOS_LATIN, DOS_US, SYMBOL_HIGH, SYMBOL_LOW, decode, symbol,
    };

    #[test]
    fn tables_have_a_character_for_each_byte() {
        assert_eq!(DOS_US.chars().count(), 128);
        assert_eq!(DOS_LATIN.chars().count(), 128);
        assert_eq!(DOS_GREEK.chars().count(), 128);
        assert_eq!(DOS_CENTRAL.chars().count(), 128);
        assert_eq!(SYMBOL_LOW.chars().count(), 0x7F - 0x20);
        assert_eq!(SYMBOL_HIGH.chars().count(), 0xFF - 0xA0);
    }

    #[test]
    fn bytes_are_what_their_code_page_says() {
        assert_eq!(decode(437, b"a\x81"), "a\u{FC}");
        assert_eq!(decode(850, b"\x9B"), "\u{F8}");
        assert_eq!(decode(737, b"\x80\x98"), "\u{391}\u{3B1}");
        assert_eq!(decode(852, b"\xA5\x88"), "\u{105}\u{142}");
        assert_eq!(decode(1251, b"\xE4"), "\u{434}");
        assert_eq!(decode(932, b"\x82\xA0\\"), "\u{3042}\\");
        assert_eq!(symbol(b'a'), '\u{3B1}');
        assert_eq!(symbol(0xB7), '\u{2022}');
        assert_eq!(symbol(0xE5), '\u{2211}');
    }
}
