//! What a file would unpack to, looked at before the parser of pages unpacks it.
//!
//! That parser keeps every operation of a page in memory, and follows objects within objects without a bound.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use flate2::read::ZlibDecoder;
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream, RawDocument};

use super::facts::entry;
use super::images::{content, painted_names, resources};
use crate::ExtractError;
use crate::reading::Reading;
use crate::reason::Reason;

/// Objects within objects; what programs write stays below ten.
const MOST_DEPTH: usize = 100;

/// What the objects of one stream come to; programs write a hundred or so into each.
const MOST_OBJECT_BYTES: u64 = 64 << 20;

/// A stream of a page that unpacks to this, and to so many times itself, is no page.
const SUSPICIOUS_BYTES: u64 = 16 << 20;
const SUSPICIOUS_RATIO: u64 = 100;

/// Content of one page in bytes, with the forms in it, from which on it is not laid out.
pub(super) const HEAVY: u64 = 24 << 20;

const MOST_FORMS: usize = 12;

/// Looks how deep objects are nested in the file as it stands, and in the streams that hold objects.
///
/// # Errors
///
/// `bomb` if deeper than parsers go, or if such a stream is out of proportion.
pub(super) fn check_depth(bytes: &[u8]) -> Result<(), ExtractError> {
    check_nesting(bytes)?;
    for at in memchr::memmem::find_iter(bytes, b"/ObjStm") {
        let rest = &bytes[at..];
        let Some(start) = memchr::memmem::find(rest, b"stream") else {
            continue;
        };
        let packed = rest[start + b"stream".len()..].trim_ascii_start();
        let mut objects = Vec::new();
        // What cannot be unpacked (it is encrypted, or damaged) is as far as it goes.
        let _ = ZlibDecoder::new(packed)
            .take(MOST_OBJECT_BYTES + 1)
            .read_to_end(&mut objects);
        if objects.len() as u64 > MOST_OBJECT_BYTES {
            let message =
                format!("a stream of objects unpacks to more than {MOST_OBJECT_BYTES} bytes");
            return Err(ExtractError::new(Reason::Bomb, message));
        }
        check_nesting(&objects)?;
    }
    Ok(())
}

fn check_nesting(bytes: &[u8]) -> Result<(), ExtractError> {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(next) = memchr::memchr3(b'[', b'<', b'e', &bytes[at..]).map(|next| next + at) {
        // Closing brackets between two opening ones.
        let closed = memchr::memchr2_iter(b']', b'>', &bytes[at..next]).count();
        depth = depth.saturating_sub(closed);
        at = next + 1;
        match &bytes[next..] {
            [b'e', b'n', b'd', b'o', b'b', b'j', ..] => depth = 0,
            [b'e', ..] => {}
            _ => depth += 1,
        }
        if depth > MOST_DEPTH {
            if is_nested(&bytes[..at]) {
                let message = format!("objects nested more than {MOST_DEPTH} deep");
                return Err(ExtractError::new(Reason::Bomb, message));
            }
            let end = memchr::memmem::find(&bytes[at..], b"endstream");
            at = end.map_or(bytes.len(), |end| at + end);
            depth = 0;
        }
    }
    Ok(())
}

/// Whether what ends here is an object, and not the bytes of a stream.
fn is_nested(bytes: &[u8]) -> bool {
    let start = memchr::memmem::rfind(bytes, b"obj").unwrap_or(0);
    memchr::memmem::find(&bytes[start..], b"stream").is_none()
}

/// Unpacks all streams that are no pictures, and keeps nothing of them.
///
/// # Errors
///
/// `bomb` if they are out of proportion.
pub(super) fn check_streams(
    bytes: &[u8],
    file: &RawDocument,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    // Streams stand in the file as they are, each behind its number; tables of numbers may lie.
    let mut known = HashSet::new();
    for id in memchr::memmem::find_iter(bytes, b"obj").filter_map(|at| id_before(&bytes[..at])) {
        let stream = file.get_object(id).and_then(PdfObject::as_stream);
        let Some(stream) = stream.filter(|stream| !is_picture(file, stream)) else {
            continue;
        };
        if !known.insert(id) {
            continue;
        }
        let unpacked = unpacked_size(file, stream);
        let packed = stream.raw_data.len() as u64;
        if unpacked > SUSPICIOUS_BYTES && unpacked / SUSPICIOUS_RATIO > packed {
            let message = format!("a stream of {packed} bytes unpacks to more than {unpacked}");
            return Err(ExtractError::new(Reason::Bomb, message));
        }
        reading.unpacked(unpacked.saturating_sub(packed))?;
    }
    Ok(())
}

/// Returns the number and generation that stand before `obj`.
fn id_before(bytes: &[u8]) -> Option<(u32, u16)> {
    let (rest, generation) = last_number(bytes)?;
    let (_, number) = last_number(rest)?;
    Some((number.parse().ok()?, generation.parse().ok()?))
}

