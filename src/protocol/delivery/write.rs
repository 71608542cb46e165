//! One write request until its outcome: what the operation layer of http-binding §15.2 and §15.3
//! does around an exchange, the same for commit, delete and move.
//!
//! ```text
//!             lost, may be sent twice, resends left; or a bare 412 the head cannot explain, once
//!             ┌──────────────────────────────────────────────────────────────┐
//!             ▼                                                              │
//! ──────▶ Sending ── promised, coded, used up ─────────────────────▶ Ended   │
//!             │                                                        ▲     │
//!             └── bare 412; forced and lost ──▶ LookingUp ── head ─────┴─────┘
//! ```
//!
//! Whether the outcome is known (§16) is decided here and nowhere else: it is unknown from the
//! first attempt on that ended without positive evidence.

use jiff::Timestamp;

use crate::model::{Contract, FileUri, Hash};
use crate::protocol::exchange::{Exchange, Fate, Outgoing};
use crate::protocol::machine::{Id, Machine, Step, Stopped};
use crate::protocol::operation_error::ReadBack;
use crate::protocol::verdict::{Operation, Verdict};
use crate::protocol::wire::head;
use crate::protocol::{ErrorCode, OperationError, ReplyError, Request, Response};

/// Repetitions of a write whose reply was lost (§22).
const MAX_RESENDS: u32 = 2;

/// What the rules need to know of a write.
pub trait Writing {
    /// What success brings.
    type Reply;

    /// Returns which row of the table it is.
    fn operation(&self) -> Operation;

    /// Returns the document whose head tells what happened, and the contract to ask in.
    fn looked_up(&self) -> (&FileUri, Contract);

    /// Reads a reply.
    ///
    /// # Errors
    ///
    /// Anything but success.
    fn decode(&self, response: &Response) -> Result<Self::Reply, ReplyError>;

    /// Returns the reply of a write whose goal turned out to be reached.
    fn reached(&self) -> Self::Reply;

    /// Concludes from the head what became of a write that was answered by a bare 412 (§15.3).
    fn conclude(&self, head: Option<Hash>) -> Conclusion;

    /// Returns what a forced commit submitted.
    fn forced(&self) -> Option<Hash> {
        None
    }
}

/// What a head says about a bare 412.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conclusion {
    /// The goal is reached.
    Reached,
    /// The remote would have refused with this code.
    Refused(ErrorCode),
    /// The remote would have written.
    Unexplained,
}

/// Why a write failed, and whether it may have taken effect (§16).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct WriteFailed {
    /// Why.
    pub error: OperationError,
    /// True unless there is positive evidence that no attempt took effect.
    pub outcome_unknown: bool,
}

/// A write in progress.
#[derive(Debug)]
pub struct Write<W: Writing> {
    writing: W,
    request: Request,
    state: State<W::Reply>,
    resends: u32,
    /// True once the operation layer sent it again.
    resent: bool,
    /// True once a bare 412 that the head does not explain was answered by sending again.
    doubted: bool,
    uncertain: bool,
}

#[derive(Debug)]
enum State<R> {
    Sending(Exchange),
    LookingUp {
        head: Exchange,
        cause: OperationError,
    },
    Ended(Option<Result<R, Stopped>>),
}

impl<W: Writing> Write<W> {
    /// Returns a write whose request has to leave.
    pub(super) fn new(writing: W, request: Request) -> Self {
        let exchange = Exchange::new(writing.operation(), request.clone());
        Self {
            writing,
            request,
            state: State::Sending(exchange),
            resends: 0,
            resent: false,
            doubted: false,
            uncertain: false,
        }
    }

    pub(super) fn poll_request(&mut self) -> Option<Outgoing> {
        match &mut self.state {
            State::Sending(exchange) | State::LookingUp { head: exchange, .. } => exchange.poll(),
            State::Ended(_) => None,
        }
    }

    /// Returns how it ended, once.
    pub(super) fn take_end(&mut self) -> Option<Result<W::Reply, Stopped>> {
        match &mut self.state {
            State::Ended(end) => end.take(),
            _ => None,
        }
    }

