//! One object until it is complete in a staging session (http-binding §17).
//!
//! ```text
//!            whole: lost, resends left; dropped, once
//!            ┌───────────────┐
//!            ▼               │
//! ──────▶ Sending ──200/201──┼─────────────────────────▶ Ended
//!            │ ▲             │ chunk: 202, offset given, dropped once
//!            │ └─────────────┴──────────────┐
//!            └── chunk lost ──▶ Asking ─────┘
//!                                 ▲
//!  begun by an earlier delivery ──┘
//! ```
//!
//! Chunks are strictly one after the other, and after a doubt the session is asked before anything
//! is sent. The bytes of a blob are named by range and never here.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;

use crate::model::Contract;
use crate::protocol::exchange::{Exchange, Fate, Outgoing, Part};
use crate::protocol::machine::{Id, Machine, Step, Stopped};
use crate::protocol::verdict::{Operation, Verdict};
use crate::protocol::wire::capabilities::Limits;
use crate::protocol::wire::{resume, upload};
use crate::protocol::{ContentRange, OperationError, ReplyError, Response, Staged};

use upload::MissingBelow;

/// Recoveries of an upload that makes no progress, and repetitions of a whole one (§22).
const MAX_RESENDS: u32 = 2;
/// Longest body that is made of an object: bounds what a driver holds of a blob at a time, however
/// much the remote would take.
const LONGEST_PART: u64 = 8 << 20;

/// Where the bytes of an object are.
#[derive(Clone, Debug)]
pub enum Source<'a> {
    /// The text of a page or element.
    Text(Cow<'a, str>),
    /// The bytes of a blob, of that length.
    Blob(u64),
}

/// An upload in progress.
#[derive(Debug)]
pub struct Upload<'a> {
    session: Arc<str>,
    object: Staged,
    source: Source<'a>,
    contract: Contract,
    /// Bytes of a chunk, if the object goes in chunks.
    chunk: Option<u64>,
    state: State,
    /// Recoveries, or repetitions of a whole upload, since the last progress.
    resends: u32,
    /// The most that the session has confirmed.
    confirmed: u64,
    /// True once the session dropped the object and it was begun again.
    begun_again: bool,
}

#[derive(Debug)]
enum State {
    Sending {
        range: Option<ContentRange>,
        exchange: Exchange,
    },
    Asking(Exchange),
    Ended(Option<Result<MissingBelow, Stopped>>),
}

impl<'a> Upload<'a> {
    /// Returns an upload of `object` to `session` under the limits of a remote.
    pub fn new(
        session: Arc<str>,
        object: Staged,
        source: Source<'a>,
        contract: Contract,
        limits: &Limits,
    ) -> Self {
        let whole = limits.max_payload_bytes.min(LONGEST_PART);
        let chunk = limits.blob_chunk_bytes.min(whole).max(1);
        let goes_whole = source.length() <= whole || matches!(object, Staged::Element(_));
        let mut upload = Self {
            session,
            object,
            source,
            contract,
            chunk: (!goes_whole).then_some(chunk),
            state: State::Ended(None),
            resends: 0,
            confirmed: 0,
            begun_again: false,
        };
        upload.send_from(0);
        upload
    }

    /// Asks first how much the session has: an earlier upload of this object did not end.
    #[must_use]
    pub fn resuming(mut self) -> Self {
        if self.chunk.is_some() {
            self.ask();
        }
        self
    }

    /// Returns true if the session may have received a part of the object.
    pub(super) fn may_have_begun(&self) -> bool {
        self.chunk.is_some()
    }

    /// Returns the object.
    pub fn object(&self) -> Staged {
        self.object
    }

    pub(super) fn poll_request(&mut self) -> Option<Outgoing> {
        match &mut self.state {
            State::Sending { exchange, .. } | State::Asking(exchange) => exchange.poll(),
            State::Ended(_) => None,
        }
    }

    /// Returns how it ended, once.
    pub(super) fn take_end(&mut self) -> Option<Result<MissingBelow, Stopped>> {
        match &mut self.state {
            State::Ended(end) => end.take(),
            _ => None,
        }
    }

    pub(super) fn handle_end(&mut self, fate: Fate, now: Timestamp) {
        match &mut self.state {
            State::Sending { range, exchange } => {
                let (contract, object, range) = (self.contract, self.object, *range);
                let decode = |response: &Response| {
                    let reply = upload::decode(response, contract, object, range.is_some())?;
                    check_offset(&reply, range, response)?;
                    Ok((reply, response.status))
                };
                let Some(arrived) = exchange.handle(fate, false, now, decode) else {
                    return;
                };
                match arrived.result {
                    Ok((upload::Reply::Complete(below), _)) => self.end(Ok(below)),
                    Ok((upload::Reply::Incomplete { offset }, status)) => {
                        self.go_on_at(offset.unwrap_or_default(), status);
                    }
                    Err(error) => self.failed(arrived.verdict, error),
                }
            }
            State::Asking(exchange) => {
                let contract = self.contract;
                let decode = |response: &Response| {
                    Ok((resume::decode(response, contract)?, response.status))
                };
                if let Some(arrived) = exchange.handle(fate, false, now, decode) {
                    match arrived.result {
                        Ok((offset, status)) => self.go_on_at(offset, status),
                        Err(error) => self.stop(arrived.verdict, error),
                    }
                }
            }
            State::Ended(_) => {}
        }
    }

