//! One operation on its way to the remote: what is decided, written, and read from the reply.

use crate::model::{Contract, FileUri, Hash};
use crate::state::Change;
use crate::sync::decision::{self, Commit, Delete, Known, Move, Policies, Resolution};
use crate::sync::failure::{Failure, FailureSource, Subject};
use crate::sync::ports::{Base, Committed, Refusal, Remote, WriteError};
use crate::sync::unachieved::Cause;
use crate::sync::wave::Operation;

use super::knowledge::Knowledge;
use super::round::Profile;

/// An operation, and what has become of it so far.
#[derive(Debug)]
pub(super) struct Task {
    pub operation: Operation,
    /// E: what a resubmission demands (connector contract §19.1).
    pub demanded: Option<Base>,
    /// How the remote refused the last attempt.
    pub refused: Option<Refusal>,
    /// The last attempt.
    pub sent: Option<Write>,
    /// How often it was resubmitted.
    pub resubmitted: u32,
    /// The move whose goal this document reaches, if it lands (§21.3).
    pub redeems: Option<Cause>,
    /// Whether it is a delete that nobody asked for, of what was never confirmed: it may remove
    /// only this instance's own write, whatever the policy (§22 step 4).
    pub inferred: bool,
    /// Whether it turned out that an inferred delete is about what this instance never wrote.
    pub is_foreign: bool,
    /// Whether an earlier round brought this about and confirmed it, so that this one did
    /// nothing.
    pub landed_before: bool,
    /// Whether it writes over something that this instance has not confirmed as its own.
    pub replaces: bool,
}

/// What to do with a task.
#[derive(Debug)]
pub(super) enum Judgement {
    /// The goal is reached without a write.
    Done(Task, Done),
    /// This has to be written.
    Write(Task, Write),
    /// A move whose source is gone before anything was sent.
    Unreachable(Task),
    /// A move onto a document that this instance has written since the cursor of the round;
    /// only under [`Profile::People`].
    Overtaken(Task),
    /// A document that should redeem a move found the place taken, or was refused.
    NotRedeemed(Task, NotRedeemed),
    /// The task failed.
    Failed(Task, Failure),
}

/// Why a document did not redeem a move (§21.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotRedeemed {
    /// The target holds other content.
    Occupied,
    /// The remote refused, and the target is absent.
    Refused,
}

/// How a task ended well, with the value the document has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Committed(Committed, Hash),
    Deleted,
    Moved(Hash),
    /// A move that an earlier round carried out; what has become of its sides since stays.
    MovedBefore,
}

/// One write request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    Commit(Base),
    Delete(Hash),
    /// Base, and the value the target will have in the declared contract.
    Move(Hash, Hash),
    /// The target of a move holds the content already: delete the source (§21.1).
    DeleteSource(Hash, Hash),
}

/// The rules that a judgement follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub policies: Policies,
    /// At most so many resubmissions of one item (§20).
    pub conflict_retries: u32,
    pub profile: Profile,
}

impl Task {
    pub(super) fn new(operation: Operation) -> Self {
        Self {
            operation,
            demanded: None,
            refused: None,
            sent: None,
            resubmitted: 0,
            redeems: None,
            inferred: false,
            is_foreign: false,
            landed_before: false,
            replaces: false,
        }
    }

    /// Returns the inferred delete of a document that was never confirmed and holds `demanded`.
    pub(super) fn inferred(uri: FileUri, demanded: Base) -> Self {
        Self {
            demanded: Some(demanded),
            inferred: true,
            ..Self::new(Operation::Delete { uri })
        }
    }

    /// Decides what to do, resolving a conflict by what was read just now (§19.2, §20, §21).
    pub(super) fn judge(self, known: Knowledge, rules: Rules) -> Judgement {
        match &self.operation {
            Operation::Commit { tree, .. } => {
                let wanted = tree.doc_hash;
                self.judge_commit(known, wanted, rules)
            }
            Operation::Delete { .. } => self.judge_delete(known, rules),
            Operation::Move { .. } => self.judge_move(known, rules),
        }
    }

    fn judge_commit(mut self, known: Knowledge, wanted: Hash, rules: Rules) -> Judgement {
        let remote = known.first.remote;
        let decided = match self.refused {
            Some(refusal) if remote != Some(wanted) => Commit::Conflict(refusal),
            _ => decision::commit(known.first, wanted, self.demanded),
        };
        let refusal = match decided {
            Commit::Achieved => {
                return Judgement::Done(self, Done::Committed(Committed::Unchanged, wanted));
            }
            Commit::Write(base) => {
                self.replaces |=
                    matches!(base, Base::Hash(hash) if known.first.confirmed != Some(hash));
                return Judgement::Write(self, Write::Commit(base));
            }
            Commit::Conflict(refusal) => refusal,
        };
        if self.redeems.is_some() {
            let why = match remote {
                Some(_) => NotRedeemed::Occupied,
                None => NotRedeemed::Refused,
            };
            return Judgement::NotRedeemed(self, why);
        }
        match decision::after_commit(remote, wanted, rules.policies.commit) {
            Resolution::Achieved => {
                Judgement::Done(self, Done::Committed(Committed::Unchanged, wanted))
            }
            Resolution::Resubmit(base) => self.resubmit(base, refusal, known, rules),
            Resolution::Fail => self.conflict(refusal, false),
        }
    }

