//! The state directory: where instances live, and which prefixes they own (§8.1, §3).

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};

use super::database::{self, Schema};
use super::error::StateError;
use super::instance::{self, Instance};

pub(super) const REGISTRY: Schema = Schema {
    application_id: i32::from_be_bytes(*b"dpeR"),
    version: 1,
    tables: "
        CREATE TABLE instances (
            id         TEXT PRIMARY KEY,
            remote_url TEXT NOT NULL,
            uri_prefix TEXT NOT NULL,
            origin     TEXT NOT NULL
        ) STRICT;
    ",
};

/// Name of the lock inside the directory of an instance.
const LOCK_NAME: &str = "lock";

/// How long the lock of an instance is tried again: a child of a process that was killed holds what
/// that held until it is another program.
const PATIENCE: Duration = Duration::from_millis(500);

/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// What the registry keeps of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registration {
    /// Id of the instance, `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`.
    pub id: String,
    /// Its remote; equal strings are the same remote.
    pub remote_url: String,
    /// Its URI prefix.
    pub uri_prefix: String,
    /// What a person knows it by, such as the folder that is pushed.
    pub origin: String,
}

/// A state directory.
#[derive(Clone, Debug)]
pub struct StateDirectory {
    path: PathBuf,
}

impl StateDirectory {
    /// Returns the state directory at `path`; creates nothing yet.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Registers an instance, unless its prefix overlaps with that of another one on the same
    /// remote. Registering again replaces the instance's own entry. With `adopt` the entries of
    /// overlapping instances whose origin is gone are dropped.
    ///
    /// # Errors
    ///
    /// [`StateError::Overlap`] or [`StateError::OriginGone`], and whatever keeps the registry
    /// from being read or written.
    pub fn register(&self, new: &Registration, adopt: bool) -> Result<(), StateError> {
        create_directory(&self.path)?;
        let path = self.registry_path();
        let mut registry = database::open(&path, &REGISTRY)?;
        let broken = |source| StateError::database(&path, source);
        let transaction = registry
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(broken)?;
        for adopted in overlaps(&transaction, new, adopt, &path)? {
            transaction
                .execute("DELETE FROM instances WHERE id = ?1", [adopted])
                .map_err(broken)?;
        }
        transaction
            .execute(
                "INSERT OR REPLACE INTO instances (id, remote_url, uri_prefix, origin)
                 VALUES (?1, ?2, ?3, ?4)",
                (&new.id, &new.remote_url, &new.uri_prefix, &new.origin),
            )
            .map_err(broken)?;
        transaction.commit().map_err(broken)
    }

    /// Makes the check of [`Self::register`] and writes nothing.
    ///
    /// # Errors
    ///
    /// As [`Self::register`].
    pub fn check_registration(&self, new: &Registration, adopt: bool) -> Result<(), StateError> {
        let path = self.registry_path();
        let registry = database::snapshot(&path, &REGISTRY)?;
        overlaps(&registry, new, adopt, &path).map(drop)
    }

    /// Takes the lock of an instance and opens its state, creating it if it is new.
    ///
    /// # Errors
    ///
    /// [`StateError::Busy`] if another process holds the lock for half a second, and whatever keeps the state from
    /// being read.
    pub fn open(&self, id: &str) -> Result<Instance, StateError> {
        self.lock(id, PATIENCE)?.open()
    }

    /// Takes the lock of an instance and looks at nothing. If it is held, it is tried again for as
    /// long as `patience`.
    ///
    /// # Errors
    ///
    /// [`StateError::Busy`] if another process holds the lock, and whatever keeps it from being
    /// taken.
    pub fn lock(&self, id: &str, patience: Duration) -> Result<InstanceLock, StateError> {
        let directory = self.instance_path(id);
        create_directory(&directory)?;
        let file = lock(&directory.join(LOCK_NAME), patience)?;
        Ok(InstanceLock { directory, file })
    }

