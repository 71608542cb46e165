//! The folders a walk still has to look into, shared by its threads.
//!
//! Knows which folders lead to one, so that links do not lead in circles, and nothing of what is
//! in them.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::rules::Rules;

/// A folder that is to be looked into.
pub(crate) struct Folder {
    /// Relative to the root.
    pub(crate) path: Box<[u8]>,
    /// What counts for the folder itself.
    pub(crate) rules: Rules,
    /// The folders it lies in, as far as links are followed.
    pub(crate) lineage: Option<Arc<Lineage>>,
    /// The device that the folder it lies in is on; unknown for the root.
    pub(crate) above: Option<u64>,
}

/// A folder and those it was reached through, whatever their names.
pub(crate) struct Lineage {
    device: u64,
    inode: u64,
    /// How many links led here.
    links: u32,
    above: Option<Arc<Self>>,
}

/// Folders that are linked to each other can be gone through in more orders than anybody can wait
/// for. Each is enumerated where it is; what is left out are names that lead over still more links.
const MOST_LINKS: u32 = 3;

impl Lineage {
    /// Returns the lineage of a folder reached through `above`, if it is still there.
    pub(crate) fn of(folder: &Path, above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let metadata = fs::metadata(folder).ok()?;
        let links = above.as_ref().map_or(0, |above| above.links);
        Some(Arc::new(Self::with(&metadata, links, above)))
    }

    /// Returns the lineage of a folder to which a link in `above` leads; nothing if it is not to
    /// be followed: because it leads back, or one has come over too many already.
    pub(crate) fn linked(metadata: &Metadata, above: Option<Arc<Self>>) -> Option<Arc<Self>> {
        let links = above.as_ref().map_or(0, |above| above.links) + 1;
        let leads_back = above.as_ref().is_some_and(|above| above.has(metadata));
        (links <= MOST_LINKS && !leads_back).then(|| Arc::new(Self::with(metadata, links, above)))
    }

    fn with(metadata: &Metadata, links: u32, above: Option<Arc<Self>>) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            links,
            above,
        }
    }

    fn has(&self, metadata: &Metadata) -> bool {
        let mut one = Some(self);
        std::iter::from_fn(|| {
            let this = one?;
            one = this.above.as_deref();
            Some(this)
        })
        .any(|one| (one.device, one.inode) == (metadata.dev(), metadata.ino()))
    }
}

/// The folders nobody has looked into yet.
pub(crate) struct Queue {
    state: Mutex<Waiting>,
    changed: Condvar,
}

struct Waiting {
    folders: Vec<Folder>,
    /// How many are being looked into, and may hold others.
    open: usize,
}

impl Queue {
    /// Returns a queue of one.
    pub(crate) fn starting_with(folder: Folder) -> Self {
        Self {
            state: Mutex::new(Waiting {
                folders: vec![folder],
                open: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next folder; nothing when all have been looked into.
    pub(crate) fn next(&self) -> Option<Folder> {
        let mut state = self.lock();
        loop {
            if let Some(folder) = state.folders.pop() {
                state.open += 1;
                return Some(folder);
            }
            if state.open == 0 {
                return None;
            }
            let woken = self.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Says that a folder has been looked into, and what folders were in it.
    pub(crate) fn done(&self, found: Vec<Folder>) {
        let mut state = self.lock();
        state.open -= 1;
        state.folders.extend(found);
        drop(state);
        self.changed.notify_all();
    }
}
