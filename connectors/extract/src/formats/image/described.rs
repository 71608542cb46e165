//! What a picture says about itself: its description and its title.
//!
//! Four places may have them: EXIF, XMP, IPTC, and the texts of PNG. When and with which camera a picture was
//! taken is no content.

use std::io::Cursor;

use exif::{In, Reader, Tag, Value};
use roxmltree::Document;

use crate::elements::VALUE_BYTES;
use crate::{decode, xml};

/// Words for a picture.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Described {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
}

/// Returns the words that the head of a raster picture has for it.
pub(super) fn described(head: &[u8]) -> Described {
    let exif = exif(head);
    let tag = |tag| text_of(&exif.as_ref()?.get_field(tag, In::PRIMARY)?.value);
    let packet = packet(head);
    let tree = packet
        .as_deref()
        .and_then(|packet| Document::parse(packet).ok());
    let property = |name| property(tree.as_ref()?, name);
    let description = tag(Tag::ImageDescription)
        .or_else(|| property("description"))
        .or_else(|| caption(head))
        .or_else(|| png_text(head, "Description"))
        .or_else(|| {
            comment(
                &exif
                    .as_ref()?
                    .get_field(Tag::UserComment, In::PRIMARY)?
                    .value,
            )
        });
    Described {
        title: property("title").or_else(|| png_text(head, "Title")),
        description,
    }
}

fn exif(head: &[u8]) -> Option<exif::Exif> {
    let mut reader = Reader::new();
    reader.continue_on_error(true);
    let read = reader.read_from_container(&mut Cursor::new(head));
    read.or_else(|error| error.distill_partial_result(|_| {}))
        .ok()
}

fn text_of(value: &Value) -> Option<String> {
    let Value::Ascii(parts) = value else {
        return None;
    };
    words(&parts.join(&b"\n"[..]))
}

/// Returns a comment of EXIF, which begins with the name of its encoding (§4.6.5, UserComment).
fn comment(value: &Value) -> Option<String> {
    let Value::Undefined(bytes, _) = value else {
        return None;
    };
    match bytes.split_at_checked(8)? {
        (b"ASCII\0\0\0" | b"\0\0\0\0\0\0\0\0", text) => words(text),
        (b"UNICODE\0", text) => {
            // Which byte comes first is not said; letters of Latin tell.
            let is_little =
                text.chunks_exact(2).filter(|pair| pair[1] == 0).count() * 4 > text.len();
            let encoding = match is_little {
                true => encoding_rs::UTF_16LE,
                false => encoding_rs::UTF_16BE,
            };
            words(encoding.decode(text).0.as_bytes())
        }
        _ => None,
    }
}

/// Returns a text if it is one, without the zeros and spaces that fields are filled up with.
fn words(bytes: &[u8]) -> Option<String> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => encoding_rs::WINDOWS_1252.decode(bytes).0.into_owned(),
    };
    let text = text.trim_matches(|character: char| character.is_whitespace() || character == '\0');
    let is_binary = text
        .chars()
        .any(|character| character.is_control() && !matches!(character, '\n' | '\r' | '\t'));
    let is_value = (1..=VALUE_BYTES).contains(&text.len()) && !is_binary;
    is_value.then(|| decode::unified_line_ends(text.into()).into_owned())
}

/// Returns the packet of XMP, wherever the format keeps it (ISO 16684-1 §7).
fn packet(head: &[u8]) -> Option<String> {
    let start = memchr::memmem::find(head, b"<x:xmpmeta")?;
    let end = memchr::memmem::find(&head[start..], b"</x:xmpmeta>")?;
    let packet = &head[start..start + end + b"</x:xmpmeta>".len()];
    // The parser goes as deep as the text does.
    let is_shallow = memchr::memchr_iter(b'<', packet).count() < 10_000;
    let text = std::str::from_utf8(packet).ok().filter(|_| is_shallow)?;
    Some(text.to_owned())
}

/// Returns the first value of a property of Dublin Core.
fn property(tree: &Document<'_>, name: &str) -> Option<String> {
    let node = tree.descendants().find(|node| {
        let is_core = node.tag_name().namespace() == Some("http://purl.org/dc/elements/1.1/");
        is_core && node.tag_name().name() == name
    })?;
    let item = node.descendants().find(|item| xml::is(*item, "li"));
    words(item.unwrap_or(node).text()?.as_bytes())
}

/// Returns the caption of IPTC (IIM 2:120), which JPEG and TIFF keep among the resources of Photoshop.
fn caption(head: &[u8]) -> Option<String> {
    let start = memchr::memmem::find(head, b"8BIM\x04\x04")?;
    let resources = &head[start..head.len().min(start + (64 << 10))];
    let at = memchr::memmem::find(resources, b"\x1C\x02\x78")? + 3;
    let length = resources.get(at..at + 2)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    words(resources.get(at + 2..at + 2 + length)?)
}

/// Returns a text of PNG that is not packed, by its keyword (PNG §11.3.3).
fn png_text(head: &[u8], keyword: &str) -> Option<String> {
    let mut rest = head.strip_prefix(b"\x89PNG\r\n\x1A\n")?;
    loop {
        let (header, after) = rest.split_at_checked(8)?;
        let length = u32::from_be_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let data = after.get(..length)?;
        let text = data
            .strip_prefix(keyword.as_bytes())
            .and_then(|data| data.strip_prefix(b"\0"));
        match (&header[4..], text) {
            (b"tEXt", Some(text)) => {
                return words(encoding_rs::WINDOWS_1252.decode(text).0.as_bytes());
            }
            (b"iTXt", Some([0, _, text @ ..])) => {
                // Language and translated keyword come before the text.
                let mut parts = text.splitn(3, |byte| *byte == 0);
                return words(parts.nth(2)?);
            }
            (b"IEND", _) => return None,
            _ => rest = after.get(length + 4..)?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{caption, png_text, words};

    fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
        let length = (data.len() as u32).to_be_bytes();
        [&length[..], kind, data, b"CRC!"].concat()
    }

    #[test]
    fn texts_of_png_are_found_by_their_keywords() {
        let png = [
            b"\x89PNG\r\n\x1A\n".to_vec(),
            chunk(b"IHDR", &[0; 13]),
            chunk(b"tEXt", b"Title\0caf\xE9"),
            chunk(
                b"iTXt",
                "Description\0\0\0de\0Beschreibung\0Größe".as_bytes(),
            ),
            chunk(b"IEND", b""),
        ]
        .concat();
        assert_eq!(png_text(&png, "Title").unwrap(), "café");
        assert_eq!(png_text(&png, "Description").unwrap(), "Größe");
        assert_eq!(png_text(&png, "Author"), None);
        for end in 0..png.len() {
            png_text(&png[..end], "Description");
        }
    }

    #[test]
    fn caption_is_found_among_the_resources() {
        let jpeg = b"..8BIM\x04\x04\0\0\0\0\0\x10\x1C\x02\x05\0\x01t\x1C\x02\x78\0\x03cap";
        assert_eq!(caption(jpeg).unwrap(), "cap");
        assert_eq!(caption(&jpeg[..jpeg.len() - 1]), None);
    }

    #[test]
    fn fillers_and_bytes_are_no_words() {
        assert_eq!(words(b"a b   \0\0").unwrap(), "a b");
        assert_eq!(words(b"  \0"), None);
        assert_eq!(words(b"a\x01b"), None);
    }
}
