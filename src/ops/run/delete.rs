//! Forgets an instance (connector contract §29): its state and its registration, never its documents.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use crate::config::Definition;
use crate::runner::Cancel;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::Failure;

use super::call::{LOCK_PATIENCE, Stop, directory, unless_cancelled};
use super::failure::internal_error;
use super::{Run, defect, definition_text, preparation};

/// Deletes what is kept of the instance; `None` if the call was cancelled before all was gone. Of its
/// definition only the id is read, so that one with a broken definition or broken state can be
/// deleted too. If there is nothing, that is well.
///
/// # Errors
///
/// `definition_invalid`, `instance_busy`, `state_unavailable` or `runner_internal_error`; the
/// observer has been told.
pub async fn delete(
    run: &Run,
    observer: &dyn Observer,
    cancel: &Cancel,
) -> Option<Result<(), Failure>> {
    let deleted = AssertUnwindSafe(forget(run, observer, cancel)).catch_unwind();
    let deleted = deleted.await.unwrap_or_else(|panic| {
        observer.event(Event::Crashed {
            traceback: &defect::traceback(&*panic),
        });
        Err(Stop::Failed(internal_error()))
    });
    match deleted {
        Ok(found) => {
            observer.event(Event::Deleted { found });
            Some(Ok(()))
        }
        Err(Stop::Failed(failure)) => {
            observer.event(Event::Failed(&failure));
            Some(Err(failure))
        }
        Err(Stop::Interrupted) => None,
    }
}

async fn forget(run: &Run, observer: &dyn Observer, cancel: &Cancel) -> Result<bool, Stop> {
    let text = definition_text::read(&run.definition);
    let text = unless_cancelled(cancel, text).await??;
    let id = Definition::parse_id(&text);
    let id = id.map_err(|error| preparation::definition_invalid(&error))?;
    observer.event(Event::Instance { id: &id });
    let directory = directory(run)?;
    let lock = directory.lock(&id, LOCK_PATIENCE)?;
    go_on(cancel)?;
    let had_state = lock.remove_state()?;
    go_on(cancel)?;
    // Last, so that whatever interrupts this leaves a registration that can be deleted again.
    let was_registered = directory.unregister(&id)?;
    Ok(had_state || was_registered)
}

fn go_on(cancel: &Cancel) -> Result<(), Stop> {
    if cancel.is_cancelled() {
        return Err(Stop::Interrupted);
    }
    Ok(())
}
