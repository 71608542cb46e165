//! The parallel walk: which files there are, by the rules a git user expects.
//!
//! `.gitignore`, `.ignore` and `.dpeignore` count, also outside a repository; those of the folders
//! above the root only where the root lies inside a git repository, so that a stray file
//! somewhere up the tree cannot empty a folder. `.git` is never entered. No file is opened here
//! except ignore files.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};

use dpe_connector::{CancelFlag, RpcError};
use ignore::{DirEntry, Error, WalkBuilder, WalkState};
use rustix::fs::Access;

use crate::config::{Config, Globs};
use crate::listing::is_within;
use crate::read::is_gone;
use crate::stat::Stat;

const DPEIGNORE: &str = ".dpeignore";

/// The ignore files of a folder.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", DPEIGNORE];

/// A file that is to be a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Relative to the root.
    pub(crate) path: Box<[u8]>,
    /// Its state as the walk saw it.
    pub(crate) stat: Stat,
}

/// Something that should have been enumerated and could not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trouble {
    /// Relative to the root; empty if it is not known where.
    pub(crate) path: Box<[u8]>,
    /// Whether a whole folder is concerned.
    pub(crate) is_folder: bool,
    /// What happened.
    pub(crate) message: String,
    /// Whether waiting may help.
    pub(crate) retryable: bool,
}

/// What a walk found.
#[derive(Debug, Default)]
pub(crate) struct Walked {
    /// Sorted by path.
    pub(crate) files: Vec<Found>,
    /// Everything below these paths is unknown, not gone. Sorted by path.
    pub(crate) troubles: Vec<Trouble>,
    /// Sockets, pipes and devices.
    pub(crate) special: Vec<Box<[u8]>>,
    /// Symbolic links that were not followed.
    pub(crate) links: Vec<Box<[u8]>>,
    /// Anything else worth a line.
    pub(crate) notes: Vec<String>,
}

enum Sighting {
    File(Found),
    Trouble(Trouble),
    /// A folder some of whose ignore rules cannot be read.
    Blind(Trouble),
    Special(Box<[u8]>),
    Link(Box<[u8]>),
    Note(String),
}

/// Walks the folder `root`, a canonical path.
///
/// # Errors
///
/// `cancelled`.
pub(crate) fn walk(
    root: &Path,
    config: &Config,
    globs: &Globs,
    cancel: &CancelFlag,
) -> Result<Walked, RpcError> {
    let (sender, sightings) = mpsc::channel();
    let collecting = std::thread::spawn(move || {
        let mut walked = Walked::default();
        let mut blind: Vec<Trouble> = Vec::new();
        for sighting in sightings {
            match sighting {
                Sighting::Blind(trouble) => blind.push(trouble),
                other => walked.add(other),
            }
        }
        walked.leave_out(blind);
        walked.sort();
        walked
    });
    builder(root, config, globs, &sender)
        .build_parallel()
        .run(|| {
            let sender = sender.clone();
            Box::new(move |result| {
                if cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                look(root, result, &sender);
                WalkState::Continue
            })
        });
    drop(sender);
    let walked = collecting.join().expect("collecting does not panic");
    cancel.check()?;
    Ok(walked)
}

impl Walked {
    fn add(&mut self, sighting: Sighting) {
        match sighting {
            Sighting::File(found) => self.files.push(found),
            Sighting::Trouble(trouble) | Sighting::Blind(trouble) => self.troubles.push(trouble),
            Sighting::Special(path) => self.special.push(path),
            Sighting::Link(path) => self.links.push(path),
            Sighting::Note(note) => self.notes.push(note),
        }
    }

    /// Takes away what lies below folders whose ignore rules cannot be read: what was to be kept
    /// private must not be delivered because of a missing permission.
    fn leave_out(&mut self, blind: Vec<Trouble>) {
        let hidden = |path: &[u8]| blind.iter().any(|trouble| is_within(path, &trouble.path));
        self.files.retain(|found| !hidden(&found.path));
        self.troubles.extend(blind);
    }

    /// Brings the sightings of several threads into the one order every walk has.
    pub(crate) fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.troubles
            .sort_unstable_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
        // A folder nobody may enter is refused in more than one way.
        self.troubles.dedup_by(|a, b| a.path == b.path);
        self.special.sort_unstable();
        self.links.sort_unstable();
        self.notes.sort_unstable();
    }
}

fn builder(root: &Path, config: &Config, globs: &Globs, sender: &Sender<Sighting>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .current_dir(root)
        .hidden(!config.hidden)
        .follow_links(config.follow_links)
        .require_git(false)
        .parents(is_inside_repository(root))
        .add_custom_ignore_filename(DPEIGNORE);
    let (root, globs, sender) = (root.to_owned(), globs.clone(), sender.clone());
    builder.filter_entry(move |entry| {
        entry.depth() == 0
            || (entry.file_name() != ".git"
                && globs.admit(relative(&root, entry.path()), is_folder(entry))
                && stays_inside(&root, entry, &sender))
    });
    builder
}

