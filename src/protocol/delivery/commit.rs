//! The commit of a delivery, as the rules of writes see it.

use crate::model::{Contract, FileUri, Hash};
use crate::protocol::delivery::write::{Conclusion, Writing};
use crate::protocol::delivery::{Delivered, Delta, Job, Precondition, Status};
use crate::protocol::verdict::Operation;
use crate::protocol::wire::commit;
use crate::protocol::{ErrorCode, ReplyError, Response};

/// A commit.
#[derive(Clone, Debug)]
pub struct Committing {
    uri: FileUri,
    precondition: Precondition,
    doc_hash: Hash,
    element_count: u64,
    contract: Contract,
}

impl Committing {
    pub(super) fn new(job: &Job<'_>, contract: Contract) -> Self {
        Self {
            uri: job.uri.clone(),
            precondition: job.precondition,
            doc_hash: job.tree.doc_hash,
            element_count: job.tree.element_count,
            contract,
        }
    }
}

impl Writing for Committing {
    type Reply = Delivered;

    fn operation(&self) -> Operation {
        match self.precondition {
            Precondition::IfAbsent => Operation::CommitIfAbsent,
            Precondition::Base(_) => Operation::CommitBase,
            Precondition::Force => Operation::CommitForce,
        }
    }

    fn looked_up(&self) -> (&FileUri, Contract) {
        (&self.uri, self.contract)
    }

    fn decode(&self, response: &Response) -> Result<Delivered, ReplyError> {
        commit::decode(response, self.contract, self.doc_hash, self.element_count)
    }

    /// The delta of the commit that took effect is gone with its reply (core §5.2).
    fn reached(&self) -> Delivered {
        Delivered {
            status: Status::Unchanged,
            doc_hash: self.doc_hash,
            delta: Delta {
                added: 0,
                removed: 0,
                retained: self.element_count,
            },
        }
    }

    fn conclude(&self, head: Option<Hash>) -> Conclusion {
        match (head, self.precondition) {
            (Some(head), _) if head == self.doc_hash => Conclusion::Reached,
            (Some(_), Precondition::IfAbsent) => Conclusion::Refused(ErrorCode::AlreadyExists),
            (None, Precondition::Base(_)) => Conclusion::Refused(ErrorCode::NotFound),
            (Some(_), Precondition::Base(_)) => Conclusion::Refused(ErrorCode::PreconditionFailed),
            (None, Precondition::IfAbsent) | (_, Precondition::Force) => Conclusion::Unexplained,
        }
    }

    fn forced(&self) -> Option<Hash> {
        (self.precondition == Precondition::Force).then_some(self.doc_hash)
    }
}