    /// Drops an instance from the registry; returns whether it was there.
    ///
    /// # Errors
    ///
    /// Whatever keeps the registry from being read or written.
    pub fn unregister(&self, id: &str) -> Result<bool, StateError> {
        let path = self.registry_path();
        if !exists(&path)? {
            return Ok(false);
        }
        database::open(&path, &REGISTRY)?
            .execute("DELETE FROM instances WHERE id = ?1", [id])
            .map(|dropped| dropped > 0)
            .map_err(|source| StateError::database(&path, source))
    }

    /// Returns a copy in memory of an instance's state. It takes no lock, creates no file, and
    /// nothing written to it lasts.
    ///
    /// # Errors
    ///
    /// Whatever keeps the state from being read.
    pub fn snapshot(&self, id: &str) -> Result<Instance, StateError> {
        Instance::snapshot(&self.instance_path(id).join(instance::FILE_NAME))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn registry_path(&self) -> PathBuf {
        self.path.join("registry.db")
    }

    pub(super) fn instance_path(&self, id: &str) -> PathBuf {
        self.path.join("instances").join(id)
    }
}

/// The lock of an instance. It vanishes with this value, or with the process.
#[derive(Debug)]
pub struct InstanceLock {
    directory: PathBuf,
    file: File,
}

impl InstanceLock {
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns whether there is any state, readable or not.
    ///
    /// # Errors
    ///
    /// When that cannot be found out.
    pub fn has_state(&self) -> Result<bool, StateError> {
        exists(&self.directory.join(instance::FILE_NAME))
    }

    /// Opens the state, creating it if it is new.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from being read.
    pub fn open(self) -> Result<Instance, StateError> {
        database::remove_unfinished(&self.directory)
            .map_err(|error| StateError::io(&self.directory, error))?;
        Instance::open(&self.directory.join(instance::FILE_NAME), self.file)
    }