    fn failed(&mut self, verdict: Verdict, error: OperationError) {
        match verdict {
            Verdict::Resend if self.may_recover() => self.send_from(0),
            Verdict::AskOffset if self.may_recover() => self.ask(),
            Verdict::ContinueAtOffset if self.may_recover() => match &error {
                OperationError::Reply(ReplyError::Coded(coded)) => {
                    self.go_on_at(coded.upload_offset.unwrap_or_default(), coded.status);
                }
                _ => self.stop(verdict, error),
            },
            Verdict::StartOver if !self.begun_again => {
                self.begun_again = true;
                // What the first attempt got and spent says nothing of the second.
                self.confirmed = 0;
                self.resends = 0;
                self.send_from(0);
            }
            verdict => self.stop(verdict, error),
        }
    }

    /// Spends one recovery, if there is one left.
    fn may_recover(&mut self) -> bool {
        self.resends += 1;
        self.resends <= MAX_RESENDS
    }

    /// Continues at an offset that the session named. Where it has got further than ever, what was
    /// spent on recoveries is given back: a long upload over a poor link is not a hopeless one.
    fn go_on_at(&mut self, offset: u64, status: u16) {
        let total = self.source.length();
        if offset > total {
            let why = format!("an offset of {offset} in an object of {total} bytes");
            return self.unexpected(status, why);
        }
        if offset > self.confirmed {
            self.confirmed = offset;
            self.resends = 0;
        }
        // A complete object is asked about its missing list with its last chunk; an empty range
        // cannot be written.
        let last = || (total - 1) / self.chunk.unwrap_or(total) * self.chunk.unwrap_or(total);
        self.send_from(if offset == total { last() } else { offset });
    }

    fn send_from(&mut self, first: u64) {
        let total = self.source.length();
        let range = self.chunk.map(|chunk| ContentRange {
            first,
            last: (first + chunk).min(total) - 1,
            total,
        });
        let request = upload::Request {
            session: &self.session,
            object: self.object,
            chunk: range,
        };
        let mut request = request.into_http(self.contract);
        let (start, end) = range.map_or((0, total), |range| (range.first, range.end()));
        let (operation, length) = match range {
            Some(_) => (Operation::UploadChunk, end - start),
            None => (Operation::UploadWhole, total),
        };
        let size =
            |bytes| usize::try_from(bytes).expect("a part is at most 8 MiB, a text in memory");
        let exchange = match (&self.source, self.object) {
            (Source::Text(text), _) => {
                let bytes = &text.as_bytes()[size(start)..size(end)];
                request.body = Some(Bytes::copy_from_slice(bytes));
                Exchange::new(operation, request)
            }
            (Source::Blob(_), Staged::Blob(blob)) => {
                Exchange::new(operation, request).with_part(Part {
                    blob,
                    offset: start,
                    length: size(length),
                })
            }
            (Source::Blob(_), _) => unreachable!("only blobs have bytes elsewhere"),
        };
        self.state = State::Sending { range, exchange };
    }

    fn ask(&mut self) {
        let request = resume::Request {
            session: &self.session,
            object: self.object,
        };
        let request = request.into_http(self.contract);
        self.state = State::Asking(Exchange::new(Operation::ResumeQuery, request));
    }

    fn unexpected(&mut self, status: u16, why: String) {
        let error = ReplyError::Unexpected {
            status,
            why,
            retry_after: None,
            line: None,
        };
        self.stop(Verdict::Unexpected, error.into());
    }

    fn stop(&mut self, verdict: Verdict, error: OperationError) {
        self.end(Err(Stopped { verdict, error }));
    }

    fn end(&mut self, end: Result<MissingBelow, Stopped>) {
        self.state = State::Ended(Some(end));
    }
}

/// A 202 names the end of the chunk it is about, and more has to follow (§17).
fn check_offset(
    reply: &upload::Reply,
    range: Option<ContentRange>,
    response: &Response,
) -> Result<(), ReplyError> {
    let (upload::Reply::Incomplete { offset }, Some(range)) = (reply, range) else {
        return Ok(());
    };
    if *offset == Some(range.end()) && range.end() < range.total {
        return Ok(());
    }
    let why = format!("an offset of {offset:?} after {range}");
    Err(ReplyError::unexpected(response, why))
}

impl Source<'_> {
    fn length(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Blob(length) => *length,
        }
    }
}

impl Machine for Upload<'_> {
    type Outcome = Result<MissingBelow, OperationError>;

    fn poll(&mut self) -> Step<Self::Outcome> {
        if let Some(end) = self.take_end() {
            return Step::Done(end.map_err(|stopped| stopped.error));
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
