//! Finds out which files that are gone are only somewhere else now.
//!
//! Reads no more than it must: only files as long as one whose content went. The document of a
//! file that moved is said all the same, after the move. A round whose cursor was not kept may
//! have moved it already, to a place where it is no more; then the remote knows nothing at the
//! beginning of this move, and only the document brings it to its end (connector contract §21.3).

use std::collections::HashSet;
use std::sync::Arc;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::moves::{Holding, plan};
use dpe_connector_files::{BUDGET, Pipeline, threads};

use crate::diff::{Difference, Task};
use crate::examine::Examiner;
use crate::listing::{Content, Seen};

/// From which path to which file.
pub(crate) type Move = (Box<[u8]>, usize);

/// Takes what moved out of what is gone, and returns it in the order in which the moves can be
/// carried out.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn take_renames(
    difference: &mut Difference,
    examiner: &Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<Vec<Move>, RpcError> {
    if difference.gone.is_empty() || difference.tasks.is_empty() || examiner.precision == 0 {
        return Ok(Vec::new());
    }
    let probed = probe(difference, examiner, cancel)?;
    let now: Vec<_> = probed.iter().map(|one| one.cut(examiner)).collect();
    let moves = {
        let (sources, targets) = holdings(difference, &probed, &now, examiner);
        let pairs = plan(&sources, &targets).into_iter();
        let number = |path: &[u8]| {
            let found = examiner
                .files
                .binary_search_by(|file| (*file.path).cmp(path));
            found.expect("every target is a file that was found")
        };
        let moves = pairs.map(|(from, to)| (sources[from].path.into(), number(targets[to].path)));
        moves.collect::<Vec<Move>>()
    };
    let from: HashSet<&[u8]> = moves.iter().map(|(from, _)| &**from).collect();
    difference.gone.retain(|entry| !from.contains(&*entry.path));
    Ok(moves)
}

/// A file that was read only to know its content.
struct Probed {
    task: Task,
    seen: Seen,
}

impl Probed {
    fn cut(&self, examiner: &Examiner) -> Option<Content> {
        let content = self.seen.content.as_ref();
        content.map(|content| content.cut(examiner.precision))
    }
}

/// Learns the content of those files to be read that have the length of a file whose content
/// went, and that may be a document.
fn probe(
    difference: &Difference,
    examiner: &Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<Vec<Probed>, RpcError> {
    let before = difference.tasks.iter();
    let before = before.filter_map(|task| task.previous.as_deref());
    let gone = difference.gone.iter().map(|entry| &entry.seen);
    let sizes: HashSet<u64> = gone
        .chain(before)
        .filter(|seen| seen.content.is_some())
        .map(|seen| seen.stat.size)
        .collect();
    let worth = |task: &&Task| sizes.contains(&examiner.size(task));
    let tasks = difference.tasks.iter().filter(worth).cloned().collect();
    let (measuring, examiner) = (Arc::clone(examiner), Arc::clone(examiner));
    let size = move |task: &Task| measuring.size(task);
    let mut results = Pipeline::start(tasks, threads(), BUDGET, size, move |task: Task| {
        let seen = examiner.probe(&task);
        seen.map(|seen| Probed { task, seen })
    });
    let mut probed = Vec::new();
    while let Some(result) = results.next(cancel)? {
        probed.extend(result);
    }
    Ok(probed)
}

type Holdings<'a> = Vec<Holding<'a, Content>>;

/// Returns what lost its content and what has content it had not. `now` holds the content of each
/// file in `probed`, as far as it can be compared.
fn holdings<'a>(
    difference: &'a Difference,
    probed: &'a [Probed],
    now: &'a [Option<Content>],
    examiner: &'a Examiner,
) -> (Holdings<'a>, Holdings<'a>) {
    let mut sources = Holdings::new();
    let mut targets = Holdings::new();
    for entry in &difference.gone {
        let content = entry.seen.content.as_ref();
        sources.extend(content.map(|content| holding(&entry.path, &entry.seen, content, true)));
    }
    let as_before: HashSet<usize> = probed
        .iter()
        .filter(|probed| examiner.is_as_before(&probed.task, &probed.seen))
        .map(|probed| probed.task.file)
        .collect();
    for task in difference
        .tasks
        .iter()
        .filter(|task| !as_before.contains(&task.file))
    {
        let before = task.previous.as_deref();
        let content = before.and_then(|before| Some((before, before.content.as_ref()?)));
        let path = &examiner.files[task.file].path;
        sources.extend(content.map(|(before, content)| holding(path, before, content, false)));
    }
    for (probed, content) in probed.iter().zip(now) {
        let task = &probed.task;
        let had = task.previous.as_ref().is_some_and(|p| p.content.is_some());
        let path = &examiner.files[task.file].path;
        let content = content.as_ref().filter(|_| !as_before.contains(&task.file));
        targets.extend(content.map(|content| holding(path, &probed.seen, content, !had)));
    }
    sources.sort_by(|a, b| a.path.cmp(b.path));
    (sources, targets)
}

fn holding<'a>(
    path: &'a [u8],
    seen: &Seen,
    content: &'a Content,
    is_free: bool,
) -> Holding<'a, Content> {
    Holding {
        path,
        content,
        is_telling: seen.stat.size > 0,
        mark: seen.stat.inode,
        is_free,
    }
}
