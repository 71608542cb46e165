//! Lands operations on the remote: look, decide, promise, write, settle (connector contract
//! §18–§21).

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;

use crate::model::{Contracts, FileUri, Hash};
use crate::state::{Change, Instance, Pending, StateError};
use crate::sync::assembly::Step;
use crate::sync::decision::Known;
use crate::sync::event::{Event, Landed, Observer};
use crate::sync::failure::{Failure, FailureSource, Level, Subject};
use crate::sync::ports::{Base, Committed, Remote, WriteError};
use crate::sync::report::Counts;
use crate::sync::unachieved::{Permission, Unachieved};
use crate::sync::wave::{self, Operation};

use super::round::Settings;
use super::task::{self, Done, Judgement, Knowledge, NotRedeemed, Rules, Task, Write};

/// Delivers one round's operations and keeps count of what became of them.
pub(super) struct Landing<'a, R> {
    pub remote: &'a R,
    pub state: &'a mut Instance,
    pub observer: &'a dyn Observer,
    pub counts: Counts,
    rules: Rules,
    /// At most so many writes at once.
    concurrency: usize,
    /// Contracts whose confirmed values count (§19.1).
    accepted: Contracts,
    failures: Vec<Failure>,
    unachieved: Unachieved,
}

/// A task with the write it is about to send.
type Planned = (Task, Write);

impl<'a, R: Remote> Landing<'a, R> {
    pub(super) fn new(
        remote: &'a R,
        state: &'a mut Instance,
        observer: &'a dyn Observer,
        settings: &Settings,
    ) -> Self {
        Self {
            remote,
            state,
            observer,
            rules: Rules {
                policies: settings.policies,
                conflict_retries: settings.conflict_retries,
            },
            concurrency: settings.concurrency,
            accepted: settings.accepted,
            counts: Counts::default(),
            failures: Vec::new(),
            unachieved: Unachieved::default(),
        }
    }

    /// Returns what became of everything, and the failures in order of occurrence.
    pub(super) fn into_counts(self) -> (Counts, Vec<Failure>) {
        (self.counts, self.failures)
    }

