//! The pictures a file paints: which, on which page, and their bytes.
//!
//! JPEG and JPEG 2000 stay what they are; samples become PNG ([`super::samples`]). Each picture comes
//! once, on the first page that paints it: a logo on every page is no content of every page. Where on a
//! page it stands is not looked at.

use std::collections::HashSet;

use dpe_connector::content::{BlobSource, Category, Element};
use unpdf::parser::raw::stream::{Decoded, decode_image, decompress};
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream, RawDocument};

use super::content::is_space;
use super::drawn;
use super::facts::entry;
use super::samples::{self, Samples};
use crate::ExtractError;
use crate::reading::Reading;

/// The number and generation of an object.
type Id = (u32, u16);

/// A picture with a side of fewer pixels is a rule, a shade or a dot.
const LEAST_SIDE: usize = 8;

/// The most pixels of a picture: twelve pages of a newspaper.
const MOST_PIXELS: usize = 200 << 20;

/// The most bytes of samples of all pictures that have to be written anew: five hundred scans of A4 in
/// black and white at 600 dots per inch.
const MOST_SAMPLES: usize = 2 << 30;

/// A name with its escapes is no longer (annex C.2 has 127 bytes).
const MOST_NAME: usize = 400;

/// Forms within forms within forms.
const MOST_FORMS: usize = 12;

/// Bytes of the content of a page, which is too heavy to be laid out long before; one stream may be named again and
/// again. What cannot be unpacked has cost as much as this.
const MOST_CONTENT: usize = 96 << 20;
const LOST_PART: usize = 1 << 20;

/// Pictures drawn within the content of a page have to be larger to be more than signs, and more of them are the
/// tiles of one.
const LEAST_DRAWN_SIDE: usize = 16;
const MOST_DRAWN: usize = 64;

/// What has been looked at by now.
pub(super) struct Pictures<'d> {
    file: &'d RawDocument,
    seen: HashSet<Id>,
    /// The blobs of those that are drawn within pages.
    drawn: HashSet<String>,
    samples: usize,
}

/// A picture that is painted.
enum Painted {
    Object(Id),
    Drawn(PdfStream),
}

impl<'d> Pictures<'d> {
    pub(super) fn new(file: &'d RawDocument) -> Self {
        Self {
            file,
            seen: HashSet::new(),
            drawn: HashSet::new(),
            samples: 0,
        }
    }

    /// Returns the pictures that a page, whose content is given, paints and no page before it.
    ///
    /// # Errors
    ///
    /// `bomb` if they are larger than is taken.
    pub(super) fn of_page(
        &mut self,
        page: &'d PdfDict,
        content: &[u8],
        reading: &mut Reading<'_>,
    ) -> Result<Vec<Element>, ExtractError> {
        let mut painted = Vec::new();
        self.walk(content, resources(self.file, page), 0, &mut painted);
        let mut elements = Vec::new();
        for picture in painted {
            let found = match &picture {
                Painted::Object(id) => {
                    let stream = self.file.get_object(*id).and_then(PdfObject::as_stream);
                    stream.and_then(|stream| self.bytes(stream, LEAST_SIDE))
                }
                Painted::Drawn(stream) => self.bytes(stream, LEAST_DRAWN_SIDE),
            };
            let Some((bytes, mime_type)) = found else {
                reading.note("pictures in a coding or of a size that is not read are left out");
                continue;
            };
            if bytes.is_empty() {
                continue;
            }
            reading.unpacked(bytes.len() as u64)?;
            let blob = reading.blob(bytes);
            if let (Painted::Drawn(_), BlobSource::Handle { handle, .. }) = (&picture, &blob)
                && !self.drawn.insert(handle.clone())
            {
                continue;
            }
            elements.push(Element {
                blob: Some(blob),
                mime_type: Some(mime_type.to_owned()),
                ..Element::empty(Category::Image)
            });
        }
        Ok(elements)
    }

    fn walk(
        &mut self,
        content: &[u8],
        resources: Option<&'d PdfDict>,
        depth: usize,
        images: &mut Vec<Painted>,
    ) {
        let file = self.file;
        let room = MOST_DRAWN.saturating_sub(images.len());
        let drawn = drawn::pictures(content).filter(|stream| !is_mask(stream));
        images.extend(drawn.take(room).map(|mut stream| {
            name_colours(file, resources, &mut stream);
            Painted::Drawn(stream)
        }));
        let objects = resources
            .and_then(|resources| entry(file, resources, b"XObject"))
            .and_then(PdfObject::as_dict);
        let Some(objects) = objects else { return };
        for name in painted_names(content) {
            let id = objects.get(&name).and_then(PdfObject::as_reference);
            let Some(id) = id.filter(|id| !self.seen.contains(id)) else {
                continue;
            };
            let object = file.get_object(id).map(|object| file.resolve(object));
            let Some(stream) = object.and_then(PdfObject::as_stream) else {
                continue;
            };
            self.seen.insert(id);
            match entry(file, &stream.dict, b"Subtype").and_then(PdfObject::as_name) {
                Some(b"Image") => images.push(Painted::Object(id)),
                Some(b"Form") if depth < MOST_FORMS => {
                    let own = entry(file, &stream.dict, b"Resources").and_then(PdfObject::as_dict);
                    let content = decompress(stream).unwrap_or_default();
                    self.walk(&content, own.or(resources), depth + 1, images);
                }
                _ => {}
            }
        }
    }

