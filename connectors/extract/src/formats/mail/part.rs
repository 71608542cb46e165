//! The parts of a message (RFC 2045, RFC 2046): headers, body, and the parts within it.
//!
//! What is damaged is read as far as it goes, as mail programs do. Meanings are for others.

use std::borrow::Cow;

use mail_parser::parsers::MessageStream;
use mail_parser::{ContentType, HeaderValue};

use crate::ExtractError;
use crate::addressed::base64;
use crate::decode;
use crate::elements::VALUE_BYTES;
use crate::reading::Reading;

/// Parts nested deeper are not opened.
const MAX_DEPTH: u32 = 32;

/// A header's name and value, as they were written.
type Field<'m> = (&'m [u8], &'m [u8]);

/// A part, or a whole message.
#[derive(Debug, Default)]
pub(super) struct Part<'m> {
    headers: Vec<Field<'m>>,
    content_type: Option<ContentType<'static>>,
    disposition: Option<ContentType<'static>>,
    body: Cow<'m, [u8]>,
    parts: Vec<Part<'m>>,
}

/// What a part holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A text, unless it is a page.
    Text,
    Html,
    /// Parts.
    Multipart,
    /// A message, which is its one part.
    Message,
    Other,
}

impl<'m> Part<'m> {
    /// Reads a message.
    ///
    /// # Errors
    ///
    /// `bomb` if there are more parts than are taken.
    pub(super) fn of_message(
        bytes: &'m [u8],
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        Self::read(bytes, 0, false, reading)
    }

    /// Reads headers without a body.
    pub(super) fn of_headers(bytes: &'m [u8]) -> Self {
        Self {
            headers: headers(bytes).0,
            ..Self::default()
        }
    }

    fn read(
        bytes: &'m [u8],
        depth: u32,
        in_digest: bool,
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        reading.entry()?;
        let (headers, body) = headers(bytes);
        let mut part = Self {
            headers,
            body: Cow::Borrowed(body),
            ..Self::default()
        };
        part.content_type = part.declared("content-type");
        part.disposition = part.declared("content-disposition");
        if in_digest && part.content_type.is_none() {
            part.content_type = parsed_type("message/rfc822");
        }
        if depth < MAX_DEPTH {
            part.open(body, depth, reading)?;
        }
        Ok(part)
    }

    /// Reads the parts within. The message in an encoded part is for [`Reading::nested`]: it has bytes of its own.
    fn open(
        &mut self,
        body: &'m [u8],
        depth: u32,
        reading: &mut Reading<'_>,
    ) -> Result<(), ExtractError> {
        match self.kind() {
            Kind::Multipart => {
                let Some(boundary) = self.attribute("boundary") else {
                    return Ok(());
                };
                let in_digest = self.is("multipart", "digest");
                for piece in pieces(body, boundary.as_bytes()) {
                    let part = Self::read(piece, depth + 1, in_digest, reading)?;
                    self.parts.push(part);
                }
            }
            Kind::Message if !self.is_encoded() => {
                self.parts
                    .push(Self::read(body, depth + 1, false, reading)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns what the part says it holds; what says nothing is text, and so is a container without parts.
    pub(super) fn kind(&self) -> Kind {
        let Some(declared) = &self.content_type else {
            return Kind::Text;
        };
        let is = |wanted: &str| declared.c_type.eq_ignore_ascii_case(wanted);
        if is("multipart") {
            return Kind::Multipart;
        }
        if is("message") && (self.is("message", "rfc822") || self.is("message", "global")) {
            return Kind::Message;
        }
        if is("text") {
            return match self.is("text", "html") {
                true => Kind::Html,
                false => Kind::Text,
            };
        }
        match declared.c_subtype.is_none() {
            true => Kind::Text,
            false => Kind::Other,
        }
    }

    /// Whether the part declares a media type.
    pub(super) fn is(&self, kind: &str, subtype: &str) -> bool {
        self.content_type.as_ref().is_some_and(|declared| {
            declared.c_type.eq_ignore_ascii_case(kind)
                && declared
                    .c_subtype
                    .as_ref()
                    .is_some_and(|known| known.eq_ignore_ascii_case(subtype))
        })
    }

    /// Returns the declared media type in lowercase.
    pub(super) fn mime_type(&self) -> Option<String> {
        let declared = self.content_type.as_ref()?;
        let subtype = declared.c_subtype.as_ref()?;
        Some(format!("{}/{subtype}", declared.c_type).to_ascii_lowercase())
    }

    /// Returns an attribute of the media type.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        let declared = self.content_type.as_ref()?;
        declared.attribute(name).map(str::to_owned)
    }

    pub(super) fn parts(&self) -> &[Part<'m>] {
        &self.parts
    }

    /// Whether somebody attached the part, and did not write it.
    pub(super) fn is_attachment(&self) -> bool {
        self.disposition
            .as_ref()
            .is_some_and(|disposition| disposition.c_type.eq_ignore_ascii_case("attachment"))
    }

    /// Returns the name of the file that the part is.
    pub(super) fn file_name(&self) -> Option<String> {
        let named = |declared: &Option<ContentType<'static>>, attribute| {
            let name = declared.as_ref()?.attribute(attribute)?;
            let name = unstructured(name.as_bytes())?;
            (name.len() <= VALUE_BYTES).then_some(name)
        };
        named(&self.disposition, "filename").or_else(|| named(&self.content_type, "name"))
    }

    /// Returns the values of a header, in order, as they were written.
    pub(super) fn headers(&self, name: &str) -> impl Iterator<Item = &'m [u8]> {
        let is_named = move |header: &&Field<'m>| header.0.eq_ignore_ascii_case(name.as_bytes());
        self.headers.iter().filter(is_named).map(|header| header.1)
    }

    /// Returns the text of the first header of a name, without white space at its ends.
    pub(super) fn header(&self, name: &str) -> Option<&'m str> {
        let value = std::str::from_utf8(self.headers(name).next()?).ok()?;
        Some(value.trim()).filter(|value| !value.is_empty())
    }

