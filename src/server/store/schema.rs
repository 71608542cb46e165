//! The tables of a store, and the check whether a database is one.
//!
//! Objects are kept per document: the scope in which a commit may refer to content is the
//! document's current state (http-binding §8.3), so that is also how rows are found and removed.
//!
//! What is staged is kept per session, by the hash in the contract it was uploaded under
//! (http-binding §8.1). The bytes of blobs are kept once for all that refer to them, which nobody
//! can tell from outside (core §8).
//!
//! Every object of a document has a column per known contract. `dpe1` is always filled, and child
//! lists in stored texts are spelled in `dpe1`; other columns are filled while the server declares
//! them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::server::store::{StoreError, connection};

/// Name of the database in a store directory.
pub(super) const FILE: &str = "remote.db";

/// `application_id` of our databases: "dpeR".
const APPLICATION_ID: u32 = 0x6470_6552;

/// Schema version this program writes.
const VERSION: i64 = 2;

/// `occurrences` of a page is how often the document refers to it; `uses` of an element is the
/// number of the document's distinct pages that refer to it. A row whose count would become 0 is
/// deleted in the same transaction.
const DOCUMENTS: &str = "
CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;
CREATE TABLE document (
    id            INTEGER PRIMARY KEY,
    file_uri      TEXT NOT NULL UNIQUE,
    dpe1          BLOB NOT NULL,
    dpex          BLOB,
    element_count INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE TABLE page (
    id            INTEGER PRIMARY KEY,
    document      INTEGER NOT NULL,
    dpe1          BLOB NOT NULL,
    dpex          BLOB,
    occurrences   INTEGER NOT NULL,
    element_count INTEGER NOT NULL,
    text          TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX page_by_hash ON page (document, dpe1);
CREATE TABLE element (
    id            INTEGER PRIMARY KEY,
    document      INTEGER NOT NULL,
    dpe1          BLOB NOT NULL,
    dpex          BLOB,
    uses          INTEGER NOT NULL,
    blob          BLOB,
    text          TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX element_by_hash ON element (document, dpe1);
CREATE INDEX element_by_dpex ON element (document, dpex) WHERE dpex IS NOT NULL;
CREATE INDEX element_by_blob ON element (document, blob) WHERE blob IS NOT NULL;
INSERT INTO setting VALUES ('cursor_key', randomblob(16));
";

/// What version 2 adds to version 1.
///
/// Ids of sessions are never used again. `expires` is in seconds since 1970. `in_chunks` says how a
/// page came, `length` how many bytes of it did. A partial upload is a file beside the database of
/// which `received` bytes count. A blob without `bytes` is a file. What loses a reference to a blob
/// makes it loose; a loose blob is removed if nothing else refers to it.
const STAGING: &str = "
CREATE TABLE session (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    name     TEXT NOT NULL UNIQUE,
    file_uri TEXT NOT NULL,
    caller   BLOB NOT NULL,
    expires  INTEGER NOT NULL
) STRICT;
CREATE INDEX session_by_end ON session (expires);
CREATE TABLE staged_page (
    id        INTEGER PRIMARY KEY,
    session   INTEGER NOT NULL,
    contract  TEXT NOT NULL,
    digest    BLOB NOT NULL,
    length    INTEGER NOT NULL,
    in_chunks INTEGER NOT NULL,
    text      TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX staged_page_by_hash ON staged_page (session, contract, digest);
CREATE TABLE staged_element (
    id       INTEGER PRIMARY KEY,
    session  INTEGER NOT NULL,
    contract TEXT NOT NULL,
    digest   BLOB NOT NULL,
    blob     BLOB,
    text     TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX staged_element_by_hash ON staged_element (session, contract, digest);
CREATE TABLE staged_blob (
    session INTEGER NOT NULL,
    digest  BLOB NOT NULL,
    PRIMARY KEY (session, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX staged_blob_by_digest ON staged_blob (digest);
CREATE TABLE partial (
    session  INTEGER NOT NULL,
    object   TEXT NOT NULL,
    total    INTEGER NOT NULL,
    received INTEGER NOT NULL,
    PRIMARY KEY (session, object)
) STRICT, WITHOUT ROWID;
CREATE TABLE blob (
    digest BLOB PRIMARY KEY,
    length INTEGER NOT NULL,
    bytes  BLOB
) STRICT;
CREATE TABLE loose_blob (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
DROP INDEX element_by_blob;
CREATE INDEX element_by_blob ON element (blob, document) WHERE blob IS NOT NULL;
CREATE TRIGGER element_loses_blob AFTER DELETE ON element WHEN OLD.blob IS NOT NULL BEGIN
    INSERT OR IGNORE INTO loose_blob VALUES (OLD.blob);
END;
CREATE TRIGGER session_loses_blob AFTER DELETE ON staged_blob BEGIN
    INSERT OR IGNORE INTO loose_blob VALUES (OLD.digest);
END;
";

/// What a database file is to us.
enum Found {
    /// No byte, or no table.
    Nothing,
    /// The first transaction is only in the log.
    Unknown,
    Ours(i64),
    Foreign,
}

/// Refuses a database that is not ours or too new, by reading its header only; a missing
/// file passes.
pub(super) fn check_file(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(FILE);
    let header = match read_header(&path) {
        Ok(header) => header,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(StoreError::Io {
                doing: "read",
                path,
                source,
            });
        }
    };
    judge(dir, found_in_header(&header)).map(drop)
}

/// Checks that a database is a store of ours, without writing to it, and returns whether it has
/// the tables of staging.
pub(super) fn check(connection: &Connection, dir: &Path) -> Result<bool, StoreError> {
    let database = |source| StoreError::database(&dir.join(FILE), source);
    let found = found_by_query(connection).map_err(database)?;
    let version = judge(dir, found)?;
    Ok(version.is_some_and(|version| version >= 2))
}

/// Creates the tables in a new database.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    migrate(connection, None)
}

/// Brings the tables of an earlier version up to date.
pub(super) fn prepare(connection: &mut Connection, dir: &Path) -> Result<(), StoreError> {
    let database = |source| StoreError::database(&dir.join(FILE), source);
    let found = found_by_query(connection).map_err(database)?;
    let version = judge(dir, found)?;
    connection::make_durable(connection).map_err(database)?;
    match version {
        Some(VERSION) => Ok(()),
        older => migrate(connection, older).map_err(database),
    }
}

/// Goes from an earlier version, or from nothing, to the one this program writes, all at once.
fn migrate(connection: &mut Connection, version: Option<i64>) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if version.is_none() {
        transaction.execute_batch(DOCUMENTS)?;
        transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    transaction.execute_batch(STAGING)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

/// Returns the version of a store that can be used, or `None` if only a query can tell. A database
/// without content has lost it: stores are complete once they have their name.
fn judge(dir: &Path, found: Found) -> Result<Option<i64>, StoreError> {
    match found {
        Found::Unknown => Ok(None),
        Found::Nothing => Err(StoreError::database(
            &dir.join(FILE),
            rusqlite::Error::SqliteFailure(
                rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB),
                Some("it has lost its content".to_owned()),
            ),
        )),
        Found::Ours(version) if version <= VERSION => Ok(Some(version)),
        Found::Ours(version) => Err(StoreError::Newer {
            dir: dir.to_owned(),
            found: version,
            supported: VERSION,
        }),
        Found::Foreign => Err(StoreError::Foreign {
            path: dir.join(FILE),
        }),
    }
}

fn read_header(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut header = Vec::with_capacity(100);
    File::open(path)?.take(100).read_to_end(&mut header)?;
    Ok(header)
}

/// Reads `application_id` and `user_version` where the SQLite file format has them.
fn found_in_header(header: &[u8]) -> Found {
    if header.is_empty() {
        return Found::Nothing;
    }
    if header.len() < 100 || !header.starts_with(b"SQLite format 3\0") {
        return Found::Foreign;
    }
    let word = |at: usize| {
        let bytes = header[at..at + 4]
            .try_into()
            .expect("four bytes were taken");
        u32::from_be_bytes(bytes)
    };
    match (word(68), word(60)) {
        (APPLICATION_ID, version) => Found::Ours(i64::from(version)),
        // A database whose first transaction has not been checkpointed yet.
        (0, 0) => Found::Unknown,
        _ => Found::Foreign,
    }
}

fn found_by_query(connection: &Connection) -> rusqlite::Result<Found> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let application = number("PRAGMA application_id")?;
    if application == i64::from(APPLICATION_ID) {
        return Ok(Found::Ours(number("PRAGMA user_version")?));
    }
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    Ok(if application == 0 && tables == 0 {
        Found::Nothing
    } else {
        Found::Foreign
    })
}
