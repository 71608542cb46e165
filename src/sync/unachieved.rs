//! Moves that did not reach their goal, and what must not be written because of them
//! (connector contract §21.2, §21.3).

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::model::FileUri;

use super::failure::{Failure, FailureSource, Subject};
use super::wave::Operation;

/// The move because of which a document is left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Where the document was.
    pub from: FileUri,
    /// Where it should have gone.
    pub to: FileUri,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} -> {}", self.from, self.to)
    }
}

/// Documents that no later operation of the round may write.
#[derive(Debug, Default)]
pub struct Unachieved {
    entries: HashMap<FileUri, Entry>,
    suspensions: u64,
    /// Targets of which something may succeed another time, and the moves to them with it.
    retryable: HashSet<FileUri>,
}

#[derive(Debug)]
struct Entry {
    cause: Cause,
    /// How many unachieved moves point to this document.
    pointing: u32,
    /// Whether something was not sent because of it: then nothing is for the rest of the round.
    is_permanent: bool,
    /// The failure of the move, held back while a document may still redeem it; with its place
    /// in the order of occurrence.
    suspended: Option<(u64, Failure)>,
}

/// Whether an operation may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may.
    Granted,
    /// It may, demanding that there is no document yet (§21.3).
    OnlyIfAbsent(Cause),
    /// It may not.
    Denied(Cause),
}

impl Unachieved {
    /// Judges an operation before it is sent.
    pub fn permission(&self, operation: &Operation) -> Permission {
        let blocked = operation.uris().find_map(|uri| self.entries.get(uri));
        let Some(entry) = blocked else {
            return Permission::Granted;
        };
        let redeems = matches!(operation, Operation::Commit { .. })
            && entry.pointing == 1
            && !entry.is_permanent
            && entry.suspended.is_some();
        if redeems {
            Permission::OnlyIfAbsent(entry.cause.clone())
        } else {
            Permission::Denied(entry.cause.clone())
        }
    }

    /// Notes that an operation was not sent: what it touches stays untouched from now on.
    pub fn skipped(&mut self, operation: &Operation, cause: &Cause) {
        for uri in operation.uris() {
            self.entry(uri, cause).is_permanent = true;
        }
        if let Operation::Move { to, .. } = operation {
            self.entry(to, cause).pointing += 1;
        }
    }

    /// Notes that a move failed for good; its failure has been reported.
    pub fn failed(&mut self, from: &FileUri, to: &FileUri) {
        let cause = Cause {
            from: from.clone(),
            to: to.clone(),
        };
        self.entry(to, &cause).pointing += 1;
    }

    /// Notes that a move could not even be planned: its source is gone. The failure is held
    /// back until the end of the round.
    pub fn unreachable(&mut self, from: &FileUri, to: &FileUri) {
        self.failed(from, to);
        let subject = Subject::Move {
            from_uri: from.to_string(),
            to_uri: to.to_string(),
        };
        let failure = Failure::item(
            FailureSource::Remote,
            "DPE_NOT_FOUND",
            "the remote has no document to move, and the target is not what it was",
            subject,
        );
        if let Some(entry) = self.entries.get_mut(to) {
            entry.suspended = Some((self.suspensions, failure));
            self.suspensions += 1;
        }
    }

    /// A document landed on the target of a suspended move, which thereby counts as moved.
    pub fn redeemed(&mut self, to: &FileUri) {
        self.entries.remove(to);
    }

    /// The target of a suspended move holds something else: returns the failure of the move.
    pub fn occupied(&mut self, to: &FileUri) -> Option<Failure> {
        let (_, failure) = self.entries.get_mut(to)?.suspended.take()?;
        Some(Failure {
            code: "DPE_ALREADY_EXISTS".into(),
            message: "the target of the move holds another document".into(),
            ..failure
        })
    }

    /// What failed at `to` may succeed another time, and with it a move there whose failure is
    /// held back, now or later in the round.
    pub fn may_be_retried(&mut self, to: &FileUri) {
        self.retryable.insert(to.clone());
    }

    /// Forgets everything but the moves whose failure is held back, and returns these.
    pub fn start_over(&mut self) -> Vec<Cause> {
        self.entries.retain(|_, entry| entry.suspended.is_some());
        self.entries
            .values_mut()
            .map(|entry| {
                entry.pointing = 1;
                entry.is_permanent = false;
                entry.cause.clone()
            })
            .collect()
    }

    /// Ends the round and returns the failures held back. With `aborted` all are retryable.
    pub fn finish(&mut self, aborted: bool) -> Vec<Failure> {
        let mut suspended = Vec::new();
        for (to, entry) in &mut self.entries {
            if let Some((place, failure)) = entry.suspended.take() {
                let retryable = aborted || self.retryable.contains(to);
                suspended.push((place, failure.retryable(retryable)));
            }
        }
        suspended.sort_unstable_by_key(|(place, _)| *place);
        suspended.into_iter().map(|(_, failure)| failure).collect()
    }

