//! Finds out which files that are gone are only somewhere else now.
//!
//! Reads no more than it must: only files as long as one whose content went. The document of a
//! file that moved is said all the same, after the move. A round whose cursor was not kept may
//! have moved it already, to a place where it is no more; then the remote knows nothing at the
//! beginning of this move, and only the document brings it to its end (connector contract §21.3).

use std::collections::HashSet;
use std::sync::Arc;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::moves::{Holdings, plan};
use dpe_connector_files::{BUDGET, Pipeline, threads};

use crate::diff::{Difference, Task};
use crate::examine::Examiner;
use crate::formats::Formats;
use crate::listing::{Content, Fingerprint, Seen};
use crate::walk::Found;

/// A file that is somewhere else now.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// Where it was.
    pub(crate) from: Origin,
    /// The number of the file it is now.
    pub(crate) to: u32,
}

/// A path that lost its content, by number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// One of those that are gone.
    Gone(u32),
    /// A file, with other content now.
    File(u32),
}

/// Marks what moved among what is gone, and returns it in the order in which the moves can be
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
    if difference.gone.len() == 0 || difference.tasks.is_empty() || examiner.precision == 0 {
        return Ok(Vec::new());
    }
    let arrived = arrived(difference, examiner, cancel)?;
    let left = left(difference, &examiner.files, &arrived.is_as_before);
    let moves = plan(&left, &arrived).into_iter();
    let moves: Vec<Move> = moves
        .map(|(from, to)| Move {
            from: left.origins[from],
            to: arrived.rows[to].file,
        })
        .collect();
    for found in &moves {
        if let Origin::Gone(number) = found.from {
            difference.gone.moved(number as usize);
        }
    }
    Ok(moves)
}

/// Content where it was not before, by path.
struct Arrived<'d> {
    files: &'d [Found],
    rows: Vec<Row>,
    formats: Formats,
    /// Of each file, whether it was only touched.
    is_as_before: Vec<bool>,
}

struct Row {
    fingerprint: Fingerprint,
    file: u32,
    format: u32,
    had_document: bool,
}

/// Learns the content of those files to be read that have the length of a file whose content
/// went, and that may be a document.
fn arrived<'e>(
    difference: &Difference,
    examiner: &'e Arc<Examiner>,
    cancel: &CancelFlag,
) -> Result<Arrived<'e>, RpcError> {
    let before = difference.tasks.iter().filter_map(document_before);
    let gone = (0..difference.gone.len()).map(|number| difference.gone.size(number));
    let sizes: HashSet<u64> = gone.chain(before.map(|(seen, _)| seen.stat.size)).collect();
    let is_worth = |task: &&Task| sizes.contains(&examiner.size(task.file));
    let worth = || difference.tasks.iter().filter(is_worth);
    let (measuring, probing) = (Arc::clone(examiner), Arc::clone(examiner));
    let mut results = Pipeline::start(
        worth().map(|task| task.file).collect(),
        threads(),
        BUDGET,
        move |file: &usize| measuring.size(*file),
        move |file| (probing.probe(file), 0),
    );
    let mut arrived = Arrived {
        files: &examiner.files,
        rows: Vec::new(),
        formats: Formats::default(),
        is_as_before: vec![false; examiner.files.len()],
    };
    for task in worth() {
        let probed = results.next(cancel)?.flatten();
        arrived.note(task, probed);
    }
    Ok(arrived)
}

impl Arrived<'_> {
    fn note(&mut self, task: &Task, content: Option<Content>) {
        let Some(content) = content else { return };
        let before = document_before(task).map(|(_, content)| content);
        if before == Some(&content) {
            self.is_as_before[task.file] = true;
            return;
        }
        self.rows.push(Row {
            fingerprint: content.fingerprint,
            file: short(task.file),
            format: self.formats.number_of(&content.format),
            had_document: before.is_some(),
        });
    }

    fn file(&self, number: usize) -> &Found {
        &self.files[self.rows[number].file as usize]
    }
}

