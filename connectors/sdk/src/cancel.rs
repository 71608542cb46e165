//! The token by which long work learns that nobody waits for it any more (§15).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::rpc::RpcError;

/// Set when the request is cancelled, the runner says goodbye, or stdin ends.
#[derive(Clone, Debug, Default)]
pub struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    /// Returns a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the work should stop.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the answer `cancelled` if the flag is set, to be used with `?` in loops.
    ///
    /// # Errors
    ///
    /// If the flag is set.
    pub fn check(&self) -> Result<(), RpcError> {
        if self.is_cancelled() {
            Err(RpcError::cancelled())
        } else {
            Ok(())
        }
    }
}
