//! A round over the files of a tree: what changed since the commit of the cursor, and in which order
//! it is said.
//!
//! Moves come first, then the deletions of what is gone, then documents in the order of their
//! paths, and last the deletions of files that give no document any more, which is known only
//! after reading them. Applied one after another they lead from the one tree to the other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dpe_connector::batch::item_limit;
use dpe_connector::scan::ScanEnd;
use dpe_connector::{
    BatchAssembler, CancelFlag, Item, ItemErrorCode, RpcError, ScanResult, encode_segments, path,
};
use dpe_connector_files::{BUDGET, Kind, Limits, Pipeline, Report, threads};
use gix::ObjectId;

use crate::blob::{Examiner, Outcome, Task};
use crate::config::OnTrouble;
use crate::connector::Setup;
use crate::cursor;
use crate::handles::Handles;
use crate::kinship::are_related;
use crate::place::{NotBegun, source_failed};
use crate::renames::{Move, moves};
use crate::repository::{Repository, described};
use crate::tree::{Change, Difference, NoDifference, compare};

const POINTER: Kind = Kind("git-lfs pointer", "git-lfs pointers");

/// A round at work.
pub(crate) struct Round {
    setup: Arc<Setup>,
    incremental: bool,
    /// Nothing keeps the cursor that was given.
    cursor: Option<String>,
    assembler: BatchAssembler,
    pipeline: Pipeline<Task, (Task, Outcome)>,
    examiner: Arc<Examiner>,
    report: Report,
}

impl Round {
    /// Compares the tree of `commit` with that of the cursor and starts reading.
    ///
    /// # Errors
    ///
    /// When the tree cannot be read, or has no such folder.
    pub(crate) fn begin(
        setup: &Arc<Setup>,
        repository: &Arc<Repository>,
        handles: Arc<Handles>,
        commit: Option<ObjectId>,
        cursor: Option<&str>,
        cancel: &CancelFlag,
    ) -> Result<Self, NotBegun> {
        let known = cursor.and_then(|text| cursor::files(text, setup.owner));
        let (difference, incremental) = differing(setup, repository, known, commit, cancel)?;
        // Without a commit nothing is enumerated: what was before has to be compared with what comes.
        let cursor = match (known, commit) {
            (Some(Some(_)), None) => None,
            _ => Some(cursor::of_files(setup.owner, commit)),
        };
        let examiner = Arc::new(Examiner {
            repository: Arc::clone(repository),
            prefix: setup.prefix.clone(),
            limits: Limits {
                file: setup.config.max_file_bytes,
                blob: setup.blob_max_bytes,
            },
            handles,
            item_limit: item_limit(setup.max_message_bytes),
            is_damaged: AtomicBool::new(false),
        });
        let moves = moves(&difference.changes, &examiner, cancel)?;
        let gone = gone(&difference.changes, &moves, &examiner, cancel)?;
        let tasks = tasks(&difference.changes, &moves, &examiner, cancel)?;
        let mut round = Self {
            setup: Arc::clone(setup),
            incremental,
            cursor,
            assembler: BatchAssembler::new(setup.max_message_bytes),
            pipeline: reading(tasks, Arc::clone(&examiner)),
            examiner,
            report: Report::default(),
        };
        round.say_moves(&moves);
        gone.iter().for_each(|path| round.say_deletion(path));
        for (kind, path) in &difference.skipped {
            round.report.skipped(*kind, path);
        }
        Ok(round)
    }

    /// Returns the next batch, and whether it is the last.
    pub(crate) fn batch(
        &mut self,
        max_items: usize,
        next: impl FnOnce() -> String,
        cancel: &CancelFlag,
    ) -> Result<(ScanResult, bool), RpcError> {
        while !self.assembler.is_ready(max_items) {
            match self.pipeline.next(cancel)? {
                Some((task, outcome)) => self.say(task, outcome),
                None => {
                    let length = self.cursor.as_ref().map_or(0, String::len);
                    if let Some(items) = self.assembler.take_rest(max_items, length) {
                        let end = ScanEnd::Final {
                            cursor: self.cursor.take(),
                            incremental: self.incremental,
                        };
                        return Ok((ScanResult { items, end }, true));
                    }
                    break;
                }
            }
        }
        let items = self.assembler.take(max_items);
        let end = ScanEnd::Next(next());
        Ok((ScanResult { items, end }, false))
    }

    /// Returns what people should hear, after the last batch.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.report.lines()
    }

    /// Returns whether objects were missing or damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.examiner.is_damaged.load(Ordering::Relaxed)
    }

    fn uri(&self, path: &[u8]) -> String {
        path::file_uri(&self.setup.prefix, path)
    }

    fn push(&mut self, item: &Item) {
        let limit = item_limit(self.setup.max_message_bytes);
        self.assembler.push(encode_segments(item, limit));
    }

    fn say_moves(&mut self, moves: &[Move]) {
        for found in moves {
            let (from_uri, to_uri) = (self.uri(&found.from), self.uri(&found.to));
            self.push(&Item::Move { from_uri, to_uri });
        }
    }

    fn say_deletion(&mut self, path: &[u8]) {
        let file_uri = self.uri(path);
        self.push(&Item::Delete { file_uri });
    }

    fn say(&mut self, task: Task, outcome: Outcome) {
        match outcome {
            Outcome::Document(texts) => self.assembler.push(texts),
            Outcome::Pointer => {
                self.report.skipped(POINTER, &task.path);
                self.say_no_document(task);
            }
            Outcome::Unsupported if self.setup.config.unsupported == OnTrouble::Error => {
                let code = ItemErrorCode::ContentInvalid;
                let why = "the format is not supported";
                self.push(&Item::error(self.uri(&task.path), code, why, false));
            }
            Outcome::Unsupported => {
                self.report.unsupported(&task.path);
                self.say_no_document(task);
            }
            Outcome::Failed {
                code,
                message,
                retryable,
            } => self.push(&Item::error(self.uri(&task.path), code, message, retryable)),
        }
    }

    /// A file that gave a document before and gives none now has lost it.
    fn say_no_document(&mut self, task: Task) {
        let before = task.before.as_ref();
        if before.is_some_and(|(path, id)| self.examiner.had_document(path, *id)) {
            self.say_deletion(&task.path);
        }
    }
}

