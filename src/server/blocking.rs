//! Work that waits for a disk or takes long, done where it holds up nobody.

use std::panic;

use tokio::task;

/// Runs `work` on a thread for such work and returns its result; its panic goes on here.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => panic::resume_unwind(error.into_panic()),
    }
}
