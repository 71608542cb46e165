//! One request until its end: the transport layer of http-binding §15.2 as a value.
//!
//! It repeats what may be repeated without asking anybody, waits as long as the remote says, and
//! hands everything else to the operation. Whoever drives it has the socket and the clock.

use std::time::Duration;

use jiff::Timestamp;

use crate::model::BlobRef;
use crate::protocol::verdict::{Operation, Verdict, verdict};
use crate::protocol::{OperationError, ReplyError, Request, Response, RetryAfter, Wait};

/// Repetitions of one request (§22).
const MAX_RETRIES: u32 = 2;
/// The longest delay that is waited for; beyond it the error is returned (§22).
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The delay when the remote names none (§22).
const DEFAULT_WAIT: Duration = Duration::from_secs(1);
/// Breath before a request that met a network failure goes out again.
const BREATH: Duration = Duration::from_millis(250);
/// How much longer each further breath is: together they outlast a server that restarts within a
/// second.
const BREATH_FACTOR: u32 = 4;

/// A request that has to leave.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// How long to wait before it leaves.
    pub after: Duration,
    /// What to send.
    pub request: Request,
    /// Bytes to attach as its body, if it has none yet.
    pub part: Option<Part>,
}

/// Bytes of a blob, described and not carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which blob.
    pub blob: BlobRef,
    /// Offset of the first byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: usize,
}

/// How one sending ended.
#[derive(Clone, Debug)]
pub enum Fate {
    /// A complete response arrived.
    Answered(Response),
    /// No connection was established.
    NotSent(String),
    /// The request could not be made.
    Local(String),
    /// The credential could not be had; it was not sent.
    NoCredential(String),
    /// No complete response arrived.
    Lost(String),
    /// The bytes of its part could not be read; it was not sent.
    Unreadable(BlobRef, String),
}

/// One request and how often it may still be repeated.
#[derive(Debug)]
pub struct Exchange {
    operation: Operation,
    request: Request,
    part: Option<Part>,
    retries: u32,
    /// Set while the request has to leave.
    due: Option<Duration>,
}

/// The end of a request, for the operation to act on.
#[derive(Debug)]
pub struct Arrived<T> {
    /// What it means.
    pub verdict: Verdict,
    /// The reply, or why there is none.
    pub result: Result<T, OperationError>,
}

impl Exchange {
    /// Returns an exchange whose request has to leave at once.
    pub fn new(operation: Operation, request: Request) -> Self {
        Self {
            operation,
            request,
            part: None,
            retries: 0,
            due: Some(Duration::ZERO),
        }
    }

    /// Says what the body is.
    #[must_use]
    pub fn with_part(self, part: Part) -> Self {
        let part = Some(part);
        Self { part, ..self }
    }

    /// Returns the request if it has to leave now.
    pub fn poll(&mut self) -> Option<Outgoing> {
        let after = self.due.take()?;
        Some(Outgoing {
            after,
            request: self.request.clone(),
            part: self.part,
        })
    }

    /// Takes the end of one sending. `None` means that the request goes out again.
    pub fn handle<T>(
        &mut self,
        fate: Fate,
        resent: bool,
        now: Timestamp,
        decode: impl FnOnce(&Response) -> Result<T, ReplyError>,
    ) -> Option<Arrived<T>> {
        let result = fate
            .answer()
            .and_then(|response| decode(&response).map_err(OperationError::Reply));
        let verdict = verdict(self.operation, result.as_ref().map(|_| ()), resent);
        let after = match (verdict, &result) {
            (Verdict::SendAgain, _) => Some(BREATH * BREATH_FACTOR.pow(self.retries)),
            (Verdict::Wait, Err(OperationError::Reply(ReplyError::Coded(coded)))) => {
                delay(coded.retry_after.as_ref(), now)
            }
            _ => None,
        };
        match after.filter(|_| self.retries < MAX_RETRIES) {
            None => Some(Arrived { verdict, result }),
            again => {
                self.retries += 1;
                self.due = again;
                None
            }
        }
    }
}

impl Fate {
    fn answer(self) -> Result<Response, OperationError> {
        Err(match self {
            Self::Answered(response) => return Ok(response),
            Self::NotSent(message) => OperationError::NotSent { message },
            Self::Local(message) => OperationError::LocalRequest { message },
            Self::NoCredential(message) => OperationError::Credential { message },
            Self::Lost(message) => OperationError::Lost { message },
            Self::Unreadable(blob, message) => OperationError::BlobUnreadable { blob, message },
        })
    }
}

/// How long to wait before the same request may succeed; `None` if that is too long.
fn delay(retry_after: Option<&RetryAfter>, now: Timestamp) -> Option<Duration> {
    match retry_after.and_then(|value| value.wait(now)) {
        None => Some(DEFAULT_WAIT),
        Some(Wait::Seconds(seconds)) => {
            let wait = Duration::from_secs(seconds);
            (wait <= LONGEST_WAIT).then_some(wait)
        }
        Some(Wait::Unbounded) => None,
    }
}
