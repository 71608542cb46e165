//! What a source says, as steps: batch after batch, with the bytes of blobs fetched on the way
//! (connector contract §11, §14).
//!
//! A batch with many large blobs comes in portions, so that what waits on the disk is bounded. It
//! knows nothing of what becomes of the steps.

use std::collections::HashSet;

use crate::json::Value;
use crate::model::FileUri;
use crate::sync::assembly::{Assembly, BlobTrouble, Fetched, Step};
use crate::sync::failure::Failure;
use crate::sync::ports::{Batch, BatchEnd, ScanRequest, Source};

use super::spool::Spool;

/// A portion ends once it has fetched so many bytes of blobs.
const PORTION_BYTES: u64 = 64 << 20;

/// One pass over a source.
pub(super) struct Feed<'a, S> {
    source: &'a mut S,
    spool: &'a mut Spool,
    assembly: Assembly,
    /// Documents whose bytes are fetched; all, if there is no list.
    wanted: Option<HashSet<FileUri>>,
    max_items: u32,
    place: Place,
    /// What a final batch said of itself that broke the protocol.
    refused: Option<bool>,
}

/// How far a pass has come.
enum Place {
    /// A batch has to be asked for.
    Before(ScanRequest),
    /// So many items of this batch have been taken.
    Within(Batch, usize),
    /// There is no more.
    After,
}

/// What came of some items.
#[derive(Default)]
pub(super) struct Portion {
    pub(super) steps: Vec<Step>,
    /// How many there were.
    pub(super) items: u64,
    /// Length of the message they came in, counted once.
    pub(super) message_bytes: usize,
    /// Bytes of blobs that were fetched for them.
    pub(super) blob_bytes: u64,
    /// How the enumeration ended, if it did.
    pub(super) end: Option<Enumerated>,
}

/// What one enumeration ended with.
pub(super) struct Enumerated {
    pub(super) cursor: Option<String>,
    pub(super) incremental: bool,
}

impl<'a, S: Source> Feed<'a, S> {
    /// Returns a pass that starts from `cursor`.
    pub(super) fn new(
        source: &'a mut S,
        spool: &'a mut Spool,
        assembly: Assembly,
        max_items: u32,
        cursor: Option<String>,
    ) -> Self {
        Self {
            source,
            spool,
            assembly,
            wanted: None,
            max_items,
            place: Place::Before(ScanRequest {
                cursor,
                next: None,
                max_items,
            }),
            refused: None,
        }
    }

    /// Leaves the bytes of all other documents where they are; such documents come out as failed.
    pub(super) fn only(self, wanted: HashSet<FileUri>) -> Self {
        Self {
            wanted: Some(wanted),
            ..self
        }
    }

    /// Returns what a final batch said of itself that came, and broke the protocol (§11, §23).
    pub(super) fn refused(&self) -> Option<bool> {
        self.refused
    }

    /// Takes the next items; every one of them is shown to `seen` first.
    ///
    /// # Errors
    ///
    /// A failure that ends the round.
    pub(super) async fn next(
        &mut self,
        mut seen: impl FnMut(Value<'_>),
    ) -> Result<Portion, Failure> {
        let mut portion = Portion::default();
        let (batch, taken) = match std::mem::replace(&mut self.place, Place::After) {
            Place::Before(request) => {
                self.spool.forget_handles();
                let batch = self.scan(request).await?;
                self.announce(&batch);
                portion.message_bytes = batch.items.source().len();
                (batch, 0)
            }
            Place::Within(batch, taken) => (batch, taken),
            Place::After => return Ok(portion),
        };
        let items = batch.items.root().items().into_iter().flatten();
        let mut is_full = None;
        for (index, item) in items.enumerate().skip(taken) {
            if self.spool.taken() >= PORTION_BYTES {
                is_full = Some(index);
                break;
            }
            seen(item);
            portion.items += 1;
            let fetched = self.fetch(item).await?;
            self.assembly.push(item, fetched, &mut portion.steps);
        }
        portion.blob_bytes = self.spool.reset_taken();
        match is_full {
            Some(index) => self.place = Place::Within(batch, index),
            None => portion.end = self.after(batch.end, &mut portion.steps),
        }
        Ok(portion)
    }

    async fn scan(&mut self, request: ScanRequest) -> Result<Batch, Failure> {
        let scanned = self.source.scan(request).await;
        scanned.map_err(|failed| {
            self.refused = failed.incremental;
            failed.failure
        })
    }

    /// Goes on behind a batch that was taken as a whole.
    fn after(&mut self, end: BatchEnd, steps: &mut Vec<Step>) -> Option<Enumerated> {
        match end {
            BatchEnd::Next(next) => {
                self.place = Place::Before(ScanRequest {
                    cursor: None,
                    next: Some(next),
                    max_items: self.max_items,
                });
                None
            }
            BatchEnd::Final {
                cursor,
                incremental,
            } => {
                steps.extend(self.assembly.finish().map(Step::Failed));
                Some(Enumerated {
                    cursor,
                    incremental,
                })
            }
        }
    }

    /// Tells the spool which sizes a batch announces, before anything of it is fetched.
    fn announce(&mut self, batch: &Batch) {
        for item in batch.items.root().items().into_iter().flatten() {
            let needs = self.assembly.announces(item);
            if let Some(needs) = needs.filter(|needs| self.is_wanted(&needs.uri)) {
                self.spool.announce(&needs.sources);
            }
        }
    }

    fn is_wanted(&self, uri: &FileUri) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.contains(uri))
    }

    async fn fetch(
        &mut self,
        item: Value<'_>,
    ) -> Result<Vec<Result<Fetched, BlobTrouble>>, Failure> {
        let Some(needs) = self.assembly.needs(item) else {
            return Ok(Vec::new());
        };
        if !self.is_wanted(&needs.uri) {
            return Ok(vec![Err(BlobTrouble::unfetched())]);
        }
        self.spool.fetch_all(self.source, &needs.sources).await
    }
}
