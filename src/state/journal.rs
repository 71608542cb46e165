//! The journal of writes: intents, confirmed values, and what was touched (§19.3, §22).

use rusqlite::Transaction;

use crate::model::{FileUri, Hash};

/// One change of the synchronised state or the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Something is about to be written: `None` is absent.
    Intend(FileUri, Option<Hash>),
    /// The outcome is known; the intent is settled.
    Settle(FileUri),
    /// The remote holds this.
    Confirm(FileUri, Hash),
    /// The remote holds nothing.
    Forget(FileUri),
    /// This move is carried out, now or by an earlier round that began from the same cursor.
    Moved(FileUri, FileUri),
    /// The document is none of this instance's: it leaves the write set.
    Disown(FileUri),
}

/// Whether changes enter the write set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tracking {
    /// They do: the round is about the whole source, and a later one may find the documents gone.
    Tracked,
    /// They do not: somebody named these documents, whether or not an enumeration has them.
    Untracked,
}

/// Applies one change that belongs to the round of this number.
pub(super) fn apply(
    transaction: &Transaction<'_>,
    change: &Change,
    tracking: Tracking,
    round: i64,
) -> rusqlite::Result<()> {
    if tracking == Tracking::Tracked {
        remember(transaction, change)?;
    }
    name(transaction, change, tracking)?;
    let run = |sql: &str, uri: &FileUri| {
        let mut statement = transaction.prepare_cached(sql)?;
        statement.execute([uri.as_str()]).map(drop)
    };
    match change {
        Change::Intend(uri, hash) => transaction
            .prepare_cached("INSERT OR REPLACE INTO intents (file_uri, doc_hash) VALUES (?1, ?2)")?
            .execute((uri.as_str(), hash.map(|hash| hash.to_string())))
            .map(drop),
        Change::Settle(uri) => run("DELETE FROM intents WHERE file_uri = ?1", uri),
        Change::Confirm(uri, hash) => transaction
            .prepare_cached(
                "INSERT INTO confirmed (file_uri, doc_hash) VALUES (?1, ?2)
                 ON CONFLICT (file_uri) DO UPDATE SET doc_hash = excluded.doc_hash",
            )?
            .execute((uri.as_str(), hash.to_string()))
            .map(drop),
        Change::Forget(uri) => run("DELETE FROM confirmed WHERE file_uri = ?1", uri),
        Change::Moved(from, to) => moved(transaction, (from, to), round),
        Change::Disown(uri) => run("DELETE FROM write_set WHERE file_uri = ?1", uri),
    }
}

/// Notes a move: of an earlier round, if it was said again, or else a further one.
fn moved(
    transaction: &Transaction<'_>,
    (from, to): (&FileUri, &FileUri),
    round: i64,
) -> rusqlite::Result<()> {
    let sides = (from.as_str(), to.as_str(), round);
    let said_again = transaction
        .prepare_cached(
            "UPDATE moves SET round = ?3 WHERE id = (
                 SELECT id FROM moves WHERE from_uri = ?1 AND to_uri = ?2 AND round < ?3
                 ORDER BY id LIMIT 1)",
        )?
        .execute(sides)?;
    if said_again == 0 {
        transaction
            .prepare_cached("INSERT INTO moves (from_uri, to_uri, round) VALUES (?1, ?2, ?3)")?
            .execute(sides)?;
    }
    Ok(())
}

/// Enters a document into the write set, with its value before, if the change is one.
fn remember(transaction: &Transaction<'_>, change: &Change) -> rusqlite::Result<()> {
    let (uri, hash, already) = match change {
        Change::Intend(uri, hash) => (
            uri,
            hash.map(|hash| hash.to_string()),
            "SELECT 1 FROM intents WHERE file_uri = ?1 AND doc_hash IS ?2",
        ),
        Change::Confirm(uri, hash) => (
            uri,
            Some(hash.to_string()),
            "SELECT 1 FROM confirmed WHERE file_uri = ?1 AND doc_hash IS ?2",
        ),
        Change::Forget(uri) => (
            uri,
            None,
            "SELECT 1 WHERE ?2 IS NULL AND NOT EXISTS
             (SELECT 1 FROM confirmed WHERE file_uri = ?1)",
        ),
        Change::Settle(_) | Change::Moved(..) | Change::Disown(_) => return Ok(()),
    };
    if transaction
        .prepare_cached(already)?
        .exists((uri.as_str(), hash))?
    {
        return Ok(());
    }
    track(transaction, uri)
}

/// Keeps apart what was pushed by its name, until an enumeration has it too.
fn name(
    transaction: &Transaction<'_>,
    change: &Change,
    tracking: Tracking,
) -> rusqlite::Result<()> {
    let (sql, uri) = match (change, tracking) {
        (Change::Confirm(uri, _), Tracking::Untracked) => {
            ("INSERT OR IGNORE INTO named (file_uri) VALUES (?1)", uri)
        }
        (Change::Confirm(uri, _) | Change::Forget(uri), _) => {
            ("DELETE FROM named WHERE file_uri = ?1", uri)
        }
        _ => return Ok(()),
    };
    let mut statement = transaction.prepare_cached(sql)?;
    statement.execute([uri.as_str()]).map(drop)
}

/// Enters a document into the write set, with its value now.
pub(super) fn track(transaction: &Transaction<'_>, uri: &FileUri) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO write_set (file_uri, before)
             VALUES (?1, (SELECT doc_hash FROM confirmed WHERE file_uri = ?1))",
        )?
        .execute([uri.as_str()])
        .map(drop)
}

/// Makes these the write set; those that were in it keep their values before.
pub(super) fn keep_only(transaction: &Transaction<'_>, kept: &[FileUri]) -> rusqlite::Result<()> {
    transaction.execute_batch("CREATE TEMP TABLE kept (file_uri TEXT PRIMARY KEY)")?;
    {
        let mut keep = transaction.prepare("INSERT OR IGNORE INTO kept VALUES (?1)")?;
        for uri in kept {
            keep.execute([uri.as_str()])?;
        }
    }
    transaction.execute_batch(
        "DELETE FROM write_set WHERE file_uri NOT IN (SELECT file_uri FROM kept);
         DROP TABLE temp.kept",
    )?;
    kept.iter().try_for_each(|uri| track(transaction, uri))
}
