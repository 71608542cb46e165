//! What a round over files has to tell, as seen from the commit of the cursor.
//!
//! Only a commit that has an ancestor in common with what is enumerated now is a beginning. From another
//! one everything is told anew; but as long as its tree can be read, it is known what has gone since,
//! and that is told as well: nobody else ever would.

use std::collections::{HashMap, HashSet};

use dpe_connector::{CancelFlag, RpcError};
use gix::ObjectId;

use crate::connector::Setup;
use crate::kinship::are_related;
use crate::place::{NotBegun, source_failed};
use crate::repository::{Repository, described};
use crate::tree::{Change, Difference, NoDifference, compare};

/// Where the last round was.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The commit of the cursor; nothing if there was none yet.
    pub(crate) commit: Option<ObjectId>,
    /// Paths that have to be looked at whether they changed or not.
    pub(crate) again: Vec<Box<[u8]>>,
    /// Those of them of whose documents nobody knows what became.
    pub(crate) failed: HashSet<Box<[u8]>>,
    /// Whether the commit was no part of what was fetched, and so had to be asked for by its id. Then it is no
    /// beginning.
    pub(crate) is_stray: bool,
}

/// What there is to tell.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// What differs, or everything, and what has gone.
    pub(crate) difference: Difference,
    /// Whether the commit of the cursor was the beginning.
    pub(crate) incremental: bool,
    /// For people, if it was not.
    pub(crate) note: Option<String>,
}

/// The commit of the cursor, as it is found now.
enum Before {
    /// A beginning, with its tree.
    Related(ObjectId),
    /// Of another history, with its tree.
    Unrelated(ObjectId),
    /// Not there any more.
    Gone,
}

/// Returns what there is to tell.
///
/// # Errors
///
/// When the tree of `commit` cannot be read, or has no such folder; `cancelled`.
pub(crate) fn told(
    setup: &Setup,
    repository: &Repository,
    known: Option<&Known>,
    commit: Option<ObjectId>,
    cancel: &CancelFlag,
) -> Result<Told, NotBegun> {
    if known.is_some_and(|known| known.commit == commit && known.again.is_empty()) {
        return Ok(Told {
            incremental: true,
            ..Told::default()
        });
    }
    // Without a commit there is nothing to be compared, and nothing is concluded from that.
    let Some(commit) = commit else {
        return Ok(Told::default());
    };
    repository.with(|repository| {
        let now = tree_of(repository, commit).map_err(|why| {
            let why = format!("commit {commit}: {why}");
            NotBegun::Damaged(source_failed(&setup.place, &why))
        })?;
        let comparison = Comparison {
            repository,
            setup,
            now,
            cancel,
        };
        let again = known.map_or(&[][..], |known| &known.again);
        let told = match known.map(|known| (known.commit, known.is_stray)) {
            None => comparison.everything(),
            Some((None, _)) => comparison.since(None),
            Some((Some(known), is_stray)) => match found(repository, known, commit, cancel)? {
                Before::Related(tree) if !is_stray => comparison
                    .since(Some(tree))
                    .map(|told| comparison.with_again(told, again)),
                Before::Related(tree) | Before::Unrelated(tree) => {
                    comparison.everything_and_lost(tree, known)
                }
                Before::Gone => comparison.everything_but_lost(known),
            },
        };
        told.map_err(|why| not_begun(setup, why))
    })
}

fn not_begun(setup: &Setup, why: NoDifference) -> NotBegun {
    let failed = |why: &str| source_failed(&setup.place, why);
    match why {
        NoDifference::Cancelled(error) => NotBegun::Other(error),
        NoDifference::Before => NotBegun::Other(failed("nothing to compare with")),
        NoDifference::Now(why) => NotBegun::Damaged(failed(&why)),
        NoDifference::Refused(why) => NotBegun::Other(failed(&why)),
    }
}

