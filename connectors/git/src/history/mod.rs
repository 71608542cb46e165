//! A round over histories: one document for each repository, months as pages, commits as elements.
//!
//! A repository whose reference stands where it stood is not looked into. Of the others everything is
//! read again, for a document is said as a whole; the runner finds what is new in it. What is read is
//! sent in parts, so that a long history is never in memory.

mod commits;
mod find;
mod message;
mod pages;

use std::collections::VecDeque;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use dpe_connector::batch::item_limit;
use dpe_connector::content::DocumentHead;
use dpe_connector::item::{ErrorItem, Segment};
use dpe_connector::{CancelFlag, Item, ItemErrorCode, RpcError};
use dpe_connector_files::moves::{Holding, plan};
use dpe_connector_files::{Items, Kind, Report, RoundEnd};

use crate::cache::Fetched;
use crate::connector::Setup;
use crate::cursor::{self, Heads};
use crate::place::{NotBegun, source_failed};
use commits::{Broken, Commits, Placed};
use find::{Repositories, Subject, Trouble};
use pages::{METADATA_BYTES, Pages};

/// The type of the documents.
const FILE_TYPE: &str = "git_history";

/// A segment ends when its pages have so many bytes.
const SEGMENT_BYTES: usize = 4 << 20;

/// Stands in a cursor where a history could not be told: no repository is in this state.
const FAILED: &str = "";

const UNBORN: Kind = Kind("repository without commits", "repositories without commits");

/// A round at work.
pub(crate) struct Round {
    setup: Arc<Setup>,
    incremental: bool,
    items: Items,
    /// Still to be read.
    waiting: VecDeque<Subject>,
    /// Being read.
    open: Option<Open>,
    heads: Heads,
    report: Report,
    is_damaged: bool,
}

/// A document that has been said in part.
struct Open {
    uri: String,
    pages: Pages<std::vec::IntoIter<Placed>>,
    is_first: bool,
}

impl Round {
    /// Looks for repositories, and for which of them there is something new.
    ///
    /// # Errors
    ///
    /// When there is no repository, or the only one cannot be read; `cancelled`.
    pub(crate) fn begin(
        setup: &Arc<Setup>,
        fetched: Option<&Fetched>,
        cursor: Option<&str>,
        cancel: &CancelFlag,
    ) -> Result<Self, NotBegun> {
        let known = cursor.and_then(|text| cursor::history(text, setup.owner));
        let found = find::find(setup, fetched, cancel)?;
        let mut round = Self {
            incremental: known.is_some(),
            items: Items::below(&setup.prefix, setup.max_message_bytes),
            waiting: VecDeque::new(),
            open: None,
            heads: Heads::new(),
            report: Report::default(),
            is_damaged: false,
            setup: Arc::clone(setup),
        };
        let known = known.unwrap_or_default();
        refuse_sudden_emptiness(setup, &known, &found)?;
        round.plan(&known, found);
        Ok(round)
    }

    /// Returns where it says its items.
    pub(crate) fn items(&mut self) -> &mut Items {
        &mut self.items
    }

    /// Returns how it ends.
    pub(crate) fn end(&mut self) -> RoundEnd {
        RoundEnd {
            cursor: Some(cursor::of_history(self.setup.owner, &self.heads)),
            incremental: self.incremental,
        }
    }

    /// Returns what people should hear, after the last batch.
    pub(crate) fn into_lines(self) -> Vec<String> {
        self.report.lines()
    }

    /// Returns whether commits were missing or damaged.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    /// Says what is known without reading a commit, and notes what has to be read.
    fn plan(&mut self, known: &Heads, found: Repositories) {
        self.keep_unknown(known, &found.troubles);
        for trouble in &found.troubles {
            self.say_trouble(trouble);
        }
        let mut came = Heads::new();
        for subject in &found.subjects {
            match &subject.state {
                Some(state) => {
                    came.insert(subject.key.clone(), state.clone());
                }
                None => {
                    self.report.skipped(UNBORN, subject.key.as_bytes());
                    self.keep(known, &subject.key);
                }
            }
        }
        self.say_changes(known, &came);
        for subject in found.subjects {
            let is_known = known.get(&subject.key) == subject.state.as_ref();
            // What moved as well: a round whose cursor was not kept may have moved it already, to
            // a place where it is no more (connector contract §21.3).
            if subject.state.is_some() && !is_known {
                self.waiting.push_back(subject);
            }
        }
        self.heads.append(&mut came);
    }

