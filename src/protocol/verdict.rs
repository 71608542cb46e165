//! What a reply, or its loss, means for the request: one table, kept as data.
//!
//! A verdict is about a single request. What it does to a document, and how often something may be
//! repeated, is for the machines to say; none of them looks at a status or a code itself.

use crate::protocol::{ErrorCode, OperationError, ReplyError};

use ErrorCode::{HashMismatch, MissingContent, NotFound, SessionExpired, Validation};
use Operation::{
    BatchHead, Capabilities, CommitBase, CommitForce, CommitIfAbsent, Delete, GetSkeleton, Head,
    List, Move, Negotiate, ResumeQuery, UploadChunk, UploadWhole,
};

/// The operations, as far as the rules tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(
    missing_docs,
    reason = "the names are the specification's; http-binding §2 has their meaning"
)]
pub enum Operation {
    Capabilities,
    Head,
    BatchHead,
    GetSkeleton,
    List,
    ResumeQuery,
    Negotiate,
    UploadWhole,
    UploadChunk,
    CommitIfAbsent,
    CommitBase,
    CommitForce,
    Delete,
    Move,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 14] = [
        Capabilities,
        Head,
        BatchHead,
        GetSkeleton,
        List,
        ResumeQuery,
        Negotiate,
        UploadWhole,
        UploadChunk,
        CommitIfAbsent,
        CommitBase,
        CommitForce,
        Delete,
        Move,
    ];
}

/// What one reply, or its loss, means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The operation has its result.
    Done,
    /// Nothing happened, or nothing that matters: the same request may go out again at once.
    SendAgain,
    /// The remote asks to send the same request later.
    Wait,
    /// The request may have had its effect, and doing it twice is harmless.
    Resend,
    /// Only what the document holds now can tell what happened.
    SettleByHead,
    /// Only the session can tell how much of the object it received.
    AskOffset,
    /// The session said how much of the object it received.
    ContinueAtOffset,
    /// The session dropped what it had of the object.
    StartOver,
    /// Something the document refers to has to be uploaded first.
    Supply,
    /// The session is over.
    Renegotiate,
    /// The remote refuses, and its code says why.
    Refused,
    /// The reply was lost for good.
    Lost,
    /// The request never left, and never will.
    Stop,
    /// Not a reply of this operation, or none of DPE at all.
    Unexpected,
    /// The other side speaks another protocol.
    Incompatible,
}

/// What there is to judge, from the most special to the most general.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// A success that passed the checks of http-binding §14.2; a read that says that there is no
    /// such document is one.
    Promised,
    /// The connection was not established.
    NotSent,
    /// The request could not be made.
    Local,
    /// The transport lost the reply, or an intermediary did and says so: 502 or 504 without a code.
    Lost,
    /// A code that may be retried unchanged.
    Retryable,
    /// This code, with a valid `DPE-Upload-Offset`.
    CodeWithOffset(ErrorCode),
    /// This code.
    Code(ErrorCode),
    /// Any code, known or not.
    AnyCode,
    /// This status without a code.
    Bare(u16),
    /// Any other reply.
    AnyReply,
    /// Another protocol.
    OtherProtocol,
}

/// When a row counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// Only after the operation was sent again, its first sending perhaps having had its effect.
    Resent,
}

struct Row {
    operations: &'static [Operation],
    seen: Seen,
    when: When,
    verdict: Verdict,
}

const fn row(operations: &'static [Operation], seen: Seen, verdict: Verdict) -> Row {
    let when = When::Always;
    Row {
        operations,
        seen,
        when,
        verdict,
    }
}

const ALL: &[Operation] = &Operation::ALL;
/// Requests that are safe to send again (§15.1).
const READS: &[Operation] = &[
    Capabilities,
    Head,
    BatchHead,
    GetSkeleton,
    List,
    ResumeQuery,
];
/// Operations whose content or goal makes them idempotent (core §5.2).
const IDEMPOTENT: &[Operation] = &[CommitIfAbsent, CommitBase, Delete, Move, UploadWhole];
const COMMITS: &[Operation] = &[CommitIfAbsent, CommitBase, CommitForce];
const UPLOADS: &[Operation] = &[UploadWhole, UploadChunk];
/// Operations of a staging session.
const OF_A_SESSION: &[Operation] = &[
    UploadWhole,
    UploadChunk,
    ResumeQuery,
    CommitIfAbsent,
    CommitBase,
    CommitForce,
];
/// Writes whose condition travels in a header, which an intermediary may evaluate (§15.3).
const CONDITIONAL: &[Operation] = &[CommitIfAbsent, CommitBase, Delete];

