//! Compressed RTF, in which Outlook keeps formatted text (MS-OXRTFCP).

use crate::ExtractError;
use crate::reading::Reading;

/// What the dictionary holds before the first byte.
const DICTIONARY: &[u8] = b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \
\\fmodern \\fscript \\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\
\r\n\\par \\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx";

const DICTIONARY_SIZE: usize = 4096;

const HEADER_SIZE: usize = 16;

/// Returns the RTF. What is cut off is read as far as it goes.
///
/// # Errors
///
/// `damaged` if it is neither compressed nor plain as the header says, `bomb` if it is too much.
pub(super) fn rtf(bytes: &[u8], reading: &mut Reading<'_>) -> Result<Vec<u8>, ExtractError> {
    let Some((header, data)) = bytes.split_at_checked(HEADER_SIZE) else {
        return Err(ExtractError::damaged("the formatted text has no header"));
    };
    let rtf = match &header[8..12] {
        b"LZFu" => unpacked(data),
        b"MELA" => data.to_vec(),
        _ => {
            return Err(ExtractError::damaged(
                "the formatted text is packed in no known way",
            ));
        }
    };
    reading.unpacked(rtf.len() as u64)?;
    Ok(rtf)
}

/// A reference is two bytes and stands for seventeen at most, so that this stays in proportion.
fn unpacked(data: &[u8]) -> Vec<u8> {
    let mut dictionary = [b' '; DICTIONARY_SIZE];
    dictionary[..DICTIONARY.len()].copy_from_slice(DICTIONARY);
    let mut write = DICTIONARY.len();
    let mut unpacked = Vec::new();
    let mut bytes = data.iter().copied();
    while let Some(control) = bytes.next() {
        for bit in 0..8 {
            if control >> bit & 1 == 0 {
                let Some(byte) = bytes.next() else {
                    return unpacked;
                };
                dictionary[write] = byte;
                write = (write + 1) % DICTIONARY_SIZE;
                unpacked.push(byte);
                continue;
            }
            let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else {
                return unpacked;
            };
            let offset = usize::from(high) << 4 | usize::from(low >> 4);
            if offset == write {
                return unpacked;
            }
            for step in 0..usize::from(low & 0xF) + 2 {
                let byte = dictionary[(offset + step) % DICTIONARY_SIZE];
                dictionary[write] = byte;
                write = (write + 1) % DICTIONARY_SIZE;
                unpacked.push(byte);
            }
        }
    }
    unpacked
}

#[cfg(test)]
mod tests {
    use super::rtf;
    use crate::Limits;
    use crate::reading::Reading;

    #[test]
    fn examples_of_the_specification_are_unpacked() {
        // MS-OXRTFCP 4.1 and 4.2.
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 100);
        let packed = b"\x2d\0\0\0\x2b\0\0\0LZFu\xf1\xc5\xc7\xa7\x03\0\x0a\0rcpg125\x42\x32\x0a\xf3 hel\x09\0 bw\x05\xb0ld}\x0a\x80\x0f\xa0";
        let text = rtf(packed, &mut reading).unwrap();
        assert_eq!(text, b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n");
        let crossing =
            b"\x1a\0\0\0\x1c\0\0\0LZFu\xe2\xd4\x4b\x51\x41\0\x04\x20WXYZ\x0d\x6e\x7d\x01\x0e\xb0";
        let text = rtf(crossing, &mut reading).unwrap();
        assert_eq!(text, b"{\\rtf1 WXYZWXYZWXYZWXYZWXYZ}");
        assert!(rtf(b"short", &mut reading).is_err());
    }
}
