//! A limit on the rate of what is sent: a bucket of tokens over all bodies of one remote.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::config::Rate;

/// How far a line that was idle may run ahead.
const BURST: Duration = Duration::from_millis(100);
/// Largest part that is let through at once.
const LARGEST_PART: u64 = 64 << 10;

/// Says when the next bytes may go.
#[derive(Debug)]
pub(super) struct Pace {
    rate: u64,
    free_at: Mutex<Option<Instant>>,
}

impl Pace {
    /// Returns a pace of `rate`.
    pub(super) fn new(rate: Rate) -> Self {
        Self {
            rate: rate.0.get(),
            free_at: Mutex::new(None),
        }
    }

    /// Returns how many bytes to ask for at once: small enough that others get their turn.
    pub(super) fn part(&self) -> usize {
        let tenth = (self.rate / 10).clamp(1, LARGEST_PART);
        usize::try_from(tenth).unwrap_or(usize::MAX)
    }

    /// Takes the tokens for `bytes` and returns when they are there.
    pub(super) fn reserve(&self, bytes: usize, now: Instant) -> Instant {
        let cost = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        let mut free_at = self.free_at.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let from = free_at.map_or(earliest, |free_at| free_at.max(earliest));
        *free_at = Some(from + cost);
        (from + cost).max(now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::Pace;

    #[test]
    fn bytes_wait_their_turn_and_an_idle_line_saves_little() {
        let pace = Pace::new("1000".parse().unwrap());
        let start = Instant::now();
        let at = |bytes, now: u64| {
            let now = start + Duration::from_millis(now);
            (pace.reserve(bytes, now) - start).as_millis()
        };
        assert_eq!(pace.part(), 100);
        // The burst of 100 ms is used up by the first hundred bytes.
        assert_eq!(at(100, 0), 0);
        assert_eq!(at(100, 0), 100);
        assert_eq!(at(1000, 0), 1100);
        // A second of silence is worth no more than the burst.
        assert_eq!(at(100, 3000), 3000);
        assert_eq!(at(100, 3000), 3100);
    }
}