    fn judge_delete(mut self, known: Knowledge, rules: Rules) -> Judgement {
        let remote = known.first.remote;
        if rules.profile == Profile::People && self.is_stranger(known.first) {
            return self.achieved(Done::Deleted, None);
        }
        let decided = match self.refused {
            Some(refusal) if remote.is_some() => Delete::Conflict(refusal),
            _ => decision::delete(known.first, self.demanded),
        };
        let refusal = match decided {
            Delete::Achieved => return self.achieved(Done::Deleted, known.first.confirmed),
            Delete::Write(base) => return Judgement::Write(self, Write::Delete(base)),
            Delete::Conflict(refusal) => refusal,
        };
        if self.inferred {
            self.is_foreign = true;
            return self.conflict(Refusal::PreconditionFailed, false);
        }
        match decision::after_delete(remote, rules.policies.delete) {
            Resolution::Achieved => Judgement::Done(self, Done::Deleted),
            Resolution::Resubmit(base) => self.resubmit(base, refusal, known, rules),
            Resolution::Fail => self.conflict(refusal, false),
        }
    }

    /// Returns whether a delete is about a document that this instance never wrote: people's sources
    /// take away only what they brought.
    fn is_stranger(&self, known: Known) -> bool {
        !self.inferred && self.demanded.is_none() && known.confirmed.is_none()
    }

    fn judge_move(self, known: Knowledge, rules: Rules) -> Judgement {
        if self.refused == Some(Refusal::AlreadyExists) {
            return self.judge_occupied(known);
        }
        let decided = match (self.refused, known.first.remote) {
            (Some(refusal), Some(_)) => Move::Conflict(refusal),
            _ => decision::rename(known.first, known.second, self.demanded),
        };
        match (decided, known.first.remote, known.second.remote) {
            (Move::Achieved, _, Some(held)) => {
                self.achieved(Done::Moved(held), known.first.confirmed)
            }
            _ if self.sent.is_none() && known.is_said_again() => {
                Judgement::Done(self, Done::MovedBefore)
            }
            (Move::Write(_), ..) if overtaken(known.second, rules) => Judgement::Overtaken(self),
            (Move::DeleteSource(base), _, Some(held)) => {
                Judgement::Write(self, Write::DeleteSource(base, held))
            }
            (Move::Write(base), Some(value), _) => Judgement::Write(self, Write::Move(base, value)),
            (Move::Conflict(refusal), source, _) => {
                match decision::after_move(source, rules.policies.commit) {
                    Resolution::Resubmit(base) => self.resubmit(base, refusal, known, rules),
                    _ => self.conflict(refusal, false),
                }
            }
            _ => match self.refused {
                Some(refusal) => self.conflict(refusal, false),
                None => Judgement::Unreachable(self),
            },
        }
    }

    /// A move whose base could not be compared with the target before found the place taken: if
    /// it is by the same content, the source goes (§21.1).
    fn judge_occupied(mut self, known: Knowledge) -> Judgement {
        match (known.first.remote, known.second.remote, self.sent) {
            (Some(source), Some(target), Some(Write::Move(base, _))) if source == target => {
                self.refused = None;
                Judgement::Write(self, Write::DeleteSource(base, target))
            }
            (None, ..) => self.conflict(Refusal::NotFound, false),
            _ => self.conflict(Refusal::AlreadyExists, false),
        }
    }

    /// The goal is reached without a write; if nothing was confirmed of what had to go, an earlier
    /// round has done it.
    fn achieved(mut self, done: Done, confirmed: Option<Hash>) -> Judgement {
        self.landed_before = confirmed.is_none();
        Judgement::Done(self, done)
    }

    /// Judges again, demanding `base`; the value read just now serves as the re-read one.
    fn resubmit(
        mut self,
        base: Base,
        refusal: Refusal,
        known: Knowledge,
        rules: Rules,
    ) -> Judgement {
        if self.resubmitted >= rules.conflict_retries {
            return self.conflict(refusal, true);
        }
        self.resubmitted += 1;
        self.replaces = true;
        self.refused = None;
        self.demanded = Some(base);
        self.judge(known, rules)
    }

    fn conflict(self, refusal: Refusal, retryable: bool) -> Judgement {
        let failure = Failure::item(
            FailureSource::Remote,
            refusal.code(),
            self.why_refused(refusal),
            subject(&self.operation),
        );
        Judgement::Failed(self, failure.retryable(retryable))
    }

