//! What is reported of errors that end a call before its round.

use crate::ops::causes::with_causes;
use crate::state::StateError;
use crate::sync::failure::Failure;

/// Returns the failure of a call that ran into a defect of this program (§24).
pub(super) fn internal_error() -> Failure {
    let why = "the runner has a defect; its log has the details";
    Failure::round("runner_internal_error", why)
}

/// Returns what is reported of trouble with state (connector contract §8.2).
pub(super) fn state_failure(error: &StateError) -> Failure {
    let message = with_causes(error);
    match error {
        StateError::Busy { .. } => Failure::round("instance_busy", message).retryable(true),
        StateError::Overlap { .. } | StateError::OriginGone { .. } => {
            Failure::instance("definition_invalid", message)
        }
        _ => Failure::round("state_unavailable", message).retryable(error.retryable()),
    }
}