    pub(super) fn handle_end(&mut self, fate: Fate, now: Timestamp) {
        match &mut self.state {
            State::Sending(exchange) => {
                let decode = |response: &Response| self.writing.decode(response);
                let Some(arrived) = exchange.handle(fate, self.resent, now, decode) else {
                    return;
                };
                match arrived.result {
                    Ok(reply) => self.state = State::Ended(Some(Ok(reply))),
                    Err(error) => self.failed(arrived.verdict, error),
                }
            }
            State::LookingUp { head, .. } => {
                let (_, contract) = self.writing.looked_up();
                let decode = |response: &Response| head::decode(response, contract);
                if let Some(arrived) = head.handle(fate, false, now, decode) {
                    self.looked_up(arrived.verdict, arrived.result);
                }
            }
            State::Ended(_) => {}
        }
    }

    /// Returns true if some attempt may have taken effect.
    pub(super) fn is_uncertain(&self) -> bool {
        self.uncertain
    }

    fn failed(&mut self, verdict: Verdict, error: OperationError) {
        // A bare 412 is judged when the head has spoken.
        let is_412 = verdict == Verdict::SettleByHead && self.writing.forced().is_none();
        self.uncertain |= !error.is_certain() && !is_412;
        match verdict {
            Verdict::Done => self.end(Ok(self.writing.reached())),
            Verdict::Resend if self.resends < MAX_RESENDS => {
                self.resends += 1;
                self.send_again();
            }
            Verdict::SettleByHead => {
                let (uri, contract) = self.writing.looked_up();
                let request = head::Request { uri: uri.as_str() }.into_http(contract);
                let head = Exchange::new(Operation::Head, request);
                let cause = error;
                self.state = State::LookingUp { head, cause };
            }
            verdict => self.end(Err(Stopped { verdict, error })),
        }
    }

    fn looked_up(&mut self, verdict: Verdict, head: Result<Option<Hash>, OperationError>) {
        let forced = self.writing.forced();
        match (forced, head) {
            (Some(submitted), Ok(Some(head))) if head == submitted => {
                self.end(Ok(self.writing.reached()));
            }
            (Some(submitted), head) => {
                let read = match head {
                    Err(_) => ReadBack::Unreadable,
                    Ok(None) => ReadBack::Absent,
                    Ok(Some(head)) => ReadBack::Other(head),
                };
                let error = OperationError::ForceNotConfirmed { submitted, read };
                self.stop(Verdict::Lost, error);
            }
            (None, Err(error)) => {
                self.uncertain = true;
                self.stop(verdict, error);
            }
            (None, Ok(head)) => self.concluded(self.writing.conclude(head)),
        }
    }

    fn concluded(&mut self, conclusion: Conclusion) {
        match conclusion {
            Conclusion::Reached => self.end(Ok(self.writing.reached())),
            Conclusion::Refused(code) => {
                let message = "the condition of the write does not hold";
                let reply = ReplyError::concluded(code, 412, message);
                self.stop(Verdict::Refused, reply.into());
            }
            Conclusion::Unexplained if !self.doubted => {
                self.doubted = true;
                self.send_again();
            }
            Conclusion::Unexplained => {
                self.uncertain = true;
                let ended = State::Ended(None);
                let State::LookingUp { cause, .. } = std::mem::replace(&mut self.state, ended)
                else {
                    return;
                };
                self.stop(Verdict::Unexpected, cause);
            }
        }
    }

    fn send_again(&mut self) {
        self.resent = true;
        let exchange = Exchange::new(self.writing.operation(), self.request.clone());
        self.state = State::Sending(exchange);
    }

    fn stop(&mut self, verdict: Verdict, error: OperationError) {
        self.end(Err(Stopped { verdict, error }));
    }

    fn end(&mut self, end: Result<W::Reply, Stopped>) {
        self.state = State::Ended(Some(end));
    }
}

impl<W: Writing> Machine for Write<W> {
    type Outcome = Result<W::Reply, WriteFailed>;

    fn poll(&mut self) -> Step<Self::Outcome> {
        if let Some(end) = self.take_end() {
            return Step::Done(end.map_err(|stopped| WriteFailed {
                error: stopped.error,
                outcome_unknown: self.uncertain,
            }));
        }
        match self.poll_request() {
            Some(outgoing) => Step::Send(0, outgoing),
            None => Step::Idle,
        }
    }

    fn handle(&mut self, _: Id, fate: Fate, now: Timestamp) {
        self.handle_end(fate, now);
    }
}
