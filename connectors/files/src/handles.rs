//! The handles a connector gave out (connector contract §14.2), and what each of them stands for.
//!
//! Knows nothing of what is behind them. Those of one round are forgotten when the next begins.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Mutex, MutexGuard, PoisonError};

use dpe_connector::{ErrorCode, RpcError};

/// Most bytes of one answer to `read_blob`, whatever is asked for.
pub const CHUNK_BYTES: u64 = 1 << 20;

/// The handles of one round.
#[derive(Debug)]
pub struct Handles<H> {
    /// Sets the handles of this round apart from those of the rounds before.
    round: u64,
    held: Mutex<HashMap<String, H>>,
}

impl<H: Clone> Handles<H> {
    /// Returns an empty table for a round with this number.
    pub fn of_round(round: u64) -> Self {
        Self {
            round,
            held: Mutex::default(),
        }
    }

    /// Returns the table for the round after this one.
    pub fn next(&self) -> Self {
        Self::of_round(self.round + 1)
    }

    /// Returns the handle of what is called `name` in this round. Bytes that are the same should
    /// have one name, for a runner reads a handle once.
    pub fn give(&self, name: impl Display, held: H) -> String {
        let handle = format!("{}.{name}", self.round);
        self.held().insert(handle.clone(), held);
        handle
    }

    /// Returns what a handle stands for.
    ///
    /// # Errors
    ///
    /// `unknown_handle`.
    pub fn find(&self, handle: &str) -> Result<H, RpcError> {
        let held = self.held().get(handle).cloned();
        held.ok_or_else(|| RpcError::new(ErrorCode::UnknownHandle, "no such handle"))
    }

    fn held(&self) -> MutexGuard<'_, HashMap<String, H>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_lives_as_long_as_its_round() {
        let handles = Handles::of_round(3);
        let handle = handles.give(7, 'x');
        assert_eq!(handles.find(&handle), Ok('x'));
        let next = handles.next();
        assert_eq!(
            next.find(&handle).unwrap_err().code,
            ErrorCode::UnknownHandle
        );
        assert_ne!(next.give(7, 'y'), handle);
    }
}
