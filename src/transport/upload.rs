//! The body of a request on its way out: in small parts, at the pace that is allowed, and noting
//! that it moves.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep};

use super::pace::Pace;
use super::patience::Progress;

/// Bytes handed over at once when nothing limits them.
const PART_BYTES: usize = 64 << 10;

/// A body of known length.
pub(super) struct Upload {
    rest: Bytes,
    progress: Arc<Progress>,
    pace: Option<Arc<Pace>>,
    /// Counts the bytes that were handed over, of all bodies.
    sent: Arc<AtomicU64>,
    /// The wait for the tokens of the next part, and how many bytes that part has.
    turn: Option<(Pin<Box<Sleep>>, usize)>,
}

impl Upload {
    /// Returns `body`, to be sent at `pace` and counted in `sent`.
    pub(super) fn new(
        body: Bytes,
        progress: Arc<Progress>,
        pace: Option<Arc<Pace>>,
        sent: Arc<AtomicU64>,
    ) -> Self {
        Self {
            rest: body,
            progress,
            pace,
            sent,
            turn: None,
        }
    }

    /// Waits until the next part may go, and returns its length.
    fn poll_turn(&mut self, context: &mut Context<'_>) -> Poll<usize> {
        let Some(pace) = &self.pace else {
            return Poll::Ready(self.rest.len().min(PART_BYTES));
        };
        let (sleep, part) = match &mut self.turn {
            Some(turn) => turn,
            none => {
                let part = self.rest.len().min(pace.part());
                let then = pace.reserve(part, Instant::now());
                self.progress.rest_until(then);
                none.insert((Box::pin(tokio::time::sleep_until(then)), part))
            }
        };
        ready!(sleep.as_mut().poll(context));
        let part = *part;
        self.turn = None;
        Poll::Ready(part)
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let part = ready!(self.poll_turn(context));
        let part = self.rest.split_to(part);
        let length = part.len() as u64;
        self.sent.fetch_add(length, Ordering::Relaxed);
        self.progress.advance(length, self.rest.is_empty());
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
