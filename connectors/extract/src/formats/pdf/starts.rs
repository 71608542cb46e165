//! Where the parser of a file begins to read objects, looked at before it does.
//!
//! Objects stand behind their headers (`12 0 obj`), behind `trailer`, at the places that tables of references
//! name, and in streams of objects. Everything there is followed to see how deep it is; what is in other streams
//! is of no interest. The rules are those of ISO 32000-1 §7.5, as loosely as the parser takes them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::tokenizer::parse_object;
use unpdf::parser::raw::xref::{self, XrefEntry, XrefTable};
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream};

use super::content::is_space;
use super::encryption::{self, Key};
use super::nesting::Nesting;
use crate::ExtractError;
use crate::reason::Reason;

/// What the objects of one stream come to; programs write a hundred or so into each.
const MOST_OBJECT_BYTES: usize = 64 << 20;

/// What those of all streams come to, counted as often as they are named.
const MOST_OBJECT_BYTES_OF_ALL: usize = 256 << 20;

/// Bytes of a number in a stream of references; four are enough for any file.
const WIDEST_NUMBER: i64 = 8;

/// Looks how deep objects are nested wherever the parser will begin, and returns the file as it takes it.
///
/// # Errors
///
/// `bomb` if deeper than it should go, or if a stream of objects is out of proportion.
pub(super) fn checked(bytes: &[u8]) -> Result<Cow<'_, [u8]>, ExtractError> {
    let mut nesting = Nesting::of(bytes);
    for at in memchr::memmem::find_iter(bytes, b"trailer") {
        nesting.follow(at + b"trailer".len())?;
    }
    let mut packed = Vec::new();
    let mut again = HashMap::new();
    let mut check_at = |id, at, nesting: &mut Nesting<'_>| {
        if let Some(stream) = nesting.stream(at)? {
            check_references(&stream)?;
            packed.extend(objects(&stream).map(|_| (id, at)));
        }
        Ok(())
    };
    for at in memchr::memmem::find_iter(bytes, b"obj") {
        if let Some(id) = id_before(&bytes[..at]) {
            check_at(id, at + b"obj".len(), &mut nesting)?;
        }
    }
    check_chain(bytes, &mut nesting)?;
    if let Ok((table, _)) = xref::parse_xref_chain(bytes) {
        let mut entries: Vec<_> = table.entries.iter().collect();
        entries.sort_unstable_by_key(|(id, _)| **id);
        for (&id, &entry) in entries {
            if let XrefEntry::Uncompressed(at) = entry
                && !xref::object_header_at(bytes, at.min(bytes.len()), id.0, id.1)
            {
                check_at(id, at, &mut nesting)?;
            }
        }
        again = named_again(&table);
    }
    let bytes = encryption::mended(bytes)?;
    let key = Key::of(&bytes)?;
    let mut left = MOST_OBJECT_BYTES_OF_ALL;
    for (id, at) in packed {
        if let Some(stream) = nesting.stream(at)? {
            let times = 1 + again.get(&id.0).copied().unwrap_or(0);
            check_objects(id, stream, key.as_ref(), times, &mut left)?;
        }
    }
    Ok(bytes)
}

/// Returns how many numbers name objects of a stream that others have named: the parser makes as many copies.
fn named_again(table: &XrefTable) -> HashMap<u32, usize> {
    let mut known = HashSet::new();
    let mut again = HashMap::new();
    for entry in table.entries.values() {
        if let XrefEntry::Compressed(stream, index) = *entry
            && !known.insert((stream, index))
        {
            *again.entry(stream).or_insert(0) += 1;
        }
    }
    again
}

/// Returns the number and generation that stand before `obj`.
pub(super) fn id_before(bytes: &[u8]) -> Option<(u32, u16)> {
    let (rest, generation) = last_number(bytes)?;
    let (_, number) = last_number(rest)?;
    Some((number.parse().ok()?, generation.parse().ok()?))
}

fn last_number(bytes: &[u8]) -> Option<(&[u8], &str)> {
    let before = |bytes: &[u8], is_part: fn(u8) -> bool| {
        let parts = bytes.iter().rev().take_while(|byte| is_part(**byte));
        bytes.len() - parts.count()
    };
    let bytes = &bytes[..before(bytes, is_space)];
    let (rest, number) = bytes.split_at(before(bytes, |byte| byte.is_ascii_digit()));
    Some((rest, std::str::from_utf8(number).ok()?))
}