/// Returns whether a folder above `root`, but not `root` itself, is the top of a repository.
fn is_inside_repository(root: &Path) -> bool {
    !root.join(".git").exists()
        && root
            .ancestors()
            .skip(1)
            .any(|above| above.join(".git").exists())
}

fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// Returns whether a followed link ends below the root; everything else does anyway.
fn stays_inside(root: &Path, entry: &DirEntry, sender: &Sender<Sighting>) -> bool {
    let is_followed = entry.path_is_symlink() && !entry.file_type().is_some_and(|k| k.is_symlink());
    if !is_followed || fs::canonicalize(entry.path()).is_ok_and(|end| end.starts_with(root)) {
        return true;
    }
    // The receiver outlives the walk.
    let _ = sender.send(Sighting::Link(bytes(root, entry.path())));
    false
}

fn look(root: &Path, result: Result<DirEntry, Error>, sender: &Sender<Sighting>) {
    let send = |sighting| {
        // The receiver outlives the walk.
        let _ = sender.send(sighting);
    };
    match result {
        Ok(entry) => {
            if let Some(error) = entry.error() {
                send(Sighting::Note(format!("ignore rules: {error}")));
            }
            if is_folder(&entry)
                && let Some(trouble) = unreadable_rules(root, entry.path())
            {
                send(Sighting::Blind(trouble));
            }
            if let Some(sighting) = sighting(root, &entry) {
                send(sighting);
            }
        }
        Err(error) => judge(root, None, &error, &send),
    }
}

/// Looks for an ignore file in `folder` that exists and cannot be read. The walk itself passes
/// over such files in silence.
fn unreadable_rules(root: &Path, folder: &Path) -> Option<Trouble> {
    let refused = |name: &&str| {
        let readable = rustix::fs::access(folder.join(name), Access::READ_OK);
        readable.is_err_and(|errno| !is_gone(&errno.into()))
    };
    let name = IGNORE_FILES.into_iter().find(refused)?;
    Some(Trouble {
        path: bytes(root, folder),
        is_folder: true,
        message: format!(
            "the rules in {name} of this folder cannot be read, so that it is left alone"
        ),
        retryable: true,
    })
}

fn sighting(root: &Path, entry: &DirEntry) -> Option<Sighting> {
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return None;
    }
    let path = bytes(root, entry.path());
    if kind.is_symlink() {
        return Some(Sighting::Link(path));
    }
    if !kind.is_file() {
        return Some(Sighting::Special(path));
    }
    match entry.metadata() {
        Ok(metadata) => Some(Sighting::File(Found {
            path,
            stat: Stat::of(&metadata),
        })),
        Err(error) if error.io_error().is_some_and(is_gone) => None,
        Err(error) => Some(Sighting::Trouble(Trouble {
            path,
            is_folder: false,
            message: error.to_string(),
            retryable: true,
        })),
    }
}

/// Sorts an error of the walk into what is unknown now and what is only worth a line.
fn judge(root: &Path, at: Option<&Path>, error: &Error, send: &impl Fn(Sighting)) {
    match error {
        Error::Partial(errors) => errors.iter().for_each(|error| judge(root, at, error, send)),
        Error::WithDepth { err, .. } | Error::WithLineNumber { err, .. } => {
            judge(root, at, err, send);
        }
        Error::WithPath { path, err } => judge(root, Some(path), err, send),
        Error::Io(error) => refused(root, at, error, send),
        Error::Loop { child, .. } => send(Sighting::Link(bytes(root, child))),
        other => send(Sighting::Note(format!("ignore rules: {other}"))),
    }
}

fn refused(root: &Path, at: Option<&Path>, error: &io::Error, send: &impl Fn(Sighting)) {
    let is_link = at.is_some_and(Path::is_symlink);
    match at {
        // A link to nothing, or in circles.
        Some(path) if is_link && is_gone(error) => send(Sighting::Link(bytes(root, path))),
        // Vanished while the walk went on; what becomes of it is decided by its absence.
        _ if is_gone(error) && at.is_some_and(|path| !path.exists()) => {}
        _ => send(Sighting::Trouble(Trouble {
            path: at.map_or_else(Box::default, |path| bytes(root, path)),
            is_folder: at.is_none_or(Path::is_dir),
            message: error.to_string(),
            retryable: true,
        })),
    }
}

fn relative<'p>(root: &Path, path: &'p Path) -> &'p Path {
    path.strip_prefix(root).unwrap_or(path)
}

fn bytes(root: &Path, path: &Path) -> Box<[u8]> {
    relative(root, path).as_os_str().as_bytes().into()
}

/// Returns the path in the file system.
pub(crate) fn absolute(root: &Path, path: &[u8]) -> PathBuf {
    root.join(std::ffi::OsStr::from_bytes(path))
}