    /// Whether there is any header.
    pub(super) fn has_headers(&self) -> bool {
        !self.headers.is_empty()
    }

    fn declared(&self, name: &str) -> Option<ContentType<'static>> {
        let value = self.headers(name).next()?;
        parsed_type(&lenient(value))
    }

    fn is_encoded(&self) -> bool {
        let encoding = self.header("content-transfer-encoding").unwrap_or_default();
        encoding.eq_ignore_ascii_case("base64") || encoding.eq_ignore_ascii_case("quoted-printable")
    }

    /// Returns the body without its transfer encoding.
    pub(super) fn bytes(&self) -> Cow<'_, [u8]> {
        let encoding = self.header("content-transfer-encoding").unwrap_or_default();
        if encoding.eq_ignore_ascii_case("base64") {
            let decoded = base64(&self.body).filter(|bytes| !bytes.is_empty());
            return decoded.map_or(Cow::Borrowed(&*self.body), Cow::Owned);
        }
        match encoding.eq_ignore_ascii_case("quoted-printable") {
            true => Cow::Owned(quoted_printable(&self.body)),
            false => Cow::Borrowed(&*self.body),
        }
    }
}

fn parsed_type(value: &str) -> Option<ContentType<'static>> {
    let value = format!("{}\n", value.trim());
    let parsed = MessageStream::new(value.as_bytes()).parse_content_type();
    match parsed.into_owned() {
        HeaderValue::ContentType(declared) => Some(declared),
        _ => None,
    }
}

/// Returns a header's text; bytes that are no characters are replaced.
fn lenient(value: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(value) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => {
            let limits = crate::Limits::default();
            let mut unheard = Reading::new(&limits, value.len() as u64);
            decode::any(value, &mut unheard).unwrap_or_else(|_| String::from_utf8_lossy(value))
        }
    }
}

/// Returns a text whose encoded words (RFC 2047) are decoded.
pub(super) fn unstructured(value: &[u8]) -> Option<String> {
    let value = [value.trim_ascii(), b"\n"].concat();
    match MessageStream::new(&value).parse_unstructured() {
        HeaderValue::Text(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
        _ => None,
    }
}

/// Cuts the headers off a part; a line that is none ends them.
fn headers(bytes: &[u8]) -> (Vec<Field<'_>>, &[u8]) {
    let mut headers: Vec<Field<'_>> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = line_length(&bytes[at..]);
        let line = &bytes[at..at + length];
        if line.trim_ascii().is_empty() {
            return (headers, &bytes[at + length..]);
        }
        if matches!(line[0], b' ' | b'\t') {
            if let Some((_, value)) = headers.last_mut() {
                let start = at - value.len();
                *value = &bytes[start..at + length];
            }
        } else {
            let Some(colon) = line.iter().position(|byte| *byte == b':') else {
                break;
            };
            let name = line[..colon].trim_ascii_end();
            if !name.iter().all(u8::is_ascii_graphic) {
                break;
            }
            headers.push((name, &line[colon + 1..]));
        }
        at += length;
    }
    (headers, &bytes[at.min(bytes.len())..])
}