/// Follows the tables of references, each naming the place of the one before it.
fn check_chain(bytes: &[u8], nesting: &mut Nesting<'_>) -> Result<(), ExtractError> {
    let mut next = xref::find_startxref(bytes).ok();
    let mut known = HashSet::new();
    while let Some(at) = next.filter(|at| *at < bytes.len() && known.insert(*at)) {
        next = references(bytes, at, nesting)?
            .and_then(|dict| dict.get(&b"Prev"[..])?.as_i64())
            .and_then(|at| usize::try_from(at).ok());
    }
    Ok(())
}

/// Reads what the table of references at a place says of itself.
fn references(
    bytes: &[u8],
    at: usize,
    nesting: &mut Nesting<'_>,
) -> Result<Option<PdfDict>, ExtractError> {
    let spaces = bytes[at..].iter().take_while(|byte| is_space(**byte));
    let at = at + spaces.count();
    if !bytes[at..].starts_with(b"xref") {
        let stream = nesting.stream(at)?;
        if let Some(stream) = &stream {
            check_references(stream)?;
        }
        return Ok(stream.map(|stream| stream.dict));
    }
    // Between the two are numbers only.
    let numbers = memchr::memmem::find(&bytes[at..], b"trailer");
    let Some(trailer) = numbers.map(|numbers| at + numbers + b"trailer".len()) else {
        return Ok(None);
    };
    nesting.pass(trailer - at)?;
    nesting.follow(trailer)?;
    Ok(match parse_object(bytes, trailer) {
        Ok((PdfObject::Dict(dict), _)) => Some(dict),
        _ => None,
    })
}

/// Looks at a stream that may hold references, whatever it is called.
fn check_references(stream: &PdfStream) -> Result<(), ExtractError> {
    let widths = stream.dict.get(&b"W"[..]).and_then(PdfObject::as_array);
    let mut widths = widths
        .unwrap_or_default()
        .iter()
        .filter_map(PdfObject::as_i64);
    if widths.any(|width| !(0..=WIDEST_NUMBER).contains(&width)) {
        let message = "its references are numbers of a width that nothing has";
        return Err(ExtractError::damaged(message));
    }
    Ok(())
}

/// Returns how many objects a stream may hold, whatever it is called, and where they begin.
fn objects(stream: &PdfStream) -> Option<(usize, usize)> {
    let number = |name: &[u8]| Some(stream.dict.get(name)?.as_i64()? as usize);
    Some((number(b"N")?, number(b"First")?))
}

/// Follows the objects of a stream; what cannot be unpacked holds none.
fn check_objects(
    id: (u32, u16),
    stream: PdfStream,
    key: Option<&Key>,
    times: usize,
    left: &mut usize,
) -> Result<(), ExtractError> {
    let mut stream = stream;
    if let Some(key) = key {
        key.open(id, &mut stream);
    }
    let (Some((count, first)), Ok(unpacked)) = (objects(&stream), decompress(&stream)) else {
        return Ok(());
    };
    if unpacked.len() > MOST_OBJECT_BYTES {
        let message = format!("a stream of objects unpacks to more than {MOST_OBJECT_BYTES} bytes");
        return Err(ExtractError::new(Reason::Bomb, message));
    }
    *left = left
        .checked_sub(unpacked.len().saturating_mul(times))
        .ok_or_else(|| {
            let message =
                format!("streams of objects unpack to more than {MOST_OBJECT_BYTES_OF_ALL} bytes");
            ExtractError::new(Reason::Bomb, message)
        })?;
    let mut nesting = Nesting::of(&unpacked);
    for offset in offsets(&unpacked).take(count) {
        nesting.stream(first.wrapping_add(offset))?;
    }
    Ok(())
}

/// Returns the places in a stream of objects, from the first object on: every other number at its beginning.
fn offsets(objects: &[u8]) -> impl Iterator<Item = usize> {
    let mut rest = objects;
    let numbers = std::iter::from_fn(move || {
        rest = rest.trim_ascii_start();
        let sign = usize::from(matches!(rest.first(), Some(b'+' | b'-')));
        let digits = rest[sign..].iter().take_while(|byte| byte.is_ascii_digit());
        let (number, after) = rest.split_at(sign + digits.count());
        rest = after;
        std::str::from_utf8(number).ok()?.parse::<i64>().ok()
    });
    numbers.skip(1).step_by(2).map(|offset| offset as usize)
}