/// Starts the workers on the blobs that have to be read.
fn reading(tasks: Vec<Task>, examiner: Arc<Examiner>) -> Pipeline<Task, (Task, Outcome)> {
    let limit = examiner.limits.file.max(examiner.limits.blob);
    let size = move |task: &Task| task.size.min(limit);
    Pipeline::start(tasks, threads(), BUDGET, size, move |task| {
        let outcome = examiner.examine(&task);
        (task, outcome)
    })
}

/// Returns what differs, and whether it is told from the commit of the cursor. `known` is that
/// commit, or that there was none yet.
fn differing(
    setup: &Setup,
    repository: &Repository,
    known: Option<Option<ObjectId>>,
    commit: Option<ObjectId>,
    cancel: &CancelFlag,
) -> Result<(Difference, bool), NotBegun> {
    if known == Some(commit) {
        return Ok((Difference::default(), true));
    }
    // Without a commit there is nothing to be compared, and nothing is concluded from that.
    let Some(commit) = commit else {
        return Ok((Difference::default(), false));
    };
    repository.with(|repository| {
        let failed = |why: String| source_failed(&setup.place, &why);
        let now = tree_of(repository, commit)
            .map_err(|why| NotBegun::Damaged(failed(format!("commit {commit}: {why}"))))?;
        let before = match known {
            Some(Some(before)) => usable(repository, before, commit, cancel)?.map(Some),
            Some(None) => Some(None),
            None => None,
        };
        let selection = &setup.selection;
        let full = || compare(repository, selection, None, now, cancel).map(|found| (found, false));
        let found = match before {
            None => full(),
            Some(before) => match compare(repository, selection, before, now, cancel) {
                Err(NoDifference::Before) => full(),
                found => found.map(|found| (found, true)),
            },
        };
        found.map_err(|why| match why {
            NoDifference::Cancelled(error) => NotBegun::Other(error),
            NoDifference::Before => NotBegun::Other(failed("nothing to compare with".to_owned())),
            NoDifference::Now(why) => NotBegun::Damaged(failed(why)),
            NoDifference::Refused(why) => NotBegun::Other(failed(why)),
        })
    })
}

/// Returns the tree of the commit of the cursor, if that is still there and related to what is
/// enumerated now.
fn usable(
    repository: &gix::Repository,
    before: ObjectId,
    commit: ObjectId,
    cancel: &CancelFlag,
) -> Result<Option<ObjectId>, RpcError> {
    let Ok(tree) = tree_of(repository, before) else {
        return Ok(None);
    };
    let is_related = are_related(repository, before, commit, cancel)?;
    Ok(is_related.then_some(tree))
}

fn tree_of(repository: &gix::Repository, commit: ObjectId) -> Result<ObjectId, String> {
    let commit = repository
        .find_commit(commit)
        .map_err(|why| described(&why))?;
    let tree = commit.tree_id().map_err(|why| described(&why))?;
    Ok(tree.detach())
}

/// Returns the paths whose documents are gone, in their order.
fn gone<'c>(
    changes: &'c [Change],
    moves: &[Move],
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Vec<&'c [u8]>, RpcError> {
    let moved: HashSet<&[u8]> = moves.iter().map(|found| &*found.from).collect();
    let mut gone = Vec::new();
    for change in changes {
        cancel.check()?;
        if let (Some(id), None) = (change.before, change.now)
            && !moved.contains(&*change.path)
            && examiner.had_document(&change.path, id)
        {
            gone.push(&*change.path);
        }
    }
    Ok(gone)
}

/// Returns the blobs that have to be read. What moved is among them: a round whose cursor was not
/// kept may have moved it already, to a place where it is no more, and then the document takes the
/// place of the move (connector contract §21.3).
fn tasks(
    changes: &[Change],
    moves: &[Move],
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Vec<Task>, RpcError> {
    let moved: HashMap<&[u8], &Move> = moves.iter().map(|found| (&*found.to, found)).collect();
    let mut tasks = Vec::new();
    for change in changes {
        cancel.check()?;
        let arrived = moved.get(&*change.path);
        let Some(id) = change.now else { continue };
        let before = match arrived {
            Some(Move { from, edited, .. }) => Some((from.clone(), edited.unwrap_or(id))),
            None => change.before.map(|id| (change.path.clone(), id)),
        };
        tasks.push(Task {
            path: change.path.clone(),
            id,
            // One that cannot be found is reported when it is to be read.
            size: examiner.repository.blob_size(id).unwrap_or(0),
            before,
        });
    }
    Ok(tasks)
}
