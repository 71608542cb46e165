//! The readers, one file per format. Each turns the bytes of a file into a document and knows
//! nothing of the others.

mod archive;
mod compound;
mod delimited;
mod doc;
mod docx;
mod epub;
mod escher;
mod fields;
mod html;
mod image;
mod json;
#[cfg(feature = "mail")]
mod mail;
mod markdown;
mod markup;
mod ndjson;
mod notebook;
mod odf;
mod ooxml;
mod package;
#[cfg(feature = "pdf")]
mod pdf;
mod plain;
mod ppt;
mod pptx;
mod role;
mod rtf;
mod sheets;
mod source;
mod story;
mod summary;
mod typed;

use dpe_connector::content::{DocumentHead, Metadata};

use crate::format::{Format, Reader};
use crate::reading::Reading;
use crate::{Document, ExtractError};

pub use image::IMAGE_HEAD_BYTES;

/// Reads a file that is not empty.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    match format.reader() {
        Reader::Markdown => markdown::read(format, bytes, reading),
        Reader::Plain => plain::read(format, bytes, reading),
        Reader::ReStructured => markup::read_restructured(format, bytes, reading),
        Reader::AsciiDoc => markup::read_asciidoc(format, bytes, reading),
        Reader::Org => markup::read_org(format, bytes, reading),
        Reader::Source => source::read(format, bytes, reading),
        Reader::Notebook => notebook::read(format, bytes, reading),
        Reader::Json => json::read(format, bytes, reading),
        Reader::Ndjson => ndjson::read(format, bytes, reading),
        Reader::Html => html::read(format, bytes, reading),
        Reader::Delimited(delimiter) => delimited::read(format, delimiter, bytes, reading),
        Reader::Image(mime_type) => Ok(image::read(format, mime_type, bytes, reading)),
        Reader::Package => package::read(format, bytes, reading),
        Reader::Compound => compound::read(format, bytes, reading),
        Reader::Rtf => rtf::read(format, bytes, reading),
        #[cfg(feature = "pdf")]
        Reader::Pdf => pdf::read(format, bytes, reading),
        #[cfg(not(feature = "pdf"))]
        Reader::Pdf => Err(ExtractError::unsupported()),
        #[cfg(feature = "mail")]
        Reader::Mail => mail::read(format, bytes, reading),
        #[cfg(feature = "mail")]
        Reader::Mailbox => mail::read_mailbox(format, bytes, reading),
        #[cfg(not(feature = "mail"))]
        Reader::Mail | Reader::Mailbox => Err(ExtractError::unsupported()),
    }
}

/// The head of a document that declares nothing but its format.
fn head(format: Format) -> DocumentHead {
    DocumentHead {
        file_type: format.file_type().to_owned(),
        ..DocumentHead::default()
    }
}

/// Metadata of code in a language.
fn language(name: &str) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("language".to_owned(), name.into());
    metadata
}

/// Returns a text without its last line end, which files have and content does not.
fn without_last_line_end(text: &str) -> &str {
    text.strip_suffix('\n').unwrap_or(text)
}