/// The first row that fits decides. Sections are those of the HTTP binding.
const TABLE: &[Row] = &[
    row(ALL, Seen::Promised, Verdict::Done),
    // §15.2: transport layer.
    row(ALL, Seen::NotSent, Verdict::SendAgain),
    row(ALL, Seen::Local, Verdict::Stop),
    row(READS, Seen::Lost, Verdict::SendAgain),
    row(ALL, Seen::Retryable, Verdict::Wait),
    // §15.2: operation layer.
    row(IDEMPOTENT, Seen::Lost, Verdict::Resend),
    row(&[CommitForce], Seen::Lost, Verdict::SettleByHead),
    row(&[UploadChunk], Seen::Lost, Verdict::AskOffset),
    row(ALL, Seen::Lost, Verdict::Lost),
    Row {
        operations: &[Delete],
        seen: Seen::Code(NotFound),
        when: When::Resent,
        verdict: Verdict::Done,
    },
    // §17.
    row(
        &[UploadChunk],
        Seen::CodeWithOffset(Validation),
        Verdict::ContinueAtOffset,
    ),
    row(UPLOADS, Seen::Code(HashMismatch), Verdict::StartOver),
    // §18, §21.
    row(COMMITS, Seen::Code(MissingContent), Verdict::Supply),
    row(
        OF_A_SESSION,
        Seen::Code(SessionExpired),
        Verdict::Renegotiate,
    ),
    row(ALL, Seen::AnyCode, Verdict::Refused),
    // §15.3.
    row(CONDITIONAL, Seen::Bare(412), Verdict::SettleByHead),
    // §13.1.
    row(&[Capabilities], Seen::OtherProtocol, Verdict::Incompatible),
    // §14.1: never guessed.
    row(ALL, Seen::AnyReply, Verdict::Unexpected),
];

/// Returns what the end of a request means. `resent` says that the operation layer sent it before,
/// and that it may have had its effect then.
pub fn verdict(operation: Operation, end: Result<(), &OperationError>, resent: bool) -> Verdict {
    TABLE
        .iter()
        .find(|row| {
            row.operations.contains(&operation)
                && row.seen.fits(end)
                && (row.when == When::Always || resent)
        })
        // What machines raise themselves is no end of a request; it stops them all the same.
        .map_or(Verdict::Stop, |row| row.verdict)
}

impl Seen {
    fn fits(self, end: Result<(), &OperationError>) -> bool {
        let error = match end {
            Ok(()) => return self == Self::Promised,
            Err(error) => error,
        };
        match error {
            OperationError::NotSent { .. } => self == Self::NotSent,
            OperationError::LocalRequest { .. }
            | OperationError::Credential { .. }
            | OperationError::BlobUnreadable { .. } => self == Self::Local,
            OperationError::Lost { .. } => self == Self::Lost,
            OperationError::Reply(reply) => self.fits_reply(reply),
            _ => false,
        }
    }

    fn fits_reply(self, reply: &ReplyError) -> bool {
        match reply {
            ReplyError::Coded(coded) => match self {
                Self::Retryable => coded.retryable,
                Self::CodeWithOffset(code) => {
                    coded.known == Some(code) && coded.upload_offset.is_some()
                }
                Self::Code(code) => coded.known == Some(code),
                Self::AnyCode => true,
                _ => false,
            },
            ReplyError::Unexpected { status, .. } => match self {
                Self::Lost => matches!(status, 502 | 504),
                Self::Bare(bare) => *status == bare,
                Self::AnyReply => true,
                _ => false,
            },
            ReplyError::Incompatible { .. } => self == Self::OtherProtocol,
        }
    }
}
