//! Images: one `Image` element that says what kind of picture it is, how large, and in its own words what it
//! shows, with the whole input as its bytes. A drawing's words are text.
//!
//! Looks at headers only and decodes no picture.

mod described;
mod drawing;

use dpe_connector::content::{BlobSource, Category, DocumentHead, Element, Metadata};
use serde_json::Value;

use self::described::Described;
use crate::elements::{VALUE_BYTES, pieces};
use crate::flow::Flow;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, WHOLE_INPUT, pages, sniff};

/// How much of an image is looked at, in bytes, whoever reads it: what lies behind, such as the
/// directory of some large TIFFs, is not found. Colour profiles and previews of
/// photographs fit. A drawing (SVG) is read whole.
pub const IMAGE_HEAD_BYTES: usize = 1 << 20;

/// How far into an SVG its first tag is looked for.
const SVG_HEAD_BYTES: usize = 64 * 1024;

/// Reads an image. One whose header cannot be read has no dimensions and is an image all the same:
/// judging pictures is not this crate's business.
pub(crate) fn read(
    format: Format,
    mime_type: &str,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Document {
    let whole = bytes;
    let bytes = &bytes[..bytes.len().min(IMAGE_HEAD_BYTES)];
    let mut flow = Flow::of(reading.made());
    let (dimensions, described) = match format.is_read_from_head() {
        true => {
            if sniff::image(bytes).is_none() {
                let kind = format.file_type();
                reading.note(format!(
                    "it does not begin as a picture of type {kind} does"
                ));
            }
            (raster_dimensions(bytes), described::described(bytes))
        }
        false => {
            let head = &bytes[..bytes.len().min(SVG_HEAD_BYTES)];
            (svg_dimensions(head), add_texts(whole, &mut flow, reading))
        }
    };
    let description = described
        .description
        .filter(|text| pieces(text).count() == 1);
    let picture = picture(description, mime_type, dimensions);
    let mut elements = vec![picture];
    elements.extend(flow.finish().1.into_vec());
    let head = DocumentHead {
        title: described.title.filter(|title| title.len() <= VALUE_BYTES),
        ..head(format)
    };
    Document {
        head,
        pages: pages::of(elements),
    }
}

/// Returns the whole file as an element.
fn picture(
    description: Option<String>,
    mime_type: &str,
    dimensions: Option<(Value, Value)>,
) -> Element {
    let mut metadata = Metadata::new();
    if let Some((width, height)) = dimensions {
        metadata.insert("width".to_owned(), width);
        metadata.insert("height".to_owned(), height);
    }
    Element {
        text: description,
        mime_type: Some(mime_type.to_owned()),
        blob: Some(BlobSource::Handle {
            handle: WHOLE_INPUT.to_owned(),
            size: None,
        }),
        metadata,
        ..Element::empty(Category::Image)
    }
}

/// Adds the words of a drawing; one that is no XML has none.
fn add_texts(bytes: &[u8], flow: &mut Flow, reading: &mut Reading<'_>) -> Described {
    match drawing::texts(bytes, reading) {
        Ok((described, flat)) => {
            flow.paragraph(flat);
            described
        }
        Err(error) => {
            reading.note(format!("the words of the drawing were not read: {error}"));
            Described::default()
        }
    }
}

/// Width and height in pixels.
fn raster_dimensions(bytes: &[u8]) -> Option<(Value, Value)> {
    let size = imagesize::blob_size(bytes).ok()?;
    Some((size.width.into(), size.height.into()))
}

/// Width and height in user units, where the outermost tag gives both as plain numbers.
fn svg_dimensions(head: &[u8]) -> Option<(Value, Value)> {
    let start = memchr::memmem::find(head, b"<svg")?;
    let tag = &head[start..];
    let tag = std::str::from_utf8(&tag[..memchr::memchr(b'>', tag)?]).ok()?;
    Some((svg_length(tag, "width")?, svg_length(tag, "height")?))
}

fn svg_length(tag: &str, name: &str) -> Option<Value> {
    let mut rest = tag;
    loop {
        let at = rest.find(name)?;
        let begins_word = rest[..at].ends_with(|character: char| character.is_ascii_whitespace());
        rest = &rest[at + name.len()..];
        let Some(value) = rest.trim_start().strip_prefix('=').filter(|_| begins_word) else {
            continue;
        };
        let value = value.trim_start();
        let quote = value
            .chars()
            .next()
            .filter(|quote| matches!(quote, '"' | '\''))?;
        let value = value[1..].split(quote).next()?.trim();
        return number(value.strip_suffix("px").unwrap_or(value));
    }
}

fn number(text: &str) -> Option<Value> {
    if let Ok(whole) = text.parse::<u32>() {
        return Some(whole.into());
    }
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let value: f64 = text.parse().ok().filter(|_| is_plain)?;
    serde_json::Number::from_f64(value).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{IMAGE_HEAD_BYTES, svg_dimensions};
    use crate::{Input, Limits, extract};

    #[test]
    fn what_only_claims_to_be_a_picture_is_noted() {
        let notes = |bytes: &[u8]| {
            let name = b"a.gif";
            extract(&Input { name, bytes }, &Limits::default())
                .unwrap()
                .notes
        };
        assert_eq!(notes(b"GIF89a\x01\0\x01\0\0\0\0;"), Vec::<String>::new());
        let noted = notes(b"\x93\x07noise\xff\0\x11");
        assert_eq!(noted, ["it does not begin as a picture of type gif does"]);
    }

    #[test]
    fn what_lies_behind_the_head_makes_no_difference() {
        // A GIF of 5 by 4, then whatever.
        let mut bytes = b"GIF89a\x05\0\x04\0\0\0\0".to_vec();
        bytes.resize(IMAGE_HEAD_BYTES + 100, 7);
        let of = |bytes: &[u8]| {
            let input = Input {
                name: b"a.gif",
                bytes,
            };
            extract(&input, &Limits::default())
        };
        let whole = of(&bytes);
        assert_eq!(whole, of(&bytes[..IMAGE_HEAD_BYTES]));
        let metadata = &whole.unwrap().pages[0].elements[0].metadata;
        assert_eq!(json!(metadata), json!({"width": 5, "height": 4}));
    }

    #[test]
    fn svg_has_dimensions_when_its_tag_gives_plain_numbers() {
        let svg = br#"<?xml version="1.0"?><svg stroke-width="3" width="24px" height='1.5'>"#;
        assert_eq!(svg_dimensions(svg), Some((json!(24), json!(1.5))));
        assert_eq!(svg_dimensions(br#"<svg width="100%" height="2">"#), None);
        assert_eq!(svg_dimensions(br#"<svg viewBox="0 0 1 1">"#), None);
        assert_eq!(svg_dimensions(br#"<svg width=5 height=5>"#), None);
        assert_eq!(svg_dimensions(b"not a picture"), None);
    }
}
