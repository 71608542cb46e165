//! The state of one instance: cursor, synchronised state, intents, write set (§8.1, §19.3, §22).

use std::fs::File;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, Transaction};

use super::database::{self, Schema};
use super::error::StateError;
use super::journal::{self, Change, Tracking};
use crate::model::{Contract, Contracts, FileUri, Hash};

/// Name of the database inside the directory of an instance.
pub(super) const FILE_NAME: &str = "state.db";

pub(super) const SCHEMA: Schema = Schema {
    application_id: i32::from_be_bytes(*b"dpeI"),
    version: 2,
    tables: "
        -- fingerprint, cursor, held_since
        CREATE TABLE IF NOT EXISTS facts (
            name  TEXT PRIMARY KEY,
            value TEXT NOT NULL
        ) STRICT;
        -- L: the last confirmed doc_hash of each document
        CREATE TABLE IF NOT EXISTS confirmed (
            id       INTEGER PRIMARY KEY,
            file_uri TEXT NOT NULL UNIQUE,
            doc_hash TEXT NOT NULL
        ) STRICT;
        -- what was about to be written; NULL is absent
        CREATE TABLE IF NOT EXISTS intents (
            file_uri TEXT PRIMARY KEY,
            doc_hash TEXT
        ) STRICT;
        -- what was pushed by its name; an enumeration may not have it
        CREATE TABLE IF NOT EXISTS named (
            file_uri TEXT PRIMARY KEY
        ) STRICT;
        -- what was touched since the last stored cursor, with the value before; NULL is absent
        CREATE TABLE IF NOT EXISTS write_set (
            file_uri TEXT PRIMARY KEY,
            before   TEXT
        ) STRICT;
        -- moves that were carried out since the last stored cursor, and in which round last
        CREATE TABLE IF NOT EXISTS moves (
            id       INTEGER PRIMARY KEY,
            from_uri TEXT NOT NULL,
            to_uri   TEXT NOT NULL,
            round    INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX IF NOT EXISTS moves_by_sides ON moves (from_uri, to_uri);
    ",
};

/// Every contract that a stored hash may belong to.
const KNOWN: Contracts = Contracts::SUPPORTED.with(Contract::Dpex);

/// How the stored identity compares with the instance's (§8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adoption {
    /// Nothing was stored: a new instance.
    New,
    /// The same content identity.
    Same,
    /// Another one: everything but `held_since` was dropped.
    Changed,
}

/// What is known of a document apart from the remote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    /// L: the last confirmed doc_hash.
    pub confirmed: Option<Hash>,
    /// The intent of an earlier write whose outcome is unknown; the inner `None` is "absent".
    pub intent: Option<Option<Hash>>,
}

/// What becomes of the stored cursor at the end of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CursorChange<'a> {
    /// It stays as it is.
    Keep,
    /// This one takes its place, and the write set and the moves are cleared.
    Store(&'a str),
    /// The same, but these are in the write set then: what became of them is not known yet.
    StoreBut(&'a str, &'a [FileUri]),
    /// There is none to store, nor is one kept, and the write set and the moves are cleared (§22).
    Clear,
}

/// The state of one instance, and its lock.
#[derive(Debug)]
pub struct Instance {
    database: Connection,
    path: PathBuf,
    /// Number of the round that is under way, larger than that of every move before it.
    round: i64,
    /// Held until the end; a snapshot has none.
    _lock: Option<File>,
}

impl Instance {
    pub(super) fn open(path: &Path, lock: File) -> Result<Self, StateError> {
        Ok(Self {
            database: database::open(path, &SCHEMA)?,
            path: path.to_owned(),
            round: 1,
            _lock: Some(lock),
        })
    }

    pub(super) fn snapshot(path: &Path) -> Result<Self, StateError> {
        Ok(Self {
            database: database::snapshot(path, &SCHEMA)?,
            path: path.to_owned(),
            round: 1,
            _lock: None,
        })
    }

