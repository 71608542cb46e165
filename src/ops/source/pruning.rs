//! Deletes documents of others at the end of a round that has ended well, while its lock is held.

use crate::model::{FileUri, Hash};
use crate::runner::Cancel;
use crate::state;
use crate::sync::event::{Event, Landed, Observer};
use crate::sync::failure::{Level, Subject};
use crate::sync::ports::{Refusal, Remote, WriteError};
use crate::sync::report::{Outcome, Report};

use super::error::SourceError;

/// What deletes them.
pub(super) struct Pruning<'a, R> {
    pub(super) remote: &'a R,
    /// What the round has left.
    pub(super) state: &'a state::Instance,
    pub(super) observer: &'a dyn Observer,
    pub(super) cancel: &'a Cancel,
}

impl<R: Remote> Pruning<'_, R> {
    /// Deletes what still holds what is given, and enters it into the report. What the round has found in
    /// the source after all stays.
    pub(super) async fn delete(
        &self,
        others: &[(FileUri, Hash)],
        report: &mut Report,
    ) -> Result<(), SourceError> {
        if !others.is_empty() && report.outcome != Outcome::Succeeded {
            let why = "nothing was pruned: the push did not end well";
            self.observer.event(Event::Warning(why));
            return Ok(());
        }
        for (uri, held) in others {
            if report.outcome == Outcome::Failed || self.cancel.is_cancelled() {
                break;
            }
            if self.state.pending(uri)?.confirmed.is_none() {
                let deleted = self.remote.delete(uri, *held).await;
                self.enter(uri, deleted, report);
            }
        }
        Ok(())
    }

    fn enter(&self, uri: &FileUri, deleted: Result<(), WriteError>, report: &mut Report) {
        let error = match deleted {
            Ok(()) => {
                report.counts.deleted += 1;
                self.observer.event(Event::Landed(Landed::Deleted(uri)));
                return;
            }
            // Somebody was faster.
            Err(error) if error.refusal == Some(Refusal::NotFound) => return,
            Err(error) => error,
        };
        let mut failure = error.failure;
        if error.refusal == Some(Refusal::PreconditionFailed) {
            "somebody else wrote this document after it was listed; it is left alone"
                .clone_into(&mut failure.message);
        }
        if failure.level == Level::Item {
            failure.subject = Subject::Document(uri.to_string());
            report.counts.failed += 1;
            report.outcome = Outcome::Partial;
        } else {
            report.outcome = Outcome::Failed;
        }
        self.observer.event(Event::Failed(&failure));
        report.failures.push(failure);
    }
}
