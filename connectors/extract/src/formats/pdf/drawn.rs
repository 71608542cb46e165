//! Pictures drawn within a content stream (ISO 32000-1 §8.9.7): found, and told as streams of their own.

use unpdf::parser::raw::tokenizer::parse_object;
use unpdf::parser::raw::{PdfDict, PdfObject, PdfStream};

use super::content::is_space;
use super::nesting::Nesting;

/// Entries of a picture; there are eleven that mean something (table 93).
const MOST_ENTRIES: usize = 32;

/// Short names and what they stand for (table 93).
const NAMES: [(&[u8], &[u8]); 8] = [
    (b"BPC", b"BitsPerComponent"),
    (b"CS", b"ColorSpace"),
    (b"D", b"Decode"),
    (b"DP", b"DecodeParms"),
    (b"F", b"Filter"),
    (b"H", b"Height"),
    (b"IM", b"ImageMask"),
    (b"W", b"Width"),
];

/// Returns the pictures that a content stream draws, in order.
pub(super) fn pictures(content: &[u8]) -> impl Iterator<Item = PdfStream> {
    let mut at = 0;
    let mut nesting = Nesting::of(content);
    let last = last_end(content);
    std::iter::from_fn(move || {
        loop {
            let start = at + memchr::memmem::find(content.get(at..)?, b"BI")?;
            at = start + 2;
            let is_word = start.checked_sub(1).is_none_or(|at| is_space(content[at]));
            let is_word = is_word && content.get(at).is_some_and(|byte| is_space(*byte));
            let Some((dict, begins)) = is_word
                .then(|| entries(content, &mut nesting, at))
                .flatten()
            else {
                continue;
            };
            let length = match dict.contains_key(&b"Filter"[..]) {
                true => 0,
                false => samples(&dict).unwrap_or(0),
            };
            let least = begins.checked_add(length);
            let Some(least) = least.filter(|least| Some(*least) <= last) else {
                // Nothing ends behind this one; it says wrong things of itself, or is none.
                continue;
            };
            let ends = end(content, least)?;
            at = ends + 2;
            let raw_data = content[begins..ends].to_vec();
            return Some(PdfStream { dict, raw_data });
        }
    })
}

/// Reads what a picture says of itself, and where its data begin.
fn entries(content: &[u8], nesting: &mut Nesting<'_>, mut at: usize) -> Option<(PdfDict, usize)> {
    let mut dict = PdfDict::new();
    for _ in 0..MOST_ENTRIES {
        at += spaces(content.get(at..)?);
        if content[at..].starts_with(b"ID") {
            // A single space ends the word; with CR LF data would begin with LF, which no filter minds.
            return Some((dict, at + 3));
        }
        if !content[at..].starts_with(b"/") {
            return None;
        }
        let (name, after) = parse_object(content, at).ok()?;
        nesting.follow(after).ok()?;
        let (value, after) = parse_object(content, after).ok()?;
        let name = name.as_name()?;
        let full = NAMES.iter().find(|(short, _)| *short == name);
        dict.insert(full.map_or(name, |(_, full)| full).to_vec(), value);
        at = after;
    }
    None
}

fn spaces(content: &[u8]) -> usize {
    content.iter().take_while(|byte| is_space(**byte)).count()
}

/// Returns the bytes of a picture that is not packed, at least.
fn samples(dict: &PdfDict) -> Option<usize> {
    let number = |name: &[u8]| usize::try_from(dict.get(name)?.as_i64()?).ok();
    let components = match dict.get(&b"ColorSpace"[..]).and_then(PdfObject::as_name) {
        Some(b"RGB" | b"DeviceRGB") => 3,
        Some(b"CMYK" | b"DeviceCMYK") => 4,
        _ => 1,
    };
    let bits = number(b"BitsPerComponent")
        .unwrap_or(1)
        .checked_mul(components)?;
    let row = number(b"Width")?.checked_mul(bits)?.div_ceil(8);
    row.checked_mul(number(b"Height")?)
}

/// Returns where the next `EI` stands between white space.
fn end(content: &[u8], from: usize) -> Option<usize> {
    let mut ends = memchr::memmem::find_iter(content.get(from..)?, b"EI").map(|at| at + from);
    ends.find(|&at| is_end(content, at))
}

fn last_end(content: &[u8]) -> Option<usize> {
    memchr::memmem::rfind_iter(content, b"EI").find(|&at| is_end(content, at))
}

fn is_end(content: &[u8], at: usize) -> bool {
    let is_space_at = |at: usize| content.get(at).is_none_or(|byte| is_space(*byte));
    at > 0 && is_space_at(at - 1) && is_space_at(at + 2)
}

#[cfg(test)]
mod tests {
    use unpdf::parser::raw::PdfObject;

    use super::pictures;

    #[test]
    fn pictures_are_found_with_the_full_names_of_their_entries() {
        let content = b"q (BI ) Tj BI /W 2 /H 2 /BPC 8 /CS /G ID \n EI EI Q BI\n/Width 3/F/Fl/IM true\nID\nx EI BI /W";
        let found: Vec<_> = pictures(content).collect();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].raw_data, b"\n EI ");
        assert_eq!(found[0].dict[&b"Width"[..]], PdfObject::Integer(2));
        assert_eq!(
            found[0].dict[&b"ColorSpace"[..]],
            PdfObject::Name(b"G".to_vec())
        );
        assert_eq!(found[1].dict[&b"Width"[..]], PdfObject::Integer(3));
        assert_eq!(
            found[1].dict[&b"Filter"[..]],
            PdfObject::Name(b"Fl".to_vec())
        );
    }

    #[test]
    fn picture_of_absurd_size_costs_itself_only() {
        for size in [99, i64::MAX] {
            let content =
                format!("BI /W {size} /H {size} ID x EI\nBI /W 2 /H 2 /BPC 8 /CS /G ID abcd EI ");
            let found: Vec<_> = pictures(content.as_bytes()).collect();
            assert_eq!(found.last().unwrap().raw_data, b"abcd ", "{size}");
        }
    }

    #[test]
    fn noise_holds_no_pictures() {
        let deep = format!("BI /CS {} ID EI ", "[ 1 0 obj %]\n".repeat(100_000));
        for content in [
            "BI",
            "BI ID",
            "BI x ID EI ",
            "ABI ID x EI ",
            "BI /W 99 /H 99 ID x EI ",
            &deep,
        ] {
            assert_eq!(pictures(content.as_bytes()).count(), 0, "{content:.20}");
        }
        for many in ["BI ID ", "BI /W 9 /H 99999999 ID ", "BI /A (BI /A ("] {
            let many = many.repeat(100_000);
            assert_eq!(pictures(many.as_bytes()).count(), 0);
        }
    }
}
