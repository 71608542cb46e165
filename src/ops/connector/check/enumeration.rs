//! One enumeration from its first batch to its last, judged as the runner judges it.

use std::collections::{HashMap, HashSet};

use dpe_connector::ScanParams;
use tokio::time::Instant;

use crate::model::{Contract, FileUri, Hash};
use crate::sync::assembly::{Assembly, Step};
use crate::sync::failure::{Failure, FailureSource, Subject};
use crate::sync::ports::{Batch, BatchEnd};
use crate::sync::wave::Operation;

use super::bench::{Found, Why};
use super::blobs::Blobs;
use super::session::Opened;

/// Most items of a batch; small, so that there are several.
const MAX_ITEMS: u32 = 20;

/// What an enumeration came to.
#[derive(Debug, Default)]
pub(super) struct Enumeration {
    /// What each item came to, in order, to be compared.
    pub(super) lines: Vec<String>,
    /// The documents and what they hold.
    pub(super) documents: HashMap<FileUri, Hash>,
    /// The documents that are said to be gone.
    pub(super) deleted: HashSet<FileUri>,
    /// What was wrong with items, the plugin's own errors included.
    pub(super) failures: Vec<Failure>,
    pub(super) blobs: Blobs,
    pub(super) batches: u64,
    pub(super) items: u64,
    pub(super) cursor: Option<String>,
    pub(super) incremental: bool,
}

/// Enumerates everything, or what changed since `cursor`.
pub(super) async fn enumerate(
    opened: &mut Opened<'_>,
    cursor: Option<String>,
) -> Found<Enumeration> {
    let subject = opened.session.subject;
    let within = subject.deadlines.scan;
    let until = Instant::now() + within;
    let mut assembly = Assembly::new(subject.uri_prefix.clone(), Contract::Dpe1);
    let mut found = Enumeration::default();
    let cursor_given = cursor.is_some();
    let mut params = ScanParams {
        cursor,
        next: None,
        max_items: Some(MAX_ITEMS),
    };
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Why::Broken(format!("no end within {within:?}")));
        }
        let done = opened.session.result_of("scan", &params, left).await?;
        let batch = done.batch(cursor_given, opened.identity.supports_cursor);
        let batch = batch.map_err(|why| Why::Broken(format!("the result of scan: {why}")))?;
        found.take(opened, &mut assembly, &batch).await?;
        match batch.end {
            BatchEnd::Next(next) => {
                params.cursor = None;
                params.next = Some(next);
            }
            BatchEnd::Final {
                cursor,
                incremental,
            } => {
                found.failed(assembly.finish());
                (found.cursor, found.incremental) = (cursor, incremental);
                return Ok(found);
            }
        }
    }
}

impl Enumeration {
    /// Returns the first failure whose source is this one.
    pub(super) fn failure(&self, source: FailureSource) -> Option<&Failure> {
        self.failures
            .iter()
            .find(|failure| failure.source == source)
    }

    async fn take(
        &mut self,
        opened: &mut Opened<'_>,
        assembly: &mut Assembly,
        batch: &Batch,
    ) -> Found<()> {
        self.batches += 1;
        let mut steps = Vec::new();
        for item in batch.items.root().items().into_iter().flatten() {
            self.items += 1;
            let mut fetched = Vec::new();
            for source in assembly
                .needs(item)
                .into_iter()
                .flat_map(|needs| needs.sources)
            {
                fetched.push(self.blobs.fetch(&mut opened.session, source).await?);
            }
            assembly.push(item, fetched, &mut steps);
        }
        for step in steps {
            match step {
                Step::Operation(operation) => self.operation(operation),
                Step::Failed(failure) => self.failed(Some(failure)),
            }
        }
        Ok(())
    }

    fn operation(&mut self, operation: Operation) {
        self.lines.push(match operation {
            Operation::Commit { uri, tree, .. } => {
                let line = format!("document {uri} {}", tree.doc_hash);
                self.documents.insert(uri, tree.doc_hash);
                line
            }
            Operation::Delete { uri } => {
                let line = format!("delete {uri}");
                self.deleted.insert(uri);
                line
            }
            Operation::Move { from, to } => format!("move {from} to {to}"),
        });
    }

    fn failed(&mut self, failure: Option<Failure>) {
        let Some(failure) = failure else { return };
        self.lines
            .push(format!("{} {}", failure.code, about(&failure.subject)));
        self.failures.push(failure);
    }
}

/// Returns what a failure is about.
pub(super) fn about(subject: &Subject) -> &str {
    match subject {
        Subject::Document(uri) => uri,
        Subject::Move { from_uri, .. } => from_uri,
        Subject::Unknown => "an item",
    }
}
