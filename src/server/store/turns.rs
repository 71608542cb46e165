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
            let slot = slots.entry(name.to_owned()).or_insert_with(Slot::new);
            slot.used = Instant::now();
            Arc::clone(&slot.progress)
        };
        progress.lock_owned().await
    }

    /// Drops what idle uploads remember, and runs `work` on the names of files that nobody uses,
    /// in the turn of their upload: whoever wants to use one waits, and nobody else does.
    pub(super) fn sweep(&self, files: &[String], mut work: impl FnMut(&str)) {
        self.slots()
            .retain(|_, slot| slot.is_used() || slot.used.elapsed() < IDLE);
        for file in files {
            let upload = partial::upload_of(file);
            let Some(turn) = self.take_if_unused(upload) else {
                continue;
            };
            work(file);
            if turn.is_none() {
                self.leave(upload);
            }
        }
    }

    fn take_if_unused(&self, name: &str) -> Option<OwnedMutexGuard<Progress>> {
        let mut slots = self.slots();
        let slot = slots.entry(name.to_owned()).or_insert_with(Slot::new);
        Arc::clone(&slot.progress).try_lock_owned().ok()
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
    fn new() -> Self {
        Self {
            progress: Arc::default(),
            used: Instant::now(),
        }
    }

    fn is_used(&self) -> bool {
        Arc::strong_count(&self.progress) > 1
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use tokio::task;
    use tokio::time::timeout;

    use super::Uploads;

    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn sweep_holds_up_no_upload_but_that_of_the_file_it_is_at() {
        let uploads = Arc::new(Uploads::default());
        let (arrive, arrived) = mpsc::channel();
        let (go_on, wait) = mpsc::channel::<()>();
        let sweeping = Arc::clone(&uploads);
        let sweep = task::spawn_blocking(move || {
            sweeping.sweep(&["a".to_owned()], |_| {
                arrive.send(()).unwrap();
                wait.recv().unwrap();
            });
        });
        let reached = task::spawn_blocking(move || arrived.recv());
        reached.await.unwrap().unwrap();
        let begin = |name: &'static str| {
            let uploads = Arc::clone(&uploads);
            tokio::spawn(async move { drop(uploads.take(name).await) })
        };
        let mut same = begin("a");
        let other = timeout(Duration::from_secs(10), begin("b")).await;
        other.expect("it does not wait for the sweep").unwrap();
        let early = timeout(Duration::from_millis(50), &mut same).await;
        assert!(early.is_err(), "begun while its file was judged");
        go_on.send(()).unwrap();
        sweep.await.unwrap();
        same.await.unwrap();
    }

    #[tokio::test]
    async fn sweep_passes_over_files_in_use_and_leaves_nothing_behind() {
        let uploads = Uploads::default();
        let used = uploads.take("used").await;
        let mut seen = Vec::new();
        let files = ["used", "used.whole", "idle", "idle.whole"].map(str::to_owned);
        uploads.sweep(&files, |file| seen.push(file.to_owned()));
        assert_eq!(seen, ["idle", "idle.whole"]);
        assert_eq!(uploads.slots().len(), 1);
        drop(used);
    }
}
