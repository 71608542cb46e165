//! When sessions end, and when what they leave behind is removed: everything that reads the clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::server::Service;
use crate::server::access::Caller;
use crate::server::store::Claim;

/// How often a store is swept.
pub(super) const SWEEP_EVERY: Duration = Duration::from_secs(600);

impl Service {
    /// Returns a claim to a session for a request that came now.
    pub(super) fn claim(&self, session: String, caller: Caller) -> Claim {
        let now = self.inner.clock.now();
        Claim {
            session,
            caller: caller.key().to_owned(),
            now: now.seconds(),
            until: now.after(self.inner.limits.staging_ttl_seconds),
        }
    }

    /// Returns when a session that is opened now is over.
    pub(super) fn session_end(&self) -> i64 {
        let now = self.inner.clock.now();
        now.after(self.inner.limits.staging_ttl_seconds)
    }

    /// Removes what nobody can reach any more: what expired sessions held, blobs and files nothing
    /// refers to.
    pub(super) async fn sweep(&self) {
        let now = self.inner.clock.now().seconds();
        self.inner.swept.store(now, Ordering::Relaxed);
        // A store that cannot write reports that itself.
        let _ = self.inner.store.sweep(now).await;
    }

    /// Sweeps in the background, unless that was done within [`SWEEP_EVERY`].
    pub(super) fn sweep_sometimes(&self) {
        let now = self.inner.clock.now().seconds();
        let swept = &self.inner.swept;
        if overdue_since(swept, now).is_some_and(|last| claim_sweep(swept, last, now)) {
            let service = self.clone();
            tokio::spawn(async move { service.sweep().await });
        }
    }
}

/// Returns when the store was swept last, if it is time to do it again.
fn overdue_since(swept: &AtomicI64, now: i64) -> Option<i64> {
    let every = i64::try_from(SWEEP_EVERY.as_secs()).unwrap_or(i64::MAX);
    let last = swept.load(Ordering::Relaxed);
    (now.saturating_sub(last) >= every).then_some(last)
}

/// Whether the sweep that has been due since the one at `last` is the caller's: of those who find
/// it due side by side, one may begin it.
fn claim_sweep(swept: &AtomicI64, last: i64, now: i64) -> bool {
    let order = Ordering::Relaxed;
    swept.compare_exchange(last, now, order, order).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicI64;

    use super::{claim_sweep, overdue_since};

    #[test]
    fn requests_that_find_a_sweep_due_side_by_side_start_one() {
        let swept = AtomicI64::new(1000);
        assert_eq!(overdue_since(&swept, 1599), None);
        let first = overdue_since(&swept, 1600).unwrap();
        let second = overdue_since(&swept, 1600).unwrap();
        assert!(claim_sweep(&swept, first, 1600));
        assert!(!claim_sweep(&swept, second, 1601));
        assert_eq!(overdue_since(&swept, 2199), None);
        assert_eq!(overdue_since(&swept, 2200), Some(1600));
    }
}
