//! Canonical JSON (RFC 8785, hash contract §4), written into any sink.
//!
//! The same walk feeds a buffer that keeps the text and a hash that does not. It can leave out
//! `null` members (hash contract §3), but does not know which objects of the protocol want that.

use std::cmp::Ordering;

use super::number::{MAX_INTEGER, NumberClass, NumberError};
use super::string::Spelling;
use super::value::{Kind, Value};

/// Something that takes canonical bytes in order.
pub trait Sink {
    /// Takes the next bytes.
    fn put(&mut self, bytes: &[u8]);

    /// Takes the canonical form of a float literal that, read again, would be an integer literal
    /// beyond [`MAX_INTEGER`]: `9007199254740992.0` becomes such digits.
    fn put_wide_integer(&mut self, digits: &[u8]) {
        self.put(digits);
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

/// A sink that keeps a text for others to read.
///
/// It is the canonical text, except that a float beyond the range of integer literals keeps a
/// mark of its class (hash contract §8: respelling that preserves class and value is harmless).
/// The bare canonical text of such an object is not a valid object.
#[derive(Clone, Debug, Default)]
pub struct ReadableText {
    bytes: Vec<u8>,
    /// Where the marks are.
    marks: Vec<usize>,
}

/// Makes digits a float literal.
const FLOAT_MARK: &[u8] = b".0";

impl ReadableText {
    /// Forgets the text, but not the memory it used.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.marks.clear();
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        simdutf8::basic::from_utf8(&self.bytes).expect("only whole strings are written")
    }

    /// Writes the canonical text.
    pub fn write_canonical(&self, sink: &mut (impl Sink + ?Sized)) {
        let mut written = 0;
        for &mark in &self.marks {
            sink.put(&self.bytes[written..mark]);
            written = mark + FLOAT_MARK.len();
        }
        sink.put(&self.bytes[written..]);
    }
}

impl Sink for ReadableText {
    fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn put_wide_integer(&mut self, digits: &[u8]) {
        self.bytes.extend_from_slice(digits);
        self.marks.push(self.bytes.len());
        self.bytes.extend_from_slice(FLOAT_MARK);
    }
}

/// A sink that forgets, for when only the judgement matters.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Sink for Nowhere {
    fn put(&mut self, _bytes: &[u8]) {}
}

/// Writes a value in canonical form.
///
/// # Errors
/// The first number, in the order of writing, that has no canonical form.
pub fn write(value: Value<'_>, sink: &mut (impl Sink + ?Sized)) -> Result<(), NumberError> {
    Walk::<_, false>::new(sink).value(value)
}

/// Writes a value in canonical form without the object members that are `null`, at any depth.
///
/// # Errors
/// Like [`write()`].
pub fn write_without_nulls(
    value: Value<'_>,
    sink: &mut (impl Sink + ?Sized),
) -> Result<(), NumberError> {
    Walk::<_, true>::new(sink).value(value)
}

/// Writes a string of a text in canonical form.
#[inline]
pub fn write_string_value(string: Value<'_>, sink: &mut (impl Sink + ?Sized)) {
    if string.spelling() == Spelling::Other {
        if let Some(text) = string.as_str() {
            write_string(&text, sink);
        }
    } else {
        sink.put(string.raw().as_bytes());
    }
}

/// Writes a string in canonical form, quotes included.
pub fn write_string(text: &str, sink: &mut (impl Sink + ?Sized)) {
    let bytes = text.as_bytes();
    let mut written = 0;
    sink.put(b"\"");
    while let Some(length) = bytes[written..]
        .iter()
        .position(|&byte| matches!(byte, b'"' | b'\\' | 0..0x20))
    {
        let at = written + length;
        sink.put(&bytes[written..at]);
        write_escape(bytes[at], sink);
        written = at + 1;
    }
    sink.put(&bytes[written..]);
    sink.put(b"\"");
}

