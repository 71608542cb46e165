//! Plain text and logs: paragraphs between blank lines.

use dpe_connector::content::{Category, Metadata};

use crate::elements::Elements;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Reads a plain text. Lines inside a paragraph stay as they are, indentation included.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let mut elements = Elements::of(reading.made());
    for paragraph in paragraphs(&text) {
        elements.push_text(Category::NarrativeText, paragraph, &Metadata::new());
        reading.settled()?;
    }
    Ok(Document::of_elements(head(format), elements))
}

/// Returns the runs of lines that are not blank, without the white space after their last word.
pub(super) fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = after_blank_lines(rest);
        if rest.is_empty() {
            return None;
        }
        let mut end = 0;
        for line in rest.split_inclusive('\n') {
            if line.trim().is_empty() {
                break;
            }
            end += line.len();
        }
        let paragraph = rest[..end].trim_end();
        rest = &rest[end..];
        Some(paragraph)
    })
}

fn after_blank_lines(text: &str) -> &str {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if !line.trim().is_empty() {
            break;
        }
        start += line.len();
    }
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::paragraphs;

    #[test]
    fn blank_lines_separate_paragraphs_and_indentation_stays() {
        let text = "\n \n  first\n    second  \n\t\nthird";
        assert_eq!(
            paragraphs(text).collect::<Vec<_>>(),
            ["  first\n    second", "third"]
        );
        assert_eq!(paragraphs(" \n\n").count(), 0);
    }
}
