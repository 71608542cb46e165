//! JSON: the original text.
//!
//! The text is never written anew: numbers, order, spacing and repeated names stay as they are. What is not JSON to the
//! letter (comments, a template, a file that was cut off) is kept and noted: the words are what people look for.

use serde::de::IgnoredAny;

use crate::format::{Format, format_of_type};
use crate::formats::{ndjson, source};
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Reads one JSON text (RFC 8259), or several on lines of their own, which are NDJSON whatever the file is called.
///
/// # Errors
///
/// `damaged` if it is not text.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    if let Err(error) = check(&text) {
        if let Some(records) = format_of_type("ndjson").filter(|_| is_lines(&text)) {
            return Ok(ndjson::records(records, &text, reading));
        }
        reading.note(format!("not valid JSON: {error}"));
    }
    Ok(source::whole(format, &text, reading))
}

/// Checks the syntax, however deep the nesting, and keeps nothing.
pub(super) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ())
}

/// Whether each line is an object or a list of its own.
fn is_lines(text: &str) -> bool {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut count = 0;
    let all = lines
        .inspect(|_| count += 1)
        .all(|line| line.trim_start().starts_with(['{', '[']) && check(line).is_ok());
    all && count > 1
}
