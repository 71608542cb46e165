//! One enumeration: what there is, what changed, and in which order it is said.
//!
//! Moves come first, then the deletions of what is gone, then documents in the order of their
//! paths, and last the deletions of files that give no document any more, which is known only
//! after reading them. Applied one after another they lead from the listing of the cursor to the
//! present state: a move never ends where something still is, and nothing is written to a URI
//! that a later item removes. Deletions that are known are said early, so that a runner can judge
//! how much would go before it writes anything.

use std::sync::Arc;

use dpe_connector::batch::item_limit;
use dpe_connector::item::ErrorItem;
use dpe_connector::scan::ScanEnd;
use dpe_connector::{
    BatchAssembler, CancelFlag, Item, ItemErrorCode, RpcError, ScanResult, encode_segments, path,
};
use dpe_connector_files::{BUDGET, Kind, Limits, Pipeline, Report, threads};

use crate::config::OnTrouble;
use crate::connector::Setup;
use crate::diff::{Difference, Task, compare};
use crate::examine::{Examiner, Outcome};
use crate::handles::Handles;
use crate::listing::Entry;
use crate::renames::{Move, with_renames};
use crate::walk::{Trouble, Walked, walk};
use crate::{cursor, named, root, stat};

const SPECIAL: Kind = Kind("special file", "special files");
const LINK: Kind = Kind("symbolic link", "symbolic links");
const UNREADABLE: Kind = Kind("unreadable file or folder", "unreadable files and folders");

/// A round at work.
pub(crate) struct Round {
    setup: Arc<Setup>,
    incremental: bool,
    assembler: BatchAssembler,
    pipeline: Pipeline<Task, (Task, Outcome)>,
    /// What the next cursor will hold.
    listing: Vec<Entry>,
    /// Not said yet.
    deletions: Vec<Box<[u8]>>,
    report: Report,
    batches: u64,
}

impl Round {
    /// Walks the folder, compares it with `cursor` and starts reading.
    ///
    /// # Errors
    ///
    /// `source_failed` if the folder is missing, unreadable or suddenly empty; `cancelled`.
    pub(crate) fn begin(
        setup: Arc<Setup>,
        handles: Arc<Handles>,
        cursor: Option<&str>,
        cancel: &CancelFlag,
    ) -> Result<Self, RpcError> {
        let scan_start = stat::now();
        let root = root::checked(&setup.config.root)?;
        let previous = cursor.and_then(|text| cursor::decode(text, setup.owner));
        let incremental = previous.is_some();
        let mut walked = match &setup.config.only {
            Some(paths) => named::look_at(&root, paths),
            None => walk(&root, &setup.config, &setup.globs, cancel)?,
        };
        let previous = previous.unwrap_or_default();
        root::refuse_sudden_emptiness(&setup.config.root, &previous, &walked)?;
        let examiner = Arc::new(Examiner {
            root,
            prefix: setup.prefix.clone(),
            limits: Limits {
                file: setup.config.max_file_bytes,
                blob: setup.blob_max_bytes,
            },
            handles,
            follow_links: setup.config.follow_links || setup.config.only.is_some(),
            item_limit: item_limit(setup.max_message_bytes),
            scan_start,
        });
        let found = std::mem::take(&mut walked.files);
        let difference = compare(previous, found, &walked.troubles);
        let (difference, moves) = with_renames(difference, &examiner, cancel)?;
        let mut round = Self::reading(setup, incremental, difference, examiner);
        round.say_moves(&moves);
        round.say_deletions();
        round.say_walk(walked);
        Ok(round)
    }

    /// Starts the workers on what has to be read.
    fn reading(
        setup: Arc<Setup>,
        incremental: bool,
        difference: Difference,
        examiner: Arc<Examiner>,
    ) -> Self {
        let limit = setup.config.max_file_bytes;
        let size = move |task: &Task| task.found.stat.size.min(limit);
        let gone = difference.gone.into_iter();
        Self {
            incremental,
            assembler: BatchAssembler::new(setup.max_message_bytes),
            pipeline: Pipeline::start(difference.tasks, threads(), BUDGET, size, move |task| {
                let outcome = examiner.examine(&task);
                (task, outcome)
            }),
            listing: difference.kept,
            deletions: gone.map(|entry| entry.path).collect(),
            report: Report::default(),
            batches: 0,
            setup,
        }
    }

    /// Returns the continuation under which the next batch is asked for.
    pub(crate) fn continuation(&self) -> String {
        format!("b{}", self.batches)
    }

    /// Returns the next batch, and whether it is the last.
    pub(crate) fn batch(
        &mut self,
        max_items: usize,
        cancel: &CancelFlag,
    ) -> Result<(ScanResult, bool), RpcError> {
        while !self.assembler.is_ready(max_items) {
            match self.pipeline.next(cancel)? {
                Some((task, outcome)) => self.say(task, outcome),
                None => {
                    self.say_deletions();
                    if let Some(last) = self.last_batch(max_items) {
                        return Ok((last, true));
                    }
                    break;
                }
            }
        }
        self.batches += 1;
        let result = ScanResult {
            items: self.assembler.take(max_items),
            end: ScanEnd::Next(self.continuation()),
        };
        Ok((result, false))
    }

