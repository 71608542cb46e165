//! Bytes of a file to pages and elements.
//!
//! The crate exists so that every connector that meets files (a folder, a repository, an
//! attachment) makes the same document of the same bytes. It knows nothing of paths, file
//! systems, networks, clocks or hashes: a file name is looked at for its extension only, and
//! nothing about where or when a file was found can enter its content. `README.md` holds the
//! mapping of each format.

mod decode;
mod elements;
mod flow;
mod format;
mod formats;
mod front_matter;
mod grid;
mod inline;
mod languages;
mod pages;
mod sniff;

use dpe_connector::content::{DocumentHead, Page};

pub use format::{Format, HEAD_BYTES, format_by_name, format_of};
pub use formats::IMAGE_HEAD_BYTES;

/// Version of the mapping. It changes whenever the same bytes would give another document, and
/// is meant to be part of a connector's version, so that a new mapping starts a full round.
pub const VERSION: &str = "3";

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
    /// Pages in reading order; none when the file holds nothing to read.
    pub pages: Vec<Page>,
}

/// Why a file gives no document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtractError {
    /// No format of this crate claims the file.
    #[error("no known format claims this file")]
    Unsupported,
    /// The file claims a format and does not keep to it.
    #[error("{message}")]
    Invalid {
        /// What is wrong and where, for people.
        message: String,
    },
}

impl ExtractError {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
        }
    }
}

/// Makes a document of a file. The same input always gives the same result.
///
/// # Errors
///
/// `Unsupported` if [`format_of`] knows no format for the file, `Invalid` if the bytes are not
/// what the format demands (encoding, syntax).
pub fn extract(input: &Input<'_>) -> Result<Extraction, ExtractError> {
    let head = &input.bytes[..input.bytes.len().min(HEAD_BYTES)];
    let format = format_of(input.name, head).ok_or(ExtractError::Unsupported)?;
    if input.bytes.is_empty() {
        return Ok(Extraction::new(DocumentHead {
            file_type: "empty".to_owned(),
            ..DocumentHead::default()
        }));
    }
    formats::read(format, input.bytes).map_err(|error| {
        // Nobody claimed that the file is a text: it only began like one.
        let is_mistaken = format.is_guess();
        if is_mistaken {
            ExtractError::Unsupported
        } else {
            error
        }
    })
}

impl Extraction {
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
    use super::{ExtractError, HEAD_BYTES, Input, extract};

    #[test]
    fn file_that_only_began_like_a_text_is_not_claimed() {
        let mut bytes = vec![b'a'; HEAD_BYTES];
        bytes.extend(b"\xFF\0");
        let of = |name: &'static [u8]| {
            let input = Input {
                name,
                bytes: &bytes,
            };
            extract(&input).unwrap_err()
        };
        assert_eq!(of(b"data.xyz"), ExtractError::Unsupported);
        assert!(matches!(of(b"data.txt"), ExtractError::Invalid { .. }));
    }
}
