//! Where the bytes of a blob come from, as a connector says it (connector contract §14.1).
//!
//! Judges the form and fetches nothing.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use bytes::Bytes;

use crate::json::Value;
use crate::model::{Code, Violation};

/// Standard alphabet and padding are demanded; unused bits may be set (§35).
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A well-formed byte source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ByteSource {
    /// The bytes themselves.
    Inline(Bytes),
    /// Bytes that the plugin reads when it is asked.
    Handle(Handle),
}

/// What a plugin calls some bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Handle {
    /// Opaque, not empty.
    pub name: String,
    /// Number of bytes, if the plugin said it.
    pub size: Option<u64>,
}

impl ByteSource {
    /// Reads the object in place of a blob reference.
    ///
    /// # Errors
    ///
    /// A violation of §14.1, relative to `value`.
    pub fn read(value: Value<'_>) -> Result<Self, Violation> {
        let (mut inline, mut handle, mut size) = (None, None, None);
        let members = value.members();
        for (name, value) in members.ok_or_else(|| Violation::here("no object"))? {
            match &*name {
                "inline" => inline = Some(value),
                "handle" => handle = Some(value),
                "size" => size = Some(value),
                _ => {
                    let why = format!("a byte source has no member {name:?}");
                    return Err(Violation::here(why));
                }
            }
        }
        match (inline, handle, size) {
            (Some(inline), None, None) => Ok(Self::Inline(decoded(inline)?)),
            (None, Some(name), size) => Ok(Self::Handle(Handle {
                name: handle_name(name)?,
                size: size.map(size_of).transpose()?,
            })),
            (Some(_), None, Some(_)) => Err(at("size", "inline bytes have no `size`")),
            _ => Err(Violation::here(
                "a byte source has exactly one of `inline` and `handle`",
            )),
        }
    }
}

/// Decodes base64 as the contract has it.
///
/// # Errors
///
/// When a character or the padding is wrong; the text for people says where.
pub fn decode_base64(text: &str) -> Result<Bytes, String> {
    let decoded = BASE64.decode(text).map_err(|error| error.to_string())?;
    Ok(Bytes::from(decoded))
}

fn decoded(value: Value<'_>) -> Result<Bytes, Violation> {
    let text = value.as_str();
    let text = text.ok_or_else(|| at("inline", "`inline` is not a string"))?;
    decode_base64(&text).map_err(|why| at("inline", format!("`inline` is no base64: {why}")))
}

fn handle_name(value: Value<'_>) -> Result<String, Violation> {
    let name = value.as_str().filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| at("handle", "`handle` is not a non-empty string"))?;
    Ok(name.into_owned())
}

fn size_of(value: Value<'_>) -> Result<u64, Violation> {
    value
        .number()
        .and_then(|number| number.as_integer())
        .and_then(|size| u64::try_from(size).ok())
        .ok_or_else(|| at("size", "`size` is not an integer from 0 to 2^53-1"))
}

fn at(member: &str, message: impl Into<String>) -> Violation {
    Violation::new(Code::Validation, format!("/{member}"), message)
}

#[cfg(test)]
mod tests {
    use super::{ByteSource, Handle};
    use crate::json::Text;

    fn read(text: &str) -> Result<ByteSource, String> {
        let text = Text::parse(text.as_bytes()).unwrap();
        ByteSource::read(text.root()).map_err(|violation| violation.pointer)
    }

    fn handle(name: &str, size: Option<u64>) -> Result<ByteSource, String> {
        let name = name.to_owned();
        Ok(ByteSource::Handle(Handle { name, size }))
    }

    #[test]
    fn the_two_forms_are_read() {
        let inline = |bytes: &'static [u8]| Ok(ByteSource::Inline(bytes.into()));
        assert_eq!(read(r#"{"inline":"aGVsbG8="}"#), inline(b"hello"));
        assert_eq!(read(r#"{"inline":""}"#), inline(b""));
        // Unused bits are set; §35.
        assert_eq!(read(r#"{"inline":"aGVsbG9="}"#), inline(b"hello"));
        assert_eq!(read(r#"{"handle":"h"}"#), handle("h", None));
        assert_eq!(read(r#"{"handle":"h","size":0}"#), handle("h", Some(0)));
        let most = r#"{"handle":"h","size":9007199254740991}"#;
        assert_eq!(read(most), handle("h", Some((1 << 53) - 1)));
    }

    #[test]
    fn everything_else_is_refused() {
        for (text, pointer) in [
            ("{}", ""),
            (r#"{"inline":"","handle":"h"}"#, ""),
            (r#"{"inline":"","more":1}"#, ""),
            (r#"{"size":1}"#, ""),
            (r#"{"inline":"","size":0}"#, "/size"),
            (r#"{"inline":null}"#, "/inline"),
            (r#"{"inline":"aGVsbG8"}"#, "/inline"),
            (r#"{"inline":"aGVs bG8="}"#, "/inline"),
            (r#"{"inline":"_-8="}"#, "/inline"),
            (r#"{"handle":""}"#, "/handle"),
            (r#"{"handle":1}"#, "/handle"),
            (r#"{"handle":"h","size":null}"#, "/size"),
            (r#"{"handle":"h","size":-1}"#, "/size"),
            (r#"{"handle":"h","size":1.5}"#, "/size"),
            (r#"{"handle":"h","size":"1"}"#, "/size"),
            (r#"{"handle":"h","size":9007199254740992}"#, "/size"),
        ] {
            assert_eq!(read(text), Err(pointer.to_owned()), "{text}");
        }
    }
}
