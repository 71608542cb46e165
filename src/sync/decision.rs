//! The decision tables of connector contract §19.2, §20 and §21.1, as pure functions.
//!
//! Names follow the contract: `confirmed` is L, `remote` is R, `wanted` is N, `demanded` is E.

use crate::model::{Contracts, Hash};

use super::ports::{Base, Refusal};

/// What this instance knows of one document before it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// L: the last confirmed doc_hash, or none.
    pub confirmed: Option<Hash>,
    /// R: what the remote holds now, in the declared contract, or absent.
    pub remote: Option<Hash>,
}

impl Known {
    /// Drops a confirmed value whose contract is not among `accepted` (§19.1).
    #[must_use]
    pub fn accepted(self, accepted: Contracts) -> Self {
        Self {
            confirmed: self
                .confirmed
                .filter(|hash| accepted.contains(hash.contract())),
            ..self
        }
    }
}

/// What to do for a document whose content is `wanted`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commit {
    /// The remote holds it already.
    Achieved,
    /// Write under this precondition.
    Write(Base),
    /// Somebody else wrote.
    Conflict(Refusal),
}

/// Decides a commit.
pub fn commit(known: Known, wanted: Hash, demanded: Option<Base>) -> Commit {
    let Known { confirmed, remote } = known;
    if remote == Some(wanted) {
        return Commit::Achieved;
    }
    let base = match demanded {
        Some(Base::Absent) => {
            return match remote {
                None => Commit::Write(Base::Absent),
                Some(_) => Commit::Conflict(Refusal::AlreadyExists),
            };
        }
        Some(Base::Hash(hash)) => Some(hash),
        None => confirmed,
    };
    match (base, remote) {
        (None, None) => Commit::Write(Base::Absent),
        (None, Some(remote)) => Commit::Write(Base::Hash(remote)),
        (Some(_), None) => Commit::Conflict(Refusal::NotFound),
        (Some(base), Some(remote)) if may_be_equal(base, remote) => Commit::Write(Base::Hash(base)),
        (Some(_), Some(_)) => Commit::Conflict(Refusal::PreconditionFailed),
    }
}

/// What to do for a document that is gone from the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delete {
    /// The remote has it no more.
    Achieved,
    /// Delete if it still holds this.
    Write(Hash),
    /// Somebody else wrote.
    Conflict(Refusal),
}

/// Decides a delete.
pub fn delete(known: Known, demanded: Option<Base>) -> Delete {
    let Known { confirmed, remote } = known;
    let Some(remote) = remote else {
        return Delete::Achieved;
    };
    let base = match demanded {
        Some(Base::Absent) => return Delete::Conflict(Refusal::AlreadyExists),
        Some(Base::Hash(hash)) => Some(hash),
        None => confirmed,
    };
    match base {
        None => Delete::Write(remote),
        Some(base) if may_be_equal(base, remote) => Delete::Write(base),
        Some(_) => Delete::Conflict(Refusal::PreconditionFailed),
    }
}

/// What to do for a document with another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// The target holds what the source held, and the source is gone.
    Achieved,
    /// The source is gone and the target is not what it was: nothing can be sent.
    Unreachable,
    /// The target holds the content already: delete the source instead.
    DeleteSource(Hash),
    /// Move if the source still holds this.
    Write(Hash),
    /// Somebody else wrote the source.
    Conflict(Refusal),
}

/// Decides a move. `demanded` is about the source.
pub fn rename(from: Known, to: Known, demanded: Option<Base>) -> Move {
    let Some(source) = from.remote else {
        let base = match demanded {
            Some(Base::Hash(hash)) => Some(hash),
            Some(Base::Absent) => None,
            None => from.confirmed.or(to.confirmed),
        };
        return match base {
            Some(base) if to.remote == Some(base) => Move::Achieved,
            _ => Move::Unreachable,
        };
    };
    let base = match demanded {
        Some(Base::Absent) => return Move::Conflict(Refusal::AlreadyExists),
        Some(Base::Hash(hash)) => hash,
        None => from.confirmed.unwrap_or(source),
    };
    if !may_be_equal(base, source) {
        return Move::Conflict(Refusal::PreconditionFailed);
    }
    if to.remote == Some(base) {
        return Move::DeleteSource(base);
    }
    Move::Write(base)
}