fn write_escape(byte: u8, sink: &mut (impl Sink + ?Sized)) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        b'"' | b'\\' => byte,
        _ => {
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            return sink.put(&[b'\\', b'u', b'0', b'0', high, low]);
        }
    };
    sink.put(&[b'\\', short]);
}

/// Compares two strings by their UTF-16 code units (hash contract §4.1).
pub fn utf16_order(one: &str, other: &str) -> Ordering {
    // Bytes of UTF-8 sort like code points. UTF-16 differs only where U+E000–U+FFFF (lead bytes EE
    // and EF) meets a supplementary character (F0–F4): its surrogates sort first.
    let rank = |byte: u8| {
        if byte & 0xFE == 0xEE {
            byte + 0x10
        } else {
            byte
        }
    };
    let differing = one.bytes().zip(other.bytes()).find(|(a, b)| a != b);
    match differing {
        Some((a, b)) => rank(a).cmp(&rank(b)),
        None => one.len().cmp(&other.len()),
    }
}

/// One walk. It recurses, but never deeper than the parser lets containers nest.
struct Walk<'s, S: ?Sized, const DROP_NULLS: bool> {
    sink: &'s mut S,
    /// Name nodes of all objects being written, innermost last.
    names: Vec<u32>,
}

impl<'s, S: Sink + ?Sized, const DROP_NULLS: bool> Walk<'s, S, DROP_NULLS> {
    fn new(sink: &'s mut S) -> Self {
        let names = Vec::new();
        Self { sink, names }
    }

    fn value(&mut self, value: Value<'_>) -> Result<(), NumberError> {
        match value.kind() {
            Kind::Object => self.object(value),
            Kind::Array => self.array(value),
            Kind::Number => self.number(value),
            Kind::String => {
                write_string_value(value, self.sink);
                Ok(())
            }
            Kind::Null | Kind::Bool => {
                self.sink.put(value.raw().as_bytes());
                Ok(())
            }
        }
    }

    fn number(&mut self, value: Value<'_>) -> Result<(), NumberError> {
        let number = value.number().expect("its kind is number");
        let is_float = number.class() == NumberClass::Float;
        number.canonical(|text| {
            if is_float && is_wide_integer(text) {
                self.sink.put_wide_integer(text.as_bytes());
            } else {
                self.sink.put(text.as_bytes());
            }
        })
    }

    fn array(&mut self, value: Value<'_>) -> Result<(), NumberError> {
        let mut separator: &[u8] = b"[";
        for item in value.items().into_iter().flatten() {
            self.sink.put(separator);
            separator = b",";
            self.value(item)?;
        }
        self.sink.put(if separator == b"[" { b"[]" } else { b"]" });
        Ok(())
    }

    fn object(&mut self, object: Value<'_>) -> Result<(), NumberError> {
        let first = self.names.len();
        let members = object.members().into_iter().flat_map(|all| all.handles());
        let kept = members.filter(|(_, value)| !(DROP_NULLS && value.is_null()));
        self.names.extend(kept.map(|(name, _)| name.index()));
        sort_names(object, &mut self.names[first..]);
        let mut separator: &[u8] = b"{";
        for position in first..self.names.len() {
            let name = object.at(self.names[position]);
            self.sink.put(separator);
            separator = b",";
            write_string_value(name, self.sink);
            self.sink.put(b":");
            self.value(name.after())?;
        }
        self.sink.put(if separator == b"{" { b"{}" } else { b"}" });
        self.names.truncate(first);
        Ok(())
    }
}

fn is_wide_integer(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.len() >= 16
        && digits.bytes().all(|byte| byte.is_ascii_digit())
        && text.parse::<i64>().map_or(true, |value| {
            value.unsigned_abs() > MAX_INTEGER.unsigned_abs()
        })
}

