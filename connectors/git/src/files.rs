//! A round over the files of a tree: in which order it is said what changed.
//!
//! Moves come first, then the deletions of what is gone, then documents in the order of their
//! paths, and among them the deletions of files that give no document any more, which is known only
//! after reading them. Applied one after another they lead from the one tree to the other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::{
    BUDGET, Failure, Handles, Items, Kind, Limits, Maker, OnTrouble, Pipeline, Reason, Report,
    RoundEnd, threads, unsupported,
};
use gix::ObjectId;

use crate::beside::add_texts_that_show;
use crate::blob::{Examiner, Outcome, Task};
use crate::connector::Setup;
use crate::cursor;
use crate::held::Held;
use crate::place::NotBegun;
use crate::renames::{Move, moves};
use crate::repository::{LARGEST_OBJECT, Repository};
use crate::since::{Known, Told, told, tree_of};
use crate::skipped::skipped;
use crate::tree::Change;

/// The most that the paths of files to be looked at again take in the cursor, in bytes.
const MOST_AGAIN: usize = 64 << 10;

/// The most that the paths of files that failed take there, in bytes. With more there is no cursor: none
/// of them may be forgotten.
const MOST_FAILED: usize = 1 << 20;

const POINTER: Kind = Kind("git-lfs pointer", "git-lfs pointers");

/// A round at work.
pub(crate) struct Round {
    setup: Arc<Setup>,
    incremental: bool,
    /// Where it is; nothing keeps the cursor that was given.
    here: Option<cursor::Files>,
    items: Items,
    pipeline: Pipeline<Task, (Task, Outcome)>,
    examiner: Arc<Examiner>,
    report: Report,
    again_bytes: usize,
    failed_bytes: usize,
    /// Paths that had failed in the round of the cursor.
    failed_before: HashSet<Box<[u8]>>,
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
        handles: Arc<Handles<Held>>,
        commit: Option<ObjectId>,
        known: Option<Known>,
        cancel: &CancelFlag,
    ) -> Result<Self, NotBegun> {
        let told = told(setup, repository, known.as_ref(), commit, cancel)?;
        let items = Items::below(&setup.prefix, setup.max_message_bytes);
        let examiner = examiner(setup, repository, commit, handles, items.limit());
        let examiner = Arc::new(examiner);
        let changes = &told.difference.changes;
        let failed_before = known.as_ref().map(|known| known.failed.clone());
        let failed_before = failed_before.unwrap_or_default();
        // A round that tells everything anew tells no moves (connector contract §11).
        let mut moves = match told.incremental {
            true => moves(changes, &examiner, cancel)?,
            false => Vec::new(),
        };
        // What failed may have no document, or another one than its content would give.
        moves.retain(|found| !failed_before.contains(&found.from));
        let gone = gone(changes, &moves, (&examiner, &failed_before), cancel)?;
        let mut tasks = tasks(changes, &moves, &examiner, cancel)?;
        if told.incremental {
            add_texts_that_show(changes, &mut tasks, &examiner, cancel)?;
        }
        let mut round = Self {
            setup: Arc::clone(setup),
            incremental: told.incremental,
            here: here(known.as_ref(), commit),
            items,
            pipeline: reading(tasks, Arc::clone(&examiner)),
            examiner,
            report: Report::default(),
            again_bytes: 0,
            failed_bytes: 0,
            failed_before,
        };
        round.say_what_is_known(&moves, gone);
        round.report_what_is_known(&told);
        if round.setup.config.say_skipped {
            round.say_what_is_skipped(&told, cancel)?;
        }
        Ok(round)
    }

    /// Says what is known without reading a blob.
    fn say_what_is_known(&mut self, moves: &[Move], gone: Vec<&[u8]>) {
        for found in moves {
            self.items.say_move(&found.from, &found.to);
        }
        for path in gone {
            self.items.say_deletion(path);
        }
    }

    fn report_what_is_known(&mut self, told: &Told) {
        if let Some(line) = &told.note {
            self.report.note(line.clone());
        }
        for (kind, path) in &told.difference.skipped {
            self.report.skipped(*kind, path);
        }
    }

    /// Says by name what is passed over in the whole tree, but for what is about to be read.
    fn say_what_is_skipped(&mut self, told: &Told, cancel: &CancelFlag) -> Result<(), RpcError> {
        let skipped = skipped(&self.examiner, &told.difference, cancel)?;
        for (path, why) in &skipped {
            self.items.say_failure(path, Failure::skipped(why));
        }
        Ok(())
    }

    /// Says by name that a file is passed over, if somebody wants to know.
    fn say_skipped(&mut self, path: &[u8], why: &str) {
        if self.setup.config.say_skipped {
            self.items.say_failure(path, Failure::skipped(why));
        }
    }

    /// Returns where it says its items.
    pub(crate) fn items(&mut self) -> &mut Items {
        &mut self.items
    }

    /// Says what became of the next blob, and returns whether there was one.
    pub(crate) fn say_more(&mut self, cancel: &CancelFlag) -> Result<bool, RpcError> {
        let next = self.pipeline.next(cancel)?;
        let is_more = next.is_some();
        if let Some((task, outcome)) = next {
            self.say(task, outcome);
        }
        Ok(is_more)
    }

    /// Returns how it ends.
    pub(crate) fn end(&mut self) -> RoundEnd {
        let here = self.here.take();
        RoundEnd {
            cursor: here.map(|here| cursor::of_files(self.setup.owner, &here)),
            incremental: self.incremental,
        }
    }

    /// Returns what people should hear, after the last batch.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.report.lines()
    }

    /// Returns whether objects were missing or damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.examiner.is_damaged.load(Ordering::Relaxed)
    }

    fn say(&mut self, task: Task, outcome: Outcome) {
        match outcome {
            Outcome::Document(made) => {
                self.report.notes(&task.path, made.notes);
                self.items.say_texts(made.texts);
            }
            Outcome::Pointer => {
                self.say_skipped(&task.path, POINTER.0);
                self.report.skipped(POINTER, &task.path);
                self.say_no_document(task);
            }
            Outcome::Unsupported if self.setup.config.unsupported == OnTrouble::Error => {
                self.say_failure(&task, Failure::refused(&unsupported()));
            }
            Outcome::Unsupported => {
                self.say_skipped(&task.path, &Reason::UnsupportedFormat.to_string());
                self.report.unsupported(&task.path);
                self.say_no_document(task);
            }
            Outcome::Invalid(error)
                if self.setup.config.on_refused.of(error.reason) == OnTrouble::Skip =>
            {
                self.say_skipped(&task.path, &error.reason.to_string());
                self.report.refused(error.reason, &task.path);
                self.look_again(&task, error.reason);
                self.say_no_document(task);
            }
            Outcome::Invalid(error) => self.say_failure(&task, Failure::refused(&error)),
            Outcome::Failed(failure) => self.say_failure(&task, failure),
        }
    }

    /// What failed is looked at in every round until it does not; should there be no room for it in the cursor,
    /// the one that was given has to do.
    fn say_failure(&mut self, task: &Task, failure: Failure) {
        self.items.say_failure(&task.path, failure);
        self.failed_bytes += 2 * task.path.len();
        if self.failed_bytes > self.items.limit().min(MOST_FAILED) {
            self.here = None;
        }
        if let Some(here) = &mut self.here {
            here.failed.push(task.path.clone());
        }
    }

    /// How long a file takes is no property of it: it is tried again, if the cursor has room for it.
    fn look_again(&mut self, task: &Task, reason: Reason) {
        let Some(here) = self.here.as_mut().filter(|_| reason == Reason::Timeout) else {
            return;
        };
        self.again_bytes += 2 * task.path.len();
        if self.again_bytes <= self.items.limit().min(MOST_AGAIN) {
            here.again.push(task.path.clone());
        }
    }

    /// A file that gave a document before and gives none now has lost it.
    fn say_no_document(&mut self, task: Task) {
        let before = task.before.as_ref();
        let had_document = before.is_some_and(|(path, id)| self.examiner.had_document(path, *id));
        if had_document || self.failed_before.contains(&task.path) {
            self.items.say_deletion(&task.path);
        }
    }
}

