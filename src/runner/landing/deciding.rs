//! Before anything is written: what the remote holds, what is known of it, and what follows for each task
//! (connector contract §19.2).

use std::collections::HashMap;

use crate::model::FileUri;
use crate::sync::decision::Known;
use crate::sync::failure::Failure;
use crate::sync::ports::Remote;
use crate::sync::wave::Operation;

use super::settling::Settlement;
use super::{Landing, about, state_failure};
use crate::runner::heads::{self, Head};
use crate::runner::interruption::unless;
use crate::runner::knowledge::{Knowledge, knowledge, reconcile};
use crate::runner::task::{Judgement, Task, Write};

impl<R: Remote> Landing<'_, R> {
    /// Reads what is there and sorts the tasks: those that have to write are returned.
    pub(super) async fn decide(
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
    pub(in crate::runner) async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Head>, Failure> {
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
}
