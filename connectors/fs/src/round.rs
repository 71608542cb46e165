//! One enumeration: what there is, what changed, and in which order it is said.
//!
//! Moves come first, then the deletions of what is gone, then documents in the order of their
//! paths, those that moved among them, and last the deletions of files that give no document any more, which is known only
//! after reading them. Applied one after another they lead from the listing of the cursor to the
//! present state: a move never ends where something still is, and nothing is written to a URI
//! that a later item removes. Deletions that are known are said early, so that a runner can judge
//! how much would go before it writes anything.

use std::collections::VecDeque;
use std::sync::Arc;

use dpe_connector::item::ErrorItem;
use dpe_connector::{CancelFlag, Item, ItemErrorCode, RpcError};
use dpe_connector_files::{
    BUDGET, Beginning, ExtractError, Failure, Handles, Items, Kind, Limits, Maker, OnTrouble,
    Pipeline, Reason, Report, RoundEnd, UNREADABLE, shown, threads, unsupported,
};

use crate::beside::Around;
use crate::connector::Setup;
use crate::cursor;
use crate::diff::{Compared, Difference, Task};
use crate::door::{Door, Links};
use crate::examine::{Examiner, Outcome};
use crate::gone::Gone;
use crate::ground::Ground;
use crate::held::Held;
use crate::listing::{Entry, Listing, Seen};
use crate::renames::{Move, Origin, take_renames};
use crate::root::Place;
use crate::walk::{Found, Trouble, Walked, absolute, walk};
use crate::written::written;
use crate::{named, root, stat};

const SPECIAL: Kind = Kind("special file", "special files");
const LINK: Kind = Kind("symbolic link", "symbolic links");
const NOT_READ: Kind = Kind("unreadable file or folder", "unreadable files and folders");

/// So many deletions are looked at for files that are still there.
const MOST_LOOKED_FOR: usize = 10_000;

/// A round at work.
pub(crate) struct Round {
    setup: Arc<Setup>,
    place: Place,
    incremental: bool,
    items: Items,
    /// What is known before anything is read.
    moves: std::vec::IntoIter<Move>,
    /// Whether one of them leads to a file, by its number.
    is_moved: Vec<bool>,
    gone: Gone,
    troubles: std::vec::IntoIter<Trouble>,
    files: Arc<Vec<Found>>,
    pipeline: Pipeline<Task, (Task, Outcome)>,
    /// Files found while reading to give no document any more.
    lost: VecDeque<usize>,
    /// What the next cursor will hold, and with how many bytes of a fingerprint at most.
    listing: Listing,
    precision: usize,
    ground: Ground,
    report: Report,
}

impl Round {
    /// Walks the folder, compares it with the cursor and starts reading.
    ///
    /// # Errors
    ///
    /// `source_failed` if the folder is missing, unreadable or suddenly empty; `cancelled`.
    pub(crate) fn begin(
        setup: Arc<Setup>,
        begin: Beginning<'_, Held>,
        cancel: &CancelFlag,
    ) -> Result<Self, RpcError> {
        let scan_start = stat::now();
        let cursor = begin.cursor;
        let previous = cursor.and_then(|text| cursor::decode(&text, setup.owner));
        let (place, mut walked) = look(&setup, cancel)?;
        root::refuse_sudden_emptiness(&setup.config.root, previous.as_ref(), &walked)?;
        root::refuse_another_disk(&place, previous.as_ref(), &walked)?;
        let unmounted = previous
            .as_ref()
            .map(|previous| previous.ground().unmounted(&place.path))
            .unwrap_or_default();
        let mounts = std::mem::take(&mut walked.mounts);
        let ground = Ground::of(place.device, mounts, &walked.files, &unmounted);
        walked.troubles.extend(unmounted);
        walked.sort();
        let files = Arc::new(std::mem::take(&mut walked.files));
        let mut compared = Compared::with(previous, &files, &walked.troubles);
        let items = Items::below(&setup.prefix, setup.max_message_bytes);
        let maker = maker(&setup, begin.handles, items.limit());
        let examiner = examiner(&setup, &place, &files, &compared, maker, scan_start);
        let examiner = Arc::new(examiner);
        let moves = take_renames(&mut compared.difference, &examiner, cancel)?;
        let Difference { tasks, gone, .. } = compared.difference;
        let mut round = Self {
            place,
            incremental: compared.is_incremental,
            items,
            is_moved: targets(&moves, files.len()),
            moves: moves.into_iter(),
            gone,
            troubles: std::mem::take(&mut walked.troubles).into_iter(),
            files,
            pipeline: reading(tasks, setup.config.max_file_bytes, examiner),
            lost: VecDeque::new(),
            listing: compared.listing,
            precision: compared.precision,
            ground,
            report: Report::default(),
            setup,
        };
        round.report(walked);
        round.report_left_out();
        Ok(round)
    }

