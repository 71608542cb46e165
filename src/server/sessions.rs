//! When sessions end, and when what they leave behind is removed: everything that reads the clock.

use std::sync::atomic::Ordering;
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
        let every = i64::try_from(SWEEP_EVERY.as_secs()).unwrap_or(i64::MAX);
        let now = self.inner.clock.now().seconds();
        let swept = self.inner.swept.load(Ordering::Relaxed);
        if now.saturating_sub(swept) >= every {
            self.inner.swept.store(now, Ordering::Relaxed);
            let service = self.clone();
            tokio::spawn(async move { service.sweep().await });
        }
    }
}
