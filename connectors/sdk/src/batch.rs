//! Cuts items into messages that keep the size limit (connector contract §9, §13).
//!
//! A document above the limit is spread over segments of whole pages; what cannot be cut so, a
//! single page above the limit, becomes an `error` item, never an oversized message.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::content::DocumentHead;
use crate::item::{Item, ItemErrorCode, Segment};

/// Room for everything in a `scan` result that is neither items nor cursor: envelope, id,
/// continuation and member names.
const ENVELOPE_BYTES: u64 = 1024;

/// Batches end near this many bytes, so that neither side holds much at once. Items above it
/// still travel, alone.
const BATCH_BYTES: usize = 4 << 20;

/// Returns how many bytes one item may have in messages of at most `max_message_bytes`.
pub fn item_limit(max_message_bytes: u64) -> usize {
    usize::try_from(max_message_bytes.saturating_sub(ENVELOPE_BYTES)).unwrap_or(usize::MAX)
}

/// Returns `item` as JSON texts of at most `limit` bytes each (see [`item_limit`]).
///
/// All of them belong to the same document and have to be sent one after another.
pub fn encode_segments(item: &Item, limit: usize) -> Vec<Box<RawValue>> {
    let whole = raw(item);
    match item {
        Item::Document(segment) if whole.get().len() > limit => {
            cut(segment, limit).unwrap_or_else(|why| {
                let code = ItemErrorCode::ContentInvalid;
                vec![raw(&Item::error(&segment.file_uri, code, why, false))]
            })
        }
        _ => vec![whole],
    }
}

#[derive(Serialize)]
#[serde(tag = "kind", rename = "document")]
struct RawSegment<'a> {
    file_uri: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<&'a DocumentHead>,
    pages: &'a [Box<RawValue>],
    continued: bool,
}

fn cut(segment: &Segment, limit: usize) -> Result<Vec<Box<RawValue>>, String> {
    let pages: Vec<Box<RawValue>> = segment.pages.iter().map(raw).collect();
    let starts = segment_starts(segment, &pages, limit)?;
    let ends = starts.iter().skip(1).copied().chain([pages.len()]);
    Ok(starts
        .iter()
        .zip(ends)
        .enumerate()
        .map(|(index, (&start, end))| {
            raw(&RawSegment {
                file_uri: &segment.file_uri,
                document: segment.document.as_ref().filter(|_| index == 0),
                pages: &pages[start..end],
                continued: end < pages.len() || segment.continued,
            })
        })
        .collect())
}

/// Returns the index of the first page of each segment. The first segment may be without pages.
fn segment_starts(
    segment: &Segment,
    pages: &[Box<RawValue>],
    limit: usize,
) -> Result<Vec<usize>, String> {
    let overhead = |document| {
        let empty = RawSegment {
            file_uri: &segment.file_uri,
            document,
            pages: &[],
            continued: false,
        };
        raw(&empty).get().len()
    };
    let mut used = overhead(segment.document.as_ref());
    if used > limit {
        return Err(format!(
            "the metadata of the document has {used} bytes, a message can carry {limit}"
        ));
    }
    let mut starts = vec![0];
    for (index, page) in pages.iter().enumerate() {
        let length = page.get().len() + 1;
        if used + length > limit {
            starts.push(index);
            used = overhead(None);
        }
        used += length;
        if used > limit {
            return Err(format!(
                "page {} has {length} bytes, a message can carry {limit}",
                index + 1
            ));
        }
    }
    Ok(starts)
}

fn raw<T: Serialize>(value: &T) -> Box<RawValue> {
    to_raw_value(value).expect("items have string keys only and finite numbers")
}

/// Collects the texts of items and gives them out in batches.
#[derive(Debug)]
pub struct BatchAssembler {
    room: usize,
    waiting: VecDeque<Box<RawValue>>,
    waiting_bytes: usize,
}

impl BatchAssembler {
    /// Returns an empty assembler for messages of at most `max_message_bytes`.
    pub fn new(max_message_bytes: u64) -> Self {
        Self {
            room: item_limit(max_message_bytes),
            waiting: VecDeque::new(),
            waiting_bytes: 0,
        }
    }

    /// Appends texts made by [`encode_segments`] with the limit of this assembler.
    pub fn push(&mut self, texts: impl IntoIterator<Item = Box<RawValue>>) {
        for text in texts {
            self.waiting_bytes += text.get().len() + 1;
            self.waiting.push_back(text);
        }
    }