    /// Returns whether no identity has been stored yet.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn is_new(&self) -> Result<bool, StateError> {
        self.read(|database| Ok(fact(database, "fingerprint")?.is_none()))
    }

    /// Makes `fingerprint` the identity of the stored state, dropping what belongs to another.
    ///
    /// # Errors
    ///
    /// When the state cannot be read or written.
    pub fn adopt(&mut self, fingerprint: &str) -> Result<Adoption, StateError> {
        self.adopt_dropping(fingerprint, drop_everything)
    }

    /// As [`Self::adopt`], but of another identity only the cursor is dropped, and the moves since. For who
    /// knows that remote and prefix are the same, so that what was confirmed is as true as it was.
    ///
    /// # Errors
    ///
    /// When the state cannot be read or written.
    pub fn adopt_known(&mut self, fingerprint: &str) -> Result<Adoption, StateError> {
        self.adopt_dropping(fingerprint, |transaction| {
            set_fact(transaction, "cursor", None)?;
            transaction.execute_batch("DELETE FROM moves")
        })
    }

    fn adopt_dropping(
        &mut self,
        fingerprint: &str,
        drop_other: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<()>,
    ) -> Result<Adoption, StateError> {
        let adoption = self.write(|transaction| {
            let stored = fact(transaction, "fingerprint")?;
            let adoption = match stored.as_deref() {
                None => Adoption::New,
                Some(stored) if stored == fingerprint => Adoption::Same,
                Some(_) => Adoption::Changed,
            };
            if adoption == Adoption::Changed {
                drop_other(transaction)?;
            }
            set_fact(transaction, "fingerprint", Some(fingerprint))?;
            Ok(adoption)
        })?;
        self.round = self.read(|database| {
            let next = "SELECT coalesce(max(round), 0) + 1 FROM moves";
            database.query_row(next, [], |row| row.get(0))
        })?;
        Ok(adoption)
    }

    /// Drops cursor, synchronised state, intents and write set: the remote is not what it was.
    ///
    /// # Errors
    ///
    /// When the state cannot be written.
    pub fn start_over(&mut self) -> Result<(), StateError> {
        self.write(drop_everything)
    }

    /// Saves changes, all or none.
    ///
    /// # Errors
    ///
    /// When they cannot be written; none of them is then in effect.
    pub fn save(&mut self, changes: &[Change], tracking: Tracking) -> Result<(), StateError> {
        if changes.is_empty() {
            return Ok(());
        }
        let round = self.round;
        self.write(|transaction| {
            changes
                .iter()
                .try_for_each(|change| journal::apply(transaction, change, tracking, round))
        })
    }

    /// Saves changes that could not be saved before, and makes sure that anything can be.
    ///
    /// # Errors
    ///
    /// When they cannot be written; none of them is then in effect.
    pub fn save_again(&mut self, changes: &[Change], tracking: Tracking) -> Result<(), StateError> {
        let round = self.round;
        self.write(|transaction| {
            transaction.execute("UPDATE facts SET value = value", [])?;
            changes
                .iter()
                .try_for_each(|change| journal::apply(transaction, change, tracking, round))
        })
    }

    /// Ends a round: the cursor and the time since which it is held, in one write.
    ///
    /// # Errors
    ///
    /// When it cannot be written; neither is then in effect.
    pub fn finish(
        &mut self,
        cursor: CursorChange<'_>,
        held_since: Option<&str>,
    ) -> Result<(), StateError> {
        self.write(|transaction| {
            set_fact(transaction, "held_since", held_since)?;
            match cursor {
                CursorChange::Keep => return Ok(()),
                CursorChange::Store(cursor) => set_fact(transaction, "cursor", Some(cursor))?,
                CursorChange::StoreBut(cursor, kept) => {
                    set_fact(transaction, "cursor", Some(cursor))?;
                    transaction.execute_batch("DELETE FROM moves")?;
                    return journal::keep_only(transaction, kept);
                }
                CursorChange::Clear => set_fact(transaction, "cursor", None)?,
            }
            transaction.execute_batch("DELETE FROM write_set; DELETE FROM moves")
        })
    }

    /// Returns the stored cursor.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn cursor(&self) -> Result<Option<String>, StateError> {
        self.read(|database| fact(database, "cursor"))
    }

    /// Returns whether a cursor is stored, which may have many megabytes.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn has_cursor(&self) -> Result<bool, StateError> {
        self.read(|database| {
            database
                .prepare("SELECT 1 FROM facts WHERE name = 'cursor'")?
                .exists([])
        })
    }

    /// Returns since when the cursor is held, RFC 3339.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn held_since(&self) -> Result<Option<String>, StateError> {
        self.read(|database| fact(database, "held_since"))
    }

    /// Returns what is known of a document.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn pending(&self, uri: &FileUri) -> Result<Pending, StateError> {
        self.read(|database| {
            let confirmed = database
                .prepare_cached("SELECT doc_hash FROM confirmed WHERE file_uri = ?1")?
                .query_row([uri.as_str()], |row| row.get::<_, String>(0))
                .optional()?;
            let intent = database
                .prepare_cached("SELECT doc_hash FROM intents WHERE file_uri = ?1")?
                .query_row([uri.as_str()], |row| row.get::<_, Option<String>>(0))
                .optional()?;
            Ok(Pending {
                confirmed: confirmed.as_deref().map(hash).transpose()?,
                intent: match intent {
                    None => None,
                    Some(value) => Some(value.as_deref().map(hash).transpose()?),
                },
            })
        })
    }

    /// Returns the confirmed documents for which `is_named` does not hold, but for those that were pushed by their
    /// name alone.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn confirmed_but(
        &self,
        is_named: impl Fn(&FileUri) -> bool,
    ) -> Result<Vec<FileUri>, StateError> {
        self.read(|database| {
            let mut uris = database.prepare(
                "SELECT file_uri FROM confirmed WHERE file_uri NOT IN (SELECT file_uri FROM named)",
            )?;
            let mut left = Vec::new();
            for uri in uris.query_map([], |row| row.get::<_, String>(0))? {
                let uri = file_uri(&uri?)?;
                if !is_named(&uri) {
                    left.push(uri);
                }
            }
            Ok(left)
        })
    }

    /// Returns how many documents are confirmed.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn confirmed_count(&self) -> Result<u64, StateError> {
        self.read(|database| {
            let count: i64 =
                database.query_row("SELECT count(*) FROM confirmed", [], |row| row.get(0))?;
            Ok(count.unsigned_abs())
        })
    }

    /// Returns up to `most` confirmed documents with what they hold, in order of URI, those that
    /// come behind `last`.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn confirmed_after(
        &self,
        last: Option<&FileUri>,
        most: u32,
    ) -> Result<Vec<(FileUri, Hash)>, StateError> {
        self.read(|database| {
            let mut next = database.prepare_cached(
                "SELECT file_uri, doc_hash FROM confirmed
                 WHERE file_uri > ?1 ORDER BY file_uri LIMIT ?2",
            )?;
            let last = last.map_or("", FileUri::as_str);
            next.query_map((last, most), |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
            })?
            .map(|row| row.and_then(|(uri, value)| Ok((file_uri(&uri)?, hash(&value)?))))
            .collect()
        })
    }

    /// Has the next round enumerate everything, and find out of every confirmed document whether the
    /// source still has it.
    ///
    /// # Errors
    ///
    /// When the state cannot be written; nothing is then changed.
    pub fn doubt_everything(&mut self) -> Result<(), StateError> {
        self.write(|transaction| {
            set_fact(transaction, "cursor", None)?;
            transaction.execute(
                "INSERT OR IGNORE INTO write_set (file_uri, before)
                 SELECT file_uri, doc_hash FROM confirmed",
                [],
            )?;
            transaction.execute("DELETE FROM moves", []).map(drop)
        })
    }

    /// Returns whether nothing of a remote is kept: nothing has been delivered, and nothing was about to
    /// be.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn owns_nothing(&self) -> Result<bool, StateError> {
        self.read(|database| {
            let anything = "SELECT EXISTS (SELECT 1 FROM confirmed) OR EXISTS (SELECT 1 FROM intents)
                 OR EXISTS (SELECT 1 FROM write_set) OR EXISTS (SELECT 1 FROM facts WHERE name = 'cursor')";
            let owns: bool = database.query_row(anything, [], |row| row.get(0))?;
            Ok(!owns)
        })
    }

    /// Returns up to `most` confirmed documents, drawn at random with one look-up each.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn sample(&self, most: u32) -> Result<Vec<FileUri>, StateError> {
        self.read(|database| {
            let mut draw = database.prepare(
                "SELECT file_uri FROM confirmed
                 WHERE id >= (SELECT abs(random()) % max(max(id), 1) + 1 FROM confirmed)
                 ORDER BY id LIMIT 1",
            )?;
            let mut drawn = Vec::new();
            for _ in 0..most {
                let uri = draw
                    .query_row([], |row| row.get::<_, String>(0))
                    .optional()?;
                drawn.extend(uri.map(|uri| file_uri(&uri)).transpose()?);
            }
            drawn.sort();
            drawn.dedup();
            Ok(drawn)
        })
    }

    /// Returns the write set: documents touched since the last stored cursor.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn write_set(&self) -> Result<Vec<FileUri>, StateError> {
        self.read(|database| {
            let mut uris = database.prepare("SELECT file_uri FROM write_set ORDER BY file_uri")?;
            uris.query_map([], |row| row.get::<_, String>(0))?
                .map(|uri| file_uri(&uri?))
                .collect()
        })
    }

    /// Returns whether an earlier round that began from the stored cursor has moved anything.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn follows_moves(&self) -> Result<bool, StateError> {
        self.read(|database| {
            database
                .prepare_cached("SELECT 1 FROM moves WHERE round < ?1")?
                .exists([self.round])
        })
    }

    /// Returns whether an earlier round that began from the stored cursor has carried out this
    /// move, and the round that is under way has not yet said so of it.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn has_moved(&self, from: &FileUri, to: &FileUri) -> Result<bool, StateError> {
        self.read(|database| {
            database
                .prepare_cached(
                    "SELECT 1 FROM moves WHERE from_uri = ?1 AND to_uri = ?2 AND round < ?3",
                )?
                .exists((from.as_str(), to.as_str(), self.round))
        })
    }

    /// Returns the value that a member of the write set had before it entered: none if it was
    /// absent, or is no member.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn before(&self, uri: &FileUri) -> Result<Option<Hash>, StateError> {
        self.read(|database| {
            let before = database
                .prepare_cached("SELECT before FROM write_set WHERE file_uri = ?1")?
                .query_row([uri.as_str()], |row| row.get::<_, Option<String>>(0))
                .optional()?;
            before.flatten().as_deref().map(hash).transpose()
        })
    }

    /// Returns the documents that were pushed by their name and that no enumeration has had since.
    ///
    /// # Errors
    ///
    /// When the state cannot be read.
    pub fn named(&self) -> Result<Vec<FileUri>, StateError> {
        self.read(|database| {
            let mut uris = database.prepare("SELECT file_uri FROM named ORDER BY file_uri")?;
            uris.query_map([], |row| row.get::<_, String>(0))?
                .map(|uri| file_uri(&uri?))
                .collect()
        })
    }

    /// Takes documents that were pushed by their name for ones of the whole source: if the next
    /// enumeration does not have them, they are gone.
    ///
    /// # Errors
    ///
    /// When the state cannot be written; nothing is then changed.
    pub fn reclaim(&mut self, uris: &[FileUri]) -> Result<(), StateError> {
        self.write(|transaction| {
            for uri in uris {
                transaction.execute("DELETE FROM named WHERE file_uri = ?1", [uri.as_str()])?;
                journal::track(transaction, uri)?;
            }
            Ok(())
        })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StateError> {
        read(&self.database).map_err(|source| StateError::database(&self.path, source))
    }

    fn write<T>(
        &mut self,
        write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>,
    ) -> Result<T, StateError> {
        let run = || {
            let transaction = self.database.transaction()?;
            let value = write(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|source| StateError::database(&self.path, source))
    }
}

fn drop_everything(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(
        "DELETE FROM confirmed; DELETE FROM intents; DELETE FROM write_set; DELETE FROM named;
         DELETE FROM moves;
         DELETE FROM facts WHERE name = 'cursor';",
    )
}

pub(super) fn fact(connection: &Connection, name: &str) -> rusqlite::Result<Option<String>> {
    connection
        .query_row("SELECT value FROM facts WHERE name = ?1", [name], |row| {
            row.get(0)
        })
        .optional()
}

fn set_fact(
    transaction: &Transaction<'_>,
    name: &str,
    value: Option<&str>,
) -> rusqlite::Result<()> {
    match value {
        Some(value) => transaction.execute(
            "INSERT OR REPLACE INTO facts (name, value) VALUES (?1, ?2)",
            (name, value),
        ),
        None => transaction.execute("DELETE FROM facts WHERE name = ?1", [name]),
    }
    .map(drop)
}

/// Reads a stored hash; one that does not parse means that the state is damaged.
fn hash(text: &str) -> rusqlite::Result<Hash> {
    Hash::parse(text, KNOWN).map_err(unreadable)
}

fn file_uri(text: &str) -> rusqlite::Result<FileUri> {
    FileUri::parse(text).map_err(unreadable)
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, rusqlite::types::Type::Text, Box::new(error))
}

#[cfg(test)]
mod tests;
