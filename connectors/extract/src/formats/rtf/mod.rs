//! RTF: groups with control words, text in the code pages of its fonts (RTF specification 1.9.1).
//!
//! There are no pages but by declared breaks. What is for other programs (fonts, themes, revisions
//! that were deleted, embedded objects, a second rendering of a picture or a shape) is left out.

#[cfg(feature = "mail")]
mod encapsulated;
mod endings;
mod group;
mod picture;
mod reader;
mod sheet;
mod token;
mod words;

use crate::format::Format;
use crate::formats::{head, story};
use crate::reading::Reading;
use crate::{Document, ExtractError};

pub(super) use picture::with_file_header;
use reader::Reader;

#[cfg(feature = "mail")]
pub(crate) use encapsulated::page as encapsulated_page;

/// Reads a document.
///
/// # Errors
///
/// `damaged` if it does not begin like RTF, `bomb` if groups nest deeper than is taken.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let start = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    if !start.trim_ascii_start().starts_with(b"{\\rt") {
        return Err(ExtractError::damaged("it does not begin as RTF does"));
    }
    let mut reader = Reader::new(reading);
    reader.read(start)?;
    let (about, blocks) = reader.finish();
    let mut head = head(format);
    about.write(&mut head);
    Ok(story::document(head, blocks, reading))
}
