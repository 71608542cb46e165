//! Whether two commits have anything in common.

use std::collections::{HashSet, VecDeque};

use dpe_connector::{CancelFlag, RpcError};
use gix::ObjectId;

/// Returns whether some commit is an ancestor of both, or one of the other. Where the history was cut
/// off, it ends.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn are_related(
    repository: &gix::Repository,
    one: ObjectId,
    other: ObjectId,
    cancel: &CancelFlag,
) -> Result<bool, RpcError> {
    // From both sides in turn: mostly one is a few steps away from the other.
    let mut one = Ancestry::of(one);
    let mut other = Ancestry::of(other);
    loop {
        cancel.check()?;
        match (one.step(repository), other.step(repository)) {
            (None, None) => return Ok(false),
            (a, b) => {
                let meets = a.is_some_and(|id| other.seen.contains(&id))
                    || b.is_some_and(|id| one.seen.contains(&id));
                if meets {
                    return Ok(true);
                }
            }
        }
    }
}

/// The ancestors of a commit, found one after the other.
struct Ancestry {
    seen: HashSet<ObjectId>,
    waiting: VecDeque<ObjectId>,
}

impl Ancestry {
    fn of(commit: ObjectId) -> Self {
        Self {
            seen: HashSet::from([commit]),
            waiting: VecDeque::from([commit]),
        }
    }

    /// Returns the next ancestor, after noting its parents.
    fn step(&mut self, repository: &gix::Repository) -> Option<ObjectId> {
        let id = self.waiting.pop_front()?;
        let commit = repository.try_find_object(id).ok().flatten();
        let commit = commit.and_then(|object| object.try_into_commit().ok());
        for parent in commit.iter().flat_map(gix::Commit::parent_ids) {
            let parent = parent.detach();
            if self.seen.insert(parent) {
                self.waiting.push_back(parent);
            }
        }
        Some(id)
    }
}