    /// Returns whether any item has failed so far.
    pub(super) fn has_failures(&self) -> bool {
        !self.failures.is_empty()
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
            self.land_wave(wave).await?;
        }
        Ok(())
    }

    /// Reports an item failure.
    pub(super) fn fail(&mut self, failure: Failure) {
        if failure.level == Level::Item {
            self.counts.failed += 1;
        }
        self.observer.event(Event::Failed(&failure));
        self.failures.push(failure);
    }

    /// Decides what is still undecided about moves. With `aborted` the round did not end well.
    pub(super) fn finish(&mut self, aborted: bool) {
        for failure in self.unachieved.finish(aborted) {
            self.fail(failure);
        }
    }

    async fn land_wave(&mut self, wave: Vec<Operation>) -> Result<(), Failure> {
        let mut tasks: Vec<Task> = wave
            .into_iter()
            .filter_map(|operation| self.admit(operation))
            .collect();
        while !tasks.is_empty() {
            let (known, mut changes) = self.look(&tasks).await?;
            let mut planned = Vec::new();
            for task in tasks {
                let knowledge = knowledge(&task, &known);
                let judgement = task.judge(knowledge, self.rules);
                changes.extend(self.carry_out(judgement, &mut planned).await?);
            }
            for (task, write) in &planned {
                changes.extend(task.intents(*write));
            }
            self.save(&changes)?;
            tasks = self.write(planned).await?;
        }
        Ok(())
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
                let uris: Vec<FileUri> = task.operation.uris().cloned().collect();
                self.observer.event(Event::Skipped {
                    uris: &uris,
                    cause: &cause,
                });
                self.unachieved.skipped(&task.operation, &cause);
                return None;
            }
        }
        Some(task)
    }

    /// Reads what the remote holds and what is known of it, and settles intents of an earlier
    /// run that turn out to have been carried out (§19.2).
    async fn look(
        &mut self,
        tasks: &[Task],
    ) -> Result<(HashMap<FileUri, Known>, Vec<Change>), Failure> {
        let uris: Vec<FileUri> = tasks
            .iter()
            .flat_map(|task| task.operation.uris().cloned())
            .collect();
        let heads = self.remote.heads(&uris).await.map_err(terminating)?;
        let mut changes = Vec::new();
        let mut known = HashMap::with_capacity(uris.len());
        for (uri, remote) in uris.into_iter().zip(heads) {
            let pending = self.state.pending(&uri).map_err(state_failure)?;
            let confirmed = reconcile(&uri, pending, remote, &mut changes);
            let both = Known { confirmed, remote };
            known.insert(uri, both.accepted(self.accepted));
        }
        Ok((known, changes))
    }

    /// Acts on a judgement and returns what it changes; a write is added to `planned`.
    async fn carry_out(
        &mut self,
        judgement: Judgement,
        planned: &mut Vec<Planned>,
    ) -> Result<Vec<Change>, Failure> {
        match judgement {
            Judgement::Write(task, write) => planned.push((task, write)),
            Judgement::Done(task, done) => return self.done(&task, done).await,
            Judgement::Failed(task, failure) => self.task_failed(&task.operation, failure),
            Judgement::Unreachable(task) => {
                let (from, to) = task::sides(&task.operation);
                self.unachieved.unreachable(from, to);
            }
            Judgement::NotRedeemed(task, why) => self.not_redeemed(&task.operation, why),
        }
        Ok(Vec::new())
    }

    /// Sends the planned writes, settles them in one save, and returns those to judge again.
    async fn write(&mut self, planned: Vec<Planned>) -> Result<Vec<Task>, Failure> {
        let ended = self.send_all(planned).await;
        let mut again = Vec::new();
        let mut changes = Vec::new();
        let mut fatal = None;
        for (mut task, result) in ended {
            let Some(result) = result else {
                changes.extend(task.settled());
                continue;
            };
            if !matches!(&result, Err(error) if error.outcome_unknown) {
                changes.extend(task.settled());
            }
            match result {
                Ok(done) => changes.extend(self.done(&task, done).await?),
                Err(error) if error.failure.level != Level::Item => {
                    fatal.get_or_insert(error.failure);
                }
                Err(error) => match error.refusal {
                    Some(refusal) if task.is_conflict(refusal) => {
                        task.refused = Some(refusal);
                        again.push(task);
                    }
                    _ => self.task_failed(&task.operation, about(&task.operation, error)),
                },
            }
        }
        self.save(&changes)?;
        match fatal {
            Some(failure) => Err(failure),
            None => Ok(again),
        }
    }

    /// Sends writes side by side. After a failure that ends the round, those that have not
    /// begun are not sent: `None`.
    async fn send_all(
        &self,
        planned: Vec<Planned>,
    ) -> Vec<(Task, Option<Result<Done, WriteError>>)> {
        let stop = AtomicBool::new(false);
        let sends = planned.into_iter().map(|(task, write)| {
            let stop = &stop;
            async move {
                if stop.load(Ordering::Relaxed) {
                    return (task, None);
                }
                let result = task.send(self.remote, write).await;
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

    /// Counts a task that ended well and returns what it confirms (§19.4).
    async fn done(&mut self, task: &Task, done: Done) -> Result<Vec<Change>, Failure> {
        let (from, to) = task::sides(&task.operation);
        let (counter, landed) = match done {
            Done::Committed(Committed::Created, _) => {
                (&mut self.counts.created, Some(Landed::Created(to)))
            }
            Done::Committed(Committed::Updated, _) => {
                (&mut self.counts.updated, Some(Landed::Updated(to)))
            }
            Done::Committed(Committed::Unchanged, _) => (&mut self.counts.unchanged, None),
            Done::Deleted => (&mut self.counts.deleted, Some(Landed::Deleted(to))),
            Done::Moved(_) => (&mut self.counts.moved, Some(Landed::Moved { from, to })),
        };
        *counter += 1;
        if let Some(landed) = landed {
            self.observer.event(Event::Landed(landed));
        }
        let mut changes = task.confirmed(done);
        if let Some(cause) = &task.redeems {
            self.unachieved.redeemed(&cause.to);
            self.counts.moved += 1;
            changes.extend(self.clear_source(&cause.from).await?);
        }
        Ok(changes)
    }

    /// The document of a redeemed move has landed; forgets its old name, which is gone from the
    /// remote. If somebody has created it anew it is left alone (§21.3).
    async fn clear_source(&mut self, from: &FileUri) -> Result<Option<Change>, Failure> {
        let confirmed = self.state.pending(from).map_err(state_failure)?.confirmed;
        if confirmed.is_none() {
            return Ok(None);
        }
        let heads = self.remote.heads(std::slice::from_ref(from)).await;
        match heads.map_err(terminating)?.as_slice() {
            [None] => Ok(Some(Change::Forget(from.clone()))),
            _ => Ok(None),
        }
    }

    fn not_redeemed(&mut self, operation: &Operation, why: NotRedeemed) {
        let (_, to) = task::sides(operation);
        match why {
            NotRedeemed::Refused => self.unachieved.may_be_retried(to),
            NotRedeemed::Occupied => {
                if let Some(failure) = self.unachieved.occupied(to) {
                    self.fail(failure);
                }
            }
        }
    }

    fn task_failed(&mut self, operation: &Operation, failure: Failure) {
        match operation {
            Operation::Move { from, to } => self.unachieved.failed(from, to),
            Operation::Commit { uri, .. } if failure.retryable => {
                self.unachieved.may_be_retried(uri);
            }
            _ => {}
        }
        self.fail(failure);
    }

    fn save(&mut self, changes: &[Change]) -> Result<(), Failure> {
        self.state.save(changes).map_err(state_failure)
    }
}

/// Applies an intent that the remote has carried out to the confirmed value.
fn reconcile(
    uri: &FileUri,
    pending: Pending,
    remote: Option<Hash>,
    changes: &mut Vec<Change>,
) -> Option<Hash> {
    if pending.intent != Some(remote) {
        return pending.confirmed;
    }
    changes.push(Change::Settle(uri.clone()));
    changes.push(match remote {
        Some(hash) => Change::Confirm(uri.clone(), hash),
        None => Change::Forget(uri.clone()),
    });
    remote
}

fn knowledge(task: &Task, known: &HashMap<FileUri, Known>) -> Knowledge {
    let (first, second) = task::sides(&task.operation);
    let of = |uri| known.get(uri).copied().unwrap_or_default();
    Knowledge {
        first: of(first),
        second: of(second),
    }
}

/// Names the documents of an operation in a failure of its write.
fn about(operation: &Operation, error: WriteError) -> Failure {
    Failure {
        subject: task::subject(operation),
        ..error.failure
    }
}

/// A read that fails ends the round, whatever level its failure would have for a single write.
fn terminating(error: WriteError) -> Failure {
    match error.failure.level {
        Level::Item => Failure {
            level: Level::Round,
            subject: Subject::Unknown,
            ..error.failure
        },
        _ => error.failure,
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
