//! Lands operations on the remote: look, decide, promise, write, settle (connector contract
//! §18–§21).

mod deciding;
mod reporting;
mod sending;
mod settling;

use std::collections::HashSet;

use tokio_util::sync::CancellationToken;

use crate::model::{Contract, Contracts, FileUri};
use crate::state::{Change, Instance, StateError, Tracking};
use crate::sync::assembly::Step;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::Failure;
use crate::sync::ports::{Base, Remote};
use crate::sync::report::Counts;
use crate::sync::unachieved::{Cause, Permission, Unachieved};
use crate::sync::wave::{self, Operation};

use super::round::{Profile, Settings};
use super::task::{self, Rules, Task};
use settling::Settlement;

/// Delivers one round's operations and keeps count of what became of them.
pub(super) struct Landing<'a, R> {
    pub remote: &'a R,
    pub state: &'a mut Instance,
    pub observer: &'a dyn Observer,
    pub cancel: &'a CancellationToken,
    pub counts: Counts,
    /// Documents that a stale move or what followed it left undecided; only under
    /// [`Profile::People`], which finds out by enumerating once more.
    pub undecided: Undecided,
    rules: Rules,
    profile: Profile,
    tracking: Tracking,
    /// At most so many writes at once.
    concurrency: usize,
    /// Contract of what the remote is asked for.
    contract: Contract,
    /// Contracts whose confirmed values count (§19.1).
    pub accepted: Contracts,
    failures: Vec<Failure>,
    failures_omitted: u64,
    /// What this round has written, if an earlier one from the same cursor has moved anything:
    /// a move of that is no move that is said again.
    written: Option<HashSet<FileUri>>,
    /// What could not be saved, although it is known.
    unsaved: Option<Vec<Change>>,
    unachieved: Unachieved,
    /// Documents that were created, updated, moved or not delivered.
    touched: HashSet<FileUri>,
    /// Documents of this instance that the source may have or not.
    pub(in crate::runner) in_doubt: Vec<FileUri>,
}

/// What is to be looked at again after stale moves.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    /// Both sides of moves whose target this instance has filled otherwise since.
    pub overtaken: Vec<FileUri>,
    /// What later operations would have touched.
    pub skipped: Vec<FileUri>,
}

/// What became of everything that landed, or did not.
#[derive(Default)]
pub(super) struct Aftermath {
    pub counts: Counts,
    /// In order of occurrence.
    pub failures: Vec<Failure>,
    /// How many more there were than are kept.
    pub failures_omitted: u64,
    /// Documents that were created, updated, moved or not delivered; only under
    /// [`Profile::People`].
    pub touched: HashSet<FileUri>,
    /// Documents of this instance that the source may have or not.
    pub in_doubt: Vec<FileUri>,
    /// What could not be saved, although it is known; whether there is anything or not, a save
    /// has failed.
    pub unsaved: Option<Vec<Change>>,
}

impl<'a, R: Remote> Landing<'a, R> {
    pub(super) fn new(
        remote: &'a R,
        state: &'a mut Instance,
        observer: &'a dyn Observer,
        settings: &Settings,
        cancel: &'a CancellationToken,
    ) -> Result<Self, Failure> {
        let follows_moves = settings.profile == Profile::Contract
            && state.follows_moves().map_err(state_failure)?;
        Ok(Self {
            remote,
            state,
            observer,
            cancel,
            counts: Counts::default(),
            undecided: Undecided::default(),
            rules: Rules {
                policies: settings.policies,
                conflict_retries: settings.conflict_retries,
                profile: settings.profile,
            },
            profile: settings.profile,
            tracking: settings.scope.tracking(),
            concurrency: settings.concurrency,
            contract: settings.contract,
            accepted: settings.accepted,
            failures: Vec::new(),
            failures_omitted: 0,
            written: follows_moves.then(HashSet::new),
            unsaved: None,
            unachieved: Unachieved::default(),
            touched: HashSet::new(),
            in_doubt: Vec::new(),
        })
    }

    /// Returns what became of everything.
    pub(super) fn into_aftermath(self) -> Aftermath {
        Aftermath {
            counts: self.counts,
            failures: self.failures,
            failures_omitted: self.failures_omitted,
            touched: self.touched,
            in_doubt: self.in_doubt,
            unsaved: self.unsaved,
        }
    }

