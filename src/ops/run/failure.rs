//! What is reported of errors that end a call before its round.

use crate::ops::causes::with_causes;
use crate::state::StateError;
use crate::sync::failure::{Failure, FailureSource, Level};

/// Returns the failure of an instance that cannot be run as it is defined.
pub(super) fn instance(code: &'static str, message: impl Into<String>) -> Failure {
    Failure::new(Level::Instance, FailureSource::Runner, code, message)
}

/// Returns the failure of a call that ran into a defect of this program (§24).
pub(super) fn internal_error() -> Failure {
    Failure::new(
        Level::Round,
        FailureSource::Runner,
        "runner_internal_error",
        "the runner has a defect; its log has the details",
    )
}

/// Returns what is reported of trouble with state (connector contract §8.2).
pub(super) fn state_failure(error: &StateError) -> Failure {
    let message = with_causes(error);
    let runner = FailureSource::Runner;
    match error {
        StateError::Busy { .. } => {
            Failure::new(Level::Round, runner, "instance_busy", message).retryable(true)
        }
        StateError::Overlap { .. } | StateError::OriginGone { .. } => {
            Failure::new(Level::Instance, runner, "definition_invalid", message)
        }
        _ => Failure::new(Level::Round, runner, "state_unavailable", message)
            .retryable(error.retryable()),
    }
}
