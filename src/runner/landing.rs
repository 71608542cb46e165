//! Lands operations on the remote: look, decide, promise, write, settle (connector contract
//! §18–§21).

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

use crate::model::{Contract, Contracts, FileUri};
use crate::state::{Change, Instance, StateError, Tracking};
use crate::sync::assembly::Step;
use crate::sync::decision::Known;
use crate::sync::event::{Event, Landed, Observer};
use crate::sync::failure::{Failure, FailureSource, Level, Subject};
use crate::sync::ports::{Base, Committed, Remote, WriteError};
use crate::sync::report::{Counts, FAILURES_MAX};
use crate::sync::unachieved::{Cause, Permission, Unachieved};
use crate::sync::wave::{self, Operation};

use super::heads::{self, Head};
use super::interruption::{interrupted, patience_ends, unless};
use super::knowledge::{Knowledge, knowledge, reconcile};
use super::round::{Profile, Settings};
use super::task::{self, Done, Judgement, NotRedeemed, Rules, Task, Write};

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
}

/// What is to be looked at again after stale moves.
#[derive(Debug, Default)]
pub(super) struct Undecided {
    /// Both sides of moves whose target this instance has filled otherwise since.
    pub overtaken: Vec<FileUri>,
    /// What later operations would have touched.
    pub skipped: Vec<FileUri>,
}

