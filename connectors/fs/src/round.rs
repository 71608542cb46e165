//! One enumeration: what there is, what changed, and in which order it is said.
//!
//! Moves come first, then the deletions of what is gone, then documents in the order of their
//! paths, those that moved among them, and last the deletions of files that give no document any more, which is known only
//! after reading them. Applied one after another they lead from the listing of the cursor to the
//! present state: a move never ends where something still is, and nothing is written to a URI
//! that a later item removes. Deletions that are known are said early, so that a runner can judge
//! how much would go before it writes anything.

use std::collections::{HashSet, VecDeque};
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
use crate::cursor::Previous;
use crate::diff::{Difference, Task, compare};
use crate::door::{Door, Links};
use crate::examine::{Examiner, Outcome};
use crate::handles::Handles;
use crate::listing::{Entry, Fingerprint, Listing, Seen};
use crate::renames::{Move, take_renames};
use crate::root::Place;
use crate::walk::{Found, Trouble, Walked, walk};
use crate::{cursor, named, root, stat};

const SPECIAL: Kind = Kind("special file", "special files");
const LINK: Kind = Kind("symbolic link", "symbolic links");
const UNREADABLE: Kind = Kind("unreadable file or folder", "unreadable files and folders");

/// How many bytes of each fingerprint are tried to be kept, until the cursor fits a message. Eight
/// are enough against accidents; without any, a touched file is delivered once more, and a moved
/// one is deleted and created.
const PRECISIONS: [usize; 3] = [Fingerprint::BYTES, 8, 0];

const SHORT_OF_FINGERPRINTS: &str = "the listing of this folder fits a message only without \
    fingerprints, so that files which were moved or touched are delivered anew; raise \
    max_message_bytes or split the folder";

const WITHOUT_CURSOR: &str = "the listing of this folder does not fit a message, so the next round \
    reads everything again; raise max_message_bytes or split the folder";

/// A round at work.
pub(crate) struct Round {
    setup: Arc<Setup>,
    place: Place,
    incremental: bool,
    assembler: BatchAssembler,
    /// What is known before anything is read.
    moves: std::vec::IntoIter<Move>,
    /// Where they lead.
    moved: HashSet<usize>,
    gone: std::vec::IntoIter<Entry>,
    troubles: std::vec::IntoIter<Trouble>,
    files: Arc<Vec<Found>>,
    pipeline: Pipeline<Task, (Task, Outcome)>,
    /// Files found while reading to give no document any more.
    lost: VecDeque<usize>,
    /// What the next cursor will hold, and with how many bytes of a fingerprint at most.
    listing: Listing,
    precision: usize,
    cursor: Option<NextCursor>,
    report: Report,
    batches: u64,
}

/// A cursor that was tried to be written; nothing if no message can hold it.
type NextCursor = Option<String>;

