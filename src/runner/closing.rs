//! The end of a round: its outcome, and whether the cursor moves (connector contract §16, §23).

use std::collections::HashSet;

use crate::model::FileUri;
use crate::state::{CursorChange, StateError};
use crate::sync::event::Event;
use crate::sync::failure::Failure;
use crate::sync::ports::{Remote, Source};
use crate::sync::report::{Outcome, Report};

use super::feed::Enumerated;
use super::landing::state_failure;
use super::round::{Profile, Round, Scope};

impl<R: Remote, S: Source> Round<'_, R, S> {
    /// Decides the outcome and stores the cursor, or since when it is held.
    pub(super) fn close(
        &mut self,
        ended: Result<Enumerated, Failure>,
        touched: &HashSet<FileUri>,
        report: &mut Report,
    ) -> Result<(), Failure> {
        match ended {
            Ok(enumerated) if report.failures.is_empty() => {
                report.outcome = Outcome::Succeeded;
                self.store_cursor(&enumerated, report)?;
            }
            Ok(_) => {
                report.outcome = Outcome::Partial;
                self.hold_cursor(report);
            }
            Err(failure) => {
                report.outcome = Outcome::Failed;
                self.hold_cursor(report);
                return Err(failure);
            }
        }
        self.count_untouched(touched, report)
    }

    fn store_cursor(
        &mut self,
        enumerated: &Enumerated,
        report: &mut Report,
    ) -> Result<(), Failure> {
        if self.settings.scope == Scope::Named {
            report.cursor_held_since = self.state.held_since().map_err(state_failure)?;
            return Ok(());
        }
        let takes_cursors = self.source.identity().supports_cursor;
        let stored = self.state.cursor().map_err(state_failure)?;
        let change = match &enumerated.cursor {
            Some(cursor) if takes_cursors => CursorChange::Store(cursor),
            _ if !takes_cursors || stored.is_none() => CursorChange::Clear,
            _ => CursorChange::Keep,
        };
        self.state.finish(change, None).map_err(state_failure)?;
        report.cursor_persisted = matches!(change, CursorChange::Store(_));
        Ok(())
    }

    /// Notes since when the cursor is held. That this cannot be written changes nothing else.
    fn hold_cursor(&mut self, report: &mut Report) {
        let since = match self.state.held_since() {
            Ok(since) => since,
            Err(error) => return self.not_noted(error),
        };
        if self.settings.scope == Scope::Named {
            report.cursor_held_since = since;
            return;
        }
        let since = since.unwrap_or_else(|| report.started_at.clone());
        if let Err(error) = self.state.finish(CursorChange::Keep, Some(&since)) {
            self.not_noted(error);
        }
        report.cursor_held_since = Some(since);
    }

    fn not_noted(&self, error: StateError) {
        let failure = state_failure(error);
        self.observer.event(Event::HeldWriteFailed(&failure));
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
