//! Finds out which files that are gone are only somewhere else now.
//!
//! Reads no more than it must: only files as long as one whose content went.

use std::collections::HashSet;
use std::sync::Arc;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::moves::{Holding, plan};
use dpe_connector_files::{BUDGET, Pipeline, threads};

use crate::diff::{Difference, Task};
use crate::examine::Examiner;
use crate::listing::{Content, Entry};

/// From where to where.
pub(crate) type Move = (Box<[u8]>, Box<[u8]>);

/// Returns the moves, in the order in which they can be carried out, and what remains: a file that
/// moved is neither gone nor to be read any more.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn with_renames(
    mut difference: Difference,
    examiner: &Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<(Difference, Vec<Move>), RpcError> {
    if difference.gone.is_empty() || difference.tasks.is_empty() {
        return Ok((difference, Vec::new()));
    }
    let probed = probe(&difference, examiner, cancel)?;
    let pairs = {
        let (sources, targets) = holdings(&difference, &probed);
        let owned = |path: &[u8]| -> Box<[u8]> { path.into() };
        plan(&sources, &targets)
            .into_iter()
            .map(|(s, t)| (owned(sources[s].path), owned(targets[t].path)))
            .collect::<Vec<Move>>()
    };
    let from: HashSet<&[u8]> = pairs.iter().map(|(from, _)| &**from).collect();
    let to: HashSet<&[u8]> = pairs.iter().map(|(_, to)| &**to).collect();
    difference.gone.retain(|entry| !from.contains(&*entry.path));
    difference
        .tasks
        .retain(|task| !to.contains(&*task.found.path));
    let moved = probed.into_iter().flatten();
    difference
        .kept
        .extend(moved.filter(|entry| to.contains(&*entry.path)));
    Ok((difference, pairs))
}

/// Learns the content of those files to be read that have the length of a file whose content
/// went; one entry for each task.
fn probe(
    difference: &Difference,
    examiner: &Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<Vec<Option<Entry>>, RpcError> {
    let before = difference
        .tasks
        .iter()
        .filter_map(|task| task.previous.as_ref());
    let sizes: HashSet<u64> = difference
        .gone
        .iter()
        .chain(before)
        .filter(|entry| entry.content.is_some())
        .map(|entry| entry.stat.size)
        .collect();
    let worth = |task: &&Task| sizes.contains(&task.found.stat.size);
    let tasks = difference.tasks.iter().filter(worth).cloned().collect();
    let (size, examiner) = (|task: &Task| task.found.stat.size, Arc::clone(examiner));
    let mut results = Pipeline::start(tasks, threads(), BUDGET, size, move |task: Task| {
        examiner.probe(&task)
    });
    let mut probed = Vec::with_capacity(difference.tasks.len());
    for task in &difference.tasks {
        let entry = if worth(&task) {
            results.next(cancel)?.flatten()
        } else {
            None
        };
        probed.push(entry);
    }
    Ok(probed)
}

/// Returns what lost its content and what has content it had not.
fn holdings<'a>(
    difference: &'a Difference,
    probed: &'a [Option<Entry>],
) -> (Vec<Holding<'a, Content>>, Vec<Holding<'a, Content>>) {
    let mut sources: Vec<Holding<'_, Content>> = Vec::new();
    let mut targets: Vec<Holding<'_, Content>> = Vec::new();
    sources.extend(
        difference
            .gone
            .iter()
            .filter_map(|entry| holding(entry, true)),
    );
    for (task, now) in difference.tasks.iter().zip(probed) {
        let before = task
            .previous
            .as_ref()
            .filter(|entry| entry.content.is_some());
        let content_now = now.as_ref().and_then(|entry| entry.content.as_ref());
        if before.is_some_and(|entry| entry.content.as_ref() == content_now) {
            continue;
        }
        sources.extend(before.and_then(|entry| holding(entry, false)));
        targets.extend(
            now.as_ref()
                .and_then(|entry| holding(entry, before.is_none())),
        );
    }
    sources.sort_by(|a, b| a.path.cmp(b.path));
    targets.sort_by(|a, b| a.path.cmp(b.path));
    (sources, targets)
}

fn holding(entry: &Entry, is_free: bool) -> Option<Holding<'_, Content>> {
    Some(Holding {
        path: &entry.path,
        content: entry.content.as_ref()?,
        is_telling: entry.stat.size > 0,
        mark: entry.stat.inode,
        is_free,
    })
}
