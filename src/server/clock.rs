//! The service's clock: the system's, plus an offset that only grows.
//!
//! Lifetimes of staging sessions are judged on it. A conformance run moves it ahead instead of
//! waiting; it knows nothing of sessions itself.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

/// The clock. Its offset is gone when the process ends.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Seconds by which it is ahead of the system's clock.
    ahead: AtomicU64,
}

/// One reading of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Now {
    since_epoch: Duration,
}

impl Clock {
    /// Reads the clock.
    pub(super) fn now(&self) -> Now {
        let system = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let ahead = Duration::from_secs(self.ahead.load(Ordering::Relaxed));
        Now {
            since_epoch: system.unwrap_or_default().saturating_add(ahead),
        }
    }

    /// Moves the clock ahead for good and returns what it says then.
    pub(super) fn advance(&self, seconds: u64) -> Now {
        let more = |ahead: u64| Some(ahead.saturating_add(seconds));
        // The closure always has an answer, so the update cannot fail.
        let _ = self
            .ahead
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        self.now()
    }
}

impl Now {
    /// Returns the whole seconds that have passed since 1970. Something that ends at a whole
    /// second is over exactly if that second is not after this one.
    pub(super) fn seconds(self) -> i64 {
        i64::try_from(self.since_epoch.as_secs()).unwrap_or(i64::MAX)
    }

    /// Returns the moment `seconds` from now, rounded up to a whole second (http-binding §8.1).
    pub(super) fn after(self, seconds: u64) -> i64 {
        let end = self
            .since_epoch
            .saturating_add(Duration::from_secs(seconds));
        let up = u64::from(end.subsec_nanos() > 0);
        let end = end.as_secs().saturating_add(up);
        i64::try_from(end).unwrap_or(i64::MAX).min(last())
    }
}

/// Writes a moment in seconds since 1970 as RFC 3339 in UTC, with `Z`.
pub(super) fn rfc3339(seconds: i64) -> String {
    let known = Timestamp::from_second(seconds.min(last()));
    known.unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// Returns the last second that can be written, in the year 9999.
fn last() -> i64 {
    Timestamp::MAX.as_second()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Clock, Now, rfc3339};

    #[test]
    fn ends_are_rounded_up_and_over_at_their_second() {
        let now = Now {
            since_epoch: Duration::from_millis(1_700_000_000_001),
        };
        assert_eq!(now.after(3600), 1_700_003_601);
        let whole = Now {
            since_epoch: Duration::from_secs(1_700_000_000),
        };
        assert_eq!(whole.after(3600), 1_700_003_600);
        assert_eq!(rfc3339(whole.after(3600)), "2023-11-14T23:13:20Z");
        let before = Now {
            since_epoch: Duration::from_millis(1_700_003_599_999),
        };
        assert!(before.seconds() < whole.after(3600));
    }

    #[test]
    fn far_future_can_still_be_written() {
        let clock = Clock::default();
        let now = clock.advance(u64::MAX);
        assert!(now.seconds() >= clock.now().after(1));
        assert!(rfc3339(now.after(u64::MAX)).starts_with("9999-"));
    }

    #[test]
    fn advances_add_up() {
        let clock = Clock::default();
        let before = clock.now().seconds();
        clock.advance(1000);
        let after = clock.advance(500).seconds();
        assert!((1500..1600).contains(&(after - before)));
    }
}