fn last_number(bytes: &[u8]) -> Option<(&[u8], &str)> {
    let bytes = bytes.trim_ascii_end();
    let digits = bytes
        .iter()
        .rev()
        .take(10)
        .take_while(|byte| byte.is_ascii_digit());
    let (rest, number) = bytes.split_at(bytes.len() - digits.count());
    Some((rest, std::str::from_utf8(number).ok()?))
}

fn is_picture(file: &RawDocument, stream: &PdfStream) -> bool {
    let kind = entry(file, &stream.dict, b"Subtype").and_then(PdfObject::as_name);
    kind == Some(b"Image")
}

/// Returns what a stream unpacks to, in bytes, up to a gibibyte; of other packings than Flate what it is packed.
fn unpacked_size(file: &RawDocument, stream: &PdfStream) -> u64 {
    let filters = match entry(file, &stream.dict, b"Filter") {
        Some(PdfObject::Array(filters)) => filters.as_slice(),
        Some(filter) => std::slice::from_ref(filter),
        None => &[],
    };
    let is_flate = |filter: &&PdfObject| {
        matches!(file.resolve(filter).as_name(), Some(b"FlateDecode" | b"Fl"))
    };
    let layers = filters.iter().take_while(is_flate).take(4).count();
    let mut reader: Box<dyn Read + '_> = Box::new(stream.raw_data.as_slice());
    for _ in 0..layers {
        reader = Box::new(ZlibDecoder::new(reader));
    }
    count(reader.take(1 << 30))
}

fn count(mut reader: impl Read) -> u64 {
    let mut buffer = vec![0; 64 << 10];
    let mut all = 0;
    // What is damaged ends where it is damaged.
    while let Ok(read) = read(&mut reader, &mut buffer)
        && read > 0
    {
        all += read as u64;
    }
    all
}

fn read(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    reader.read(buffer)
}

/// How many bytes of operations pages come to, their forms painted as often as they are.
pub(super) struct Weights<'d> {
    file: &'d RawDocument,
    forms: HashMap<(u32, u16), u64>,
}

impl<'d> Weights<'d> {
    pub(super) fn new(file: &'d RawDocument) -> Self {
        Self {
            file,
            forms: HashMap::new(),
        }
    }

    pub(super) fn of_page(&mut self, page: &'d PdfDict) -> u64 {
        let content = content(self.file, page);
        self.of_content(&content, resources(self.file, page), 0)
    }

    fn of_content(&mut self, content: &[u8], resources: Option<&'d PdfDict>, depth: usize) -> u64 {
        let mut weight = content.len() as u64;
        let file = self.file;
        let objects = resources
            .and_then(|resources| entry(file, resources, b"XObject"))
            .and_then(PdfObject::as_dict);
        let Some(objects) = objects else {
            return weight;
        };
        for name in painted_names(content) {
            let id = objects.get(&name).and_then(PdfObject::as_reference);
            weight = weight.saturating_add(id.map_or(0, |id| self.of_form(id, resources, depth)));
        }
        weight
    }

    fn of_form(&mut self, id: (u32, u16), outer: Option<&'d PdfDict>, depth: usize) -> u64 {
        if let Some(weight) = self.forms.get(&id) {
            return *weight;
        }
        // One that paints itself is painted once.
        self.forms.insert(id, 0);
        let file = self.file;
        let stream = file.get_object(id).and_then(PdfObject::as_stream);
        let Some(stream) = stream.filter(|stream| depth < MOST_FORMS && !is_picture(file, stream))
        else {
            return 0;
        };
        let own = entry(file, &stream.dict, b"Resources").and_then(PdfObject::as_dict);
        let content = decompress(stream).unwrap_or_default();
        let weight = self.of_content(&content, own.or(outer), depth + 1);
        self.forms.insert(id, weight);
        weight
    }
}

#[cfg(test)]
mod tests {
    use super::{check_depth, id_before};

    #[test]
    fn number_and_generation_stand_before_an_object() {
        assert_eq!(id_before(b"endobj\n12 0 "), Some((12, 0)));
        assert_eq!(id_before(b"12 3"), Some((12, 3)));
        assert_eq!(id_before(b" end"), None);
        assert_eq!(id_before(b""), None);
    }

    #[test]
    fn depth_is_that_of_objects_and_not_of_streams() {
        let deep = "[ ".repeat(1000);
        assert!(check_depth(format!("1 0 obj {deep}").as_bytes()).is_err());
        assert!(check_depth(format!("1 0 obj <<>> stream\n{deep}").as_bytes()).is_ok());
        assert!(
            check_depth(
                "1 0 obj [[1] [2] <</A [3]>>] endobj "
                    .repeat(1000)
                    .as_bytes()
            )
            .is_ok()
        );
        assert!(check_depth("[ 1 endobj ".repeat(1000).as_bytes()).is_ok());
    }
}
