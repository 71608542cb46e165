//! Where the hyperlinks of cells lead, which are objects of OLE ([MS-OSHARED] §2.3.7).

use crate::codepage::{self, WESTERN};
use crate::little_endian::u32_at;

/// What monikers of addresses begin with ([MS-OSHARED] §2.3.7.6).
const URL_MONIKER: [u8; 16] = [
    0xE0, 0xC9, 0xEA, 0x79, 0xF9, 0xBA, 0xCE, 0x11, 0x8C, 0x82, 0x00, 0xAA, 0x00, 0x4B, 0xA9, 0x0B,
];

/// Returns where a hyperlink object leads ([MS-OSHARED] §2.3.7.1).
pub(super) fn hyperlink(data: &[u8]) -> Option<String> {
    let flags = u32_at(data, 4)?;
    let mut rest = data.get(8..)?;
    if flags & 0x10 != 0 {
        rest = counted(rest)?.1;
    }
    if flags & 0x80 != 0 {
        rest = counted(rest)?.1;
    }
    let mut url = String::new();
    if flags & 0x101 == 0x101 {
        let (text, after) = counted(rest)?;
        (url, rest) = (text, after);
    } else if flags & 1 != 0 {
        let kind = rest.get(..16)?;
        if kind == URL_MONIKER {
            let length = u32_at(rest, 16)? as usize;
            let bytes = rest.get(20..20usize.checked_add(length)?)?;
            url = until_nul(&codepage::decode(1200, bytes));
            rest = &rest[20 + length..];
        } else {
            // The address of a file: its short name is enough, what follows it is not looked for.
            let length = u32_at(rest, 18)? as usize;
            let bytes = rest.get(22..22usize.checked_add(length)?)?;
            return Some(until_nul(&codepage::decode(WESTERN, bytes)));
        }
    }
    if flags & 8 != 0
        && let Some((place, _)) = counted(rest)
    {
        url.push('#');
        url.push_str(&place);
    }
    (!url.is_empty()).then_some(url)
}

/// Returns a text whose number of characters comes first, and what follows it.
fn counted(data: &[u8]) -> Option<(String, &[u8])> {
    let bytes = (u32_at(data, 0)? as usize).checked_mul(2)?;
    let text = data.get(4..4usize.checked_add(bytes)?)?;
    Some((until_nul(&codepage::decode(1200, text)), &data[4 + bytes..]))
}

fn until_nul(text: &str) -> String {
    text.split('\0').next().unwrap_or_default().to_owned()
}
