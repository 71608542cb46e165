//! What a round has said and a runner has not asked for yet.

use dpe_connector::batch::item_limit;
use dpe_connector::scan::ScanEnd;
use dpe_connector::{BatchAssembler, Item, ScanResult, encode_segments, path};
use serde_json::value::RawValue;

use crate::trouble::Failure;

/// The items of a round below one prefix, on their way into messages.
#[derive(Debug)]
pub struct Items {
    assembler: BatchAssembler,
    prefix: String,
    limit: usize,
}

impl Items {
    /// Returns no items yet; messages have at most `max_message_bytes`.
    pub fn below(prefix: &str, max_message_bytes: u64) -> Self {
        Self {
            assembler: BatchAssembler::new(max_message_bytes),
            prefix: prefix.to_owned(),
            limit: item_limit(max_message_bytes),
        }
    }

    /// Returns the URI of the file at `path`, relative to the root.
    pub fn uri(&self, path: &[u8]) -> String {
        path::file_uri(&self.prefix, path)
    }

    /// Returns how many bytes the text of one item may have.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Says an item.
    pub fn say(&mut self, item: &Item) {
        let texts = encode_segments(item, self.limit);
        self.assembler.push(texts);
    }

    /// Says an item whose texts, within the [limit](Self::limit), have been made already.
    pub fn say_texts(&mut self, texts: Vec<Box<RawValue>>) {
        self.assembler.push(texts);
    }

    /// Says that the document of `path` is gone.
    pub fn say_deletion(&mut self, path: &[u8]) {
        let file_uri = self.uri(path);
        self.say(&Item::Delete { file_uri });
    }

    /// Says that the document of one path is that of another one now.
    pub fn say_move(&mut self, from: &[u8], to: &[u8]) {
        let (from_uri, to_uri) = (self.uri(from), self.uri(to));
        self.say(&Item::Move { from_uri, to_uri });
    }

    /// Says why there is no document of `path`.
    pub fn say_failure(&mut self, path: &[u8], failure: Failure) {
        let Failure {
            code,
            message,
            retryable,
        } = failure;
        self.say(&Item::error(self.uri(path), code, message, retryable));
    }

    pub(crate) fn is_ready(&self, max_items: usize) -> bool {
        self.assembler.is_ready(max_items)
    }

    pub(crate) fn batch(&mut self, max_items: usize, next: String) -> ScanResult {
        ScanResult {
            items: self.assembler.take(max_items),
            end: ScanEnd::Next(next),
        }
    }

    /// Returns the last batch, if what is left fits one message together with the cursor.
    pub(crate) fn last_batch(
        &mut self,
        max_items: usize,
        end: &mut Option<RoundEnd>,
    ) -> Option<ScanResult> {
        let cursor = end.as_ref().and_then(|end| end.cursor.as_ref());
        let length = cursor.map_or(0, String::len);
        let items = self.assembler.take_rest(max_items, length)?;
        let RoundEnd {
            cursor,
            incremental,
        } = end.take()?;
        Some(ScanResult {
            items,
            end: ScanEnd::Final {
                cursor,
                incremental,
            },
        })
    }
}

/// What the last batch of a round says beside items (connector contract §11).
#[derive(Debug)]
pub struct RoundEnd {
    /// Where the next round may start.
    pub cursor: Option<String>,
    /// Whether the enumeration started from the given cursor.
    pub incremental: bool,
}
