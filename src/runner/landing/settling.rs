//! What tasks come to: saved at once; counted and reported after it was saved (connector contract §19.4,
//! §23).

use crate::model::FileUri;
use crate::state::Change;
use crate::sync::event::{Event, Landed};
use crate::sync::failure::{Failure, Subject};
use crate::sync::ports::{Committed, Remote};
use crate::sync::unachieved::Cause;
use crate::sync::wave::Operation;

use super::{Landing, state_failure};
use crate::runner::round::Profile;
use crate::runner::task::{self, Done, NotRedeemed, Task};

/// What a set of tasks comes to.
#[derive(Default)]
pub(super) struct Settlement {
    pub(super) changes: Vec<Change>,
    pub(super) done: Vec<(Task, Done)>,
    pub(super) failures: Vec<Failure>,
}

impl<R: Remote> Landing<'_, R> {
    /// Notes what a task that ended well confirms (§19.4); its intents are settled.
    pub(super) async fn settle(
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

    pub(super) fn unreachable(&mut self, operation: &Operation) {
        let (from, to) = task::sides(operation);
        self.unachieved.unreachable(from, to);
        operation.uris().for_each(|uri| self.touch(uri.clone()));
    }

    /// Returns the failure of the move, if it is decided by that.
    pub(super) fn not_redeemed(
        &mut self,
        operation: &Operation,
        why: NotRedeemed,
    ) -> Option<Failure> {
        let (_, to) = task::sides(operation);
        match why {
            NotRedeemed::Refused => {
                self.unachieved.may_be_retried(to);
                None
            }
            NotRedeemed::Occupied => self.unachieved.occupied(to),
        }
    }

    pub(super) fn task_failed(
        &mut self,
        task: &Task,
        failure: Failure,
        settlement: &mut Settlement,
    ) {
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
    pub(super) fn save(&mut self, settlement: Settlement) -> Result<(), Failure> {
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

    pub(super) fn save_changes(&mut self, mut changes: Vec<Change>) -> Result<(), Failure> {
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
        match landed {
            Landed::Created(_) if task.replaces => self.observer.event(Event::Restored(to)),
            _ if task.replaces => self.observer.event(Event::Replaced(to)),
            _ => {}
        }
        self.observer.event(Event::Landed(landed));
        self.touch(to.clone());
    }
}
