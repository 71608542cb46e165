//! JSON: the original text, once it is known to be JSON.
//!
//! The text is never written anew: numbers, order, spacing and repeated names stay as they are.

use serde::de::IgnoredAny;

use crate::format::Format;
use crate::formats::source;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Reads one JSON text.
///
/// # Errors
///
/// `damaged` with line and column if the text is not JSON (RFC 8259).
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    check(&text).map_err(|error| ExtractError::damaged(format!("not valid JSON: {error}")))?;
    Ok(source::whole(format, &text))
}

/// Checks the syntax, however deep the nesting, and keeps nothing.
pub(crate) fn check(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<IgnoredAny>(text).map(|_| ())
}
