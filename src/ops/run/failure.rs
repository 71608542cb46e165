//! What is reported of errors that end a call before its round.

use crate::ops::causes::with_causes;
use crate::state::StateError;
use crate::sync::failure::{Failure, FailureSource, Level};

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