    /// Returns what people should hear, after the last batch.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.report.lines()
    }

    fn last_batch(&mut self, max_items: usize) -> Option<ScanResult> {
        let mut cursor = Some(self.cursor());
        if cursor
            .as_ref()
            .is_some_and(|text| text.len() >= item_limit(self.setup.max_message_bytes))
        {
            cursor = None;
        }
        let length = cursor.as_ref().map_or(0, String::len);
        let items = self.assembler.take_rest(max_items, length)?;
        if cursor.is_none() {
            let why = "the listing of this folder does not fit a message, so the next round \
                       reads everything again; raise max_message_bytes or split the folder";
            self.report.note(why.to_owned());
        }
        Some(ScanResult {
            items,
            end: ScanEnd::Final {
                cursor,
                incremental: self.incremental,
            },
        })
    }

    fn cursor(&mut self) -> String {
        self.listing.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        cursor::encode(&self.listing, self.setup.owner)
    }

    fn uri(&self, path: &[u8]) -> String {
        path::file_uri(&self.setup.prefix, path)
    }

    fn push(&mut self, item: &Item) {
        let limit = item_limit(self.setup.max_message_bytes);
        self.assembler.push(encode_segments(item, limit));
    }

    fn say_moves(&mut self, moves: &[Move]) {
        for (from, to) in moves {
            let (from_uri, to_uri) = (self.uri(from), self.uri(to));
            self.push(&Item::Move { from_uri, to_uri });
        }
    }

    fn say_walk(&mut self, walked: Walked) {
        for trouble in &walked.troubles {
            self.say_trouble(trouble);
        }
        let report = &mut self.report;
        walked
            .special
            .iter()
            .for_each(|path| report.skipped(SPECIAL, path));
        walked
            .links
            .iter()
            .for_each(|path| report.skipped(LINK, path));
        walked.notes.into_iter().for_each(|note| report.note(note));
        let without = self.listing.iter().filter(|entry| entry.content.is_none());
        without.for_each(|entry| report.unsupported(&entry.path));
    }

    fn say_deletions(&mut self) {
        let mut deletions = std::mem::take(&mut self.deletions);
        deletions.sort_unstable();
        for path in deletions {
            let file_uri = self.uri(&path);
            self.push(&Item::Delete { file_uri });
        }
    }

    fn say_trouble(&mut self, trouble: &Trouble) {
        if self.setup.config.only.is_none() && self.setup.config.unreadable == OnTrouble::Skip {
            return self.report.skipped(UNREADABLE, &trouble.path);
        }
        let mut uri = self.uri(&trouble.path);
        if trouble.is_folder {
            uri.push('/');
        }
        self.push(&Item::Error(ErrorItem {
            file_uri: (!trouble.path.is_empty()).then_some(uri),
            code: ItemErrorCode::SourceUnavailable,
            message: trouble.message.clone(),
            retryable: trouble.retryable,
        }));
    }

    fn say(&mut self, task: Task, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged(entry) => self.listing.push(entry),
            Outcome::Document(entry, texts) => {
                self.listing.push(entry);
                self.assembler.push(texts);
            }
            Outcome::Unsupported(entry) => self.say_unsupported(task, entry),
            Outcome::Gone => {
                if task.previous.is_some_and(|entry| entry.content.is_some()) {
                    self.deletions.push(task.found.path);
                }
            }
            Outcome::Refused(message) => {
                self.say_trouble(&Trouble {
                    path: task.found.path,
                    is_folder: false,
                    message,
                    retryable: true,
                });
                self.keep(task.previous);
            }
            Outcome::Failed {
                code,
                message,
                retryable,
            } => {
                let uri = self.uri(&task.found.path);
                self.push(&Item::error(uri, code, message, retryable));
                self.keep(task.previous);
            }
        }
    }

    /// A file whose format is not understood any more has no document any more.
    fn say_unsupported(&mut self, task: Task, entry: Entry) {
        let config = &self.setup.config;
        if config.only.is_some() || config.unsupported == OnTrouble::Error {
            let (uri, code) = (self.uri(&entry.path), ItemErrorCode::ContentInvalid);
            self.push(&Item::error(
                uri,
                code,
                "the format is not supported",
                false,
            ));
            return self.keep(task.previous);
        }
        if task.previous.is_some_and(|entry| entry.content.is_some()) {
            self.deletions.push(task.found.path);
        }
        self.report.unsupported(&entry.path);
        self.listing.push(entry);
    }

    /// Keeps what was known of a file that could not be looked at, and looks again next time.
    fn keep(&mut self, previous: Option<Entry>) {
        self.listing.extend(previous.map(|entry| Entry {
            trusted: false,
            ..entry
        }));
    }
}