    /// Removes the state without looking at it; returns whether there was any.
    ///
    /// # Errors
    ///
    /// When a file cannot be removed.
    pub fn remove_state(&self) -> Result<bool, StateError> {
        let unavailable = |error| StateError::io(&self.directory, error);
        let mut found = false;
        for entry in fs::read_dir(&self.directory).map_err(unavailable)? {
            let entry = entry.map_err(unavailable)?;
            if entry.file_name() == LOCK_NAME {
                continue;
            }
            let is_directory = entry.file_type().map_err(unavailable)?.is_dir();
            let path = entry.path();
            let removed = if is_directory {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
            removed.map_err(|error| StateError::io(&path, error))?;
            found = true;
        }
        Ok(found)
    }
}

/// Returns the ids of overlapping instances that may be dropped.
fn overlaps(
    registry: &Connection,
    new: &Registration,
    adopt: bool,
    path: &Path,
) -> Result<Vec<String>, StateError> {
    let others = others(registry, new).map_err(|source| StateError::database(path, source))?;
    let overlapping: Vec<&Registration> = others
        .iter()
        .filter(|other| {
            other.uri_prefix.starts_with(&new.uri_prefix)
                || new.uri_prefix.starts_with(&other.uri_prefix)
        })
        .collect();
    for other in &overlapping {
        let (wanted, existing) = (new.uri_prefix.clone(), other.uri_prefix.clone());
        let owner = other.origin.clone();
        match (is_there(&owner, adopt), adopt) {
            (false, true) => {}
            (false, false) => {
                return Err(StateError::OriginGone {
                    wanted,
                    existing,
                    owner,
                });
            }
            (true, _) => {
                return Err(StateError::Overlap {
                    suggestion: free_prefix(&wanted, &others),
                    wanted,
                    existing,
                    owner,
                });
            }
        }
    }
    Ok(overlapping.iter().map(|other| other.id.clone()).collect())
}

/// Returns whether the source of an instance is still where it was. Whether what is behind a URL has
/// gone is not known here; whoever adopts says so.
fn is_there(origin: &str, adopt: bool) -> bool {
    let path = Path::new(origin);
    if path.is_absolute() {
        path.exists()
    } else {
        !adopt
    }
}

/// Returns the other instances on the same remote.
fn others(registry: &Connection, new: &Registration) -> rusqlite::Result<Vec<Registration>> {
    let mut others = registrations(registry)?;
    others.retain(|other| other.remote_url == new.remote_url && other.id != new.id);
    Ok(others)
}

/// Returns everything that is registered.
pub(super) fn registrations(registry: &Connection) -> rusqlite::Result<Vec<Registration>> {
    registry
        .prepare("SELECT id, remote_url, uri_prefix, origin FROM instances ORDER BY id")?
        .query_map([], |row| {
            Ok(Registration {
                id: row.get(0)?,
                remote_url: row.get(1)?,
                uri_prefix: row.get(2)?,
                origin: row.get(3)?,
            })
        })?
        .collect()
}

/// Numbers the last segment of the prefix until no other prefix overlaps with it.
fn free_prefix(wanted: &str, others: &[Registration]) -> String {
    let last = wanted.rsplit('/').find(|segment| !segment.is_empty());
    let name = match last {
        Some(name) if !name.ends_with(':') => name,
        _ => "documents",
    };
    (2..=others.len() + 2)
        .map(|number| format!("dpe://{name}-{number}/"))
        .find(|candidate| {
            others.iter().all(|Registration { uri_prefix, .. }| {
                !uri_prefix.starts_with(candidate.as_str())
                    && !candidate.starts_with(uri_prefix.as_str())
            })
        })
        .unwrap_or_else(|| format!("{name}://"))
}

fn create_directory(path: &Path) -> Result<(), StateError> {
    fs::create_dir_all(path).map_err(|error| StateError::io(path, error))
}

fn exists(path: &Path) -> Result<bool, StateError> {
    path.try_exists()
        .map_err(|error| StateError::io(path, error))
}

/// Takes an operating-system lock, which vanishes with the process that holds it.
fn lock(path: &Path, patience: Duration) -> Result<File, StateError> {
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|error| StateError::io(path, error))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < patience => thread::sleep(PAUSE),
            Err(TryLockError::WouldBlock) => {
                return Err(StateError::Busy {
                    lock: path.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(StateError::io(path, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::{Registration, StateDirectory};
    use crate::state::StateError;

    fn registration(id: &str, prefix: &str) -> Registration {
        Registration {
            id: id.into(),
            remote_url: "store:/r".into(),
            uri_prefix: prefix.into(),
            // Somewhere that exists.
            origin: "/".into(),
        }
    }

    #[test]
    fn overlapping_prefixes_on_one_remote_are_refused_in_both_directions() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        directory
            .register(&registration("a", "dpe://docs/"), false)
            .unwrap();
        for prefix in ["dpe://docs/", "dpe://docs/sub/", "dpe://"] {
            let refused = directory
                .register(&registration("b", prefix), false)
                .unwrap_err();
            assert!(matches!(refused, StateError::Overlap { .. }), "{prefix}");
        }
        directory
            .register(&registration("b", "dpe://docs-2/"), false)
            .unwrap();
        let elsewhere = Registration {
            remote_url: "store:/other".into(),
            ..registration("c", "dpe://docs/")
        };
        directory.register(&elsewhere, false).unwrap();
    }

    #[test]
    fn a_free_prefix_is_suggested() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        directory
            .register(&registration("a", "dpe://docs/"), false)
            .unwrap();
        directory
            .register(&registration("b", "dpe://docs-2/"), false)
            .unwrap();
        let refused = directory.check_registration(&registration("c", "dpe://docs/"), false);
        let Err(StateError::Overlap { suggestion, .. }) = refused else {
            panic!("{refused:?}");
        };
        assert_eq!(suggestion, "dpe://docs-3/");
    }

    #[test]
    fn an_instance_may_change_its_own_prefix() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        directory
            .register(&registration("a", "dpe://docs/"), false)
            .unwrap();
        directory
            .register(&registration("a", "dpe://docs/new/"), false)
            .unwrap();
        directory
            .register(&registration("b", "dpe://docs/old/"), false)
            .unwrap();
    }

    #[test]
    fn an_instance_has_one_holder_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        let held = directory.open("a").unwrap();
        assert!(matches!(directory.open("a"), Err(StateError::Busy { .. })));
        directory.open("b").unwrap();
        drop(held);
        directory.open("a").unwrap();
    }

    #[test]
    fn a_lock_alone_leaves_nothing_but_its_file() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        let lock = directory.lock("a", Duration::ZERO).unwrap();
        assert!(!lock.has_state().unwrap());
        let busy = directory.lock("a", Duration::ZERO).unwrap_err();
        assert!(matches!(busy, StateError::Busy { .. }));
        let files: Vec<_> = std::fs::read_dir(place.path().join("instances/a"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(files, ["lock"]);
        assert!(!place.path().join("registry.db").exists());
        drop(lock.open().unwrap());
        let lock = directory.lock("a", Duration::ZERO).unwrap();
        assert!(lock.has_state().unwrap());
    }

    #[test]
    fn state_is_removed_whatever_is_in_it_and_only_once() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        directory
            .register(&registration("a", "dpe://docs/"), false)
            .unwrap();
        drop(directory.open("a").unwrap());
        std::fs::write(place.path().join("instances/a/state.db"), "no database").unwrap();
        let lock = directory.lock("a", Duration::ZERO).unwrap();
        for found in [true, false] {
            assert_eq!(lock.remove_state().unwrap(), found);
            assert_eq!(directory.unregister("a").unwrap(), found);
        }
        assert!(!lock.has_state().unwrap());
        directory
            .register(&registration("b", "dpe://docs/"), false)
            .unwrap();
    }

    #[test]
    fn an_instance_that_is_held_for_a_moment_is_opened_after_it() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        let held = directory.open("a").unwrap();
        let holder = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(held);
        });
        directory.open("a").unwrap();
        holder.join().unwrap();
    }

    #[test]
    fn a_snapshot_leaves_no_trace_on_disk() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path().join("nothing-yet"));
        directory.snapshot("a").unwrap();
        directory
            .check_registration(&registration("a", "dpe://docs/"), false)
            .unwrap();
        assert!(!place.path().join("nothing-yet").exists());
    }

    #[test]
    fn the_prefix_of_a_folder_that_is_gone_may_be_adopted_and_only_then() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        let gone = Registration {
            origin: "/no/such/folder".into(),
            ..registration("a", "dpe://docs/")
        };
        directory.register(&gone, false).unwrap();
        let new = registration("b", "dpe://docs/");
        let refused = directory.register(&new, false).unwrap_err();
        assert!(
            matches!(refused, StateError::OriginGone { .. }),
            "{refused:?}"
        );
        directory.register(&new, true).unwrap();
        let refused = directory
            .register(&registration("c", "dpe://docs/"), true)
            .unwrap_err();
        assert!(matches!(refused, StateError::Overlap { .. }), "{refused:?}");
    }

    #[test]
    fn a_snapshot_of_what_is_there_leaves_no_trace_either() {
        let place = tempfile::tempdir().unwrap();
        let directory = StateDirectory::at(place.path());
        directory
            .register(&registration("a", "dpe://docs/"), false)
            .unwrap();
        drop(directory.open("a").unwrap());
        let listing = || {
            let instance = place.path().join("instances/a");
            let mut names: Vec<_> = [place.path(), &instance]
                .into_iter()
                .flat_map(|path| std::fs::read_dir(path).unwrap())
                .map(|entry| entry.unwrap().path())
                .collect();
            names.sort();
            names
        };
        let before = listing();
        drop(directory.snapshot("a").unwrap());
        directory
            .check_registration(&registration("a", "dpe://docs/"), false)
            .unwrap();
        assert_eq!(listing(), before);
    }
}
