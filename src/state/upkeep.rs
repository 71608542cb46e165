//! Looking after a state directory: what is in it, whether it can be read, and setting aside what cannot.
//!
//! Nothing here is ever deleted. What is set aside keeps its names, in a directory beside, so that whoever knows
//! SQLite can still look at it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::database;
use super::directory::{InstanceLock, REGISTRY, Registration, StateDirectory, registrations};
use super::error::StateError;
use super::instance::{self, SCHEMA};

/// What SQLite keeps beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// What a state directory holds of one instance.
#[derive(Debug)]
pub struct Kept {
    /// Id of the instance.
    pub id: String,
    /// What the registry says of it, if it does.
    pub registration: Option<Registration>,
    /// Length of its files, in bytes.
    pub bytes: u64,
    /// What is in them; nothing if there is no state.
    pub content: Option<Result<Content, StateError>>,
}

/// What the state of an instance says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// How many documents are confirmed.
    pub documents: u64,
    /// Since when the cursor is held, RFC 3339.
    pub held_since: Option<String>,
}

/// The instances of a state directory.
#[derive(Debug)]
pub struct Inventory {
    /// By id.
    pub instances: Vec<Kept>,
    /// Why the registry cannot be read, if that is so.
    pub registry: Result<(), StateError>,
}

impl StateDirectory {
    /// Looks at everything; takes no lock and leaves nothing behind.
    ///
    /// # Errors
    ///
    /// When the directory cannot be listed. State that cannot be read is told for itself.
    pub fn inventory(&self) -> Result<Inventory, StateError> {
        let registered = self.registrations();
        let mut instances: BTreeMap<String, Option<Registration>> = BTreeMap::new();
        for id in names_in(&self.path().join("instances"))? {
            instances.insert(id, None);
        }
        let registry = registered.map(|registered| {
            for registration in registered {
                instances.insert(registration.id.clone(), Some(registration));
            }
        });
        let kept = |(id, registration)| self.kept(id, registration);
        Ok(Inventory {
            instances: instances.into_iter().map(kept).collect::<Result<_, _>>()?,
            registry,
        })
    }

    /// Returns whether there is a place for an instance; `id` may be any text.
    pub fn holds(&self, id: &str) -> bool {
        let is_name = !id.is_empty() && !id.contains('/') && !id.starts_with('.');
        is_name && self.instance_path(id).is_dir()
    }

    /// Returns what is registered.
    ///
    /// # Errors
    ///
    /// When the registry cannot be read.
    pub fn registrations(&self) -> Result<Vec<Registration>, StateError> {
        let path = self.registry_path();
        match database::examine(&path, &REGISTRY, registrations)? {
            Some(registered) => Ok(registered),
            None => Ok(Vec::new()),
        }
    }

    /// Sets the registry aside; returns where it is now, if there was one. `date` becomes part of the name.
    ///
    /// # Errors
    ///
    /// When it cannot be moved.
    pub fn set_registry_aside(&self, date: &str) -> Result<Option<PathBuf>, StateError> {
        set_aside(&self.registry_path(), date)
    }

    fn kept(&self, id: String, registration: Option<Registration>) -> Result<Kept, StateError> {
        let path = self.instance_path(&id).join(instance::FILE_NAME);
        let bytes = std::iter::once("").chain(BESIDE);
        let bytes = bytes.filter_map(|suffix| fs::metadata(beside(&path, suffix)).ok());
        Ok(Kept {
            bytes: bytes.map(|metadata| metadata.len()).sum(),
            content: database::examine(&path, &SCHEMA, content).transpose(),
            registration,
            id,
        })
    }
}

impl InstanceLock {
    /// Sets the state aside without looking at it; returns where it is now, if there was any. `date` becomes
    /// part of the name.
    ///
    /// # Errors
    ///
    /// When it cannot be moved.
    pub fn set_aside(&self, date: &str) -> Result<Option<PathBuf>, StateError> {
        set_aside(&self.directory().join(instance::FILE_NAME), date)
    }
}

fn content(database: &Connection) -> rusqlite::Result<Content> {
    let count = "SELECT count(*) FROM confirmed";
    let documents: i64 = database.query_row(count, [], |row| row.get(0))?;
    Ok(Content {
        documents: documents.unsigned_abs(),
        held_since: instance::fact(database, "held_since")?,
    })
}

/// Moves a database and all that SQLite has put beside it into a directory of their own. The database goes first:
/// without it, what is beside is not taken for that of another one (see `database::open`).
fn set_aside(path: &Path, date: &str) -> Result<Option<PathBuf>, StateError> {
    let there: Vec<PathBuf> = std::iter::once("")
        .chain(BESIDE)
        .map(|suffix| beside(path, suffix))
        .filter(|path| path.symlink_metadata().is_ok())
        .collect();
    if there.is_empty() {
        return Ok(None);
    }
    let aside = directory_beside(path, date)?;
    for path in &there {
        let name = path.file_name().unwrap_or_default();
        fs::rename(path, aside.join(name)).map_err(|error| StateError::io(path, error))?;
    }
    Ok(Some(aside))
}

/// Creates a directory that is named after a database and a date; with a number, if that is taken.
fn directory_beside(path: &Path, date: &str) -> Result<PathBuf, StateError> {
    let mut number = 1;
    loop {
        let suffix = match number {
            1 => format!(".{date}"),
            number => format!(".{date}-{number}"),
        };
        let aside = beside(path, &suffix);
        match fs::create_dir(&aside) {
            Ok(()) => return Ok(aside),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(StateError::io(&aside, error)),
        }
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns the names in a directory; none if it is not there.
fn names_in(directory: &Path) -> Result<Vec<String>, StateError> {
    let unavailable = |error| StateError::io(directory, error);
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unavailable)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(unavailable)?.file_name().into_string());
    }
    Ok(names)
}
