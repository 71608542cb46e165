//! Pictures among the parts of a package: their bytes, each read once, and their media types.
//!
//! Knows no format of documents. What is no picture (a film, a missing part) is none here either.

use std::collections::HashMap;

use dpe_connector::content::BlobSource;

use crate::ExtractError;
use crate::inline::Picture;
use crate::package::Package;
use crate::reading::Reading;
use crate::sniff;

/// Pictures of one package that were read so far, by the names of their parts.
#[derive(Debug, Default)]
pub(crate) struct Pictures(HashMap<String, Option<Known>>);

type Known = (BlobSource, Option<&'static str>);

impl Pictures {
    /// Returns the picture in a part; `None` if the part is missing, empty, or cannot be read, which is noted.
    ///
    /// # Errors
    ///
    /// `bomb`.
    pub(crate) fn of_part(
        &mut self,
        name: &str,
        package: &mut Package<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Option<Picture>, ExtractError> {
        if !self.0.contains_key(name) {
            let read = package.needed(name, reading);
            let bytes = reading.tolerated("a picture", read)?;
            let known = bytes.filter(|bytes| !bytes.is_empty()).map(|bytes| {
                let media_type = media_type(&bytes, name);
                (reading.blob(bytes), media_type)
            });
            self.0.insert(name.to_owned(), known);
        }
        let known = self.0.get(name).and_then(Option::as_ref);
        Ok(known.map(|(blob, media_type)| Picture::of_bytes(blob.clone(), *media_type)))
    }
}

/// Whether a name is that of a picture which texts show.
pub(crate) fn is_named_as_one(name: &str) -> bool {
    media_type(&[], name).is_some_and(|media_type| media_type.starts_with("image/"))
}

/// Returns the media type of a picture: by its signature, else by the extension of its name.
pub(crate) fn media_type(bytes: &[u8], name: &str) -> Option<&'static str> {
    if let Some(file_type) = sniff::image(bytes) {
        return by_extension(file_type);
    }
    let is_emf = bytes.starts_with(b"\x01\0\0\0") && bytes.get(40..44) == Some(b" EMF");
    let is_placeable_wmf = bytes.starts_with(b"\xD7\xCD\xC6\x9A");
    let is_wmf = bytes.starts_with(b"\x01\0\x09\0") || bytes.starts_with(b"\x02\0\x09\0");
    if bytes.starts_with(b"VCLMTF") {
        return Some("image/x-svm");
    }
    if is_emf {
        return Some("image/emf");
    }
    if is_placeable_wmf || is_wmf {
        return Some("image/wmf");
    }
    let (_, extension) = name.rsplit_once('.')?;
    by_extension(&extension.to_ascii_lowercase())
}

fn by_extension(extension: &str) -> Option<&'static str> {
    let types = [
        ("png", "image/png"),
        ("jpg", "image/jpeg"),
        ("jpeg", "image/jpeg"),
        ("gif", "image/gif"),
        ("webp", "image/webp"),
        ("bmp", "image/bmp"),
        ("dib", "image/bmp"),
        ("tif", "image/tiff"),
        ("tiff", "image/tiff"),
        ("heic", "image/heic"),
        ("svg", "image/svg+xml"),
        ("emf", "image/emf"),
        ("wmf", "image/wmf"),
        ("pct", "image/x-pict"),
        ("pict", "image/x-pict"),
        ("jp2", "image/jp2"),
        ("svm", "image/x-svm"),
        ("wdp", "image/vnd.ms-photo"),
        ("eps", "application/postscript"),
        ("pdf", "application/pdf"),
    ];
    let found = types.iter().find(|(known, _)| *known == extension);
    found.map(|(_, media_type)| *media_type)
}

#[cfg(test)]
mod tests {
    use super::{is_named_as_one, media_type};

    #[test]
    fn signature_comes_before_the_name() {
        assert_eq!(media_type(b"GIF89a", "a.png"), Some("image/gif"));
        assert_eq!(media_type(b"\xD7\xCD\xC6\x9A", "a"), Some("image/wmf"));
        assert_eq!(media_type(b"<svg/>", "a.SVG"), Some("image/svg+xml"));
        assert_eq!(media_type(b"VCLMTF\x01\0", "a.png"), Some("image/x-svm"));
        assert_eq!(media_type(b"?", "a.bin"), None);
        assert!(is_named_as_one("a/b.PNG") && !is_named_as_one("a.pdf") && !is_named_as_one("png"));
    }
}