    /// Says what was renamed and what has gone.
    fn say_changes(&mut self, known: &Heads, came: &Heads) {
        let lost = |key: &str| !came.contains_key(key) && !self.heads.contains_key(key);
        let went: Vec<String> = known.keys().filter(|key| lost(key)).cloned().collect();
        let moves = moves(known, came, &went);
        for (from, to) in &moves {
            let (from_uri, to_uri) = (self.uri(from), self.uri(to));
            self.items.say(&Item::Move { from_uri, to_uri });
        }
        for key in went
            .iter()
            .filter(|key| moves.iter().all(|(from, _)| from != *key))
        {
            let file_uri = self.uri(key);
            self.items.say(&Item::Delete { file_uri });
        }
    }

    /// What cannot be looked at has not gone.
    fn keep_unknown(&mut self, known: &Heads, troubles: &[Trouble]) {
        for key in known.keys() {
            if troubles.iter().any(|trouble| trouble.concerns(key)) {
                self.keep(known, key);
            }
        }
    }

    /// Leaves a document as it was in the round of the cursor, if it was there.
    fn keep(&mut self, known: &Heads, key: &str) {
        if let Some(state) = known.get(key)
            && let Entry::Vacant(vacant) = self.heads.entry(key.to_owned())
        {
            vacant.insert(state.clone());
        }
    }

    fn say_trouble(&mut self, trouble: &Trouble) {
        self.items.say(&Item::Error(ErrorItem {
            file_uri: Some(self.uri(&trouble.key)),
            code: ItemErrorCode::SourceUnavailable,
            message: trouble.why.clone(),
            retryable: trouble.retryable,
        }));
    }

    /// Says the next part of a document, and returns whether there was one.
    pub(crate) fn say_more(&mut self, cancel: &CancelFlag) -> Result<bool, RpcError> {
        cancel.check()?;
        let mut open = match self.open.take() {
            Some(open) => open,
            None => match self.waiting.pop_front() {
                Some(subject) => match self.read(subject, cancel)? {
                    Some(open) => open,
                    None => return Ok(true),
                },
                None => return Ok(false),
            },
        };
        let mut pages = Vec::new();
        let mut bytes = 0;
        // All commits were there a moment ago.
        let failed = |why: String| source_failed(&self.setup.place, &why).retryable();
        while bytes < SEGMENT_BYTES {
            let Some((page, length)) = open.pages.next().transpose().map_err(failed)? else {
                break;
            };
            bytes += length + METADATA_BYTES * page.elements.len();
            pages.push(page);
        }
        let continued = !open.pages.is_at_end();
        let head = DocumentHead {
            file_type: FILE_TYPE.to_owned(),
            ..DocumentHead::default()
        };
        self.items.say(&Item::Document(Segment {
            file_uri: open.uri.clone(),
            document: open.is_first.then_some(head),
            pages,
            continued,
        }));
        open.is_first = false;
        self.open = continued.then_some(open);
        Ok(true)
    }

