//! All commits that lead to one, in the order in which they are told.
//!
//! The order is by time, and among commits of one second every commit comes after its parents; what
//! still is the same is ordered by name. A new commit changes nothing in the order of the others.

use std::collections::{HashMap, HashSet};

use dpe_connector::{CancelFlag, RpcError};
use gix::ObjectId;

use crate::repository::described;

/// A commit, as far as its place is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    /// When it was committed, in seconds since 1970.
    pub(crate) time: i64,
    /// Which one.
    pub(crate) id: ObjectId,
}

/// All commits of a history.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// In the order in which they are told.
    pub(crate) placed: Vec<Placed>,
    /// Length of the longest message, in bytes.
    pub(crate) longest_message: usize,
    /// Length of the longest of what comes before a message, in bytes.
    pub(crate) longest_head: usize,
    /// Whether there are earlier ones that a shallow repository does not have.
    pub(crate) is_cut: bool,
}

/// Why a history cannot be told.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The request was given up.
    Cancelled(RpcError),
    /// A commit is missing, or is none.
    Damaged(String),
    /// What they say does not fit into a message.
    Unspeakable(String),
}

/// Returns the commits at which a shallow repository ends.
///
/// # Errors
///
/// When they cannot be read.
pub(crate) fn cut(repository: &gix::Repository) -> Result<HashSet<ObjectId>, String> {
    let shallow = repository
        .shallow_commits()
        .map_err(|why| described(&why))?;
    Ok(shallow
        .iter()
        .flat_map(|commits| commits.iter().copied())
        .collect())
}

/// A commit that was met.
struct Met {
    id: ObjectId,
    time: i64,
    parents: Vec<usize>,
    /// Longest way to a commit without parents.
    height: u64,
}

/// Returns the commit `last` and all its ancestors.
pub(crate) fn walk(
    repository: &gix::Repository,
    last: ObjectId,
    cancel: &CancelFlag,
) -> Result<Commits, Broken> {
    let mut commits = Commits::default();
    let mut met = meet(repository, last, &mut commits, cancel)?;
    measure(&mut met).map_err(Broken::Damaged)?;
    met.sort_unstable_by_key(|commit| (commit.time, commit.height, commit.id));
    let placed = |Met { time, id, .. }| Placed { time, id };
    commits.placed = met.into_iter().map(placed).collect();
    Ok(commits)
}

/// Returns the commit `last` and all its ancestors as they are met, every one with the places of its
/// parents.
fn meet(
    repository: &gix::Repository,
    last: ObjectId,
    commits: &mut Commits,
    cancel: &CancelFlag,
) -> Result<Vec<Met>, Broken> {
    let cut = cut(repository).map_err(Broken::Damaged)?;
    let mut numbers = HashMap::from([(last, 0)]);
    let mut waiting = vec![last];
    let mut met: Vec<Option<Met>> = vec![None];
    while let Some(id) = waiting.pop() {
        cancel.check().map_err(Broken::Cancelled)?;
        let found = look_at(repository, id, commits);
        let (time, mut parents) = found.map_err(Broken::Damaged)?;
        if cut.contains(&id) {
            commits.is_cut |= !parents.is_empty();
            parents.clear();
        }
        let number = |parent| {
            *numbers.entry(parent).or_insert_with(|| {
                waiting.push(parent);
                met.push(None);
                met.len() - 1
            })
        };
        let parents = parents.into_iter().map(number).collect();
        met[numbers[&id]] = Some(Met {
            id,
            time,
            parents,
            height: 0,
        });
    }
    Ok(met.into_iter().flatten().collect())
}

/// Returns when a commit was made, and its parents.
fn look_at(
    repository: &gix::Repository,
    id: ObjectId,
    commits: &mut Commits,
) -> Result<(i64, Vec<ObjectId>), String> {
    let commit = repository.find_commit(id).map_err(|why| described(&why))?;
    // What cannot be told is found out before anything is said of the history.
    let message = commit.decode().map_err(|why| described(&why))?.message;
    let head = commit.data.len() - message.len();
    commits.longest_message = commits.longest_message.max(message.len());
    commits.longest_head = commits.longest_head.max(head);
    // A line that nobody can read is as old as can be, as for git.
    let time = commit
        .committer()
        .map_or(0, |committer| committer.seconds());
    let parents = commit.parent_ids().map(gix::Id::detach).collect();
    Ok((time, parents))
}

/// Finds the heights, from the commits without parents on.
///
/// # Errors
///
/// When a commit is among its own ancestors: objects are not what their ids say.
fn measure(met: &mut [Met]) -> Result<(), String> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); met.len()];
    let mut unmeasured: Vec<usize> = Vec::with_capacity(met.len());
    for (at, commit) in met.iter().enumerate() {
        unmeasured.push(commit.parents.len());
        for &parent in &commit.parents {
            children[parent].push(at);
        }
    }
    let mut ready: Vec<usize> = (0..met.len()).filter(|&at| unmeasured[at] == 0).collect();
    let mut measured = 0;
    while let Some(at) = ready.pop() {
        measured += 1;
        for &child in &children[at] {
            met[child].height = met[child].height.max(met[at].height + 1);
            unmeasured[child] -= 1;
            if unmeasured[child] == 0 {
                ready.push(child);
            }
        }
    }
    if measured < met.len() {
        return Err("a commit is its own ancestor; the repository is damaged".to_owned());
    }
    Ok(())
}