    /// Returns whose expectations the round meets.
    pub(super) fn profile(&self) -> Profile {
        self.profile
    }

    /// Lands steps in stream order.
    ///
    /// # Errors
    ///
    /// A failure that ends the round. What has landed before is settled.
    pub(super) async fn land(&mut self, steps: Vec<Step>) -> Result<(), Failure> {
        let mut operations = Vec::with_capacity(steps.len());
        for step in steps {
            match step {
                Step::Operation(operation) => operations.push(operation),
                Step::Failed(failure) => self.fail(failure),
            }
        }
        for wave in wave::waves(operations) {
            let admitted = wave
                .into_iter()
                .filter_map(|operation| self.admit(operation));
            let tasks = admitted.collect();
            self.land_tasks(tasks).await?;
        }
        Ok(())
    }

    /// Lands tasks that touch different documents.
    ///
    /// # Errors
    ///
    /// As [`Self::land`].
    pub(super) async fn land_tasks(&mut self, mut tasks: Vec<Task>) -> Result<(), Failure> {
        while !tasks.is_empty() {
            let mut settlement = Settlement::default();
            let documents = tasks.len() as u64;
            let planned = self.decide(tasks, &mut settlement).await?;
            self.observer.event(Event::Compared { documents });
            if planned.is_empty() {
                return self.save(settlement);
            }
            let mut promised = std::mem::take(&mut settlement.changes);
            for (task, write) in &planned {
                promised.extend(task.intents(*write));
            }
            self.save_changes(promised)?;
            // What was decided without a write is of the same call: it counts when that is saved.
            tasks = self.write(planned, settlement).await?;
        }
        Ok(())
    }

    /// Forgets what must not be written after failed moves, but for moves whose source is gone:
    /// a document may still reach their goal. Returns these.
    pub(super) fn reconsider_moves(&mut self) -> Vec<Cause> {
        self.unachieved.start_over()
    }

    /// Decides what is still undecided about moves. With `aborted` the round did not end well.
    pub(super) fn finish(&mut self, aborted: bool) {
        for failure in self.unachieved.finish(aborted) {
            self.fail(failure);
        }
    }

    /// Lets an operation into its wave, unless a failed move stands in its way (§21.2).
    fn admit(&mut self, operation: Operation) -> Option<Task> {
        let mut task = Task::new(operation);
        match self.unachieved.permission(&task.operation) {
            Permission::Granted => {}
            Permission::OnlyIfAbsent(cause) => {
                task.demanded = Some(Base::Absent);
                task.redeems = Some(cause);
            }
            Permission::Denied(cause) => {
                self.skip(&task.operation, &cause);
                return None;
            }
        }
        Some(task)
    }

    fn skip(&mut self, operation: &Operation, cause: &Cause) {
        self.unachieved.skipped(operation, cause);
        operation.uris().for_each(|uri| self.touch(uri.clone()));
        match self.profile {
            Profile::Contract => self.observer.event(Event::Skipped { operation, cause }),
            // The document that follows its own move: where that was refused, so is this.
            Profile::People if is_behind(operation, cause) => {}
            Profile::People => self.undecided.skipped.extend(operation.uris().cloned()),
        }
    }

    /// Notes what a person would not call unchanged.
    fn touch(&mut self, uri: FileUri) {
        if self.profile == Profile::People {
            self.touched.insert(uri);
        }
    }
}

/// Returns whether an operation is the document that a move was to bring to its place.
fn is_behind(operation: &Operation, cause: &Cause) -> bool {
    matches!(operation, Operation::Commit { uri, .. } if *uri == cause.to)
}

/// Names the documents of an operation in a failure of its read or write.
fn about(operation: &Operation, failure: Failure) -> Failure {
    Failure {
        subject: task::subject(operation),
        ..failure
    }
}

/// Returns the failure of a state that cannot be used (§8.2).
pub(super) fn state_failure(error: StateError) -> Failure {
    let retryable = error.retryable();
    Failure::round("state_unavailable", error.to_string()).retryable(retryable)
}
