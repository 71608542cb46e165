//! Ends a round early because somebody asked for it (connector contract §24, signals).
//!
//! Everything a round waits for may be given up: the state is written without waiting, so nothing
//! is ever cut in the middle of that. Only writes on their way are given a moment, because what
//! becomes of one that is given up is known to nobody; its intent stays for the next round.

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::sync::failure::{Failure, FailureSource};

/// How long writes that are on their way may still take.
const WRITES_ON_THEIR_WAY: Duration = Duration::from_secs(3);

const CODE: &str = "interrupted";

/// Waits for what `future` comes to, unless the round is cancelled before.
pub(super) async fn unless<T>(
    cancel: &CancellationToken,
    future: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(interrupted()),
        done = future => done,
    }
}

/// Waits until writes that are on their way have to be given up.
pub(super) async fn patience_ends(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(WRITES_ON_THEIR_WAY).await;
}

/// Returns what takes the place of a failure on the way out; it is in no report and no log.
pub(super) fn interrupted() -> Failure {
    Failure::round(CODE, "the round was cancelled")
}

pub(super) fn is_interruption(failure: &Failure) -> bool {
    failure.code == CODE && failure.source == FailureSource::Runner
}