    /// Returns the bytes of a picture and their media type; no bytes if it is too small to be one.
    fn bytes(&mut self, stream: &PdfStream, least_side: usize) -> Option<(Vec<u8>, &'static str)> {
        let size = |name: &[u8]| {
            let value = entry(self.file, &stream.dict, name)?.as_i64()?;
            usize::try_from(value).ok()
        };
        let (width, height) = (size(b"Width")?, size(b"Height")?);
        if width.min(height) < least_side {
            return Some((Vec::new(), ""));
        }
        let pixels = width
            .checked_mul(height)
            .filter(|pixels| *pixels <= MOST_PIXELS)?;
        let bits = size(b"BitsPerComponent").unwrap_or(1).clamp(1, 16);
        let expected = pixels.saturating_mul(bits * 4).div_ceil(8) + height;
        let Decoded { data, codec } = decode_image(stream, expected as u64).ok()?;
        match codec {
            Some("DCTDecode") => return Some((data, "image/jpeg")),
            Some("JPXDecode") => return Some((data, "image/jp2")),
            _ => {}
        }
        if self.samples > MOST_SAMPLES {
            return None;
        }
        let samples = Samples {
            data,
            codec,
            width,
            height,
        };
        let decoded = samples.data.len();
        let png = samples::png(self.file, &stream.dict, samples);
        let written = png.as_ref().map_or(0, |png| png.samples);
        self.samples = self.samples.saturating_add(written.max(decoded));
        Some((png?.bytes, "image/png"))
    }
}

fn is_mask(stream: &PdfStream) -> bool {
    stream.dict.get(&b"ImageMask"[..]) == Some(&PdfObject::Bool(true))
}

/// Replaces the name of a colour space by what the resources have under it.
fn name_colours(file: &RawDocument, resources: Option<&PdfDict>, stream: &mut PdfStream) {
    let named = || {
        let name = stream.dict.get(&b"ColorSpace"[..])?.as_name()?;
        let spaces = entry(file, resources?, b"ColorSpace")?.as_dict()?;
        Some(entry(file, spaces, name)?.clone())
    };
    if let Some(space) = named() {
        stream.dict.insert(b"ColorSpace".to_vec(), space);
    }
}

/// Returns the resources of a page: its own, or those of the nearest node above.
pub(super) fn resources<'d>(file: &'d RawDocument, page: &'d PdfDict) -> Option<&'d PdfDict> {
    let mut node = page;
    for _ in 0..64 {
        if let Some(resources) = entry(file, node, b"Resources") {
            return resources.as_dict();
        }
        node = entry(file, node, b"Parent")?.as_dict()?;
    }
    None
}

/// Returns the content of a page, as far as it can be unpacked and is not more than anybody writes.
pub(super) fn content(file: &RawDocument, page: &PdfDict) -> Vec<u8> {
    let parts = match entry(file, page, b"Contents") {
        Some(PdfObject::Array(parts)) => parts.as_slice(),
        Some(part) => std::slice::from_ref(part),
        None => &[],
    };
    let mut content = Vec::new();
    let mut lost = 0;
    for part in parts {
        if content.len() + lost > MOST_CONTENT {
            break;
        }
        match file.resolve(part).as_stream().map(decompress) {
            Some(Ok(unpacked)) => content.extend(unpacked),
            Some(Err(_)) => lost += LOST_PART,
            None => {}
        }
        content.push(b'\n');
    }
    content
}

/// Returns the names that a content stream paints, in order: each `/Name Do`.
pub(super) fn painted_names(content: &[u8]) -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    for at in memchr::memmem::find_iter(content, b"Do") {
        let ends = content
            .get(at + 2)
            .is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if !ends {
            continue;
        }
        let near = &content[at.saturating_sub(MOST_NAME)..at];
        let before = near.trim_ascii_end();
        let start = before
            .iter()
            .rposition(|byte| is_space(*byte) || *byte == b'/');
        let Some(start) = start.filter(|start| before[*start] == b'/') else {
            continue;
        };
        if before.len() < near.len() {
            names.push(unescaped(&before[start + 1..]));
        }
    }
    names
}

/// Undoes `#` escapes in a name (§7.3.5).
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let Some((byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (byte, digit(0), digit(1)) {
            (b'#', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use unpdf::parser::raw::RawDocument;

    use super::{LEAST_SIDE, MOST_NAME, MOST_SAMPLES, Pictures, painted_names};

    #[test]
    fn names_before_do_are_painted() {
        let content = b"q 1 0 0 1 0 0 cm /Im1 Do Q\n/A#42 \n Do (Do) Tj /Font1 Does /X Do";
        let names = painted_names(content);
        assert_eq!(names, [&b"Im1"[..], b"AB", b"X"]);
    }

    #[test]
    fn name_without_end_is_none_and_is_not_looked_for_further_than_names_go() {
        let content = format!("/{} Do", "a".repeat(MOST_NAME));
        assert!(painted_names(content.as_bytes()).is_empty());
    }

    #[test]
    fn scans_in_black_and_white_count_what_they_decode_to() {
        // A4 at 600 dots per inch.
        let (width, height) = (4960, 7016);
        let samples = vec![0xFF; width / 8 * height];
        let head = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog>> endobj\n2 0 obj <</Subtype/Image/Width {width}\
            /Height {height}/BitsPerComponent 1/ColorSpace/DeviceGray/Length {}>>stream\n",
            samples.len()
        );
        let file = [head.as_bytes(), &samples, b"\nendstream endobj\n"].concat();
        let file = RawDocument::load(&file).unwrap();
        let mut pictures = Pictures::new(&file);
        let scan = file.get_object((2, 0)).unwrap().as_stream().unwrap();
        assert_eq!(pictures.bytes(scan, LEAST_SIDE).unwrap().1, "image/png");
        assert_eq!(pictures.samples, samples.len());
        assert!(pictures.samples * 300 < MOST_SAMPLES);
    }
}
