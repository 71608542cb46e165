//! Writes on their way to the remote, side by side, and what becomes of each (connector contract §19.3).

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;

use crate::sync::event::Event;
use crate::sync::failure::{Failure, Level};
use crate::sync::ports::{Remote, WriteError};
use crate::sync::wave::Operation;

use super::settling::Settlement;
use super::{Landing, about};
use crate::runner::interruption::{interrupted, patience_ends};
use crate::runner::round::Profile;
use crate::runner::task::{self, Done, Task, Write};

impl<R: Remote> Landing<'_, R> {
    /// Sends the planned writes, settles them in one save, and returns those to judge again.
    pub(super) async fn write(
        &mut self,
        planned: Vec<(Task, Write)>,
        mut settlement: Settlement,
    ) -> Result<Vec<Task>, Failure> {
        let ended = self.send_all(planned).await;
        let mut again = Vec::new();
        let mut fatal = None;
        for (task, result) in ended {
            if let Some(written) = &mut self.written {
                written.extend(task.operation.uris().cloned());
            }
            let ended = match result {
                // Another write has ended the round, or somebody has: it must not pass for a whole one.
                None => {
                    settlement.changes.extend(task.settled());
                    self.unless_cancelled()
                }
                Some(Ok(done)) => self.settle(task, done, &mut settlement).await,
                Some(Err(error)) => self
                    .failed(task, error, &mut settlement)
                    .map(|task| again.extend(task)),
            };
            if let Err(failure) = ended {
                fatal.get_or_insert(failure);
            }
        }
        let saved = self.save(settlement);
        match fatal {
            Some(failure) => Err(failure),
            None => saved.map(|()| again),
        }
    }

    fn unless_cancelled(&self) -> Result<(), Failure> {
        if self.cancel.is_cancelled() {
            Err(interrupted())
        } else {
            Ok(())
        }
    }

    /// Takes a write that came to no good: returns its task if it is to be judged again.
    ///
    /// # Errors
    ///
    /// A failure that ends the round.
    fn failed(
        &mut self,
        mut task: Task,
        error: WriteError,
        settlement: &mut Settlement,
    ) -> Result<Option<Task>, Failure> {
        if !error.outcome_unknown {
            settlement.changes.extend(task.settled());
        }
        if error.failure.level != Level::Item {
            return Err(self.at(&task.operation, error.failure));
        }
        match error.refusal {
            Some(refusal) if task.is_conflict(refusal, self.contract) => {
                task.refused = Some(refusal);
                Ok(Some(task))
            }
            _ => {
                let mut failure = about(&task.operation, error.failure);
                // The contract has the remote's words; to a person they are the same from every remote, and from
                // a dry run.
                if let (Profile::People, Some(refusal)) = (self.profile, error.refusal) {
                    task.why_refused(refusal).clone_into(&mut failure.message);
                }
                self.task_failed(&task, failure, settlement);
                Ok(None)
            }
        }
    }

    /// Sends writes side by side. After a failure that ends the round, and when it is cancelled,
    /// those that have not begun are not sent: `None`. To people they are told in the order of the
    /// source, however long each took; a dry run does the same.
    async fn send_all(
        &self,
        planned: Vec<(Task, Write)>,
    ) -> Vec<(Task, Option<Result<Done, WriteError>>)> {
        let stop = AtomicBool::new(false);
        self.observer.event(Event::Sending {
            writes: planned.len() as u64,
            bytes: planned.iter().map(|(task, _)| weight(task)).sum(),
        });
        let sends = planned
            .into_iter()
            .enumerate()
            .map(|(place, (mut task, write))| {
                let stop = &stop;
                async move {
                    task.sent = Some(write);
                    if stop.load(Ordering::Relaxed) || self.cancel.is_cancelled() {
                        return (place, task, None);
                    }
                    let result = tokio::select! {
                        biased;
                        result = task.send(self.remote, write) => result,
                        () = patience_ends(self.cancel) => Err(given_up()),
                    };
                    if matches!(&result, Err(error) if error.failure.level != Level::Item) {
                        stop.store(true, Ordering::Relaxed);
                    }
                    self.observer.event(Event::Answered {
                        bytes: weight(&task),
                    });
                    (place, task, Some(result))
                }
            });
        let sends = futures_util::stream::iter(sends).buffer_unordered(self.concurrency);
        let mut ended: Vec<_> = sends.collect().await;
        if self.profile == Profile::People {
            ended.sort_unstable_by_key(|(place, ..)| *place);
        }
        let ended = ended.into_iter();
        ended.map(|(_, task, result)| (task, result)).collect()
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

/// Returns how many bytes a write brings, all told.
fn weight(task: &Task) -> u64 {
    let Operation::Commit { tree, blobs, .. } = &task.operation else {
        return 0;
    };
    let objects = tree.pages.iter().chain(&tree.elements);
    let text: u64 = objects.map(|object| object.text.len() as u64).sum();
    text + blobs.lengths().map(|(_, length)| length).sum::<u64>()
}

/// The end of a write that was on its way when the round was cancelled.
fn given_up() -> WriteError {
    WriteError {
        failure: interrupted(),
        outcome_unknown: true,
        refusal: None,
    }
}
