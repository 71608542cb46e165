//! The parallel walk: which files there are, by the rules a git user expects.
//!
//! `.git` is never entered, and nothing is opened here but ignore files. Whether something is left
//! out is for [`Rules`] and [`Globs`] to say; this is about folders, links and what is neither, and
//! about telling what is gone from what could only not be looked at.

use std::collections::HashSet;
use std::fs::{self, DirEntry, FileType};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::{Globs, threads};

use crate::config::Config;
use crate::door::{Door, Links};
use crate::folders::{Folder, Lineage, Queue};
use crate::git;
use crate::read::is_gone;
use crate::rules::{Rules, Unreadable};
use crate::stat::Stat;

/// Longest path of a folder that leaves room for the names in it, in bytes: a system takes paths of
/// up to 4095.
const LONGEST_PATH: usize = 3800;

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
    /// Why the root itself could not be listed.
    unlisted: Option<io::Error>,
    /// Everything below these paths is unknown, not gone. Sorted by path.
    pub(crate) troubles: Vec<Trouble>,
    /// Sockets, pipes and devices.
    pub(crate) special: Vec<Box<[u8]>>,
    /// Symbolic links that were not followed.
    pub(crate) links: Vec<Box<[u8]>>,
    /// Folders that are on another device than the one they lie in.
    pub(crate) mounts: Vec<Box<[u8]>>,
    /// Anything else worth a line.
    pub(crate) notes: Vec<String>,
}

/// Walks the folder `root`, a canonical path.
///
/// # Errors
///
/// `cancelled`; a root that cannot be listed; an ignore file above it that cannot be read.
pub(crate) fn walk(
    root: &Path,
    config: &Config,
    globs: &Globs,
    cancel: &CancelFlag,
) -> Result<Walked, RpcError> {
    let mut walked = Walked::default();
    let rules = Rules::above(root, &mut walked.notes).map_err(|why| crate::root::blind(&why))?;
    let walk = Walk {
        root,
        door: Door::to(
            root,
            if config.follow_links {
                Links::Within
            } else {
                Links::Refused
            },
        ),
        config,
        globs,
        cancel,
        queue: Queue::starting_with(Folder {
            path: Box::default(),
            rules,
            lineage: Lineage::of(root, None),
            above: None,
        }),
    };
    let parts = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads())
            .map(|_| scope.spawn(|| walk.work()))
            .collect();
        let parts = workers.into_iter().map(|worker| worker.join());
        parts.collect::<Result<Vec<Walked>, _>>()
    });
    cancel.check()?;
    let parts = parts.expect("a walk does not panic");
    walked.gather(parts);
    match walked.unlisted.take() {
        Some(why) => Err(crate::root::unlisted(root, &why)),
        None => Ok(walked),
    }
}

impl Walked {
    /// Takes in what several threads saw.
    fn gather(&mut self, parts: Vec<Self>) {
        // Exactly: there may be millions, and spare room for as many again.
        let total = parts.iter().map(|part| part.files.len()).sum();
        self.files.reserve_exact(total);
        for part in parts {
            self.files.extend(part.files);
            self.troubles.extend(part.troubles);
            self.special.extend(part.special);
            self.links.extend(part.links);
            self.mounts.extend(part.mounts);
            self.unlisted = self.unlisted.take().or(part.unlisted);
        }
        self.sort();
    }

    /// Brings the sightings of several threads into the one order every walk has.
    pub(crate) fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        self.troubles
            .sort_unstable_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
        self.special.sort_unstable();
        self.links.sort_unstable();
    }
}

/// A walk at work, shared by its threads.
struct Walk<'w> {
    root: &'w Path,
    door: Door,
    config: &'w Config,
    globs: &'w Globs,
    cancel: &'w CancelFlag,
    queue: Queue,
}

/// A folder that is looked into.
struct Spot<'f> {
    folder: &'f Folder,
    rules: Rules,
    /// Where the system finds it.
    place: Place,
    /// What it is on, if that is known.
    device: Option<u64>,
}

