//! Source code and configuration: the text as it is.

use dpe_connector::content::Category;

use crate::elements::Elements;
use crate::format::Format;
use crate::formats::{head, language, without_last_line_end};
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Reads a text in a formal language; it is not parsed, so it need not be correct.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    Ok(whole(format, &text))
}

/// A document of one text in one language; nothing but white space is nothing to read.
pub(crate) fn whole(format: Format, text: &str) -> Document {
    let mut elements = Elements::default();
    if !text.trim().is_empty() {
        elements.push_text(
            Category::CodeSnippet,
            without_last_line_end(text),
            &language(format.file_type()),
        );
    }
    Document::of_elements(head(format), elements)
}
