//! When to give a request up: not when it takes long, but when nothing happens any more.
//!
//! Sending ends when no byte was taken for the timeout, waiting when no reply came for it, reading
//! when nothing arrived for it. What was handed over is not at the remote yet: it lies in buffers
//! of this machine, and a slow line is given the time to carry it away.

use std::future::Future;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Most bytes that lie between a body and the line: the client's own buffer and that of the
/// system, which Linux lets grow to 4 MiB.
const BUFFERED: u64 = (4 << 20) + (512 << 10);
/// Most bytes that lie there until the body is asked for more.
const BUFFERED_WHILE_SENDING: u64 = 512 << 10;
/// The slowest line that is still waited for, in bytes a second.
const SLOWEST_LINE: u64 = 32 << 10;

/// Nothing happened for too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stalled;

/// How far the sending of one body has come.
#[derive(Debug)]
pub(super) struct Progress(Mutex<State>);

#[derive(Debug)]
struct State {
    begun: Instant,
    last: Instant,
    handed_over: u64,
    is_whole: bool,
}

impl Progress {
    /// Begins now.
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self(Mutex::new(State {
            begun: now,
            last: now,
            handed_over: 0,
            is_whole: false,
        }))
    }

    /// Notes that `bytes` were taken, and whether they were the last.
    pub(super) fn advance(&self, bytes: u64, is_whole: bool) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = Instant::now();
        state.handed_over += bytes;
        state.is_whole = is_whole;
    }

    /// Notes that a body has to wait for its turn until `then`; that is no silence of the remote.
    pub(super) fn rest_until(&self, then: Instant) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.last = state.last.max(then);
    }

    fn deadline(&self, timeout: Duration) -> Instant {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.last + timeout + state.draining()
    }
}

impl State {
    /// Returns how long a slow line takes for what is still buffered.
    fn draining(&self) -> Duration {
        let at_most = if self.is_whole {
            BUFFERED
        } else {
            BUFFERED_WHILE_SENDING
        };
        // What no buffer can hold has been carried away already, and tells the speed of the line.
        let carried = self.handed_over.saturating_sub(BUFFERED) as f64;
        let spent = (self.last - self.begun).as_secs_f64().max(0.001);
        let speed = (carried / spent).max(SLOWEST_LINE as f64);
        Duration::from_secs_f64(self.handed_over.min(at_most) as f64 / speed)
    }
}

/// Waits for `reply` as long as something happens; `None` waits for ever.
pub(super) async fn until_reply<F: Future>(
    reply: F,
    progress: &Progress,
    timeout: Option<Duration>,
) -> Result<F::Output, Stalled> {
    let Some(timeout) = timeout else {
        return Ok(reply.await);
    };
    let mut reply = pin!(reply);
    loop {
        let deadline = progress.deadline(timeout);
        match tokio::time::timeout_at(deadline, &mut reply).await {
            Ok(reply) => return Ok(reply),
            Err(_) if progress.deadline(timeout) > deadline => {}
            Err(_) => return Err(Stalled),
        }
    }
}

/// Waits for one more part of a reply; `None` waits for ever.
pub(super) async fn for_part<F: Future>(
    part: F,
    timeout: Option<Duration>,
) -> Result<F::Output, Stalled> {
    match timeout {
        None => Ok(part.await),
        Some(timeout) => tokio::time::timeout(timeout, part)
            .await
            .map_err(|_| Stalled),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::{Progress, Stalled, for_part, until_reply};

    const TIMEOUT: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn silence_is_given_up_after_the_timeout_and_never_without_one() {
        let begun = tokio::time::Instant::now();
        let never = std::future::pending::<()>;
        let progress = Progress::begin();
        assert_eq!(
            until_reply(never(), &progress, Some(TIMEOUT)).await,
            Err(Stalled)
        );
        assert_eq!(for_part(never(), Some(TIMEOUT)).await, Err(Stalled));
        assert_eq!(begun.elapsed().as_secs(), 20);
        let day = tokio::time::sleep(Duration::from_secs(86_400));
        assert_eq!(until_reply(day, &progress, None).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_is_taken_in_parts_is_never_cut() {
        let progress = Arc::new(Progress::begin());
        let sending = Arc::clone(&progress);
        let sent = async move {
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                sending.advance(1, false);
            }
        };
        assert_eq!(until_reply(sent, &progress, Some(TIMEOUT)).await, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_line_gets_the_time_to_empty_the_buffers() {
        let mebibyte = 1 << 20;
        let progress = Progress::begin();
        progress.advance(mebibyte, true);
        let begun = tokio::time::Instant::now();
        // 1 MiB at 32 KiB a second, and the timeout.
        let never = std::future::pending::<()>();
        let stalled = until_reply(never, &progress, Some(TIMEOUT)).await;
        assert_eq!((stalled, begun.elapsed().as_secs()), (Err(Stalled), 42));
    }

    #[tokio::test(start_paused = true)]
    async fn a_line_that_proved_fast_gets_no_more_time_than_it_needs() {
        let progress = Progress::begin();
        tokio::time::sleep(Duration::from_secs(1)).await;
        progress.advance(100 << 20, true);
        let begun = tokio::time::Instant::now();
        let never = std::future::pending::<()>();
        let stalled = until_reply(never, &progress, Some(TIMEOUT)).await;
        assert_eq!((stalled, begun.elapsed().as_secs()), (Err(Stalled), 10));
    }
}