/// Values of different contracts cannot be compared; the server's condition decides (§19.1).
fn may_be_equal(base: Hash, remote: Hash) -> bool {
    base.contract() != remote.contract() || base == remote
}

/// Whose version stays after a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The source's: write again on top of what was found.
    SourceWins,
    /// Nobody's: report, touch nothing.
    Report,
}

/// The conflict policies of an instance (§6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policies {
    /// For commits and moves.
    pub commit: Policy,
    /// For deletes.
    pub delete: Policy,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            commit: Policy::SourceWins,
            delete: Policy::Report,
        }
    }
}

/// What follows a conflict, after the document was read again (§20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// The goal is reached.
    Achieved,
    /// Write again, demanding this.
    Resubmit(Base),
    /// An item failure.
    Fail,
}

/// Resolves a conflict of a commit.
pub fn after_commit(reread: Option<Hash>, wanted: Hash, policy: Policy) -> Resolution {
    match (reread, policy) {
        (Some(hash), _) if hash == wanted => Resolution::Achieved,
        (_, Policy::Report) => Resolution::Fail,
        (Some(hash), Policy::SourceWins) => Resolution::Resubmit(Base::Hash(hash)),
        (None, Policy::SourceWins) => Resolution::Resubmit(Base::Absent),
    }
}

/// Resolves a conflict of a delete.
pub fn after_delete(reread: Option<Hash>, policy: Policy) -> Resolution {
    match (reread, policy) {
        (None, _) => Resolution::Achieved,
        (Some(_), Policy::Report) => Resolution::Fail,
        (Some(hash), Policy::SourceWins) => Resolution::Resubmit(Base::Hash(hash)),
    }
}

/// Resolves a conflict on the source of a move; a source that is gone is decided anew.
pub fn after_move(reread: Option<Hash>, policy: Policy) -> Resolution {
    match (reread, policy) {
        (Some(hash), Policy::SourceWins) => Resolution::Resubmit(Base::Hash(hash)),
        _ => Resolution::Fail,
    }
}

#[cfg(test)]
mod tests {
    use super::{Commit, Delete, Known, Move, Policy, Resolution};
    use super::{after_commit, after_delete, after_move, commit, delete, rename};
    use crate::model::{Contract, Contracts, Hash};
    use crate::sync::ports::{Base, Refusal};

    fn hash(digit: u8) -> Hash {
        let text = format!("dpe1:{}", format!("{digit:02x}").repeat(32));
        Hash::parse(&text, Contracts::SUPPORTED).unwrap()
    }

    fn drill(digit: u8) -> Hash {
        let text = format!("dpex:{}", format!("{digit:02x}").repeat(32));
        Hash::parse(&text, Contracts::SUPPORTED.with(Contract::Dpex)).unwrap()
    }

    fn known(confirmed: Option<Hash>, remote: Option<Hash>) -> Known {
        Known { confirmed, remote }
    }

    #[test]
    fn commits_follow_the_table_of_section_19_2() {
        let (a, b, n) = (hash(1), hash(2), hash(9));
        let absent = Some(Base::Absent);
        let rows = [
            (known(None, Some(n)), None, Commit::Achieved),
            (known(Some(a), Some(n)), absent, Commit::Achieved),
            (known(None, None), None, Commit::Write(Base::Absent)),
            (known(None, Some(a)), None, Commit::Write(Base::Hash(a))),
            (known(Some(b), None), absent, Commit::Write(Base::Absent)),
            (
                known(None, Some(a)),
                absent,
                Commit::Conflict(Refusal::AlreadyExists),
            ),
            (known(Some(a), Some(a)), None, Commit::Write(Base::Hash(a))),
            (
                known(Some(a), Some(b)),
                None,
                Commit::Conflict(Refusal::PreconditionFailed),
            ),
            (
                known(Some(a), None),
                None,
                Commit::Conflict(Refusal::NotFound),
            ),
            (
                known(Some(a), Some(b)),
                Some(Base::Hash(b)),
                Commit::Write(Base::Hash(b)),
            ),
        ];
        for (known, demanded, expected) in rows {
            assert_eq!(
                commit(known, n, demanded),
                expected,
                "{known:?} {demanded:?}"
            );
        }
    }

