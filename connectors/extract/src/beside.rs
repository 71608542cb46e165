//! Pictures in files beside a text: which file an address means, and whether that is a picture.
//!
//! Paths are bytes with `/` between their components, relative to a root that is somebody else's. Whether there is
//! such a file, and who may see it, is not known here.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

use crate::addressed::is_relative;
use crate::format::{HEAD_BYTES, Reader, format_by_name, format_of};
use crate::sniff;

/// Types of texts that stand in files of their own and show pictures from files beside them.
const SHOWING: [&str; 6] = ["md", "html", "rst", "asciidoc", "org", "ipynb"];

/// Whether documents of a type may show pictures that lie beside their file.
pub fn shows_pictures_beside(file_type: &str) -> bool {
    SHOWING.contains(&file_type)
}

/// Whether the name of a file claims that it is a picture of a format that becomes a document.
pub fn is_named_as_picture(name: &[u8]) -> bool {
    let format = format_by_name(name);
    format.is_some_and(|format| matches!(format.reader(), Reader::Image(_)))
}

/// Returns the media type of a picture whose file begins with `head`, as its own document has it; `None` for what
/// is no picture, whatever its name.
pub fn picture_type(name: &[u8], head: &[u8]) -> Option<&'static str> {
    let head = &head[..head.len().min(HEAD_BYTES)];
    let format = format_of(name, head)?;
    let is_one = || sniff::image(head).is_some() || memchr::memmem::find(head, b"<svg").is_some();
    match format.reader() {
        Reader::Image(mime_type) if is_one() => Some(mime_type),
        _ => None,
    }
}

/// Returns the path of the picture that an address in the text at `path` means. `None` for addresses that are not
/// relative, lead above the root or to what is not named as a picture.
pub fn picture_beside(path: &[u8], address: &str) -> Option<Vec<u8>> {
    let address = address.trim();
    if !is_relative(address) || address.starts_with('/') {
        return None;
    }
    let end = address.find(['#', '?']).unwrap_or(address.len());
    let address: Cow<'_, [u8]> = percent_decode_str(&address[..end]).into();
    let folder = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in components(&path[..folder]).chain(components(&address)) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    let is_whole = !address.contains(&0) && !address.ends_with(b"/");
    let is_one = is_whole && parts.last().is_some_and(|name| is_named_as_picture(name));
    is_one.then(|| parts.join(&b'/'))
}

fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::{picture_beside, picture_type, shows_pictures_beside};

    fn beside(path: &str, address: &str) -> Option<String> {
        let found = picture_beside(path.as_bytes(), address)?;
        Some(String::from_utf8(found).unwrap())
    }

    #[test]
    fn addresses_are_relative_to_the_folder_of_the_text() {
        for (path, address, expected) in [
            ("a.md", "b.png", "b.png"),
            ("d/a.md", "./img//b.PNG", "d/img/b.PNG"),
            ("d/e/a.md", "../b.svg", "d/b.svg"),
            ("d/a.md", "x/../../b.png", "b.png"),
            ("a.md", " b%20c%C3%A9.png?raw=true#x", "b cé.png"),
            ("a.md", "100%.png", "100%.png"),
            ("a.md", "x%2Fy.png", "x/y.png"),
        ] {
            assert_eq!(
                beside(path, address).as_deref(),
                Some(expected),
                "{address}"
            );
        }
        let latin = picture_beside(b"a.md", "%E9.png");
        assert_eq!(latin.as_deref(), Some(&b"\xE9.png"[..]));
    }

    #[test]
    fn addresses_of_nothing_beside_mean_no_file() {
        for address in [
            "",
            "/b.png",
            "%2Fetc/../../b.png",
            "//h/b.png",
            "http://h/b.png",
            "file:///b.png",
            "file:b.png",
            "c:b.png",
            "data:image/png;base64,AA==",
            "../b.png",
            "x/../../b.png",
            "%2e%2e/b.png",
            "b.png%00.png",
            "b.png/",
            "?b.png",
            "#b.png",
            "b.txt",
            "b",
            "../a.md",
            ".png",
        ] {
            assert_eq!(beside("a.md", address), None, "{address}");
        }
    }

    #[test]
    fn pictures_are_known_by_their_beginning() {
        assert_eq!(picture_type(b"a.png", b"GIF89a"), Some("image/gif"));
        assert_eq!(
            picture_type(b"a.svg", b"<!-- x --><svg/>"),
            Some("image/svg+xml")
        );
        for (name, head) in [
            ("a.png", &b"secret words"[..]),
            ("a.svg", b"words"),
            ("a.png", b"%PDF-1.4"),
            ("a.png", b"<!DOCTYPE html><svg>"),
            ("a.png", b""),
        ] {
            assert_eq!(picture_type(name.as_bytes(), head), None, "{name}");
        }
    }

    #[test]
    fn documents_that_are_archives_of_their_own_show_nothing_beside_them() {
        assert!(shows_pictures_beside("md") && !shows_pictures_beside("zip"));
        assert!(!shows_pictures_beside("docx") && !shows_pictures_beside("eml"));
    }
}
