//! What every machine of the client looks like from outside: requests out, their ends in.
//!
//! Whoever drives one polls until it is idle or done, carries what it sends, and hands the ends
//! back in any order. Machines read no clock: a request says how long to wait before it leaves,
//! and the time of an end is given along with it.

use jiff::Timestamp;

use crate::protocol::exchange::{Exchange, Fate, Outgoing};
use crate::protocol::verdict::{Operation, Verdict};
use crate::protocol::{OperationError, ReplyError, Request, Response};

/// Names one request among those a machine has in flight.
pub type Id = u64;

/// What a machine wants next.
#[derive(Debug)]
pub enum Step<O> {
    /// Send this, side by side with what is in flight.
    Send(Id, Outgoing),
    /// Hand in the end of something in flight; there is at least one.
    Idle,
    /// The machine has ended. What is still in flight no longer matters.
    Done(O),
}

/// A state machine that sends requests.
pub trait Machine {
    /// How it ends.
    type Outcome;

    /// Returns what to do next. Not to be called again after [`Step::Done`].
    fn poll(&mut self) -> Step<Self::Outcome>;

    /// Takes the end of a request; an id that is no longer waited for is ignored.
    fn handle(&mut self, id: Id, fate: Fate, now: Timestamp);
}

/// A request that only reads: one exchange.
pub struct Read<T, D> {
    exchange: Exchange,
    decode: D,
    ended: Option<Result<T, OperationError>>,
}

impl<T, D: Fn(&Response) -> Result<T, ReplyError>> Read<T, D> {
    /// Returns a read whose reply is read by `decode`.
    pub fn new(operation: Operation, request: Request, decode: D) -> Self {
        Self {
            exchange: Exchange::new(operation, request),
            decode,
            ended: None,
        }
    }
}

impl<T, D: Fn(&Response) -> Result<T, ReplyError>> Machine for Read<T, D> {
    type Outcome = Result<T, OperationError>;

    fn poll(&mut self) -> Step<Self::Outcome> {
        if let Some(ended) = self.ended.take() {
            return Step::Done(ended);
        }
        match self.exchange.poll() {
            Some(outgoing) => Step::Send(0, outgoing),
            None => Step::Idle,
        }
    }

    fn handle(&mut self, _: Id, fate: Fate, now: Timestamp) {
        let arrived = self.exchange.handle(fate, false, now, &self.decode);
        self.ended = arrived.map(|arrived| arrived.result);
    }
}

/// The end of a part of a machine that did not succeed.
#[derive(Debug)]
pub(crate) struct Stopped {
    /// What the last reply means.
    pub(crate) verdict: Verdict,
    /// Why.
    pub(crate) error: OperationError,
}
