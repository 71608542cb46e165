//! Bytes of a file to pages and elements.
//!
//! The crate exists so that every connector that meets files (a folder, a repository, an
//! attachment) makes the same document of the same bytes. It knows nothing of paths, file
//! systems, networks, clocks or hashes: a file name is looked at for its extension only, and
//! nothing about where or when a file was found can enter its content. `docs/mapping.md` of the repository holds
//! the mapping of each format.

mod addressed;
mod beside;
mod codepage;
mod cuts;
mod decode;
mod elements;
mod entities;
mod flow;
mod format;
mod formats;
mod front_matter;
mod grid;
mod groups;
mod inline;
mod languages;
mod limits;
mod little_endian;
mod made;
mod numbers;
mod package;
mod pages;
mod paging;
mod pictures;
mod reading;
mod reason;
mod sniff;
mod times;
mod xml;

use dpe_connector::content::{DocumentHead, Page};

use crate::reading::Reading;

pub use beside::{is_named_as_picture, picture_beside, picture_type, shows_pictures_beside};
pub use format::{Format, HEAD_BYTES, format_by_name, format_of};
pub use formats::IMAGE_HEAD_BYTES;
pub use limits::{Limits, UNSUSPICIOUS_BYTES};
pub use reason::{ExtractError, Reason};

/// Version of the mapping. It changes whenever the same bytes would give another document, and
/// is meant to be part of a connector's version, so that a new mapping starts a full round.
pub const VERSION: &str = "4";

/// The handle of a blob that is the whole input. Whoever has the bytes puts a handle of its own, or
/// the bytes themselves, in its place (connector contract §14.1).
pub const WHOLE_INPUT: &str = "input";

/// A file as an extractor sees it.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// File name without its directories, as bytes; only the extension or a well-known whole name
    /// (`Makefile`) is looked at.
    pub name: &'a [u8],
    /// The whole content of the file; of a format that [is read from its
    /// head](Format::is_read_from_head) the first [`IMAGE_HEAD_BYTES`] are enough, and give the
    /// same document.
    pub bytes: &'a [u8],
}

/// What a file becomes: a document without its identity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Extraction {
    /// File type, declared title and declared metadata.
    pub head: DocumentHead,
    /// Pages in reading order; none when the file holds nothing to read. An `Image` has the handle
    /// [`WHOLE_INPUT`], or the decimal number of one of [`blobs`](Self::blobs).
    pub pages: Vec<Page>,
    /// Pictures that were found within the file, each once.
    pub blobs: Vec<Vec<u8>>,
    /// What people should know of the file and is no content: that its name claims another format,
    /// that bytes of its text were no characters.
    pub notes: Vec<String>,
}

/// A document as a reader makes it; its pictures are kept by the [`Reading`].
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) head: DocumentHead,
    pub(crate) pages: Vec<Page>,
}

/// Makes a document of a file. The same input and limits always give the same result.
///
/// # Errors
///
/// The [`Reason`], in an [`ExtractError`]. `unsupported_format` if [`format_of`] knows no format for the file.
pub fn extract(input: &Input<'_>, limits: &Limits) -> Result<Extraction, ExtractError> {
    let size = input.bytes.len() as u64;
    within("bytes", size, limits.input_bytes)?;
    let mut reading = Reading::new(limits, size);
    let Document { head, pages } = read(input.name, input.bytes, &mut reading)?;
    reading.settled()?;
    within("pages", pages.len() as u64, limits.pages as u64)?;
    if let Some(claimed) = disagreement(input.name, &head.file_type) {
        let found = &head.file_type;
        reading.note(format!("named as {claimed}, but its content is {found}"));
    }
    let (blobs, notes) = reading.finish();
    Ok(Extraction {
        head,
        pages,
        blobs,
        notes,
    })
}

/// Reads a file, or one within it.
fn read(name: &[u8], bytes: &[u8], reading: &mut Reading<'_>) -> Result<Document, ExtractError> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let format = format_of(name, head).ok_or_else(ExtractError::unsupported)?;
    if bytes.is_empty() {
        return Ok(Document::new(DocumentHead {
            file_type: "empty".to_owned(),
            ..DocumentHead::default()
        }));
    }
    formats::read(format, bytes, reading).map_err(|error| {
        // Nobody claimed that the file is a text: it only began like one.
        let is_mistaken = format.is_guess() && error.reason == Reason::Damaged;
        if is_mistaken {
            ExtractError::unsupported()
        } else {
            error
        }
    })
}

fn within(what: &str, found: u64, most: u64) -> Result<(), ExtractError> {
    if found <= most {
        return Ok(());
    }
    let message = format!("{found} {what}, more than {most}");
    Err(ExtractError::new(Reason::TooLarge, message))
}

/// Returns the format that a name claims, if it is not the one that was found.
fn disagreement(name: &[u8], found: &str) -> Option<&'static str> {
    let claimed = format_by_name(name)?.file_type();
    (found != "empty" && claimed != found).then_some(claimed)
}

impl Document {
    /// A document without pages.
    pub(crate) fn new(head: DocumentHead) -> Self {
        Self {
            head,
            pages: Vec::new(),
        }
    }

    /// A document whose format knows no pages.
    pub(crate) fn of_elements(head: DocumentHead, elements: elements::Elements) -> Self {
        let pages = pages::of(elements.into_vec());
        Self { head, pages }
    }
}

#[cfg(test)]
mod tests {
    use super::{HEAD_BYTES, Input, Limits, Reason, extract};

    fn reason(name: &[u8], bytes: &[u8], limits: &Limits) -> Option<Reason> {
        let extraction = extract(&Input { name, bytes }, limits);
        extraction.err().map(|error| error.reason)
    }

    #[test]
    fn file_that_only_began_like_a_text_is_not_claimed() {
        let mut bytes = vec![b'a'; HEAD_BYTES];
        bytes.extend(b"\xFF\0");
        let of = |name| reason(name, &bytes, &Limits::default());
        assert_eq!(of(b"data.xyz"), Some(Reason::UnsupportedFormat));
        assert_eq!(of(b"data.txt"), Some(Reason::Damaged));
    }

    #[test]
    fn what_is_above_a_limit_is_too_large() {
        let limits = Limits {
            input_bytes: 10,
            elements: 2,
            ..Limits::default()
        };
        assert_eq!(
            reason(b"a.txt", b"a\n\nb\n\nc", &limits),
            Some(Reason::TooLarge)
        );
        assert_eq!(reason(b"a.txt", b"a\n\nb", &limits), None);
        assert_eq!(reason(b"a.txt", b"a, b, c, d", &limits), None);
        assert_eq!(
            reason(b"a.txt", b"a, b, c, d.", &limits),
            Some(Reason::TooLarge)
        );
    }

    #[test]
    fn name_that_claims_another_format_is_noted() {
        let bytes = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR";
        let input = Input {
            name: b"a.jpg",
            bytes,
        };
        let extraction = extract(&input, &Limits::default()).unwrap();
        assert_eq!(extraction.notes, ["named as jpg, but its content is png"]);
    }
}
