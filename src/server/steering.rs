//! What can be done to a service from beside the protocol: by the side channel of a conformance
//! run, never by a caller.

use crate::server::Service;
use crate::server::answer::Refusal;
use crate::server::clock;
use crate::server::write;

impl Service {
    /// Ends a staging session at once; false if there is none that is usable.
    pub(super) async fn expire_session(&self, session: &str) -> Result<bool, Refusal> {
        let now = self.inner.clock.now().seconds();
        let expired = self.inner.store.expire_session(session.to_owned(), now);
        expired.await.map_err(write::not_written)
    }

    /// Moves the clock ahead for good, and returns what it says then as RFC 3339.
    pub(super) fn advance_clock(&self, seconds: u64) -> String {
        clock::rfc3339(self.inner.clock.advance(seconds).seconds())
    }
}