    #[test]
    fn deletes_follow_the_table_of_section_19_2() {
        let (a, b) = (hash(1), hash(2));
        let rows = [
            (known(Some(a), None), None, Delete::Achieved),
            (
                known(None, Some(a)),
                Some(Base::Absent),
                Delete::Conflict(Refusal::AlreadyExists),
            ),
            (known(None, Some(a)), None, Delete::Write(a)),
            (known(Some(a), Some(a)), None, Delete::Write(a)),
            (
                known(Some(a), Some(b)),
                None,
                Delete::Conflict(Refusal::PreconditionFailed),
            ),
        ];
        for (known, demanded, expected) in rows {
            assert_eq!(delete(known, demanded), expected, "{known:?} {demanded:?}");
        }
    }

    #[test]
    fn moves_follow_the_table_of_section_21_1() {
        let (a, b) = (hash(1), hash(2));
        let rows = [
            (
                known(Some(a), None),
                known(None, Some(a)),
                None,
                Move::Achieved,
            ),
            (
                known(None, None),
                known(Some(a), Some(a)),
                None,
                Move::Achieved,
            ),
            (
                known(Some(a), None),
                known(None, Some(b)),
                None,
                Move::Unreachable,
            ),
            (
                known(None, None),
                known(None, None),
                None,
                Move::Unreachable,
            ),
            (
                known(Some(a), Some(a)),
                known(None, None),
                Some(Base::Absent),
                Move::Conflict(Refusal::AlreadyExists),
            ),
            (
                known(Some(a), Some(b)),
                known(None, None),
                None,
                Move::Conflict(Refusal::PreconditionFailed),
            ),
            (
                known(Some(a), Some(a)),
                known(None, Some(a)),
                None,
                Move::DeleteSource(a),
            ),
            (
                known(Some(a), Some(a)),
                known(None, Some(b)),
                None,
                Move::Write(a),
            ),
            (
                known(None, Some(a)),
                known(None, None),
                None,
                Move::Write(a),
            ),
            (
                known(Some(a), Some(b)),
                known(None, Some(b)),
                Some(Base::Hash(b)),
                Move::DeleteSource(b),
            ),
            (
                known(Some(a), None),
                known(None, Some(b)),
                Some(Base::Hash(b)),
                Move::Achieved,
            ),
        ];
        for (from, to, demanded, expected) in rows {
            assert_eq!(rename(from, to, demanded), expected, "{from:?} {to:?}");
        }
    }

    #[test]
    fn values_of_another_contract_are_left_to_the_server() {
        let (old, now, n) = (drill(1), hash(2), hash(9));
        let both = known(Some(old), Some(now));
        assert_eq!(commit(both, n, None), Commit::Write(Base::Hash(old)));
        assert_eq!(delete(both, None), Delete::Write(old));
        assert_eq!(rename(both, known(None, None), None), Move::Write(old));
        let gone = known(Some(old), None);
        assert_eq!(commit(gone, n, None), Commit::Conflict(Refusal::NotFound));
        assert_eq!(
            rename(gone, known(None, Some(now)), None),
            Move::Unreachable
        );
    }

    #[test]
    fn a_confirmed_value_of_an_unaccepted_contract_counts_as_none() {
        let foreign = known(Some(drill(1)), None).accepted(Contracts::SUPPORTED);
        assert_eq!(foreign.confirmed, None);
    }

    #[test]
    fn conflicts_are_resolved_by_the_table_of_section_20() {
        let (a, n) = (hash(1), hash(9));
        let (wins, report) = (Policy::SourceWins, Policy::Report);
        assert_eq!(after_commit(Some(n), n, report), Resolution::Achieved);
        assert_eq!(after_commit(Some(a), n, report), Resolution::Fail);
        assert_eq!(
            after_commit(Some(a), n, wins),
            Resolution::Resubmit(Base::Hash(a))
        );
        assert_eq!(
            after_commit(None, n, wins),
            Resolution::Resubmit(Base::Absent)
        );
        assert_eq!(after_delete(None, report), Resolution::Achieved);
        assert_eq!(after_delete(Some(a), report), Resolution::Fail);
        assert_eq!(
            after_delete(Some(a), wins),
            Resolution::Resubmit(Base::Hash(a))
        );
        assert_eq!(
            after_move(Some(a), wins),
            Resolution::Resubmit(Base::Hash(a))
        );
        assert_eq!(after_move(Some(a), report), Resolution::Fail);
        assert_eq!(after_move(None, wins), Resolution::Fail);
    }
}