/// A path to a folder that is never too long.
struct Place {
    path: PathBuf,
    /// What the path leads over.
    _open: Option<OwnedFd>,
}

/// What a name stands for, links that are followed included.
enum Kind {
    Folder(Option<Arc<Lineage>>),
    File(Stat),
    Special,
    /// A link that is not followed.
    Link,
}

impl Spot<'_> {
    fn at(&self, entry: &DirEntry) -> PathBuf {
        self.place.path.join(entry.file_name())
    }
}

impl Walk<'_> {
    fn work(&self) -> Walked {
        let mut walked = Walked::default();
        while let Some(folder) = self.queue.next() {
            let mut found = Vec::new();
            if !self.cancel.is_cancelled() {
                self.look_into(&folder, &mut walked, &mut found);
            }
            self.queue.done(found);
        }
        walked
    }

    fn look_into(&self, folder: &Folder, walked: &mut Walked, found: &mut Vec<Folder>) {
        let trouble = |message: String| Trouble {
            path: folder.path.clone(),
            is_folder: true,
            message,
            retryable: true,
        };
        let place = self.place(&folder.path);
        let listed = place.and_then(|place| Ok((entries(&place.path)?, place)));
        let (entries, place) = match listed {
            Ok(listed) => listed,
            // What becomes of it is decided by its absence.
            Err(error) if is_gone(&error) && !folder.path.is_empty() => return,
            Err(error) if folder.path.is_empty() => {
                walked.unlisted = Some(error);
                return;
            }
            Err(error) => return walked.troubles.push(trouble(error.to_string())),
        };
        let names: HashSet<_> = entries.iter().map(DirEntry::file_name).collect();
        let has = |name: &str| names.contains(std::ffi::OsStr::new(name));
        let rules = match folder.rules.inside(&place.path, &folder.path, has) {
            Ok(rules) => rules,
            // What was to be kept private must not be delivered for want of a permission.
            Err(why) => return walked.troubles.push(trouble(blindness(&why))),
        };
        drop(names);
        let device = fs::metadata(&place.path).ok().map(|folder| folder.dev());
        if folder.above.is_some() && device.is_some() && folder.above != device {
            walked.mounts.push(folder.path.clone());
        }
        let spot = Spot {
            folder,
            rules,
            place,
            device,
        };
        for entry in entries {
            if self.cancel.is_cancelled() {
                return;
            }
            self.see(&entry, &spot, walked, found);
        }
    }

    /// Returns where the system finds a folder.
    fn place(&self, path: &[u8]) -> io::Result<Place> {
        let whole = absolute(self.root, path);
        if whole.as_os_str().len() <= LONGEST_PATH {
            return Ok(Place {
                path: whole,
                _open: None,
            });
        }
        let open = self.door.folder(path)?;
        Ok(Place {
            path: PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd())),
            _open: Some(open),
        })
    }

    fn see(&self, entry: &DirEntry, spot: &Spot<'_>, walked: &mut Walked, found: &mut Vec<Folder>) {
        let name = entry.file_name();
        let is_hidden = name.as_bytes().starts_with(b".") && !self.config.hidden;
        if is_hidden || name == git::DIRECTORY {
            return;
        }
        let path = joined(&spot.folder.path, name.as_bytes());
        match self.admitted(entry, spot, &path) {
            Ok(Some(Kind::Folder(lineage))) => found.push(Folder {
                path,
                rules: spot.rules.clone(),
                lineage,
                above: spot.device,
            }),
            Ok(Some(Kind::File(stat))) => walked.files.push(Found { path, stat }),
            Ok(Some(Kind::Special)) => walked.special.push(path),
            Ok(Some(Kind::Link)) => walked.links.push(path),
            Ok(None) => {}
            Err(error) => walked.troubles.push(Trouble {
                path,
                is_folder: false,
                message: error.to_string(),
                retryable: true,
            }),
        }
    }

    /// Returns what a name stands for, if it is neither left out nor has vanished since it was
    /// listed.
    fn admitted(&self, entry: &DirEntry, spot: &Spot<'_>, path: &[u8]) -> io::Result<Option<Kind>> {
        let kind = match entry.file_type() {
            Err(error) if is_gone(&error) => return Ok(None),
            kind => kind?,
        };
        let behind = kind.is_symlink().then(|| self.behind_link(entry, spot));
        let is_folder = match &behind {
            Some(end) => matches!(end, Ok(Kind::Folder(_))),
            None => kind.is_dir(),
        };
        if spot.rules.leave_out(path, is_folder) || !self.globs.admit(path, is_folder) {
            return Ok(None);
        }
        match behind {
            Some(end) => end.map(Some),
            None => self.kind(entry, kind, spot),
        }
    }

    /// Returns what a name stands for that is no link, if it has not vanished.
    fn kind(&self, entry: &DirEntry, kind: FileType, spot: &Spot<'_>) -> io::Result<Option<Kind>> {
        if kind.is_dir() {
            let above = spot.folder.lineage.clone();
            let lineage = match self.config.follow_links {
                true => Lineage::of(&spot.at(entry), above),
                false => None,
            };
            return Ok(Some(Kind::Folder(lineage)));
        }
        if !kind.is_file() {
            return Ok(Some(Kind::Special));
        }
        match entry.metadata() {
            Ok(metadata) if metadata.is_file() => Ok(Some(Kind::File(Stat::of(&metadata)))),
            Ok(_) => Ok(Some(Kind::Special)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Follows a link if that is wanted, and leads neither out of the root, nor to git's own, nor
    /// back to where it came from.
    fn behind_link(&self, entry: &DirEntry, spot: &Spot<'_>) -> io::Result<Kind> {
        if !self.config.follow_links {
            return Ok(Kind::Link);
        }
        let end = match fs::canonicalize(spot.at(entry)) {
            Ok(end) => end,
            Err(error) if is_gone(&error) => return Ok(Kind::Link),
            Err(error) => return Err(error),
        };
        let is_own = end
            .strip_prefix(self.root)
            .is_ok_and(|below| below.iter().all(|part| part != git::DIRECTORY));
        if !is_own {
            return Ok(Kind::Link);
        }
        let metadata = fs::metadata(&end)?;
        if metadata.is_file() {
            return Ok(Kind::File(Stat::of(&metadata)));
        }
        if !metadata.is_dir() {
            return Ok(Kind::Special);
        }
        Ok(
            match Lineage::linked(&metadata, spot.folder.lineage.clone()) {
                Some(lineage) => Kind::Folder(Some(lineage)),
                None => Kind::Link,
            },
        )
    }
}

/// Returns everything in a folder; nothing at all if it cannot be listed to its end.
fn entries(folder: &Path) -> io::Result<Vec<DirEntry>> {
    fs::read_dir(folder)?.collect()
}

/// Says that the rules of a folder are unknown, and what to do about it.
pub(crate) fn blindness(why: &Unreadable) -> String {
    format!(
        "the ignore rules in {} cannot be read ({}), so that nothing they could be about is \
         enumerated; allow this user to read the file, or remove it",
        why.file.display(),
        why.error
    )
}

fn joined(folder: &[u8], name: &[u8]) -> Box<[u8]> {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    if !folder.is_empty() {
        path.extend_from_slice(folder);
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path.into()
}

fn as_path(path: &[u8]) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(path))
}

/// Returns the path in the file system.
pub(crate) fn absolute(root: &Path, path: &[u8]) -> PathBuf {
    root.join(as_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the system says of a disk in the middle of its failing is nothing that a test can bring about.
    #[test]
    fn a_root_that_cannot_be_listed_is_a_failure_of_the_source_that_may_pass() {
        let config: Config = serde_json::from_str(r#"{"root": "/"}"#).unwrap();
        let globs = Globs::new(&[], &[]).unwrap();
        let refused = walk(
            Path::new("/nonexistent"),
            &config,
            &globs,
            &CancelFlag::default(),
        );
        let refused = refused.unwrap_err();
        assert!(
            refused
                .to_string()
                .contains("/nonexistent cannot be listed"),
            "{refused}"
        );
    }
}