    /// Takes the items of the next batch out, at least one if any are waiting.
    pub fn take(&mut self, max_items: usize) -> Vec<Box<RawValue>> {
        let room = self.room.min(BATCH_BYTES);
        let mut items = Vec::new();
        let mut used = 0;
        while let Some(text) = self.waiting.front() {
            let length = text.get().len() + 1;
            if !items.is_empty() && (items.len() == max_items || used + length > room) {
                break;
            }
            used += length;
            self.waiting_bytes -= length;
            items.extend(self.waiting.pop_front());
        }
        items
    }

    /// Takes everything that is waiting, if it fits one message together with a cursor of
    /// `cursor_bytes`; an empty assembler always yields its empty rest.
    pub fn take_rest(
        &mut self,
        max_items: usize,
        cursor_bytes: usize,
    ) -> Option<Vec<Box<RawValue>>> {
        let fits = self.waiting.len() <= max_items
            && self.waiting_bytes.saturating_add(cursor_bytes) <= self.room;
        (fits || self.waiting.is_empty()).then(|| {
            self.waiting_bytes = 0;
            self.waiting.drain(..).collect()
        })
    }

    /// Returns whether a batch of `max_items` would be full with what is waiting.
    pub fn is_ready(&self, max_items: usize) -> bool {
        self.waiting.len() >= max_items || self.waiting_bytes >= self.room.min(BATCH_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, prop_assert, prop_assert_eq, proptest};
    use serde_json::Value;

    use super::*;
    use crate::content::{Category, Element, Page};

    fn page(length: usize) -> Page {
        Page {
            elements: vec![Element::text(Category::NarrativeText, "x".repeat(length))],
            ..Page::default()
        }
    }

    fn document(lengths: &[usize]) -> Item {
        let head = DocumentHead {
            file_type: "txt".into(),
            ..DocumentHead::default()
        };
        Item::document(
            "dpe://h/a",
            head,
            lengths.iter().copied().map(page).collect(),
        )
    }

    fn parsed(texts: &[Box<RawValue>]) -> Vec<Value> {
        texts
            .iter()
            .map(|text| serde_json::from_str(text.get()).unwrap())
            .collect()
    }

    #[test]
    fn a_document_that_fits_stays_one_item() {
        let texts = encode_segments(&document(&[10, 10]), 10_000);
        assert_eq!(texts.len(), 1);
        assert_eq!(parsed(&texts)[0].get("continued"), None);
    }

    #[test]
    fn a_page_above_the_limit_is_an_error_item() {
        let texts = parsed(&encode_segments(&document(&[10, 5000]), 1000));
        assert_eq!(texts.len(), 1);
        assert_eq!(texts[0]["kind"], "error");
        assert_eq!(texts[0]["code"], "content_invalid");
        assert_eq!(texts[0]["file_uri"], "dpe://h/a");
        assert_eq!(texts[0]["retryable"], false);
    }

    proptest! {
        #[test]
        fn segments_keep_the_limit_and_join_to_the_document(
            lengths in prop::collection::vec(0usize..400, 0..30),
            limit in 600usize..2000,
        ) {
            let texts = encode_segments(&document(&lengths), limit);
            prop_assert!(texts.iter().all(|text| text.get().len() <= limit));
            let segments = parsed(&texts);
            let mut found = Vec::new();
            for (index, segment) in segments.iter().enumerate() {
                prop_assert_eq!(segment.get("document").is_some(), index == 0);
                let continued = segment.get("continued").is_some_and(|value| value == true);
                prop_assert_eq!(continued, index + 1 < segments.len());
                for page in segment["pages"].as_array().unwrap() {
                    found.push(page["elements"][0]["text"].as_str().unwrap().len());
                }
            }
            prop_assert_eq!(found, lengths);
        }
    }

    #[test]
    fn batches_end_at_the_items_or_at_the_bytes() {
        let mut assembler = BatchAssembler::new(ENVELOPE_BYTES + 1000);
        for length in [300, 300, 300, 900] {
            assembler.push(encode_segments(&document(&[length]), 1000));
        }
        assert_eq!(assembler.take(1).len(), 1);
        assert!(assembler.take_rest(10, 0).is_none());
        assert_eq!(assembler.take(10).len(), 2);
        assert!(assembler.take_rest(10, 1000).is_none());
        assert_eq!(assembler.take(10).len(), 1);
        assert_eq!(
            assembler.take_rest(10, 5000).map(|rest| rest.len()),
            Some(0)
        );
    }
}