fn found(
    repository: &gix::Repository,
    known: ObjectId,
    commit: ObjectId,
    cancel: &CancelFlag,
) -> Result<Before, RpcError> {
    let Ok(tree) = tree_of(repository, known) else {
        return Ok(Before::Gone);
    };
    Ok(match are_related(repository, known, commit, cancel)? {
        true => Before::Related(tree),
        false => Before::Unrelated(tree),
    })
}

/// Returns the tree of a commit.
///
/// # Errors
///
/// Says why it cannot be read.
pub(crate) fn tree_of(repository: &gix::Repository, commit: ObjectId) -> Result<ObjectId, String> {
    let commit = repository
        .find_commit(commit)
        .map_err(|why| described(&why))?;
    let tree = commit.tree_id().map_err(|why| described(&why))?;
    Ok(tree.detach())
}

struct Comparison<'a> {
    repository: &'a gix::Repository,
    setup: &'a Setup,
    now: ObjectId,
    cancel: &'a CancelFlag,
}

impl Comparison<'_> {
    fn between(&self, before: Option<ObjectId>) -> Result<Difference, NoDifference> {
        let selection = &self.setup.selection;
        compare(self.repository, selection, before, self.now, self.cancel)
    }

    fn everything(&self) -> Result<Told, NoDifference> {
        Ok(Told {
            difference: self.between(None)?,
            ..Told::default()
        })
    }

    /// What differs from a tree; without one, there was no document.
    fn since(&self, before: Option<ObjectId>) -> Result<Told, NoDifference> {
        match self.between(before) {
            // It is not whole any more.
            Err(NoDifference::Before) => self.everything(),
            difference => Ok(Told {
                difference: difference?,
                incremental: true,
                note: None,
            }),
        }
    }

    /// Adds those paths that are what they were.
    fn with_again(&self, mut told: Told, again: &[Box<[u8]>]) -> Told {
        let changes = &mut told.difference.changes;
        for path in again {
            let found = changes.binary_search_by(|change| change.path.cmp(path));
            if let (Err(place), Some(blob)) = (found, self.blob(path)) {
                let change = Change {
                    path: path.clone(),
                    before: None,
                    now: Some(blob),
                };
                changes.insert(place, change);
            }
        }
        told
    }

    /// Returns the blob at a path of the folder that is enumerated.
    fn blob(&self, path: &[u8]) -> Option<ObjectId> {
        let tree = self.repository.find_tree(self.now).ok()?;
        let folder = self.setup.selection.folder().split(|byte| *byte == b'/');
        let parts = folder.chain(path.split(|byte| *byte == b'/'));
        let entry = tree.lookup_entry(parts.filter(|part| !part.is_empty()));
        let entry = entry.ok()??;
        entry.mode().is_blob().then(|| entry.object_id())
    }

    fn everything_and_lost(&self, before: ObjectId, known: ObjectId) -> Result<Told, NoDifference> {
        let since = match self.between(Some(before)) {
            Err(NoDifference::Before) => return self.everything_but_lost(known),
            since => since?,
        };
        let mut all = self.between(None)?;
        let changed: HashMap<&[u8], Option<ObjectId>> = since
            .changes
            .iter()
            .map(|change| (&*change.path, change.before))
            .collect();
        for change in &mut all.changes {
            // What is no change is what it was.
            change.before = *changed.get(&*change.path).unwrap_or(&change.now);
        }
        let lost = since.changes.iter().filter(|change| change.now.is_none());
        all.changes.extend(lost.cloned());
        all.changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Told {
            difference: all,
            incremental: false,
            note: Some(format!(
                "nothing leads from {known}, where the last round was, to what is there now: \
                 everything is told anew"
            )),
        })
    }

    fn everything_but_lost(&self, known: ObjectId) -> Result<Told, NoDifference> {
        Ok(Told {
            note: Some(format!(
                "{known}, where the last round was, is not there any more: everything is told anew, \
                 but not what has gone since then"
            )),
            ..self.everything()?
        })
    }
}