/// Returns what makes the documents of a round.
fn examiner(
    setup: &Arc<Setup>,
    repository: &Arc<Repository>,
    commit: Option<ObjectId>,
    handles: Arc<Handles<Held>>,
    item_limit: usize,
) -> Examiner {
    let tree = |commit| repository.with(|repository| tree_of(repository, commit));
    Examiner {
        repository: Arc::clone(repository),
        setup: Arc::clone(setup),
        // One that cannot be read was reported.
        tree: commit.and_then(|commit| tree(commit).ok()),
        maker: Maker {
            extractor: Arc::clone(&setup.extractor),
            limits: Limits {
                file: setup.config.max_file_bytes,
                blob: setup.blob_max_bytes.min(LARGEST_OBJECT),
            },
            item_limit,
            handles,
        },
        is_damaged: AtomicBool::new(false),
    }
}

/// Returns where the round is. Without a commit nothing is enumerated, and it is nowhere: what was before has to
/// be compared with what comes.
fn here(known: Option<&Known>, commit: Option<ObjectId>) -> Option<cursor::Files> {
    let had_commit = known.is_some_and(|known| known.commit.is_some());
    let is_lost = had_commit && commit.is_none();
    (!is_lost).then(|| cursor::Files {
        commit,
        ..cursor::Files::default()
    })
}

/// Starts the workers on the blobs that have to be read.
fn reading(tasks: Vec<Task>, examiner: Arc<Examiner>) -> Pipeline<Task, (Task, Outcome)> {
    let limit = examiner.maker.limits.file.max(examiner.maker.limits.blob);
    let size = move |task: &Task| task.size.min(limit);
    Pipeline::start(tasks, threads(), BUDGET, size, move |task| {
        let outcome = examiner.examine(&task);
        let weight = outcome.weight();
        ((task, outcome), weight)
    })
}

/// Returns the paths whose documents are gone, in their order.
fn gone<'c>(
    changes: &'c [Change],
    moves: &[Move],
    (examiner, failed_before): (&Examiner, &HashSet<Box<[u8]>>),
    cancel: &CancelFlag,
) -> Result<Vec<&'c [u8]>, RpcError> {
    let moved: HashSet<&[u8]> = moves.iter().map(|found| &*found.from).collect();
    let mut gone = Vec::new();
    for change in changes {
        cancel.check()?;
        if let (Some(id), None) = (change.before, change.now)
            && !moved.contains(&*change.path)
            && (failed_before.contains(&change.path) || examiner.had_document(&change.path, id))
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