#[cfg(test)]
mod tests {
    use super::{checked, id_before, offsets};
    use crate::Reason;

    fn reason(file: &str) -> Option<Reason> {
        checked(file.as_bytes()).err().map(|error| error.reason)
    }

    #[test]
    fn objects_are_looked_for_wherever_the_parser_begins() {
        let deep = "[".repeat(1000);
        for start in [
            "1 0 obj ",
            "1 0obj ",
            "<<>>stream\n1 0 obj ",
            "trailer ",
            "trailer<</Prev 4>>xref 0 1 trailer",
            "startxref 13\n",
        ] {
            assert_eq!(
                reason(&format!("{start}{deep}")),
                Some(Reason::Bomb),
                "{start}"
            );
        }
        let back = format!(
            "1 0 n {deep}\nxref 0 1 trailer <</Prev 6>> startxref {}",
            1007
        );
        assert_eq!(reason(&back), Some(Reason::Bomb));
        for elsewhere in ["1 0 obj <<>> stream\n", "obj", "% [", "("] {
            assert_eq!(reason(&format!("{elsewhere}{deep}")), None, "{elsewhere}");
        }
    }

    #[test]
    fn objects_where_the_encryption_should_be_are_followed_too() {
        let deep = "[".repeat(100_000);
        let direct = "trailer<</Root 1 0 R/Encrypt<</O()/U()>>>>";
        for rest in [
            format!("{direct}startxref 0 %%EOF/Encrypt<</A {deep}"),
            format!("5 0 obj null endobj <</A {deep}\ntrailer<</Root 1 0 R/Encrypt 5 0 R>>"),
            format!("{direct}{}", "/Encrypt ".repeat(300_000)),
        ] {
            let file = format!("%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\n{rest}");
            assert_eq!(reason(&file), Some(Reason::Bomb), "{rest:.60}");
        }
    }

    #[test]
    fn object_that_is_named_again_and_again_is_counted_as_often() {
        let file = |numbers: usize| {
            let objects = "1 0 () ".to_owned() + &" ".repeat(1 << 20);
            let references = "\x02\x05\0".repeat(numbers);
            let head = format!(
                "%PDF-1.5\n5 0 obj<</Type/ObjStm/N 1/First 4/Length {}>>stream\n{objects}\nendstream endobj\n",
                objects.len()
            );
            format!(
                "{head}6 0 obj<</Type/XRef/W[1 1 1]/Index[10 {numbers}]/Size {}/Length {}>>stream\n{references}\n\
                 endstream endobj\nstartxref\n{}\n%%EOF",
                numbers + 10,
                references.len(),
                head.len()
            )
        };
        assert_eq!(reason(&file(10)), None);
        assert_eq!(reason(&file(1000)), Some(Reason::Bomb));
    }

    #[test]
    fn streams_are_of_objects_if_they_have_their_entries() {
        let deep = "[".repeat(1000);
        let stream = |head: &str| format!("1 0 obj<</N 2/First 9>>stream\n{head}{deep}\nendstream");
        assert_eq!(reason(&stream("7 0 9 +1 ")), Some(Reason::Bomb));
        assert_eq!(reason(&stream("7+0 9+0  ")), Some(Reason::Bomb));
        assert_eq!(reason(&stream("7 5000   ")), None);
    }

    #[test]
    fn references_of_any_width_are_not_looked_for() {
        let table = |width: i64| format!("1 0 obj<</W[1 {width} 1]>>stream\n\nendstream");
        assert_eq!(reason(&table(-1)), Some(Reason::Damaged));
        assert_eq!(reason(&table(1 << 40)), Some(Reason::Damaged));
        assert_eq!(reason(&table(4)), None);
    }

    #[test]
    fn number_and_generation_stand_before_an_object() {
        assert_eq!(id_before(b"endobj\n12 0 "), Some((12, 0)));
        assert_eq!(id_before(b"12 00000000003\0"), Some((12, 3)));
        assert_eq!(id_before(b" end"), None);
        assert_eq!(id_before(b""), None);
    }

    #[test]
    fn every_other_number_is_an_offset() {
        let found: Vec<usize> = offsets(b"1 0 2\n15+3-1 x 4 5").collect();
        assert_eq!(found, [0, 15, usize::MAX]);
    }
}
