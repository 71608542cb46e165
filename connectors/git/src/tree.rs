//! What differs between two trees, one of which may be empty.
//!
//! Subtrees that are the same under the same rules are not entered, so that a change costs what was
//! changed and not what there is. Contents are not looked at.

use std::cmp::Ordering;
use std::iter::Peekable;
use std::vec::IntoIter;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::Kind;
use gix::ObjectId;
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use crate::repository::described;
use crate::rules::{self, Rules};
use crate::selection::Selection;

/// Trees nested deeper than this are made to break something: no file system takes their paths.
/// Git's own limit (`core.maxTreeDepth`) is the same.
const DEEPEST: usize = 2048;

/// Trees that were read last are kept, in bytes: folders that are alike are one tree.
const KEPT_TREES: usize = 4 << 20;

/// More changes than this are not there, but a few trees that name each other again and again.
const MOST_CHANGES: usize = 10_000_000;

/// Longest file of rules that is read, in bytes.
const LONGEST_RULES: u64 = 16 << 20;

const SUBMODULE: Kind = Kind("submodule", "submodules");
const LINK: Kind = Kind("symbolic link", "symbolic links");
const INVALID: Kind = Kind("entry with an invalid name", "entries with invalid names");

/// A path with another blob than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// Relative to the folder that is enumerated.
    pub(crate) path: Box<[u8]>,
    /// The blob it was, if it was one.
    pub(crate) before: Option<ObjectId>,
    /// The blob it is, if it is one.
    pub(crate) now: Option<ObjectId>,
}

/// The outcome of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Difference {
    /// Sorted by path.
    pub(crate) changes: Vec<Change>,
    /// What was met that can be no document.
    pub(crate) skipped: Vec<(Kind, Box<[u8]>)>,
}

/// Why trees cannot be compared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoDifference {
    /// The request was given up.
    Cancelled(RpcError),
    /// The tree of before is not there any more, or not whole.
    Before,
    /// The tree of now cannot be read.
    Now(String),
    /// It can, and is not one that is enumerated.
    Refused(String),
}

/// Compares the folder of the selection in two trees.
pub(crate) fn compare(
    repository: &gix::Repository,
    selection: &Selection,
    before: Option<ObjectId>,
    now: ObjectId,
    cancel: &CancelFlag,
) -> Result<Difference, NoDifference> {
    let mut repository = repository.clone();
    repository.object_cache_size(KEPT_TREES);
    let mut comparison = Comparison {
        repository: &repository,
        selection,
        cancel,
        path: Vec::new(),
        difference: Difference::default(),
    };
    let before = match before {
        Some(tree) => comparison.side(tree).map_err(|_| NoDifference::Before)?,
        None => None,
    };
    let now = comparison.side(now).map_err(NoDifference::Now)?;
    let Some(now) = now else {
        let folder = String::from_utf8_lossy(selection.folder());
        return Err(NoDifference::Refused(format!(
            "the tree has no folder {folder}; correct `subdir` in the configuration"
        )));
    };
    comparison.path = selection.folder().to_owned();
    comparison.run(&before.unwrap_or_default(), &now)?;
    let mut difference = comparison.difference;
    difference
        .changes
        .sort_unstable_by(|a, b| a.path.cmp(&b.path));
    difference.skipped.sort_unstable();
    Ok(difference)
}

/// Returns the blob at `path`, relative to the folder of the selection, if an enumeration of the tree would come to it.
pub(crate) fn find(
    repository: &gix::Repository,
    selection: &Selection,
    tree: ObjectId,
    path: &[u8],
) -> Option<ObjectId> {
    let cancel = CancelFlag::default();
    let mut search = Comparison {
        repository,
        selection,
        cancel: &cancel,
        path: Vec::new(),
        difference: Difference::default(),
    };
    let mut side = search.side(tree).ok()??;
    search.path = selection.folder().to_owned();
    let mut parts = path.split(|&byte| byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let entries = search.entries(side.tree).ok()?;
        let rules = search.rules(&side.rules, &entries).ok()?;
        let entry = entries.iter().find(|entry| entry.name == part);
        search.enter(part);
        match (search.seen(entry, &rules), parts.peek()) {
            (Seen::File(blob), None) => return Some(blob),
            (Seen::Folder(id), Some(_)) => {
                let tree = Some(id);
                side = Side { tree, rules };
            }
            _ => return None,
        }
    }
    None
}

/// A folder in one of the trees, and the rules for it; without a tree there is none.
#[derive(Clone, Debug, Default)]
struct Side {
    tree: Option<ObjectId>,
    rules: Rules,
}