/// Returns the length of the first line, its line end included.
fn line_length(bytes: &[u8]) -> usize {
    memchr::memchr(b'\n', bytes).map_or(bytes.len(), |end| end + 1)
}

/// Returns what lies between the delimiter lines of a multipart body; all after the first if the last is missing.
fn pieces<'b>(body: &'b [u8], boundary: &[u8]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    let mut start = None;
    let mut at = 0;
    while at < body.len() {
        let length = line_length(&body[at..]);
        if let Some(is_last) = delimiter(&body[at..at + length], boundary) {
            if let Some(start) = start {
                pieces.push(without_line_end(&body[start..at]));
            }
            start = Some(at + length);
            if is_last {
                return pieces;
            }
        }
        at += length;
    }
    if let Some(start) = start.filter(|start| !body[*start..].trim_ascii().is_empty()) {
        pieces.push(&body[start..]);
    }
    pieces
}

/// Returns whether a line that is a delimiter is the last one.
fn delimiter(line: &[u8], boundary: &[u8]) -> Option<bool> {
    let rest = line
        .strip_prefix(b"--")?
        .strip_prefix(boundary)?
        .trim_ascii_end();
    match rest {
        b"" => Some(false),
        b"--" => Some(true),
        _ => None,
    }
}

/// The line end before a delimiter belongs to it.
fn without_line_end(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Undoes quoted-printable; what is no escape stays as it is.
pub(super) fn quoted_printable(body: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(body.len());
    for line in body.split_inclusive(|byte| *byte == b'\n') {
        let text = line.trim_ascii_end();
        let mut rest = text;
        while let Some(at) = memchr::memchr(b'=', rest) {
            decoded.extend(&rest[..at]);
            let escape = rest.get(at + 1..at + 3).and_then(hexadecimal);
            rest = &rest[at + 1..];
            match escape {
                Some(byte) => {
                    decoded.push(byte);
                    rest = &rest[2..];
                }
                None if rest.is_empty() => {}
                None => decoded.push(b'='),
            }
        }
        decoded.extend(rest);
        if !text.ends_with(b"=") && line.ends_with(b"\n") {
            decoded.push(b'\n');
        }
    }
    decoded
}

fn hexadecimal(digits: &[u8]) -> Option<u8> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_escape = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_escape
        .then(|| u8::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::{headers, pieces, quoted_printable, unstructured};

    #[test]
    fn headers_end_at_a_blank_line_or_at_what_is_none() {
        let (found, body) = headers(b"To: a\r\nSubject: b\r\n c\r\n\r\nbody");
        assert_eq!(
            found,
            [(&b"To"[..], &b" a\r\n"[..]), (b"Subject", b" b\r\n c\r\n")]
        );
        assert_eq!(body, b"body");
        let (found, body) = headers(b"To: a\nno header\n\nbody");
        assert_eq!((found.len(), body), (1, &b"no header\n\nbody"[..]));
        assert_eq!(headers(b"").1, b"");
        assert_eq!(headers(b" folded\n\nbody").1, b"body");
    }

    #[test]
    fn parts_lie_between_delimiters() {
        let text = b"before\n--x\none\n--x \r\ntwo\r\n--xy\r\n--x--\nafter";
        assert_eq!(pieces(text, b"x"), [&b"one"[..], b"two\r\n--xy"]);
        assert_eq!(pieces(b"--x\none", b"x"), [b"one"]);
        assert_eq!(pieces(b"one", b"x"), [b""; 0]);
        assert_eq!(pieces(b"--x--", b"x"), [b""; 0]);
    }

    #[test]
    fn quoted_printable_is_undone_as_far_as_it_is_one() {
        // RFC 2045, 6.7.
        assert_eq!(quoted_printable(b"a=3Db=\r\nc \r\n"), b"a=bc\n");
        assert_eq!(quoted_printable(b"1=2=ZZ=\nx="), b"1=2=ZZx");
        assert_eq!(quoted_printable(b"=C3=A4=e"), "\u{E4}=e".as_bytes());
    }

    #[test]
    fn encoded_words_are_decoded() {
        let text = "=?ISO-8859-1?Q?caf=E9?= =?utf-8?B?w6Q=?= x";
        assert_eq!(
            unstructured(text.as_bytes()).as_deref(),
            Some("caf\u{E9}\u{E4} x")
        );
    }
}