    /// Says what it means that the remote refused.
    pub(super) fn why_refused(&self, refusal: Refusal) -> &'static str {
        match (refusal, &self.operation) {
            (Refusal::AlreadyExists, Operation::Move { .. }) => {
                "the target of the move holds another document"
            }
            (Refusal::NotFound, Operation::Move { .. }) => {
                "the source of the move is gone, and its target is not what it was"
            }
            (Refusal::AlreadyExists, _) => "somebody else created this document on the remote",
            (Refusal::PreconditionFailed, _) => "somebody else changed this document on the remote",
            (Refusal::NotFound, _) => "somebody else deleted this document on the remote",
        }
    }

    /// Returns the intents of a write (§19.3).
    pub(super) fn intents(&self, write: Write) -> Vec<Change> {
        match (&self.operation, write) {
            (Operation::Commit { uri, tree, .. }, _) => {
                vec![Change::Intend(uri.clone(), Some(tree.doc_hash))]
            }
            (Operation::Delete { uri }, _) => vec![Change::Intend(uri.clone(), None)],
            (
                Operation::Move { from, to },
                Write::Move(_, value) | Write::DeleteSource(_, value),
            ) => {
                vec![
                    Change::Intend(from.clone(), None),
                    Change::Intend(to.clone(), Some(value)),
                ]
            }
            (Operation::Move { .. }, _) => Vec::new(),
        }
    }

    /// Returns the changes that settle the intents of a write.
    pub(super) fn settled(&self) -> impl Iterator<Item = Change> {
        self.operation.uris().cloned().map(Change::Settle)
    }

    /// Returns the changes of the synchronised state that an end brings (§19.4).
    pub(super) fn confirmed(&self, done: Done) -> Vec<Change> {
        match (&self.operation, done) {
            (Operation::Move { from, to }, Done::Moved(hash)) => {
                vec![
                    Change::Forget(from.clone()),
                    Change::Confirm(to.clone(), hash),
                    Change::Moved(from.clone(), to.clone()),
                ]
            }
            (Operation::Move { from, to }, Done::MovedBefore) => {
                vec![Change::Moved(from.clone(), to.clone())]
            }
            (Operation::Commit { uri, .. }, Done::Committed(_, hash)) => {
                vec![Change::Confirm(uri.clone(), hash)]
            }
            (operation, _) => operation.uris().cloned().map(Change::Forget).collect(),
        }
    }

    /// Sends one write request.
    pub(super) async fn send<R: Remote>(
        &self,
        remote: &R,
        write: Write,
    ) -> Result<Done, WriteError> {
        match (&self.operation, write) {
            (Operation::Commit { uri, tree, blobs }, Write::Commit(base)) => {
                let committed = remote.commit(uri, base, tree, blobs).await?;
                Ok(Done::Committed(committed, tree.doc_hash))
            }
            (Operation::Delete { uri }, Write::Delete(base)) => {
                absent_is_deleted(remote.delete(uri, base).await)?;
                Ok(Done::Deleted)
            }
            (Operation::Move { from, .. }, Write::DeleteSource(base, held)) => {
                absent_is_deleted(remote.delete(from, base).await)?;
                Ok(Done::Moved(held))
            }
            (Operation::Move { from, to }, Write::Move(base, _)) => {
                remote.rename(from, to, base).await.map(Done::Moved)
            }
            (operation, write) => unreachable!("{write:?} is not a write of {operation:?}"),
        }
    }

    /// Returns whether a refusal of the last attempt is judged again after reading once more what
    /// it touches; other refusals are final. `contract` is the one of what is read.
    pub(super) fn is_conflict(&self, refusal: Refusal, contract: Contract) -> bool {
        match (&self.operation, refusal, self.sent) {
            (Operation::Commit { .. }, ..) | (_, Refusal::PreconditionFailed, _) => true,
            (Operation::Move { .. }, Refusal::AlreadyExists, Some(Write::Move(base, _))) => {
                base.contract() != contract
            }
            _ => false,
        }
    }
}

/// The target of a move holds something that this instance itself put there. Rounds that start
/// from their own last cursor never see that; it takes an earlier one that was cut short.
fn overtaken(target: Known, rules: Rules) -> bool {
    rules.profile == Profile::People && target.remote.is_some() && target.confirmed == target.remote
}

/// A delete that finds nothing has reached its goal (§19.4).
fn absent_is_deleted(result: Result<(), WriteError>) -> Result<(), WriteError> {
    match result {
        Err(error) if error.refusal == Some(Refusal::NotFound) && !error.outcome_unknown => Ok(()),
        other => other,
    }
}

/// Returns what a failure of an operation is about.
pub(super) fn subject(operation: &Operation) -> Subject {
    match operation {
        Operation::Commit { uri, .. } | Operation::Delete { uri } => {
            Subject::Document(uri.to_string())
        }
        Operation::Move { from, to } => Subject::Move {
            from_uri: from.to_string(),
            to_uri: to.to_string(),
        },
    }
}

/// Returns the two sides of a move, or the document itself twice.
pub(super) fn sides(operation: &Operation) -> (&FileUri, &FileUri) {
    match operation {
        Operation::Commit { uri, .. } | Operation::Delete { uri } => (uri, uri),
        Operation::Move { from, to } => (from, to),
    }
}
