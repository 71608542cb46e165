//! Turns: uploads of the same object to the same session come one after the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::OwnedMutexGuard;

use crate::model::BlobHasher;
use crate::server::store::partial;

/// How long an idle upload keeps what it need not compute again.
const IDLE: Duration = Duration::from_secs(600);

/// The uploads that are under way, by the names of their files.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    slots: Mutex<HashMap<String, Slot>>,
}

#[derive(Debug)]
struct Slot {
    progress: Arc<tokio::sync::Mutex<Progress>>,
    used: Instant,
}

/// The bytes of a blob that have been hashed. It only saves reading them again.
pub(super) type Progress = Option<BlobHasher>;

impl Uploads {
    /// Waits until nobody else uploads the object of that name.
    pub(super) async fn take(&self, name: &str) -> OwnedMutexGuard<Progress> {
        let progress = {
            let mut slots = self.slots();
            let used = Instant::now();
            let slot = slots.entry(name.to_owned()).or_insert_with(|| Slot {
                progress: Arc::default(),
                used,
            });
            slot.used = used;
            Arc::clone(&slot.progress)
        };
        progress.lock_owned().await
    }

    /// Drops what idle uploads remember, and runs `work` on the names of files that nobody uses or
    /// can begin to use meanwhile.
    pub(super) fn sweep(&self, files: Vec<String>, mut work: impl FnMut(&str)) {
        let mut slots = self.slots();
        slots.retain(|_, slot| slot.is_used() || slot.used.elapsed() < IDLE);
        for file in &files {
            if !slots
                .get(partial::upload_of(file))
                .is_some_and(Slot::is_used)
            {
                work(file);
            }
        }
    }

    /// Forgets an upload whose turn ends with nothing to remember.
    pub(super) fn leave(&self, name: &str) {
        let mut slots = self.slots();
        // Only the map and the one that leaves know it: nobody waits.
        if let Some(slot) = slots.get(name)
            && Arc::strong_count(&slot.progress) == 2
        {
            slots.remove(name);
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        // Every change is one step, so the map is sound even after a panic.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.progress) > 1
    }
}