/// One thing in a folder.
#[derive(Clone, Debug)]
struct Entry {
    name: Vec<u8>,
    kind: EntryKind,
    id: ObjectId,
}

/// What a path is to the enumeration.
#[derive(Clone, Copy)]
enum Seen {
    Nothing,
    Folder(ObjectId),
    File(ObjectId),
    Skipped(Kind),
}

impl Seen {
    /// Returns the folder that it is, with the rules of the one it lies in.
    fn side(self, rules: &Rules) -> Side {
        match self {
            Self::Folder(id) => Side {
                tree: Some(id),
                rules: rules.clone(),
            },
            _ => Side::default(),
        }
    }
}

/// A folder that is being compared.
struct Folder {
    /// So many bytes of the path at hand lead here.
    path_length: usize,
    rules_before: Rules,
    rules_now: Rules,
    /// What has not been looked at yet.
    entries: SideBySide,
}

struct Comparison<'a> {
    repository: &'a gix::Repository,
    selection: &'a Selection,
    cancel: &'a CancelFlag,
    /// Of the folder at hand, from the top of the tree.
    path: Vec<u8>,
    difference: Difference,
}

impl Comparison<'_> {
    /// Goes down from the root of a tree to the folder of the selection; nothing if it is not there.
    fn side(&mut self, tree: ObjectId) -> Result<Option<Side>, String> {
        let mut side = Side {
            tree: Some(tree),
            rules: Rules::default(),
        };
        let folder = self.selection.folder();
        self.path.clear();
        for part in folder
            .split(|&byte| byte == b'/')
            .filter(|part| !part.is_empty())
        {
            let entries = self.entries(side.tree)?;
            let rules = self.rules(&side.rules, &entries)?;
            let found = entries
                .into_iter()
                .find(|entry| entry.name == part && entry.kind == EntryKind::Tree);
            let Some(found) = found else { return Ok(None) };
            self.enter(part);
            side = Side {
                tree: Some(found.id),
                rules,
            };
        }
        Ok(Some(side))
    }

    fn enter(&mut self, name: &[u8]) {
        if !self.path.is_empty() {
            self.path.push(b'/');
        }
        self.path.extend_from_slice(name);
    }

    fn run(&mut self, before: &Side, now: &Side) -> Result<(), NoDifference> {
        // Not by recursion, since the depth is somebody else's choice.
        let mut open = Vec::from_iter(self.opened(before, now)?);
        while let Some(folder) = open.last_mut() {
            self.path.truncate(folder.path_length);
            let Some((was, is)) = folder.entries.next() else {
                open.pop();
                continue;
            };
            let name = was.as_ref().or(is.as_ref()).map_or(&[][..], |it| &it.name);
            self.enter(name);
            let was = self.seen(was.as_ref(), &folder.rules_before);
            let is = self.seen(is.as_ref(), &folder.rules_now);
            self.note(was, is)?;
            let (before, now) = (was.side(&folder.rules_before), is.side(&folder.rules_now));
            open.extend(self.opened(&before, &now)?);
            if open.len() > DEEPEST {
                let path = String::from_utf8_lossy(&self.path[..100.min(self.path.len())]);
                let why = format!("folders are nested too deep: {path}…");
                return Err(NoDifference::Refused(why));
            }
        }
        Ok(())
    }

    /// Opens the folder at hand; nothing if it is the same on both sides, or on neither.
    fn opened(&self, before: &Side, now: &Side) -> Result<Option<Folder>, NoDifference> {
        self.cancel.check().map_err(NoDifference::Cancelled)?;
        if before.tree == now.tree && (before.tree.is_none() || before.rules.are(&now.rules)) {
            return Ok(None);
        }
        let was = self
            .entries(before.tree)
            .map_err(|_| NoDifference::Before)?;
        let rules_before = self.rules(&before.rules, &was);
        let rules_before = rules_before.map_err(|_| NoDifference::Before)?;
        let is = self.entries(now.tree).map_err(NoDifference::Now)?;
        let rules_now = self.rules(&now.rules, &is).map_err(NoDifference::Now)?;
        Ok(Some(Folder {
            path_length: self.path.len(),
            rules_before,
            rules_now,
            entries: SideBySide {
                before: was.into_iter().peekable(),
                now: is.into_iter().peekable(),
            },
        }))
    }

    /// Notes what became of the path at hand.
    fn note(&mut self, was: Seen, is: Seen) -> Result<(), NoDifference> {
        let blob = |seen| match seen {
            Seen::File(id) => Some(id),
            _ => None,
        };
        let (before, now) = (blob(was), blob(is));
        if let Seen::Skipped(kind) = is {
            self.difference.skipped.push((kind, self.relative().into()));
        }
        if before != now {
            let path = self.relative().into();
            self.difference.changes.push(Change { path, before, now });
        }
        if self.difference.changes.len() + self.difference.skipped.len() > MOST_CHANGES {
            let why = format!("more than {MOST_CHANGES} files differ");
            return Err(NoDifference::Refused(why));
        }
        Ok(())
    }

    /// Returns the path at hand, relative to the folder that is enumerated.
    fn relative(&self) -> &[u8] {
        let folder = self.selection.folder().len();
        &self.path[folder + usize::from(folder > 0)..]
    }

    fn seen(&self, entry: Option<&Entry>, rules: &Rules) -> Seen {
        let Some(entry) = entry else {
            return Seen::Nothing;
        };
        let is_folder = entry.kind == EntryKind::Tree;
        let is_ruled_out = rules.verdict(&self.path, is_folder) == Some(true);
        if is_ruled_out || !self.selection.admits(self.relative(), is_folder) {
            return Seen::Nothing;
        }
        if !is_valid(&entry.name) {
            return Seen::Skipped(INVALID);
        }
        match entry.kind {
            EntryKind::Tree => Seen::Folder(entry.id),
            EntryKind::Blob | EntryKind::BlobExecutable => Seen::File(entry.id),
            EntryKind::Link => Seen::Skipped(LINK),
            EntryKind::Commit => Seen::Skipped(SUBMODULE),
        }
    }

    /// Returns what is in a folder, sorted by name.
    fn entries(&self, tree: Option<ObjectId>) -> Result<Vec<Entry>, String> {
        let Some(id) = tree else {
            return Ok(Vec::new());
        };
        let tree = self
            .repository
            .find_tree(id)
            .map_err(|why| described(&why))?;
        let iter = TreeRefIter::from_bytes(&tree.data, self.repository.object_hash());
        let mut entries = Vec::new();
        for entry in iter {
            let entry = entry.map_err(|why| format!("tree {id}: {}", described(&why)))?;
            entries.push(Entry {
                name: entry.filename.to_vec(),
                kind: entry.mode.kind(),
                id: entry.oid.to_owned(),
            });
        }
        // Git sorts folders as if their names ended in a slash.
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        // Git writes no name twice. Whoever does has one document, the same in every round.
        entries.dedup_by(|second, first| second.name == first.name);
        Ok(entries)
    }

    /// Returns the rules for what is in the folder at hand.
    fn rules(&self, above: &Rules, entries: &[Entry]) -> Result<Rules, String> {
        let at = entries.binary_search_by(|entry| (*entry.name).cmp(rules::FILE));
        let entry = at.ok().map(|at| &entries[at]);
        let is_file =
            |entry: &&Entry| matches!(entry.kind, EntryKind::Blob | EntryKind::BlobExecutable);
        let Some(entry) = entry.filter(is_file) else {
            return Ok(above.clone());
        };
        let header = self.repository.find_header(entry.id);
        let size = header.map_err(|why| described(&why))?.size();
        if size > LONGEST_RULES {
            return Err(format!("a .dpeignore has {size} bytes, more than is read"));
        }
        let blob = self.repository.find_object(entry.id);
        let blob = blob.map_err(|why| described(&why))?;
        Ok(above.inside(&self.path, entry.id, &blob.data))
    }
}

/// Returns whether a path with this component leads where it seems to lead.
fn is_valid(name: &[u8]) -> bool {
    !name.is_empty()
        && !name.contains(&b'/')
        && name != b"."
        && name != b".."
        && !name.eq_ignore_ascii_case(b".git")
}

/// Pairs the entries of two sorted folders by name.
struct SideBySide {
    before: Peekable<IntoIter<Entry>>,
    now: Peekable<IntoIter<Entry>>,
}

impl Iterator for SideBySide {
    type Item = (Option<Entry>, Option<Entry>);

    fn next(&mut self) -> Option<Self::Item> {
        let order = match (self.before.peek(), self.now.peek()) {
            (None, None) => return None,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(was), Some(is)) => was.name.cmp(&is.name),
        };
        Some((
            order.is_le().then(|| self.before.next()).flatten(),
            order.is_ge().then(|| self.now.next()).flatten(),
        ))
    }
}