impl Holdings for Arrived<'_> {
    type Content<'h>
        = (Fingerprint, &'h str)
    where
        Self: 'h;

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn path(&self, number: usize) -> &[u8] {
        &self.file(number).path
    }

    fn content(&self, number: usize) -> (Fingerprint, &str) {
        let row = &self.rows[number];
        (row.fingerprint, self.formats.of_number(row.format))
    }

    fn is_telling(&self, number: usize) -> bool {
        self.file(number).stat.size > 0
    }

    fn mark(&self, number: usize) -> u64 {
        self.file(number).stat.inode
    }

    fn is_free(&self, number: usize) -> bool {
        !self.rows[number].had_document
    }
}

/// Content that is not any more where it was, by path.
struct Left<'d> {
    difference: &'d Difference,
    files: &'d [Found],
    origins: Vec<Origin>,
    /// For each [`Origin::File`] the number of its task, by file.
    tasks: Vec<(u32, u32)>,
}

fn left<'d>(difference: &'d Difference, files: &'d [Found], is_as_before: &[bool]) -> Left<'d> {
    let tasks = (0..).zip(&difference.tasks);
    let tasks = tasks.filter(|(_, task)| document_before(task).is_some());
    let tasks = tasks.filter(|(_, task)| !is_as_before[task.file]);
    let mut left = Left {
        difference,
        files,
        origins: (0..short(difference.gone.len()))
            .map(Origin::Gone)
            .collect(),
        tasks: tasks
            .map(|(number, task)| (short(task.file), number))
            .collect(),
    };
    let changed = left.tasks.iter().map(|(file, _)| Origin::File(*file));
    left.origins.extend(changed);
    let mut origins = std::mem::take(&mut left.origins);
    origins.sort_unstable_by(|a, b| left.path_of(*a).cmp(left.path_of(*b)));
    left.origins = origins;
    left
}

impl<'d> Left<'d> {
    fn path_of(&self, origin: Origin) -> &'d [u8] {
        match origin {
            Origin::Gone(number) => self.difference.gone.path(number as usize),
            Origin::File(file) => &self.files[file as usize].path,
        }
    }

    /// Returns what was seen of a file that has a document no more, or another one.
    fn before(&self, file: u32) -> (&'d Seen, &'d Content) {
        let place = self.tasks.binary_search_by_key(&file, |(file, _)| *file);
        let place = place.expect("every such origin has a task");
        let task = &self.difference.tasks[self.tasks[place].1 as usize];
        document_before(task).expect("it had a document")
    }
}

impl Holdings for Left<'_> {
    type Content<'h>
        = (Fingerprint, &'h str)
    where
        Self: 'h;

    fn len(&self) -> usize {
        self.origins.len()
    }

    fn path(&self, number: usize) -> &[u8] {
        self.path_of(self.origins[number])
    }

    fn content(&self, number: usize) -> (Fingerprint, &str) {
        match self.origins[number] {
            Origin::Gone(number) => self.difference.gone.content(number as usize),
            Origin::File(file) => {
                let content = self.before(file).1;
                (content.fingerprint, &content.format)
            }
        }
    }

    fn is_telling(&self, number: usize) -> bool {
        match self.origins[number] {
            Origin::Gone(number) => self.difference.gone.size(number as usize) > 0,
            Origin::File(file) => self.before(file).0.stat.size > 0,
        }
    }

    fn mark(&self, number: usize) -> u64 {
        match self.origins[number] {
            Origin::Gone(number) => self.difference.gone.inode(number as usize),
            Origin::File(file) => self.before(file).0.stat.inode,
        }
    }

    fn is_free(&self, number: usize) -> bool {
        matches!(self.origins[number], Origin::Gone(_))
    }
}

/// Returns what was seen of a file before, if it gave a document.
fn document_before(task: &Task) -> Option<(&Seen, &Content)> {
    let before = task.previous.as_deref()?;
    Some((before, before.content.as_ref()?))
}

fn short(number: usize) -> u32 {
    u32::try_from(number).expect("a listing of so many files is no cursor")
}