    /// Says one of the things that are known before reading, if there is one left.
    fn say_what_is_known(&mut self) -> bool {
        if let Some(found) = self.moves.next() {
            let from = match found.from {
                Origin::Gone(number) => self.gone.path(number as usize),
                Origin::File(file) => &self.files[file as usize].path,
            };
            self.items
                .say_move(from, &self.files[found.to as usize].path);
            return true;
        }
        if let Some(path) = self.gone.next_deletion() {
            self.items.say_deletion(path);
            return true;
        }
        // Of a folder that was renamed this is as much as the listing, and nobody asks for it again.
        (self.moves, self.gone) = (Vec::new().into_iter(), Gone::default());
        let trouble = self.troubles.next();
        if let Some(trouble) = &trouble {
            self.say_trouble(trouble);
        }
        trouble.is_some()
    }

    fn report(&mut self, walked: Walked) {
        let report = &mut self.report;
        for path in &walked.special {
            report.skipped(SPECIAL, path);
        }
        for path in &walked.links {
            report.skipped(LINK, path);
        }
        walked
            .notes
            .iter()
            .for_each(|note| report.note(note.clone()));
        for (path, reason) in self.listing.without_document() {
            report.refused(reason, path);
        }
        if self.setup.config.say_skipped {
            self.say_what_is_skipped(&walked);
        }
    }

    /// Tells of documents that go although their files are there: whoever added a rule may not have meant those.
    fn report_left_out(&mut self) {
        let is_there = |path: &&[u8]| {
            let metadata = absolute(&self.place.path, path).symlink_metadata();
            metadata.is_ok_and(|file| file.is_file())
        };
        let left_out = self.gone.deletions().take(MOST_LOOKED_FOR).filter(is_there);
        let left_out: Vec<&[u8]> = left_out.collect();
        if let Some(first) = left_out.first() {
            let (count, first) = (left_out.len(), shown(first));
            self.report.note(format!(
                "note: documents are deleted whose files are there, but left out by a rule now: {count}, such as {first}; \
                 `dpe check-ignore -v` names the rule"
            ));
        }
    }

    /// Says by name what is known to be passed over, for somebody who only looks.
    fn say_what_is_skipped(&mut self, walked: &Walked) {
        let special = walked.special.iter().map(|path| (path, SPECIAL));
        let links = walked.links.iter().map(|path| (path, LINK));
        for (path, Kind(what, _)) in special.chain(links) {
            self.items.say_failure(path, Failure::skipped(what));
        }
        for (path, reason) in self.listing.without_document() {
            let why = reason.to_string();
            self.items.say_failure(path, Failure::skipped(&why));
        }
    }

    /// Says by name that a file is passed over, if somebody wants to know.
    fn say_skipped(&mut self, path: &[u8], why: &str) {
        if self.setup.config.say_skipped {
            self.items.say_failure(path, Failure::skipped(why));
        }
    }

    fn say_trouble(&mut self, trouble: &Trouble) {
        if self.setup.config.only.is_none() && self.setup.config.unreadable == OnTrouble::Skip {
            let why = format!("{UNREADABLE}{}", trouble.message);
            self.say_skipped(&trouble.path, &why);
            return self.report.skipped(NOT_READ, &trouble.path);
        }
        let mut uri = self.items.uri(&trouble.path);
        if trouble.is_folder {
            uri.push('/');
        }
        self.items.say(&Item::Error(ErrorItem {
            file_uri: (!trouble.path.is_empty()).then_some(uri),
            code: ItemErrorCode::SourceUnavailable,
            message: trouble.message.clone(),
            retryable: trouble.retryable,
        }));
    }

    fn say(&mut self, task: Task, outcome: Outcome) {
        match outcome {
            Outcome::Unchanged(seen) => self.listing.note(task.file, &seen),
            Outcome::Document(seen, made) => {
                self.listing.note(task.file, &seen);
                self.report.notes(&self.files[task.file].path, made.notes);
                self.items.say_texts(made.texts);
            }
            Outcome::Unsupported(seen) => self.say_unsupported(task, &seen),
            Outcome::Gone => self.lose(&task),
            Outcome::Refused(message) => {
                self.say_trouble(&Trouble {
                    path: self.files[task.file].path.clone(),
                    is_folder: false,
                    message,
                    retryable: true,
                });
                self.doubt(task);
            }
            Outcome::Invalid(seen, error) => self.say_refused(task, &seen, &error),
            Outcome::Failed(failure) => self.say_failure(task, failure),
        }
    }

    /// A file whose format is not understood any more has no document any more.
    fn say_unsupported(&mut self, task: Task, seen: &Seen) {
        let config = &self.setup.config;
        if config.only.is_some() || config.unsupported == OnTrouble::Error {
            return self.say_failure(task, Failure::refused(&unsupported()));
        }
        self.lose(&task);
        let path = self.files[task.file].path.clone();
        self.say_skipped(&path, &Reason::UnsupportedFormat.to_string());
        self.report.unsupported(&path);
        self.listing.note(task.file, seen);
    }

