//! What a commit says: its message, and who wrote it when.

use std::borrow::Cow;

use dpe_connector::content::{Category, Element, Metadata};
use encoding_rs::Encoding;
use gix::objs::CommitRef;
use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::Value;

/// A longer message is told in several elements.
pub(crate) const ELEMENT_BYTES: usize = 256 << 10;

/// Returns the elements of a commit with this id.
pub(crate) fn elements(id: &str, commit: &CommitRef<'_>) -> Vec<Element> {
    let mut decoder = Decoder::of(commit);
    let message = decoder.text(commit.message);
    let message = message.trim_end();
    let metadata = metadata(id, commit, &mut decoder);
    pieces(message)
        .map(|piece| Element {
            metadata: metadata.clone(),
            ..Element::text(Category::NarrativeText, piece)
        })
        .collect()
}

fn metadata(id: &str, commit: &CommitRef<'_>, decoder: &mut Decoder) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert("commit".to_owned(), id.into());
    let parents: Vec<Value> = commit
        .parents()
        .map(|parent| parent.to_string().into())
        .collect();
    metadata.insert("parents".to_owned(), parents.into());
    if let Ok(author) = commit.author() {
        metadata.insert("author_name".to_owned(), decoder.text(author.name).into());
        metadata.insert("author_email".to_owned(), decoder.text(author.email).into());
        if let Some(date) = author
            .time()
            .ok()
            .and_then(|time| date(time.seconds, time.offset))
        {
            metadata.insert("author_date".to_owned(), date.into());
        }
    }
    if decoder.is_lossy {
        metadata.insert("undecodable".to_owned(), true.into());
    }
    metadata
}

/// Returns a time as RFC 3339 has it, in the time zone of whoever wrote it down.
fn date(seconds: i64, offset: i32) -> Option<String> {
    let time = Timestamp::from_second(seconds).ok()?;
    let offset = Offset::from_seconds(offset).unwrap_or(Offset::UTC);
    Some(time.display_with_offset(offset).to_string())
}

/// Reads texts in the encoding that a commit names; UTF-8 if it names none.
struct Decoder {
    encoding: Option<&'static Encoding>,
    /// Whether something could not be read.
    is_lossy: bool,
}

impl Decoder {
    fn of(commit: &CommitRef<'_>) -> Self {
        let label = commit.encoding;
        Self {
            encoding: label.and_then(|label| Encoding::for_label(label)),
            is_lossy: false,
        }
    }

    fn text(&mut self, bytes: &[u8]) -> String {
        let (text, is_lossy) = match self.encoding {
            Some(encoding) => encoding.decode_without_bom_handling(bytes),
            None => match String::from_utf8_lossy(bytes) {
                Cow::Borrowed(text) => (Cow::Borrowed(text), false),
                owned => (owned, true),
            },
        };
        self.is_lossy |= is_lossy;
        text.into_owned()
    }
}

/// Cuts a text into pieces of a bounded length; an empty one is one piece.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (piece, after) = text.split_at(text.floor_char_boundary(ELEMENT_BYTES));
        rest = (!after.is_empty()).then_some(after);
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_keeps_its_time_zone() {
        // 1_700_000_000 is 2023-11-14T22:13:20Z.
        assert_eq!(
            date(1_700_000_000, 7200).unwrap(),
            "2023-11-15T00:13:20+02:00"
        );
        assert_eq!(
            date(1_700_000_000, -12_600).unwrap(),
            "2023-11-14T18:43:20-03:30"
        );
        assert_eq!(date(i64::MAX, 0), None);
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let text = "ä".repeat(ELEMENT_BYTES);
        let cut: Vec<&str> = pieces(&text).collect();
        assert!(cut.iter().all(|piece| piece.len() <= ELEMENT_BYTES));
        assert_eq!(cut.concat(), text);
        assert_eq!(pieces("").collect::<Vec<_>>(), [""]);
    }
}
