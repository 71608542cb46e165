//! The objects of a file, those of object streams included that only programs since PDF 1.5 are to see (§7.5.8.4).
//!
//! Office programs hide the structure of their documents in such streams, and the parser passes over them.

use std::collections::{HashMap, HashSet};

use unpdf::parser::raw::stream::decompress;
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
    let mut nesting = Nesting::of(bytes);
    let starts = memchr::memmem::find_iter(bytes, b"/ObjStm").take(MOST_STREAMS);
    let starts = starts.filter_map(|at| object_around(bytes, at));
    let mut known = HashSet::new();
    for start in starts.filter(|start| known.insert(*start)) {
        // What is too much once is too much from there on.
        let Ok(stream) = nesting.stream(start) else {
            break;
        };
        let Some((stream, unpacked)) = stream.and_then(|stream| {
            let unpacked = decompress(&stream).ok()?;
            Some((stream, unpacked))
        }) else {
            continue;
        };
        let Some(rest) = left.checked_sub(unpacked.len()) else {
            break;
        };
        left = rest;
        // Later ones replace those before them.
        for (id, object) in within(&stream, &unpacked) {
            if file.get_object(id).is_none() {
                objects.insert(id, object);
            }
        }
    }
    objects
}

/// Returns where the object begins in whose dictionary a place is.
fn object_around(bytes: &[u8], at: usize) -> Option<usize> {
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
    Some(dict - b"obj".len() - numbers + blank)
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
        let (object, _) = nesting.object(at).ok()??;
        Some(((number, 0), object))
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use unpdf::parser::raw::{PdfObject, RawDocument};

    use super::hidden;

    #[test]
    fn object_stream_is_read_once_however_often_it_says_what_it_is() {
        let objects = "7 0 (a) ".to_owned() + &" ".repeat(1 << 20);
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        packed.write_all(objects.as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        let catalog = "%PDF-1.5\n1 0 obj <</Type/Catalog>> endobj\n";
        // 200 times a mebibyte would be more than is read.
        let head = format!(
            "5 0 obj <</A[{}]/N 1/First 4/Filter/FlateDecode/Length {}>>stream\n",
            "/ObjStm".repeat(140),
            packed.len()
        );
        let second =
            "6 0 obj <</Type/ObjStm/N 1/First 4/Length 7>>stream\n8 0 (b)\nendstream endobj\n";
        let table = format!(
            "xref\n1 1\n{:010} 00000 n \ntrailer <</Root 1 0 R/XRefStm 0>>\nstartxref\n",
            catalog.len() - 34
        );
        let before = [
            catalog.as_bytes(),
            head.as_bytes(),
            &packed,
            b"\nendstream endobj\n",
            second.as_bytes(),
        ]
        .concat();
        let end = format!("{table}{}\n%%EOF", before.len());
        let bytes = [before, end.into_bytes()].concat();
        let file = RawDocument::load(&bytes).unwrap();
        let found = hidden(&file, &bytes);
        assert_eq!(found.get(&(7, 0)), Some(&PdfObject::Str(b"a".to_vec())));
        assert_eq!(found.get(&(8, 0)), Some(&PdfObject::Str(b"b".to_vec())));
    }
}
