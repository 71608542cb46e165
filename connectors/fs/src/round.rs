//! One enumeration: what there is, what changed, and in which order it is said.
//!
//! Moves come first, then the deletions of what is gone, then documents in the order of their
//! paths, and last the deletions of files that give no document any more, which is known only
//! after reading them. Applied one after another they lead from the listing of the cursor to the
//! present state: a move never ends where something still is, and nothing is written to a URI
//! that a later item removes. Deletions that are known are said early, so that a runner can judge
//! how much would go before it writes anything.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fs, thread};

use dpe_connector::batch::item_limit;
use dpe_connector::item::ErrorItem;
use dpe_connector::scan::ScanEnd;
use dpe_connector::{
    BatchAssembler, CancelFlag, ErrorCode, Item, ItemErrorCode, RpcError, ScanResult,
    encode_segments, path,
};

use crate::config::OnTrouble;
use crate::connector::Setup;
use crate::diff::{Difference, Task, compare};
use crate::examine::{Examiner, Outcome};
use crate::listing::Entry;
use crate::moves::{Holding, plan};
use crate::pipeline::Pipeline;
use crate::report::Report;
use crate::walk::{Trouble, Walked, walk};
use crate::{cursor, named, stat};

/// What files being read and documents waiting to be sent may occupy together, in bytes.
const BUDGET: u64 = 64 << 20;

