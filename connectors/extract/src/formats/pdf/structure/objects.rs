//! The objects of a file, those of object streams included that only programs since PDF 1.5 are to see (§7.5.8.4).
//!
//! Office programs hide the structure of their documents in such streams, and the parser passes over them.

use std::collections::HashMap;

use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::tokenizer::parse_object;
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream, RawDocument};

use super::super::nesting::Nesting;
use super::Id;

/// Object streams of a file.
const MOST_STREAMS: usize = 20_000;

/// Bytes before the type of a stream within which its object begins.
const HEAD: usize = 1024;

/// Bytes of object streams, unpacked.
const MOST_BYTES: usize = 128 << 20;

/// References to references.
const MOST_STEPS: usize = 10;

/// Returns the objects that the parser has not found, if the file has any.
pub(super) fn hidden(file: &RawDocument, bytes: &[u8]) -> HashMap<Id, PdfObject> {
    let mut objects = HashMap::new();
    if file.trailer().get(&b"XRefStm"[..]).is_none() {
        return objects;
    }
    let mut left = MOST_BYTES;
    for at in memchr::memmem::find_iter(bytes, b"/ObjStm").take(MOST_STREAMS) {
        let Some(object) = object_around(bytes, at) else {
            continue;
        };
        let Some(stream) = object.as_stream() else {
            continue;
        };
        let Some(unpacked) = decompress(stream).ok().filter(|bytes| bytes.len() <= left) else {
            continue;
        };
        left -= unpacked.len();
        // Later ones replace those before them.
        for (id, object) in within(stream, &unpacked) {
            if file.get_object(id).is_none() {
                objects.insert(id, object);
            }
        }
    }
    objects
}

/// Returns the object in whose dictionary a place is.
fn object_around(bytes: &[u8], at: usize) -> Option<PdfObject> {
    let from = at.saturating_sub(HEAD);
    let dict = from + memchr::memmem::rfind(&bytes[from..at], b"obj")? + b"obj".len();
    let is_head = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_whitespace();
    let head = &bytes[from..dict - b"obj".len()];
    let numbers = head.iter().rev().take_while(|byte| is_head(byte)).count();
    let head = &head[head.len() - numbers..];
    let blank = head
        .iter()
        .take_while(|byte| byte.is_ascii_whitespace())
        .count();
    let start = dict - b"obj".len() - numbers + blank;
    Nesting::of(bytes).follow(start).ok()?;
    Some(parse_object(bytes, start).ok()?.0)
}

/// Returns the objects within an object stream (§7.5.7).
fn within<'b>(stream: &PdfStream, bytes: &'b [u8]) -> impl Iterator<Item = (Id, PdfObject)> + 'b {
    let number = |name: &[u8]| {
        let number = stream.dict.get(name).and_then(PdfObject::as_i64);
        number
            .and_then(|number| usize::try_from(number).ok())
            .unwrap_or(0)
    };
    let (count, first) = (number(b"N"), number(b"First"));
    let head = bytes.get(..first).unwrap_or_default();
    let mut numbers = head
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map_while(|word| std::str::from_utf8(word).ok()?.parse::<u32>().ok());
    let places = std::iter::from_fn(move || Some((numbers.next()?, numbers.next()?)));
    let mut nesting = Nesting::of(bytes);
    places.take(count).filter_map(move |(number, place)| {
        let at = first.checked_add(usize::try_from(place).ok()?)?;
        nesting.follow(at).ok()?;
        Some(((number, 0), parse_object(bytes, at).ok()?.0))
    })
}

/// All objects of a file.
#[derive(Clone, Copy)]
pub(super) struct Objects<'d> {
    pub(super) file: &'d RawDocument,
    pub(super) hidden: &'d HashMap<Id, PdfObject>,
}

impl<'d> Objects<'d> {
    /// Returns what an object is, wherever it stands in the file.
    pub(super) fn resolve(self, object: &'d PdfObject) -> &'d PdfObject {
        let mut object = object;
        for _ in 0..MOST_STEPS {
            let Some(id) = object.as_reference() else {
                break;
            };
            let found = self.file.get_object(id).or_else(|| self.hidden.get(&id));
            match found {
                Some(found) => object = found,
                None => break,
            }
        }
        object
    }

    /// Returns what an entry of a dictionary is.
    pub(super) fn entry(self, dict: &'d PdfDict, name: &[u8]) -> Option<&'d PdfObject> {
        dict.get(name).map(|value| self.resolve(value))
    }
}