/// What a set of tasks comes to: saved at once; counted and reported after it was saved (§23).
#[derive(Default)]
struct Settlement {
    changes: Vec<Change>,
    done: Vec<(Task, Done)>,
    failures: Vec<Failure>,
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
        })
    }

    /// Returns what became of everything.
    pub(super) fn into_aftermath(self) -> Aftermath {
        Aftermath {
            counts: self.counts,
            failures: self.failures,
            failures_omitted: self.failures_omitted,
            touched: self.touched,
            unsaved: self.unsaved,
        }
    }

    /// Returns whose expectations the round meets.
    pub(super) fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns whether any item has failed so far.
    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
    }

    /// Returns the documents whose failure was reported.
    pub(super) fn failed_documents(&self) -> HashSet<String> {
        let subjects = self.failures.iter().map(|failure| &failure.subject);
        subjects
            .filter_map(|subject| match subject {
                Subject::Document(uri) => Some(uri.clone()),
                _ => None,
            })
            .collect()
    }

    /// Returns whether a document that was not enumerated may be in the source all the same: a
    /// failure names it, or a folder that contains it, or does not say what it is about.
    pub(super) fn may_be_there(&self, uri: &FileUri) -> bool {
        self.failures.iter().any(|failure| match &failure.subject {
            Subject::Unknown => true,
            Subject::Document(failed) => {
                uri.as_str() == failed
                    || (failed.ends_with('/') && uri.as_str().starts_with(failed))
            }
            Subject::Move { from_uri, to_uri } => {
                [from_uri, to_uri].iter().any(|side| uri.as_str() == **side)
            }
        })
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
            let planned = self.decide(tasks, &mut settlement).await?;
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

    /// Reports an item failure.
    pub(super) fn fail(&mut self, failure: Failure) {
        if failure.level == Level::Item {
            self.counts.failed += 1;
        }
        let (Subject::Document(uri) | Subject::Move { from_uri: uri, .. }) = &failure.subject
        else {
            return self.report(failure);
        };
        if let Ok(uri) = FileUri::parse(uri) {
            if failure.retryable {
                self.unachieved.may_be_retried(&uri);
            }
            self.touch(uri);
        }
        self.report(failure);
    }

    /// Tells a failure and keeps it; no more than are listed, unless conclusions are drawn from
    /// all of them, as people expect.
    fn report(&mut self, failure: Failure) {
        self.observer.event(Event::Failed(&failure));
        if self.profile == Profile::Contract && self.failures.len() >= FAILURES_MAX {
            self.failures_omitted += 1;
        } else {
            self.failures.push(failure);
        }
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

    /// Reads what is there and sorts the tasks: those that have to write are returned.
    async fn decide(
        &mut self,
        tasks: Vec<Task>,
        settlement: &mut Settlement,
    ) -> Result<Vec<(Task, Write)>, Failure> {
        let known = self.look(&tasks, settlement).await?;
        let mut planned = Vec::new();
        for task in tasks {
            let judgement = match knowledge(&task, &known) {
                Ok(knowledge) => {
                    let has_moved = self.has_moved(&task.operation)?;
                    let knowledge = Knowledge {
                        has_moved,
                        ..knowledge
                    };
                    task.judge(knowledge, self.rules)
                }
                Err(denied) => {
                    let denied = about(&task.operation, denied.clone());
                    Judgement::Failed(task, denied)
                }
            };
            match judgement {
                Judgement::Write(task, write) => planned.push((task, write)),
                Judgement::Done(task, done) => self.settle(task, done, settlement).await?,
                Judgement::Failed(task, failure) => self.task_failed(&task, failure, settlement),
                Judgement::Unreachable(task) => self.unreachable(&task.operation),
                Judgement::Overtaken(task) => {
                    self.undecided
                        .overtaken
                        .extend(task.operation.uris().cloned());
                }
                Judgement::NotRedeemed(task, why) => {
                    let failure = self.not_redeemed(&task.operation, why);
                    settlement.failures.extend(failure);
                }
            }
        }
        Ok(planned)
    }

    /// Returns whether an earlier round from the same cursor has carried out a move of what this
    /// one has not written. People's rounds enumerate once more instead.
    fn has_moved(&self, operation: &Operation) -> Result<bool, Failure> {
        match (operation, &self.written) {
            (Operation::Move { from, to }, Some(written))
                if !written.contains(from) && !written.contains(to) =>
            {
                self.state.has_moved(from, to).map_err(state_failure)
            }
            _ => Ok(false),
        }
    }

    /// Reads what the remote holds and what is known of it, and settles intents of an earlier
    /// run that turn out to have been carried out (§19.2).
    async fn look(
        &mut self,
        tasks: &[Task],
        settlement: &mut Settlement,
    ) -> Result<HashMap<FileUri, Result<Known, Failure>>, Failure> {
        let uris: Vec<FileUri> = tasks
            .iter()
            .flat_map(|task| task.operation.uris().cloned())
            .collect();
        let heads = self.heads(&uris).await?;
        let mut known = HashMap::with_capacity(uris.len());
        for (uri, head) in uris.into_iter().zip(heads) {
            let of_uri = self.known(&uri, head, settlement)?;
            known.insert(uri, of_uri);
        }
        Ok(known)
    }

    /// Reads what the remote holds of each document, or why it does not tell.
    pub(super) async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Head>, Failure> {
        unless(self.cancel, heads::read(self.remote, uris, self.observer)).await
    }

    fn known(
        &self,
        uri: &FileUri,
        head: Head,
        settlement: &mut Settlement,
    ) -> Result<Result<Known, Failure>, Failure> {
        let remote = match head {
            Ok(remote) => remote,
            Err(denied) => return Ok(Err(denied)),
        };
        let pending = self.state.pending(uri).map_err(state_failure)?;
        let confirmed = reconcile(uri, pending, remote, &mut settlement.changes);
        let known = Known { confirmed, remote };
        Ok(Ok(known.accepted(self.accepted)))
    }

    /// Sends the planned writes, settles them in one save, and returns those to judge again.
    async fn write(
        &mut self,
        planned: Vec<(Task, Write)>,
        mut settlement: Settlement,
    ) -> Result<Vec<Task>, Failure> {
        let ended = self.send_all(planned).await;
        let mut again = Vec::new();
        let mut fatal = None;
        for (mut task, result) in ended {
            if let Some(written) = &mut self.written {
                written.extend(task.operation.uris().cloned());
            }
            let error = match result {
                None => {
                    settlement.changes.extend(task.settled());
                    continue;
                }
                Some(Ok(done)) => {
                    if let Err(failure) = self.settle(task, done, &mut settlement).await {
                        fatal.get_or_insert(failure);
                    }
                    continue;
                }
                Some(Err(error)) => error,
            };
            if !error.outcome_unknown {
                settlement.changes.extend(task.settled());
            }
            match error.refusal {
                _ if error.failure.level != Level::Item => {
                    fatal.get_or_insert_with(|| self.at(&task.operation, error.failure));
                }
                Some(refusal) if task.is_conflict(refusal, self.contract) => {
                    task.refused = Some(refusal);
                    again.push(task);
                }
                _ => {
                    let failure = about(&task.operation, error.failure);
                    self.task_failed(&task, failure, &mut settlement);
                }
            }
        }
        let saved = self.save(settlement);
        match fatal {
            Some(failure) => Err(failure),
            None => saved.map(|()| again),
        }
    }

    /// Sends writes side by side. After a failure that ends the round, and when it is cancelled,
    /// those that have not begun are not sent: `None`.
    async fn send_all(
        &self,
        planned: Vec<(Task, Write)>,
    ) -> Vec<(Task, Option<Result<Done, WriteError>>)> {
        let stop = AtomicBool::new(false);
        let sends = planned.into_iter().map(|(mut task, write)| {
            let stop = &stop;
            async move {
                task.sent = Some(write);
                if stop.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
                    return (task, None);
                }
                let result = tokio::select! {
                    biased;
                    result = task.send(self.remote, write) => result,
                    () = patience_ends(self.cancel) => Err(given_up()),
                };
                if matches!(&result, Err(error) if error.failure.level != Level::Item) {
                    stop.store(true, Ordering::Relaxed);
                }
                (task, Some(result))
            }
        });
        futures_util::stream::iter(sends)
            .buffer_unordered(self.concurrency)
            .collect()
            .await
    }

    /// Notes what a task that ended well confirms (§19.4); its intents are settled.
    async fn settle(
        &mut self,
        task: Task,
        done: Done,
        settlement: &mut Settlement,
    ) -> Result<(), Failure> {
        settlement.changes.extend(task.settled());
        settlement.changes.extend(task.confirmed(done));
        if let Some(Cause { from, to }) = &task.redeems {
            self.unachieved.redeemed(to);
            self.clear_source(from, settlement).await?;
        }
        // What somebody else had written came along with the move; the source has something else.
        if task.resubmitted > 0
            && let Done::Moved(_) = done
        {
            let (_, to) = task::sides(&task.operation);
            self.undecided.skipped.push(to.clone());
        }
        settlement.done.push((task, done));
        Ok(())
    }

    /// The document of a redeemed move has landed; forgets its old name, which is gone from the
    /// remote. If somebody has created it anew it is left alone (§21.3).
    async fn clear_source(
        &mut self,
        from: &FileUri,
        settlement: &mut Settlement,
    ) -> Result<(), Failure> {
        let confirmed = self.state.pending(from).map_err(state_failure)?.confirmed;
        if confirmed.is_none() {
            return Ok(());
        }
        let mut heads = self.heads(std::slice::from_ref(from)).await?;
        match heads.pop() {
            Some(Ok(None)) => settlement.changes.push(Change::Forget(from.clone())),
            Some(Err(denied)) => settlement.failures.push(Failure {
                subject: Subject::Document(from.to_string()),
                ..denied
            }),
            _ => {}
        }
        Ok(())
    }

    fn unreachable(&mut self, operation: &Operation) {
        let (from, to) = task::sides(operation);
        self.unachieved.unreachable(from, to);
        operation.uris().for_each(|uri| self.touch(uri.clone()));
    }

    /// Returns the failure of the move, if it is decided by that.
    fn not_redeemed(&mut self, operation: &Operation, why: NotRedeemed) -> Option<Failure> {
        let (_, to) = task::sides(operation);
        match why {
            NotRedeemed::Refused => {
                self.unachieved.may_be_retried(to);
                None
            }
            NotRedeemed::Occupied => self.unachieved.occupied(to),
        }
    }

    fn task_failed(&mut self, task: &Task, failure: Failure, settlement: &mut Settlement) {
        if let Operation::Move { from, to } = &task.operation {
            self.unachieved.failed(from, to);
        }
        if task.is_foreign {
            let uris = task.operation.uris().cloned();
            settlement.changes.extend(uris.map(Change::Disown));
        }
        settlement.failures.push(failure);
    }

    /// Saves what tasks came to; only then are they counted and reported (§23).
    fn save(&mut self, settlement: Settlement) -> Result<(), Failure> {
        let Settlement {
            changes,
            done,
            failures,
        } = settlement;
        self.save_changes(changes)?;
        for failure in failures {
            self.fail(failure);
        }
        for (task, done) in done {
            self.count(&task, done);
        }
        Ok(())
    }

    fn save_changes(&mut self, mut changes: Vec<Change>) -> Result<(), Failure> {
        let saved = self.state.save(&changes, self.tracking);
        saved.map_err(|error| {
            // What is about to be written is not sent, and so is no part of what is known.
            changes.retain(|change| !matches!(change, Change::Intend(..)));
            self.unsaved = Some(changes);
            state_failure(error)
        })
    }

    fn count(&mut self, task: &Task, done: Done) {
        if task.redeems.is_some() {
            self.counts.moved += 1;
        }
        if self.profile == Profile::People && task.landed_before {
            return;
        }
        let (from, to) = task::sides(&task.operation);
        let (counter, landed) = match done {
            Done::Committed(Committed::Created, _) => {
                (&mut self.counts.created, Landed::Created(to))
            }
            Done::Committed(Committed::Updated, _) => {
                (&mut self.counts.updated, Landed::Updated(to))
            }
            Done::Committed(Committed::Unchanged, _) => {
                self.counts.unchanged += 1;
                return;
            }
            Done::Deleted => (&mut self.counts.deleted, Landed::Deleted(to)),
            Done::Moved(_) | Done::MovedBefore => {
                (&mut self.counts.moved, Landed::Moved { from, to })
            }
        };
        *counter += 1;
        if task.replaces {
            self.observer.event(Event::Replaced(to));
        }
        self.observer.event(Event::Landed(landed));
        self.touch(to.clone());
    }

    /// Says to a person at which document a round came to its end; the contract has the bare
    /// message (§25.2).
    fn at(&self, operation: &Operation, failure: Failure) -> Failure {
        if self.profile == Profile::Contract {
            return failure;
        }
        let (uri, _) = task::sides(operation);
        Failure {
            message: format!("{} (at {uri})", failure.message),
            ..failure
        }
    }
}

/// The end of a write that was on its way when the round was cancelled.
fn given_up() -> WriteError {
    WriteError {
        failure: interrupted(),
        outcome_unknown: true,
        refusal: None,
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
    Failure::new(
        Level::Round,
        FailureSource::Runner,
        "state_unavailable",
        error.to_string(),
    )
    .retryable(retryable)
}
