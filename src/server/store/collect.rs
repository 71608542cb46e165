//! Removal of what nobody can reach any more: sessions that are over, blobs nothing refers to,
//! files that no row counts.
//!
//! A blob is unreachable once it is loose (something lost a reference to it) and neither a document
//! nor a session refers to it. Its row goes first; the file follows when that is on disk, and only
//! then the blob is forgotten, so that a kill in between leaves a file that is found again.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::BlobRef;
use crate::server::blocking::blocking;
use crate::server::store::files::Files;
use crate::server::store::{NotWritten, Shared, partial, session};

/// Sessions dropped in one transaction; each may hold much.
const SESSIONS: usize = 16;

/// Blobs judged in one transaction.
const BLOBS: usize = 256;

/// Removes everything that is unreachable at `now`, beside a store in use.
pub(super) async fn sweep(shared: &Arc<Shared>, now: i64) -> Result<(), NotWritten> {
    let writer = shared.writer()?;
    while writer
        .write(move |connection| session::sweep(connection, now, SESSIONS))
        .await?
        == SESSIONS
    {}
    let mut after = Vec::new();
    loop {
        let from = after.clone();
        let found = writer
            .write(move |connection| drop_loose(connection, &from))
            .await?;
        let Some(last) = found.last else {
            break;
        };
        after = last;
        let unlinking = Arc::clone(shared);
        let removed = blocking(move || {
            let may_refer = |blob| unlinking.may_refer_to(blob);
            let mut removed = found.files;
            removed.retain(|&blob| unlinking.files.remove_blob(blob, || may_refer(blob)));
            removed
        })
        .await;
        writer
            .write(move |connection| forget_loose(connection, &removed))
            .await?;
    }
    let sweeping = Arc::clone(shared);
    blocking(move || sweep_partials(&sweeping)).await;
    Ok(())
}

/// Removes everything that is unreachable at `now` before the store is used. After a kill there may
/// be files that no row has ever counted, so then all are looked at.
pub(super) fn sweep_at_open(
    connection: &Connection,
    files: &Files,
    now: i64,
    after_kill: bool,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    while session::sweep(&transaction, now, SESSIONS)? > 0 {}
    let mut doomed = Vec::new();
    let mut after = Vec::new();
    loop {
        let found = drop_loose(&transaction, &after)?;
        doomed.extend(found.files);
        let Some(last) = found.last else {
            break;
        };
        after = last;
    }
    settle_partials(&transaction, files)?;
    transaction.commit()?;
    let has_row = |blob| has_row(connection, blob).unwrap_or(true);
    doomed.retain(|&blob| files.remove_blob(blob, || has_row(blob)));
    if !doomed.is_empty() {
        forget_loose(connection, &doomed)?;
    }
    // A directory that cannot be read now is swept another time.
    if after_kill && let Ok(blobs) = files.blobs() {
        for blob in blobs {
            files.remove_blob(blob, || has_row(blob));
        }
    }
    for name in files.partials().unwrap_or_default() {
        if !is_counted(connection, &name).unwrap_or(true) {
            files.remove_partial(&name);
        }
    }
    Ok(())
}

/// Loose blobs that were judged.
struct Judged {
    /// Those that are files which have to go.
    files: Vec<BlobRef>,
    /// The last of them all; `None` if there were none.
    last: Option<Vec<u8>>,
}

/// Judges loose blobs behind `after`: those that something refers to are loose no more, those that
/// nothing refers to lose their rows.
fn drop_loose(connection: &Connection, after: &[u8]) -> rusqlite::Result<Judged> {
    let most = i64::try_from(BLOBS).unwrap_or(i64::MAX);
    let loose: Vec<[u8; 32]> = connection
        .prepare_cached("SELECT digest FROM loose_blob WHERE digest > ?1 ORDER BY digest LIMIT ?2")?
        .query_map(params![after, most], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut files = Vec::new();
    for &digest in &loose {
        let blob = BlobRef::from_digest(digest);
        if is_referred_to(connection, blob)? || drop_row(connection, blob)? {
            connection
                .prepare_cached("DELETE FROM loose_blob WHERE digest = ?1")?
                .execute([digest])?;
        } else {
            files.push(blob);
        }
    }
    let last = loose.last().map(|digest| digest.to_vec());
    Ok(Judged { files, last })
}

fn is_referred_to(connection: &Connection, blob: BlobRef) -> rusqlite::Result<bool> {
    for sql in [
        "SELECT 1 FROM element WHERE blob = ?1",
        "SELECT 1 FROM staged_blob WHERE digest = ?1",
    ] {
        if connection.prepare_cached(sql)?.exists([blob.digest()])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Drops the row of a blob; true if that was all there is of it.
fn drop_row(connection: &Connection, blob: BlobRef) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM blob WHERE digest = ?1 RETURNING bytes IS NOT NULL";
    let was_inline = connection
        .prepare_cached(sql)?
        .query_row([blob.digest()], |row| row.get(0))
        .optional()?;
    // Without a row it is what a kill has left of an earlier removal: the file.
    Ok(was_inline.unwrap_or(false))
}

/// Forgets removed blobs. One that somebody has brought back meanwhile may be loose again.
fn forget_loose(connection: &Connection, blobs: &[BlobRef]) -> rusqlite::Result<()> {
    let sql = "DELETE FROM loose_blob WHERE digest = ?1
               AND NOT EXISTS (SELECT 1 FROM blob WHERE digest = ?1)";
    let mut statement = connection.prepare_cached(sql)?;
    for blob in blobs {
        statement.execute([blob.digest()])?;
    }
    Ok(())
}

/// Whether a blob has a row, and with it a right to its file.
pub(super) fn has_row(connection: &Connection, blob: BlobRef) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")?
        .exists([blob.digest()])
}

/// Makes the rows and files of partial uploads agree. A kill may have come after a blob was put in
/// its place and before that was counted; where bytes that were counted are gone, as after a power
/// cut, the upload starts from nothing.
fn settle_partials(connection: &Connection, files: &Files) -> rusqlite::Result<()> {
    let sql = "SELECT partial.session, object, received, name FROM partial
               JOIN session ON session.id = partial.session";
    let partials: Vec<(i64, String, i64, String)> = connection
        .prepare(sql)?
        .query_map([], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?
        .collect::<Result<_, _>>()?;
    for (session, object, received, name) in partials {
        let file = format!("{name}.{object}");
        let is_short = || files.partial_length(&file) < received.unsigned_abs();
        if is_short()
            && let Some(blob) = partial::blob(&object)
            && !has_row(connection, blob)?
        {
            files.take_back(blob, &file);
        }
        if is_short() {
            connection.execute(
                "DELETE FROM partial WHERE session = ?1 AND object = ?2",
                params![session, object],
            )?;
        }
    }
    Ok(())
}

/// Removes partial files that no row counts and nobody writes.
fn sweep_partials(shared: &Shared) {
    // A directory that cannot be read now is swept another time.
    let names = shared.files.partials().unwrap_or_default();
    shared.uploads.sweep(&names, |name| {
        let counted = shared
            .readers
            .read(|connection| is_counted(connection, name));
        if !counted.unwrap_or(true) {
            shared.files.remove_partial(name);
        }
    });
}

fn is_counted(connection: &Connection, file: &str) -> rusqlite::Result<bool> {
    let Some((session, object)) = partial::owner(file) else {
        return Ok(false);
    };
    let sql = "SELECT 1 FROM partial JOIN session ON session.id = partial.session
               WHERE name = ?1 AND object = ?2";
    connection.prepare_cached(sql)?.exists([session, object])
}