impl Round {
    /// Walks the folder, compares it with `cursor` and starts reading.
    ///
    /// # Errors
    ///
    /// `source_failed` if the folder is missing, unreadable or suddenly empty; `cancelled`.
    pub(crate) fn begin(
        setup: Arc<Setup>,
        handles: Arc<Handles>,
        cursor: Option<String>,
        cancel: &CancelFlag,
    ) -> Result<Self, RpcError> {
        let scan_start = stat::now();
        let place = root::checked(&setup.config.root)?;
        let previous = cursor.and_then(|text| cursor::decode(&text, setup.owner));
        let mut walked = match &setup.config.only {
            Some(paths) => named::look_at(&place.path, paths),
            None => walk(&place.path, &setup.config, &setup.globs, cancel)?,
        };
        place.is_still_there()?;
        root::refuse_sudden_emptiness(&setup.config.root, previous.as_ref(), &walked)?;
        let files = Arc::new(std::mem::take(&mut walked.files));
        let (incremental, precision) = match &previous {
            Some(previous) => (true, previous.precision()),
            None => (false, Fingerprint::BYTES),
        };
        let mut listing = Listing::of(Arc::clone(&files));
        let compared = compared(previous, &files, &walked.troubles, &mut listing);
        let Some(mut difference) = compared else {
            // Nobody but a forger wrote that cursor.
            return Self::begin(setup, handles, None, cancel);
        };
        let examiner = Arc::new(Examiner {
            door: Arc::new(Door::to(&place.path, links(&setup))),
            files: Arc::clone(&files),
            precision,
            prefix: setup.prefix.clone(),
            limits: Limits {
                file: setup.config.max_file_bytes,
                blob: setup.blob_max_bytes,
            },
            handles,
            item_limit: item_limit(setup.max_message_bytes),
            scan_start,
        });
        let moves = take_renames(&mut difference, &examiner, cancel)?;
        let mut round = Self {
            place,
            incremental,
            assembler: BatchAssembler::new(setup.max_message_bytes),
            moved: moves.iter().map(|(_, to)| *to).collect(),
            moves: moves.into_iter(),
            gone: difference.gone.into_iter(),
            troubles: std::mem::take(&mut walked.troubles).into_iter(),
            files,
            pipeline: reading(difference.tasks, setup.config.max_file_bytes, examiner),
            lost: VecDeque::new(),
            listing,
            precision,
            cursor: None,
            report: Report::default(),
            batches: 0,
            setup,
        };
        round.report(walked);
        Ok(round)
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
            if self.say_what_is_known() {
                continue;
            }
            if let Some((task, outcome)) = self.pipeline.next(cancel)? {
                self.say(task, outcome);
                continue;
            }
            // What was not found while reading is gone only if the folder is not.
            self.place.is_still_there()?;
            if let Some(file) = self.lost.pop_front() {
                let files = Arc::clone(&self.files);
                self.say_deletion(&files[file].path);
                continue;
            }
            match self.last_batch(max_items) {
                Some(last) => return Ok((last, true)),
                None => break,
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
        let cursor = self.cursor.take().unwrap_or_else(|| self.next_cursor());
        let length = cursor.as_ref().map_or(0, String::len);
        let Some(items) = self.assembler.take_rest(max_items, length) else {
            self.cursor = Some(cursor);
            return None;
        };
        Some(ScanResult {
            items,
            end: ScanEnd::Final {
                cursor,
                incremental: self.incremental,
            },
        })
    }

    /// Writes the listing down as exactly as a message allows.
    fn next_cursor(&mut self) -> NextCursor {
        let limit = item_limit(self.setup.max_message_bytes);
        let precisions = PRECISIONS.into_iter().map(|most| self.precision.min(most));
        let mut precisions: Vec<usize> = precisions.collect();
        precisions.dedup();
        let mut written = precisions.into_iter().filter_map(|precision| {
            let lines = self.listing.lines();
            let text = cursor::encode(lines, self.setup.owner, precision, limit)?;
            Some((precision, text))
        });
        let written = written.next();
        let note = match &written {
            Some((0, _)) => SHORT_OF_FINGERPRINTS,
            Some(_) => return written.map(|(_, text)| text),
            None => WITHOUT_CURSOR,
        };
        self.report.note(note.to_owned());
        written.map(|(_, text)| text)
    }

    fn uri(&self, path: &[u8]) -> String {
        path::file_uri(&self.setup.prefix, path)
    }

    fn push(&mut self, item: &Item) {
        let limit = item_limit(self.setup.max_message_bytes);
        self.assembler.push(encode_segments(item, limit));
    }

    /// Says one of the things that are known before reading, if there is one left.
    fn say_what_is_known(&mut self) -> bool {
        if let Some((from, to)) = self.moves.next() {
            let (from_uri, to_uri) = (self.uri(&from), self.uri(&self.files[to].path));
            self.push(&Item::Move { from_uri, to_uri });
            return true;
        }
        if let Some(entry) = self.gone.next() {
            self.say_deletion(&entry.path);
            return true;
        }
        let trouble = self.troubles.next();
        if let Some(trouble) = &trouble {
            self.say_trouble(trouble);
        }
        trouble.is_some()
    }

    fn say_deletion(&mut self, path: &[u8]) {
        let file_uri = self.uri(path);
        self.push(&Item::Delete { file_uri });
    }

    fn report(&mut self, walked: Walked) {
        let report = &mut self.report;
        for path in &walked.special {
            report.skipped(SPECIAL, path);
        }
        for path in &walked.links {
            report.skipped(LINK, path);
        }
        walked.notes.into_iter().for_each(|note| report.note(note));
        for path in self.listing.without_document() {
            report.unsupported(path);
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
            Outcome::Unchanged(seen) => self.listing.note(task.file, &seen),
            Outcome::Document(seen, texts) => {
                self.listing.note(task.file, &seen);
                self.assembler.push(texts);
            }
            Outcome::Unsupported(seen) => self.say_unsupported(task, &seen),
            Outcome::Gone => self.lose(&task),
            Outcome::Refused(message) => {
                self.say_trouble(&Trouble {
                    path: self.path(&task),
                    is_folder: false,
                    message,
                    retryable: true,
                });
                self.doubt(task);
            }
            Outcome::Failed {
                code,
                message,
                retryable,
            } => {
                self.say_failure(&task, code, message, retryable);
                self.doubt(task);
            }
        }
    }

    /// A file whose format is not understood any more has no document any more.
    fn say_unsupported(&mut self, task: Task, seen: &Seen) {
        let config = &self.setup.config;
        if config.only.is_some() || config.unsupported == OnTrouble::Error {
            let why = "the format is not supported".to_owned();
            self.say_failure(&task, ItemErrorCode::ContentInvalid, why, false);
            return self.doubt(task);
        }
        self.lose(&task);
        self.report.unsupported(&self.files[task.file].path);
        self.listing.note(task.file, seen);
    }

    fn say_failure(&mut self, task: &Task, code: ItemErrorCode, message: String, retryable: bool) {
        let uri = self.uri(&self.path(task));
        self.push(&Item::error(uri, code, message, retryable));
    }

    /// Has the document of a file deleted, if there was one.
    fn lose(&mut self, task: &Task) {
        let before = task.previous.as_ref();
        let had_document = before.is_some_and(|seen| seen.content.is_some());
        if had_document || self.moved.contains(&task.file) {
            self.lost.push_back(task.file);
        }
    }

    /// Keeps what was known of a file that could not be looked at, and looks again next time.
    fn doubt(&mut self, task: Task) {
        let path = self.path(&task);
        if let Some(seen) = task.previous {
            let entry = Entry { path, seen: *seen };
            self.listing.keep(entry.doubted());
        }
    }

    fn path(&self, task: &Task) -> Box<[u8]> {
        self.files[task.file].path.clone()
    }
}

/// Returns which links may lead to a file.
fn links(setup: &Setup) -> Links {
    match (&setup.config.only, setup.config.follow_links) {
        (Some(_), _) => Links::Anywhere,
        (None, true) => Links::Within,
        (None, false) => Links::Refused,
    }
}

/// Compares what a cursor holds with what the walk found; nothing if the cursor breaks off.
fn compared(
    previous: Option<Previous>,
    files: &[Found],
    unknown: &[Trouble],
    listing: &mut Listing,
) -> Option<Difference> {
    let entries = previous.iter().flat_map(Previous::entries);
    compare(entries, files, unknown, listing).ok()
}

/// Starts the workers on what has to be read.
fn reading(
    tasks: Vec<Task>,
    longest: u64,
    examiner: Arc<Examiner>,
) -> Pipeline<Task, (Task, Outcome)> {
    let measuring = Arc::clone(&examiner);
    let size = move |task: &Task| measuring.size(task).min(longest);
    Pipeline::start(tasks, threads(), BUDGET, size, move |task| {
        let outcome = examiner.examine(&task);
        (task, outcome)
    })
}