fn sort_names(object: Value<'_>, names: &mut [u32]) {
    let in_order = names
        .windows(2)
        .all(|pair| compare_names(object.at(pair[0]), object.at(pair[1])).is_le());
    if in_order {
        return;
    }
    let plain = |&name: &u32| object.at(name).spelling() == Spelling::Plain;
    if names.iter().all(plain) {
        names.sort_unstable_by(|&one, &other| compare_names(object.at(one), object.at(other)));
    } else {
        names.sort_by_cached_key(|&name| Utf16Ordered(name_of(object.at(name)).into_owned()));
    }
}

fn compare_names(one: Value<'_>, other: Value<'_>) -> Ordering {
    utf16_order(&name_of(one), &name_of(other))
}

fn name_of(name: Value<'_>) -> std::borrow::Cow<'_, str> {
    name.as_str().expect("a member name is a string")
}

#[derive(PartialEq, Eq)]
struct Utf16Ordered(String);

impl Ord for Utf16Ordered {
    fn cmp(&self, other: &Self) -> Ordering {
        utf16_order(&self.0, &other.0)
    }
}

impl PartialOrd for Utf16Ordered {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, prop_oneof, proptest};

    use super::{ReadableText, utf16_order, write, write_string};
    use crate::json::{Text, Writer};

    fn json() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            prop::sample::select(vec!["null", "true", "false", "-0", "1e20", "2.50"])
                .prop_map(str::to_owned),
            any::<f64>()
                .prop_filter("JSON has finite numbers only", |value| value.is_finite())
                .prop_map(|value| format!("{value:e}")),
            any::<String>().prop_map(|text| quoted(&text)),
        ];
        leaf.prop_recursive(4, 40, 6, |inner| {
            let members = prop::collection::btree_map(any::<String>(), inner.clone(), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..6)
                    .prop_map(|items| format!("[ {} ]", items.join(" , "))),
                members.prop_map(|members| {
                    let members = members.iter();
                    let members: Vec<String> = members
                        .map(|(name, value)| format!("{} : {value}", quoted(name)))
                        .collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    fn quoted(text: &str) -> String {
        let mut bytes = Vec::new();
        write_string(text, &mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    fn canonical(text: &str) -> String {
        let mut bytes = Vec::new();
        write(Text::parse(text.as_bytes()).unwrap().root(), &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    proptest! {
        #[test]
        fn readable_text_is_canonical_again(text in json()) {
            let mut readable = ReadableText::default();
            write(Text::parse(text.as_bytes()).unwrap().root(), &mut readable).unwrap();
            let expected = canonical(&text);
            prop_assert_eq!(&canonical(readable.as_str()), &expected);
            let mut bytes = Vec::new();
            readable.write_canonical(&mut bytes);
            prop_assert_eq!(bytes, expected.as_bytes());
        }

        #[test]
        fn written_string_is_read_as_it_was(value in any::<String>()) {
            let text = Writer::new().string(&value).clone().into_string();
            let parsed = Text::parse(text.as_bytes()).unwrap();
            prop_assert_eq!(parsed.root().as_str().unwrap(), value.as_str());
            prop_assert_eq!(canonical(&text), text);
        }

        #[test]
        fn written_double_reads_back_to_the_same_value(value in any::<f64>()) {
            if value.is_finite() {
                let text = canonical(&format!("{value:e}"));
                prop_assert_eq!(text.parse::<f64>().unwrap(), value);
            }
        }

        #[test]
        fn order_of_names_is_that_of_their_code_units(one in ".{0,4}", other in ".{0,4}") {
            let units = |text: &str| text.encode_utf16().collect::<Vec<_>>();
            prop_assert_eq!(utf16_order(&one, &other), units(&one).cmp(&units(&other)));
        }
    }

    #[test]
    fn names_with_escapes_are_sorted_by_what_they_say() {
        assert_eq!(
            canonical(r#"{"b":1,"\u0061":2,"\ud83d\ude00":3,"\ufb33":4,"~":5}"#),
            "{\"a\":2,\"b\":1,\"~\":5,\"😀\":3,\"\u{fb33}\":4}"
        );
    }
}