    /// A file of which no document can be made is an error, or passed over.
    fn say_refused(&mut self, task: Task, seen: &Seen, error: &ExtractError) {
        let config = &self.setup.config;
        if config.only.is_some() || config.on_refused.of(error.reason) == OnTrouble::Error {
            return self.say_failure(task, Failure::refused(error));
        }
        self.lose(&task);
        let path = self.files[task.file].path.clone();
        self.say_skipped(&path, &error.reason.to_string());
        self.report.refused(error.reason, &path);
        // How long a file takes is no property of it: it is tried again.
        if error.reason != Reason::Timeout {
            self.listing.note(task.file, seen);
        }
    }

    fn say_failure(&mut self, task: Task, failure: Failure) {
        let path = &self.files[task.file].path;
        self.items.say_failure(path, failure);
        self.doubt(task);
    }

    /// Has the document of a file deleted, if there was one.
    fn lose(&mut self, task: &Task) {
        let before = task.previous.as_ref();
        let had_document = before.is_some_and(|seen| seen.content.is_some());
        if had_document || self.is_moved[task.file] {
            self.lost.push_back(task.file);
        }
    }

    /// Keeps what was known of a file that could not be looked at, and looks again next time.
    fn doubt(&mut self, task: Task) {
        if let Some(seen) = task.previous {
            let path = self.files[task.file].path.clone();
            let entry = Entry { path, seen: *seen };
            self.listing.keep(entry.doubted());
        }
    }
}

impl dpe_connector_files::Round for Round {
    type Held = Held;

    fn items(&mut self) -> &mut Items {
        &mut self.items
    }

    fn say_more(&mut self, cancel: &CancelFlag) -> Result<bool, RpcError> {
        if self.say_what_is_known() {
            return Ok(true);
        }
        if let Some((task, outcome)) = self.pipeline.next(cancel)? {
            self.say(task, outcome);
            return Ok(true);
        }
        // What was not found while reading is gone only if the folder is not.
        self.place.is_still_there()?;
        let lost = self.lost.pop_front();
        if let Some(file) = lost {
            self.items.say_deletion(&self.files[file].path);
        }
        Ok(lost.is_some())
    }

    fn end(&mut self) -> RoundEnd {
        let owner = self.setup.owner;
        let limit = self.items.limit();
        let written = written(
            &mut self.listing,
            owner,
            &self.ground,
            self.precision,
            limit,
        );
        if let Some(note) = written.note {
            self.report.note(note.to_owned());
        }
        RoundEnd {
            cursor: written.cursor,
            incremental: self.incremental,
        }
    }

    fn into_lines(self) -> Vec<String> {
        self.report.lines()
    }
}

/// Makes sure of the root and finds out what is in it.
fn look(setup: &Setup, cancel: &CancelFlag) -> Result<(Place, Walked), RpcError> {
    let place = root::checked(&setup.config.root)?;
    let walked = match &setup.config.only {
        Some(paths) => named::look_at(&place.path, paths),
        None => walk(&place.path, &setup.config, &setup.globs, cancel)?,
    };
    place.is_still_there()?;
    Ok((place, walked))
}

/// Returns what looks at the files of a round.
fn examiner(
    setup: &Arc<Setup>,
    place: &Place,
    files: &Arc<Vec<Found>>,
    compared: &Compared,
    maker: Maker<Held>,
    scan_start: i64,
) -> Examiner {
    Examiner {
        door: Arc::new(Door::to(&place.path, links(setup))),
        files: Arc::clone(files),
        precision: compared.precision,
        setup: Arc::clone(setup),
        maker,
        scan_start,
        has_pictures: compared.difference.has_pictures,
        around: Around::of(&setup.config, &place.path),
    }
}

/// Returns what makes the documents of a round.
fn maker(setup: &Setup, handles: Arc<Handles<Held>>, item_limit: usize) -> Maker<Held> {
    Maker {
        extractor: Arc::clone(&setup.extractor),
        limits: Limits {
            file: setup.config.max_file_bytes,
            blob: setup.blob_max_bytes,
        },
        item_limit,
        handles,
    }
}

/// Returns, for each of so many files, whether a move leads to it.
fn targets(moves: &[Move], files: usize) -> Vec<bool> {
    let mut is_target = vec![false; files];
    for found in moves {
        is_target[found.to as usize] = true;
    }
    is_target
}

/// Returns which links may lead to a file.
fn links(setup: &Setup) -> Links {
    match (&setup.config.only, setup.config.follow_links) {
        (Some(_), _) => Links::Anywhere,
        (None, true) => Links::Within,
        (None, false) => Links::Refused,
    }
}

/// Starts the workers on what has to be read.
fn reading(
    tasks: Vec<Task>,
    longest: u64,
    examiner: Arc<Examiner>,
) -> Pipeline<Task, (Task, Outcome)> {
    let measuring = Arc::clone(&examiner);
    let size = move |task: &Task| measuring.size(task.file).min(longest);
    Pipeline::start(tasks, threads(), BUDGET, size, move |task| {
        let outcome = examiner.examine(&task);
        let weight = outcome.weight();
        ((task, outcome), weight)
    })
}
