//! The end of a round: its outcome, and whether the cursor moves (connector contract §16, §23).

use crate::model::FileUri;
use crate::state::{self, CursorChange};
use crate::sync::failure::{Failure, Subject};
use crate::sync::report::{Outcome, Report};

use super::enumeration::Enumerated;
use super::landing::state_failure;
use super::round::{Scope, Settings};

/// Decides the outcome and stores the cursor, or since when it is held (§23).
pub(super) fn close(
    ended: Result<Enumerated, Failure>,
    supports_cursor: bool,
    state: &mut state::Instance,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    let held_before = state.held_since().map_err(state_failure)?;
    let enumerated = match &ended {
        Ok(enumerated) if report.failures.is_empty() => Some(enumerated),
        _ => None,
    };
    let Some(enumerated) = enumerated else {
        let held = held_before.unwrap_or_else(|| report.started_at.clone());
        let saved = state.finish(CursorChange::Keep, Some(&held));
        report.cursor_held_since = Some(held);
        report.outcome = match &ended {
            Ok(_) => Outcome::Partial,
            _ => Outcome::Failed,
        };
        count_untouched(state, settings, report)?;
        ended?;
        return saved.map_err(state_failure);
    };
    let stored = state.cursor().map_err(state_failure)?;
    let change = match &enumerated.cursor {
        _ if settings.scope == Scope::Named => CursorChange::Keep,
        Some(cursor) if supports_cursor => CursorChange::Store(cursor),
        _ if !supports_cursor || stored.is_none() => CursorChange::Clear,
        _ => CursorChange::Keep,
    };
    state.finish(change, None).map_err(state_failure)?;
    report.cursor_persisted = matches!(change, CursorChange::Store(_));
    report.outcome = Outcome::Succeeded;
    count_untouched(state, settings, report)
}

/// Adds the documents that an incremental round had no reason to mention.
fn count_untouched(
    state: &state::Instance,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    if !settings.count_untouched || report.incremental != Some(true) {
        return Ok(());
    }
    let confirmed = state.confirmed_count().map_err(state_failure)?;
    let mut mentioned = report.counts.created
        + report.counts.updated
        + report.counts.unchanged
        + report.counts.moved;
    for failure in &report.failures {
        if let Subject::Document(uri) = &failure.subject
            && let Ok(uri) = FileUri::parse(uri)
            && state
                .pending(&uri)
                .map_err(state_failure)?
                .confirmed
                .is_some()
        {
            mentioned += 1;
        }
    }
    report.counts.unchanged += confirmed.saturating_sub(mentioned);
    Ok(())
}