    /// Begins to read a history; one that cannot be read is reported.
    fn read(&mut self, subject: Subject, cancel: &CancelFlag) -> Result<Option<Open>, RpcError> {
        let uri = self.uri(&subject.key);
        let Some(commit) = subject.commit else {
            return Ok(None);
        };
        let walked = subject
            .repository
            .with(|repository| commits::walk(repository, commit, cancel));
        let checked = walked.and_then(|commits| {
            self.refuse_unspeakable(&subject, &commits, cancel)?;
            Ok(commits)
        });
        let (code, why) = match checked {
            Ok(commits) => {
                if commits.is_cut {
                    self.note_cut(&subject);
                }
                return Ok(Some(Open {
                    uri,
                    pages: Pages::of(Arc::clone(&subject.repository), commits.placed.into_iter()),
                    is_first: true,
                }));
            }
            Err(Broken::Cancelled(error)) => return Err(error),
            Err(Broken::Damaged(why)) => {
                self.is_damaged = true;
                (ItemErrorCode::SourceUnavailable, why)
            }
            Err(Broken::Unspeakable(why)) => (ItemErrorCode::ContentInvalid, why),
        };
        // Tried again in every round, and its document is gone when it is.
        self.heads.insert(subject.key, FAILED.to_owned());
        let retryable = code == ItemErrorCode::SourceUnavailable;
        self.items.say(&Item::error(uri, code, why, retryable));
        Ok(None)
    }

    fn note_cut(&mut self, subject: &Subject) {
        let path = subject.key.as_bytes();
        let note = "the repository is shallow, earlier commits are missing; `git fetch --unshallow` brings them";
        self.report.notes(path, vec![note.to_owned()]);
    }

    /// Finds out whether some page is too long for a message, before anything is said: a document
    /// that has been begun can only be ended.
    fn refuse_unspeakable(
        &self,
        subject: &Subject,
        commits: &Commits,
        cancel: &CancelFlag,
    ) -> Result<(), Broken> {
        let limit = item_limit(self.setup.max_message_bytes);
        let around = 2 * self.uri(&subject.key).len() + METADATA_BYTES;
        if pages::longest_page(commits) + around <= limit {
            return Ok(());
        }
        let placed = commits.placed.iter().copied();
        for page in Pages::of(Arc::clone(&subject.repository), placed) {
            cancel.check().map_err(Broken::Cancelled)?;
            let (page, _) = page.map_err(Broken::Damaged)?;
            let text = serde_json::to_vec(&page).expect("a page is JSON");
            if text.len() + around > limit {
                let title = page.title.unwrap_or_default();
                return Err(Broken::Unspeakable(format!(
                    "the commits of {title} have {} bytes, a message can carry {limit}",
                    text.len()
                )));
            }
        }
        Ok(())
    }

    fn uri(&self, key: &str) -> String {
        find::uri(&self.setup.prefix, key)
    }
}

/// Refuses a folder in which there were histories and are none any more: most likely something
/// else stands in their place.
fn refuse_sudden_emptiness(
    setup: &Setup,
    known: &Heads,
    found: &Repositories,
) -> Result<(), RpcError> {
    let is_there = |subject: &Subject| subject.state.is_some() || known.contains_key(&subject.key);
    let had_none = known.values().all(|state| state == FAILED);
    if had_none || !found.troubles.is_empty() || found.subjects.iter().any(is_there) {
        return Ok(());
    }
    let why = "no repository here has a commit, and there were some before";
    Err(source_failed(&setup.place, why))
}

/// Returns which repositories were renamed: one is gone and another one stands at the same commit.
fn moves(known: &Heads, came: &Heads, went: &[String]) -> Vec<(String, String)> {
    fn holdings<'h>(
        heads: &'h Heads,
        others: &'h Heads,
        is_free: impl Fn(&str) -> bool,
    ) -> Vec<Holding<'h, String>> {
        let differing = heads
            .iter()
            .filter(|(key, state)| others.get(*key) != Some(state));
        (0..)
            .zip(differing)
            .map(|(mark, (key, state))| Holding {
                path: key.as_bytes(),
                content: state,
                is_telling: true,
                mark,
                is_free: is_free(key),
            })
            .collect()
    }
    let mut known = known.clone();
    // What is neither here nor gone is unknown, and stays.
    known.retain(|key, _| came.contains_key(key) || went.contains(key));
    let sources = holdings(&known, came, |key| !came.contains_key(key));
    let targets = holdings(came, &known, |key| !known.contains_key(key));
    let name = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    plan(&sources[..], &targets[..])
        .into_iter()
        .map(|(source, target)| (name(sources[source].path), name(targets[target].path)))
        .collect()
}
