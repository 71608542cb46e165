//! Pictures by their addresses: their bytes may be in the address itself, or beside it in the same file.
//!
//! Knows no format; what an address beside means is the asking reader's to say.

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::inline::Picture;
use crate::made::Made;
use crate::reading::Reading;

/// Finds the picture that an address means within the file.
pub(crate) type Beside<'l> = dyn FnMut(&str, &mut Reading<'_>) -> Option<Picture> + 'l;

/// Where a text's pictures come from.
pub(crate) struct Addressed<'p, 'r> {
    reading: &'p mut Reading<'r>,
    beside: &'p mut Beside<'p>,
}

impl<'p, 'r> Addressed<'p, 'r> {
    /// Pictures of a text that may lie beside it in its file.
    pub(crate) fn new(reading: &'p mut Reading<'r>, beside: &'p mut Beside<'p>) -> Self {
        Self { reading, beside }
    }

    /// What is made of the file so far.
    pub(crate) fn made(&self) -> &Made {
        self.reading.made()
    }

    /// Returns the picture at an address: with its bytes if they are in the file, else with the address.
    pub(crate) fn picture(&mut self, url: &str) -> Picture {
        if let Some(picture) = (self.beside)(url, self.reading) {
            return picture;
        }
        let picture = Picture::at(url);
        match (&picture.mime_type, bytes(url)) {
            (Some(mime_type), Some(bytes)) if is_image(mime_type) && !bytes.is_empty() => {
                Picture::of_bytes(self.reading.blob(bytes), Some(mime_type))
            }
            _ => picture,
        }
    }
}

/// Nothing lies beside a text that is a file of its own.
pub(crate) fn nothing(_: &str, _: &mut Reading<'_>) -> Option<Picture> {
    None
}

/// Returns the path of an entry by how another entry of the same file refers to it (OCF §4.2.5).
pub(crate) fn resolved(base: &str, reference: &str) -> String {
    let end = reference.find(['#', '?']).unwrap_or(reference.len());
    let reference = percent_encoding::percent_decode_str(reference[..end].trim());
    let reference = reference.decode_utf8_lossy();
    let folder = match reference.starts_with('/') {
        true => "",
        false => base.rsplit_once('/').map_or("", |(folder, _)| folder),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(reference.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether an address is that of a file beside the one it stands in.
pub(crate) fn is_relative(url: &str) -> bool {
    let scheme = url.split(['/', '?', '#']).next().unwrap_or_default();
    !url.is_empty() && !url.starts_with("//") && !scheme.contains(':')
}

fn is_image(mime_type: &str) -> bool {
    let kind = mime_type.get(..6);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("image/"))
}

/// Returns the bytes in a `data:` address (RFC 2397).
fn bytes(url: &str) -> Option<Vec<u8>> {
    let scheme = url.get(..5)?;
    if !scheme.eq_ignore_ascii_case("data:") {
        return None;
    }
    let (parameters, data) = url[5..].split_once(',')?;
    let written = unescaped(data);
    match parameters
        .trim_end()
        .to_ascii_lowercase()
        .ends_with(";base64")
    {
        true => base64(&written),
        false => Some(written),
    }
}

/// Returns what base64 stands for, as tolerant as readers of mail and pages are: white space, other bytes
/// in between, missing padding and what follows it do not matter.
pub(crate) fn base64(written: &[u8]) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone);
    let is_digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let data = written.iter().copied().take_while(|byte| *byte != b'=');
    let mut digits: Vec<u8> = data.filter(is_digit).collect();
    if digits.len() % 4 == 1 {
        digits.pop();
    }
    GeneralPurpose::new(&STANDARD, config).decode(digits).ok()
}

/// Undoes percent escapes; a `%` that is none stays.
fn unescaped(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (byte, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
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
    use super::{Addressed, bytes, is_relative, nothing, resolved};
    use crate::Limits;
    use crate::inline::Picture;
    use crate::reading::Reading;

    #[test]
    fn references_are_relative_to_where_they_stand() {
        assert_eq!(
            resolved("OEBPS/text/a.xhtml", "../img/b%20c.png"),
            "OEBPS/img/b c.png"
        );
        assert_eq!(resolved("a.opf", "b.xhtml#part"), "b.xhtml");
        assert_eq!(resolved("x/a.opf", "/b.xhtml"), "b.xhtml");
        assert_eq!(resolved("x/a.opf", "../../../b.xhtml"), "b.xhtml");
        for url in ["a.png", "../a.png", "/a.png", "./x:y.png", "?a:b"] {
            assert!(is_relative(url), "{url}");
        }
        for url in ["http://a/b.png", "data:,", "//host/a.png", "c:a.png", ""] {
            assert!(!is_relative(url), "{url}");
        }
    }

    #[test]
    fn data_addresses_hold_bytes() {
        assert_eq!(bytes("data:image/png;base64,AQID"), Some(vec![1, 2, 3]));
        assert_eq!(bytes("data:;base64, AQ\n%3D="), Some(vec![1]));
        assert_eq!(bytes("DATA:image/svg+xml,%3Csvg%"), Some(b"<svg%".to_vec()));
        assert_eq!(bytes("data:image/png;base64"), None);
        assert_eq!(bytes("https://a.b/data:,x"), None);
    }

    #[test]
    fn picture_is_in_the_address_or_beside_it_or_elsewhere() {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 1);
        let mut none = nothing;
        let mut pictures = Addressed::new(&mut reading, &mut none);
        let inside = pictures.picture("data:image/gif;base64,AQID");
        assert!(inside.blob.is_some() && inside.url.is_none());
        assert_eq!(pictures.picture("a.png"), Picture::at("a.png"));
        let script = pictures.picture("data:text/plain,words");
        assert!(script.blob.is_none());
        let mut beside = |url: &str, reading: &mut Reading<'_>| {
            (url == "cid:1").then(|| Picture::of_bytes(reading.blob(vec![4]), None))
        };
        let mut pictures = Addressed::new(&mut reading, &mut beside);
        assert!(pictures.picture("cid:1").blob.is_some());
    }
}
