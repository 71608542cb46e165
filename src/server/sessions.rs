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
        if is_due(&self.inner.swept, now) {
            let service = self.clone();
            tokio::spawn(async move { service.sweep().await });
        }
    }
}

/// Whether a sweep is to begin at `now`; of those who ask side by side, one is told so.
fn is_due(swept: &AtomicI64, now: i64) -> bool {
    let every = i64::try_from(SWEEP_EVERY.as_secs()).unwrap_or(i64::MAX);
    let last = swept.load(Ordering::Relaxed);
    now.saturating_sub(last) >= every
        && swept
            .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
    use std::thread;

    use super::is_due;

    #[test]
    fn requests_side_by_side_start_one_sweep() {
        const ROUNDS: i64 = 2000;
        let (swept, begun) = (AtomicI64::new(0), AtomicUsize::new(0));
        let together = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 1..=ROUNDS {
                        together.wait();
                        if is_due(&swept, round * 600) {
                            begun.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(begun.into_inner() as i64, ROUNDS);
    }

    #[test]
    fn sweep_is_due_ten_minutes_after_the_last() {
        let swept = AtomicI64::new(1000);
        assert!(!is_due(&swept, 1599));
        assert!(is_due(&swept, 1600));
        assert!(!is_due(&swept, 1601));
    }
}