/// More threads than this only compete for the disk.
const MAX_THREADS: usize = 8;

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
        cursor: Option<&str>,
        cancel: &CancelFlag,
    ) -> Result<Self, RpcError> {
        let scan_start = stat::now();
        let root = checked_root(&setup.config.root)?;
        let previous = cursor.and_then(|text| cursor::decode(text, setup.owner));
        let incremental = previous.is_some();
        let walked = match &setup.config.only {
            Some(paths) => named::look_at(&root, paths),
            None => walk(&root, &setup.config, &setup.globs, cancel)?,
        };
        let previous = previous.unwrap_or_default();
        refuse_sudden_emptiness(&setup, &previous, &walked)?;
        let examiner = Arc::new(Examiner {
            root,
            prefix: setup.prefix.clone(),
            max_file_bytes: setup.config.max_file_bytes,
            follow_links: setup.config.follow_links || setup.config.only.is_some(),
            item_limit: item_limit(setup.max_message_bytes),
            scan_start,
        });
        let difference = compare(previous, walked.files, &walked.troubles);
        let (difference, moves) = with_moves(difference, &examiner, cancel)?;
        let limit = setup.config.max_file_bytes;
        let size = move |task: &Task| task.found.stat.size.min(limit);
        let mut round = Self {
            incremental,
            assembler: BatchAssembler::new(setup.max_message_bytes),
            pipeline: Pipeline::start(difference.tasks, threads(), BUDGET, size, move |task| {
                let outcome = examiner.examine(&task);
                (task, outcome)
            }),
            listing: difference.kept,
            deletions: difference
                .gone
                .into_iter()
                .map(|entry| entry.path)
                .collect(),
            report: Report::default(),
            batches: 0,
            setup,
        };
        round.say_moves(&moves);
        round.say_deletions();
        walked
            .troubles
            .iter()
            .for_each(|trouble| round.say_trouble(trouble));
        walked
            .special
            .iter()
            .for_each(|path| round.report.special(path));
        walked.links.iter().for_each(|path| round.report.link(path));
        walked
            .notes
            .into_iter()
            .for_each(|note| round.report.note(note));
        for entry in round.listing.iter().filter(|entry| entry.content.is_none()) {
            round.report.unsupported(&entry.path);
        }
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
            return self.report.unreadable(&trouble.path);
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

fn threads() -> usize {
    thread::available_parallelism().map_or(2, |threads| threads.get().min(MAX_THREADS))
}

fn source_failed(message: String) -> RpcError {
    RpcError::new(ErrorCode::SourceFailed, message)
}

/// Returns the root without links in its path, if it is a folder that can be listed.
fn checked_root(root: &std::path::Path) -> Result<PathBuf, RpcError> {
    let failed = |why: &dyn std::fmt::Display, todo: &str| {
        source_failed(format!("root {}: {why}; {todo}", root.display()))
    };
    let canonical = fs::canonicalize(root)
        .map_err(|why| failed(&why, "mount it, or correct `root` in the configuration"))?;
    if !canonical.is_dir() {
        let todo = "name the folder it is in as `root` and the file in `only`";
        return Err(failed(&"not a folder", todo));
    }
    fs::read_dir(&canonical).map_err(|why| failed(&why, "allow this user to read it"))?;
    Ok(canonical)
}

/// A folder that held documents and now holds not one file is an unmounted disk far more often
/// than an intention.
fn refuse_sudden_emptiness(
    setup: &Setup,
    previous: &[Entry],
    walked: &Walked,
) -> Result<(), RpcError> {
    let documents = previous
        .iter()
        .filter(|entry| entry.content.is_some())
        .count();
    if documents == 0 || !walked.files.is_empty() || !walked.troubles.is_empty() {
        return Ok(());
    }
    Err(source_failed(format!(
        "root {} holds no file any more, last time it gave {documents} documents; check that it \
         is mounted and not ignored as a whole, or remove the documents yourself if it is meant \
         to be empty",
        setup.config.root.display()
    )))
}

/// From where to where.
type Move = (Box<[u8]>, Box<[u8]>);

/// Finds out which of the files gone are only somewhere else now. What moved is neither gone nor
/// to be read any more.
fn with_moves(
    mut difference: Difference,
    examiner: &Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<(Difference, Vec<Move>), RpcError> {
    if difference.gone.is_empty() || difference.tasks.is_empty() {
        return Ok((difference, Vec::new()));
    }
    let probed = probe(&difference, examiner, cancel)?;
    let pairs = {
        let (sources, targets) = holdings(&difference, &probed);
        let owned = |path: &[u8]| -> Box<[u8]> { path.into() };
        plan(&sources, &targets)
            .into_iter()
            .map(|(s, t)| (owned(sources[s].path), owned(targets[t].path)))
            .collect::<Vec<Move>>()
    };
    let from: HashSet<&[u8]> = pairs.iter().map(|(from, _)| &**from).collect();
    let to: HashSet<&[u8]> = pairs.iter().map(|(_, to)| &**to).collect();
    difference.gone.retain(|entry| !from.contains(&*entry.path));
    difference
        .tasks
        .retain(|task| !to.contains(&*task.found.path));
    let moved = probed.into_iter().flatten();
    difference
        .kept
        .extend(moved.filter(|entry| to.contains(&*entry.path)));
    Ok((difference, pairs))
}

/// Learns the content of those files to be read that have the length of a file whose content
/// went; one entry for each task.
fn probe(
    difference: &Difference,
    examiner: &Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<Vec<Option<Entry>>, RpcError> {
    let before = difference
        .tasks
        .iter()
        .filter_map(|task| task.previous.as_ref());
    let sizes: HashSet<u64> = difference
        .gone
        .iter()
        .chain(before)
        .filter(|entry| entry.content.is_some())
        .map(|entry| entry.stat.size)
        .collect();
    let worth = |task: &&Task| sizes.contains(&task.found.stat.size);
    let tasks = difference.tasks.iter().filter(worth).cloned().collect();
    let (size, examiner) = (|task: &Task| task.found.stat.size, Arc::clone(examiner));
    let mut results = Pipeline::start(tasks, threads(), BUDGET, size, move |task: Task| {
        examiner.probe(&task)
    });
    let mut probed = Vec::with_capacity(difference.tasks.len());
    for task in &difference.tasks {
        let entry = if worth(&task) {
            results.next(cancel)?.flatten()
        } else {
            None
        };
        probed.push(entry);
    }
    Ok(probed)
}

/// Returns what lost its content and what has content it had not.
fn holdings<'a>(
    difference: &'a Difference,
    probed: &'a [Option<Entry>],
) -> (Vec<Holding<'a>>, Vec<Holding<'a>>) {
    let mut sources: Vec<Holding<'_>> = Vec::new();
    let mut targets: Vec<Holding<'_>> = Vec::new();
    sources.extend(
        difference
            .gone
            .iter()
            .filter_map(|entry| holding(entry, true)),
    );
    for (task, now) in difference.tasks.iter().zip(probed) {
        let before = task
            .previous
            .as_ref()
            .filter(|entry| entry.content.is_some());
        let content_now = now.as_ref().and_then(|entry| entry.content.as_ref());
        if before.is_some_and(|entry| entry.content.as_ref() == content_now) {
            continue;
        }
        sources.extend(before.and_then(|entry| holding(entry, false)));
        targets.extend(
            now.as_ref()
                .and_then(|entry| holding(entry, before.is_none())),
        );
    }
    sources.sort_by(|a, b| a.path.cmp(b.path));
    targets.sort_by(|a, b| a.path.cmp(b.path));
    (sources, targets)
}

fn holding(entry: &Entry, is_free: bool) -> Option<Holding<'_>> {
    Some(Holding {
        path: &entry.path,
        content: entry.content.as_ref()?,
        size: entry.stat.size,
        inode: entry.stat.inode,
        is_free,
    })
}
