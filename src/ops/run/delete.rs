//! Forgets an instance (connector contract §29): its state and its registration, never its documents.

use std::panic::{self, AssertUnwindSafe};

use crate::config::Definition;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, FailureSource, Level};

use super::call::{LOCK_PATIENCE, directory};
use super::failure::state_failure;
use super::{Run, defect, preparation};

/// Deletes what is kept of the instance. Of its definition only the id is read, so that one with a
/// broken definition or broken state can be deleted too. If there is nothing, that is well.
///
/// # Errors
///
/// `definition_invalid`, `instance_busy`, `state_unavailable` or `runner_internal_error`; the
/// observer has been told.
pub fn delete(run: &Run, observer: &dyn Observer) -> Result<(), Failure> {
    let deleted = panic::catch_unwind(AssertUnwindSafe(|| forget(run, observer)));
    let deleted = deleted.unwrap_or_else(|panic| {
        observer.event(Event::Crashed {
            traceback: &defect::traceback(&*panic),
        });
        Err(Failure::new(
            Level::Round,
            FailureSource::Runner,
            "runner_internal_error",
            "the runner has a defect; its log has the details",
        ))
    });
    match deleted {
        Ok(found) => {
            observer.event(Event::Deleted { found });
            Ok(())
        }
        Err(failure) => {
            observer.event(Event::Failed(&failure));
            Err(failure)
        }
    }
}

fn forget(run: &Run, observer: &dyn Observer) -> Result<bool, Failure> {
    let text = preparation::read_text(&run.definition)?;
    let id = Definition::parse_id(&text);
    let id = id.map_err(|error| preparation::definition_invalid(&error))?;
    observer.event(Event::Instance { id: &id });
    let directory = directory(run)?;
    let of_state = |error| state_failure(&error);
    let lock = directory.lock(&id, LOCK_PATIENCE).map_err(of_state)?;
    let had_state = lock.remove_state().map_err(of_state)?;
    // Last, so that whatever interrupts this leaves a registration that can be deleted again.
    let was_registered = directory.unregister(&id).map_err(of_state)?;
    Ok(had_state || was_registered)
}
