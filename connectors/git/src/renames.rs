//! Finds out which paths that are gone are only somewhere else now.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::moves::{Holding, plan};
use gix::ObjectId;

use crate::blob::Examiner;
use crate::similarity::{Print, Printed, pair};
use crate::tree::Change;

/// A longer blob is moved as it is, or is another one.
const LONGEST_EDITED: u64 = 1 << 20;

/// More blobs than this are not looked into, on either side.
const MOST_EDITED: usize = 2000;

/// Nor are blobs of more bytes together: what is known of their lines may be as long as they are.
const MOST_EDITED_BYTES: u64 = 64 << 20;

/// From where to where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// The path that is gone, or holds something else now.
    pub(crate) from: Box<[u8]>,
    /// The path that has its content now.
    pub(crate) to: Box<[u8]>,
    /// The blob that was at `from`; the content at `to` differs from it.
    pub(crate) edited: Option<ObjectId>,
}

/// Returns the moves, in an order in which they can be carried out one after another.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn moves(
    changes: &[Change],
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Vec<Move>, RpcError> {
    let mut moves = exact(changes, examiner, cancel)?;
    let from: HashSet<&[u8]> = moves.iter().map(|found| &*found.from).collect();
    let to: HashSet<&[u8]> = moves.iter().map(|found| &*found.to).collect();
    let unsettled = changes
        .iter()
        .filter(|change| !from.contains(&*change.path) && !to.contains(&*change.path));
    let edited = edited(unsettled, examiner, cancel)?;
    moves.extend(edited);
    Ok(moves)
}

/// What a document is made of.
type Content = (ObjectId, Arc<str>);

/// Finds what moved with its content.
fn exact(
    changes: &[Change],
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Vec<Move>, RpcError> {
    let contents = on_both_sides(changes, examiner, cancel)?;
    let holdings = |is_now: bool| -> Vec<Holding<'_, Content>> {
        let holding = |(index, change): (usize, &'_ Change)| {
            let other = if is_now { change.before } else { change.now };
            Some((index, contents.get(&(index, is_now))?, other.is_none()))
        };
        let held = changes.iter().enumerate().filter_map(holding);
        held.map(|(index, content, is_free)| Holding {
            path: &changes[index].path,
            content,
            is_telling: true,
            mark: index as u64,
            is_free,
        })
        .collect()
    };
    let (sources, targets) = (holdings(false), holdings(true));
    let planned = plan(&sources[..], &targets[..]);
    Ok(planned
        .into_iter()
        .map(|(source, target)| Move {
            from: sources[source].path.into(),
            to: targets[target].path.into(),
            edited: None,
        })
        .collect())
}

/// What each change held before (false) and holds now (true), as far as a document could be made of
/// it and the same blob is on both sides.
type Contents = HashMap<(usize, bool), Content>;

fn on_both_sides(
    changes: &[Change],
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Contents, RpcError> {
    let before: HashSet<ObjectId> = changes.iter().filter_map(|change| change.before).collect();
    let both: HashSet<ObjectId> = changes
        .iter()
        .filter_map(|change| change.now)
        .filter(|id| before.contains(id))
        .collect();
    let mut contents = Contents::new();
    for (index, change) in changes.iter().enumerate() {
        cancel.check()?;
        for (id, is_now) in [(change.before, false), (change.now, true)] {
            let Some(id) = id.filter(|id| both.contains(id)) else {
                continue;
            };
            if let Ok(Some(format)) = examiner.format(&change.path, id) {
                contents.insert((index, is_now), (id, format));
            }
        }
    }
    Ok(contents)
}

/// Finds what moved and was edited.
fn edited<'c>(
    changes: impl Iterator<Item = &'c Change>,
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Vec<Move>, RpcError> {
    let (mut went, mut came) = (Vec::new(), Vec::new());
    for change in changes {
        match (change.before, change.now) {
            (Some(id), None) => went.push((&*change.path, id)),
            (None, Some(id)) => came.push((&*change.path, id)),
            _ => {}
        }
    }
    if went.is_empty() || came.is_empty() || went.len().max(came.len()) > MOST_EDITED {
        return Ok(Vec::new());
    }
    let all = went.iter().chain(&came);
    let bytes = all.filter_map(|(_, id)| edited_bytes(*id, examiner));
    if bytes.sum::<u64>() > MOST_EDITED_BYTES {
        return Ok(Vec::new());
    }
    let went_prints = prints(&went, examiner, cancel)?;
    if went_prints.is_empty() {
        return Ok(Vec::new());
    }
    let came_prints = prints(&came, examiner, cancel)?;
    let ids: HashMap<&[u8], ObjectId> = went.into_iter().collect();
    let pairs = pair(&went_prints, &came_prints);
    Ok(pairs
        .into_iter()
        .map(|(from, to)| Move {
            from: went_prints[from].0.into(),
            to: came_prints[to].0.into(),
            edited: ids.get(went_prints[from].0).copied(),
        })
        .collect())
}

/// Returns the length of a blob, if it is not too long to be looked into.
fn edited_bytes(id: ObjectId, examiner: &Examiner) -> Option<u64> {
    let size = examiner.repository.blob_size(id).ok();
    size.filter(|&size| size <= LONGEST_EDITED)
}

/// Returns the prints of those blobs that give documents and are not too long.
fn prints<'c>(
    blobs: &[(&'c [u8], ObjectId)],
    examiner: &Examiner,
    cancel: &CancelFlag,
) -> Result<Vec<Printed<'c>>, RpcError> {
    let mut prints = Vec::new();
    for &(path, id) in blobs {
        cancel.check()?;
        if edited_bytes(id, examiner).is_none() || !matches!(examiner.format(path, id), Ok(Some(_)))
        {
            continue;
        }
        if let Ok(bytes) = examiner.repository.blob(id) {
            prints.push((path, Print::of(&bytes)));
        }
    }
    Ok(prints)
}
