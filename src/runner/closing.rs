//! The end of a round: its outcome, and whether the cursor moves (connector contract §16, §23).

use std::collections::HashSet;
use std::time::Duration;

use crate::model::FileUri;
use crate::state::{self, Change, CursorChange, StateError};
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, FailureSource};
use crate::sync::ports::{Remote, Source};
use crate::sync::report::{Outcome, Report};

use super::doubt::Doubt;
use super::feed::Enumerated;
use super::interruption::unless;
use super::landing::{Aftermath, state_failure};
use super::round::{Profile, Round, Scope, Settings};

/// The pause before saving is tried again (§34).
const STATE_PAUSE: Duration = Duration::from_millis(200);

/// Notes that a call that began at `started_at` did not end well, and returns since when that is
/// so (§23). That it cannot be written changes nothing else. For calls that end before their round
/// begins; a [`Round`] does so itself.
pub fn hold(
    state: &mut state::Instance,
    started_at: &str,
    observer: &dyn Observer,
) -> Option<String> {
    let not_noted = |error: StateError| {
        let failure = state_failure(error);
        observer.event(Event::HeldWriteFailed(&failure));
    };
    let since = match state.held_since() {
        Ok(since) => since.unwrap_or_else(|| started_at.to_owned()),
        Err(error) => {
            not_noted(error);
            return Some(started_at.to_owned());
        }
    };
    if let Err(error) = state.finish(CursorChange::Keep, Some(&since)) {
        not_noted(error);
    }
    Some(since)
}

impl<R: Remote, S: Source> Round<'_, R, S> {
    /// Tries again to save what is known; whether that succeeds or not, the round has failed.
    pub(super) async fn save_again(&mut self, changes: &[Change]) -> Result<(), Failure> {
        let tracking = self.settings.scope.tracking();
        let mut saved = Ok(());
        for _ in 0..self.settings.state_retries {
            let pause = async {
                tokio::time::sleep(STATE_PAUSE).await;
                Ok(())
            };
            unless(self.cancel, pause).await?;
            saved = self.state.save_again(changes, tracking);
            if saved.is_ok() {
                break;
            }
        }
        saved.map_err(|error| {
            let failure = state_failure(error);
            Failure {
                message: format!("nor could it be saved later: {}", failure.message),
                ..failure
            }
        })
    }

    /// Decides the outcome and stores the cursor, or since when it is held. Without an
    /// `enumerated` the round has failed, which is reported.
    pub(super) fn close(
        &mut self,
        enumerated: Option<Enumerated>,
        aftermath: &Aftermath,
        report: &mut Report,
    ) -> Result<(), Failure> {
        match enumerated {
            Some(enumerated) if report.failures.is_empty() => {
                report.outcome = Outcome::Succeeded;
                self.store_cursor(&enumerated, report)?;
            }
            Some(enumerated) => {
                report.outcome = Outcome::Partial;
                match enumerated
                    .cursor
                    .filter(|_| self.come_back(&report.failures))
                {
                    Some(cursor) => self.store_despite_failures(&cursor, aftermath, report)?,
                    None => self.hold_cursor(report),
                }
            }
            None => {
                report.outcome = Outcome::Failed;
                self.hold_cursor(report);
                return Ok(());
            }
        }
        self.count_untouched(&aftermath.touched, report)
    }

    fn store_cursor(
        &mut self,
        enumerated: &Enumerated,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let since = self.state.held_since().map_err(state_failure)?;
        if self.settings.scope == Scope::Named {
            report.cursor_held_since = since;
            return Ok(());
        }
        let takes_cursors = self.source.identity().supports_cursor;
        let is_stored = self.state.has_cursor().map_err(state_failure)?;
        let change = match &enumerated.cursor {
            Some(cursor) if takes_cursors => CursorChange::Store(cursor),
            _ if !takes_cursors || !is_stored => CursorChange::Clear,
            _ => CursorChange::Keep,
        };
        self.finish(change, since, report)
    }

    /// Returns whether the source will speak of everything that failed again by itself, so that nothing is lost
    /// if it goes on from here. People's only: one broken document would make every round a full one.
    fn come_back(&self, failures: &[Failure]) -> bool {
        let Settings {
            profile,
            scope,
            failures_come_back,
            ..
        } = *self.settings;
        let are_of_plugin = |failure: &Failure| failure.source == FailureSource::Plugin;
        (profile, scope) == (Profile::People, Scope::Whole)
            && failures_come_back
            && self.source.identity().supports_cursor
            && failures.iter().all(are_of_plugin)
    }

    /// Stores the cursor; what this instance has written of what failed stays in the write set, so that it is
    /// missed should the source never come back to it.
    fn store_despite_failures(
        &mut self,
        cursor: &str,
        aftermath: &Aftermath,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let since = self.state.held_since().map_err(state_failure)?;
        let doubt = Doubt::of(&report.failures);
        let mut kept = self.state.write_set().map_err(state_failure)?;
        kept.retain(|uri| doubt.covers(uri));
        kept.extend_from_slice(&aftermath.in_doubt);
        self.finish(CursorChange::StoreBut(cursor, &kept), since, report)
    }

    fn finish(
        &mut self,
        change: CursorChange<'_>,
        since: Option<String>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let carries_a_cursor =
            matches!(change, CursorChange::Store(_) | CursorChange::StoreBut(..));
        match self.state.finish(change, None).map_err(state_failure) {
            Ok(()) => report.cursor_persisted = carries_a_cursor,
            Err(failure) if carries_a_cursor => {
                let since = since.unwrap_or_else(|| report.started_at.clone());
                report.cursor_held_since = Some(since);
                return Err(failure);
            }
            Err(failure) => self.observer.event(Event::HeldWriteFailed(&failure)),
        }
        Ok(())
    }

    /// Notes since when the cursor is held.
    fn hold_cursor(&mut self, report: &mut Report) {
        report.cursor_held_since = match self.settings.scope {
            Scope::Whole => hold(self.state, &report.started_at, self.observer),
            Scope::Named => self.state.held_since().ok().flatten(),
        };
    }

    /// Counts what stayed as it was, mentioned or not, when the source told only what changed.
    fn count_untouched(
        &self,
        touched: &HashSet<FileUri>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        if self.settings.profile == Profile::Contract || report.incremental != Some(true) {
            return Ok(());
        }
        let mut untouched = self.state.confirmed_count().map_err(state_failure)?;
        for uri in touched {
            let pending = self.state.pending(uri).map_err(state_failure)?;
            untouched -= u64::from(pending.confirmed.is_some());
        }
        report.counts.unchanged = untouched;
        Ok(())
    }
}
