//! What a session has received of an object so far: the rows of partial uploads, and the names of
//! the files that hold their bytes.

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::BlobRef;
use crate::protocol::Staged;
use crate::server::store::session::{Claim, Session};
use crate::server::store::staged::{self, Complete};

/// What a session has received of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    Nothing,
    Partial { received: u64, total: u64 },
    Complete(Complete),
}

/// A usable session and what it has received of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadState {
    /// When the session is over, in seconds since 1970.
    pub(crate) expires: i64,
    pub(crate) received: Received,
}

/// Returns the state of an upload, or `None` if the session is not usable.
pub(super) fn state(
    connection: &Connection,
    claim: &Claim,
    object: Staged,
) -> rusqlite::Result<Option<UploadState>> {
    let Some(session) = Session::find(connection, claim)? else {
        return Ok(None);
    };
    let complete = match object {
        Staged::Page(hash) => staged::complete_page(connection, session.id, hash)?,
        Staged::Blob(blob) => staged::complete_blob(connection, session.id, blob)?,
        Staged::Element(_) => None,
    };
    let received = match complete {
        Some(complete) => Received::Complete(complete),
        None => partial(connection, session.id, &key(object))?,
    };
    Ok(Some(UploadState {
        expires: session.expires,
        received,
    }))
}

fn partial(connection: &Connection, session: i64, key: &str) -> rusqlite::Result<Received> {
    let sql = "SELECT received, total FROM partial WHERE session = ?1 AND object = ?2";
    let found = connection
        .prepare_cached(sql)?
        .query_row(params![session, key], |row| {
            Ok(Received::Partial {
                received: row.get::<_, i64>(0)?.unsigned_abs(),
                total: row.get::<_, i64>(1)?.unsigned_abs(),
            })
        })
        .optional()?;
    Ok(found.unwrap_or(Received::Nothing))
}

/// Returns the name of an object in the table of partial uploads, and in the names of their files.
pub(super) fn key(object: Staged) -> String {
    let (kind, name) = match object {
        Staged::Page(hash) => ("pages", hash.to_string()),
        Staged::Element(hash) => ("objects", hash.to_string()),
        Staged::Blob(blob) => ("blobs", blob.to_string()),
    };
    // Not every file system has names with a `:`.
    format!("{kind}.{}", name.replace(':', "."))
}

/// Returns the blob that a row of the table of partial uploads names, if it names one.
pub(super) fn blob(key: &str) -> Option<BlobRef> {
    BlobRef::parse(&key.strip_prefix("blobs.")?.replace('.', ":")).ok()
}

/// Suffix of the file of a blob that came whole, until it is in its place.
pub(super) const WHOLE: &str = ".whole";

/// Returns the name of the upload that a file belongs to.
pub(super) fn upload_of(file: &str) -> &str {
    file.strip_suffix(WHOLE).unwrap_or(file)
}

/// Takes the name of a file apart: which session, and which object.
pub(super) fn owner(file: &str) -> Option<(&str, &str)> {
    upload_of(file).split_once('.')
}

/// Counts bytes of an object.
pub(super) fn count(
    connection: &Connection,
    session: i64,
    key: &str,
    received: u64,
    total: u64,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO partial (session, object, total, received)
               VALUES (?1, ?2, ?3, ?4)";
    let (total, received) = (staged::signed(total), staged::signed(received));
    connection
        .prepare_cached(sql)?
        .execute(params![session, key, total, received])
        .map(drop)
}

/// Drops the row of a partial upload; false if there is none.
pub(super) fn forget(connection: &Connection, session: i64, key: &str) -> rusqlite::Result<bool> {
    let forgotten = connection
        .prepare_cached("DELETE FROM partial WHERE session = ?1 AND object = ?2")?
        .execute(params![session, key])?;
    Ok(forgotten > 0)
}