    fn entry(&mut self, uri: &FileUri, cause: &Cause) -> &mut Entry {
        self.entries.entry(uri.clone()).or_insert_with(|| Entry {
            cause: cause.clone(),
            pointing: 0,
            is_permanent: false,
            suspended: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cause, Permission, Unachieved};
    use crate::json::Text;
    use crate::model::{Contract, FileUri, TreeBuilder};
    use crate::sync::blobs::Blobs;
    use crate::sync::wave::Operation;

    fn uri(name: &str) -> FileUri {
        FileUri::parse(&format!("t://{name}")).unwrap()
    }

    fn cause() -> Cause {
        Cause {
            from: uri("a"),
            to: uri("b"),
        }
    }

    fn document(name: &str) -> Operation {
        let head = Text::parse(br#"{"file_type":"md"}"#).unwrap();
        let tree = TreeBuilder::new(Contract::Dpe1)
            .finish(head.root())
            .unwrap();
        Operation::Commit {
            uri: uri(name),
            tree: Box::new(tree),
            blobs: Blobs::default(),
        }
    }

    fn delete(name: &str) -> Operation {
        Operation::Delete { uri: uri(name) }
    }

    #[test]
    fn nothing_is_written_onto_the_target_of_a_failed_move() {
        let mut unachieved = Unachieved::default();
        unachieved.failed(&uri("a"), &uri("b"));
        assert_eq!(
            unachieved.permission(&document("b")),
            Permission::Denied(cause())
        );
        assert_eq!(
            unachieved.permission(&delete("b")),
            Permission::Denied(cause())
        );
        assert_eq!(unachieved.permission(&delete("a")), Permission::Granted);
    }

    #[test]
    fn a_skipped_operation_blocks_all_it_touches_with_the_first_cause() {
        let mut unachieved = Unachieved::default();
        unachieved.failed(&uri("a"), &uri("b"));
        let chained = Operation::Move {
            from: uri("b"),
            to: uri("c"),
        };
        unachieved.skipped(&chained, &cause());
        assert_eq!(
            unachieved.permission(&document("c")),
            Permission::Denied(cause())
        );
    }

    #[test]
    fn a_document_may_redeem_the_one_move_whose_source_was_gone() {
        let mut unachieved = Unachieved::default();
        unachieved.unreachable(&uri("a"), &uri("b"));
        assert_eq!(
            unachieved.permission(&document("b")),
            Permission::OnlyIfAbsent(cause())
        );
        assert_eq!(
            unachieved.permission(&delete("b")),
            Permission::Denied(cause())
        );
        unachieved.redeemed(&uri("b"));
        assert_eq!(unachieved.permission(&document("b")), Permission::Granted);
        assert!(unachieved.finish(false).is_empty());
    }

    #[test]
    fn a_document_behind_an_operation_that_was_skipped_redeems_nothing() {
        let mut unachieved = Unachieved::default();
        unachieved.unreachable(&uri("a"), &uri("b"));
        unachieved.skipped(&delete("b"), &cause());
        assert_eq!(
            unachieved.permission(&document("b")),
            Permission::Denied(cause())
        );
    }

    #[test]
    fn a_target_that_may_be_written_another_time_makes_its_move_retryable_whichever_came_first() {
        for target_first in [true, false] {
            let mut unachieved = Unachieved::default();
            if target_first {
                unachieved.may_be_retried(&uri("b"));
            }
            unachieved.unreachable(&uri("a"), &uri("b"));
            unachieved.unreachable(&uri("c"), &uri("d"));
            if !target_first {
                unachieved.may_be_retried(&uri("b"));
            }
            let retryable = unachieved
                .finish(false)
                .iter()
                .map(|failure| failure.retryable)
                .collect::<Vec<_>>();
            assert_eq!(retryable, [true, false]);
        }
    }

    #[test]
    fn two_moves_onto_one_target_cannot_be_redeemed() {
        let mut unachieved = Unachieved::default();
        unachieved.unreachable(&uri("a"), &uri("b"));
        unachieved.unreachable(&uri("x"), &uri("b"));
        assert_eq!(
            unachieved.permission(&document("b")),
            Permission::Denied(cause())
        );
    }

    #[test]
    fn a_suspended_failure_is_reported_at_the_end() {
        let mut unachieved = Unachieved::default();
        unachieved.unreachable(&uri("a"), &uri("b"));
        let failures = unachieved.finish(false);
        assert_eq!(failures.len(), 1);
        assert_eq!(failures[0].code, "DPE_NOT_FOUND");
        assert!(!failures[0].retryable);
    }

    #[test]
    fn an_occupied_target_turns_the_suspended_failure_into_its_own() {
        let mut unachieved = Unachieved::default();
        unachieved.unreachable(&uri("a"), &uri("b"));
        assert_eq!(
            unachieved.occupied(&uri("b")).unwrap().code,
            "DPE_ALREADY_EXISTS"
        );
        assert!(unachieved.finish(false).is_empty());
        assert_eq!(
            unachieved.permission(&document("b")),
            Permission::Denied(cause())
        );
    }
}
