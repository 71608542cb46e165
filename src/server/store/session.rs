//! Staging sessions: who may use one, and until when (core §3.4, http-binding §8.1).
//!
//! Knows nothing of what a session holds but where it is kept.

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::FileUri;

/// Tables whose rows belong to a session.
const CONTENTS: [&str; 4] = ["staged_page", "staged_element", "staged_blob", "partial"];

/// Somebody's use of a session at some time.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// Id of the session as it travels.
    pub(crate) session: String,
    /// Who uses it.
    pub(crate) caller: Vec<u8>,
    /// Seconds since 1970 that have passed.
    pub(crate) now: i64,
    /// When the session is over if this use renews it; seconds since 1970.
    pub(crate) until: i64,
}

/// A usable session.
#[derive(Clone, Debug)]
pub(super) struct Session {
    pub(super) id: i64,
    pub(super) file_uri: String,
    /// Seconds since 1970; the session is over as soon as they have passed.
    pub(super) expires: i64,
}

impl Session {
    /// Opens a session for a document and returns its id as it travels, which nobody can guess.
    pub(super) fn open(
        connection: &Connection,
        uri: &FileUri,
        caller: &[u8],
        until: i64,
    ) -> rusqlite::Result<(Self, String)> {
        let sql = "INSERT INTO session (name, file_uri, caller, expires)
                   VALUES ('st-' || lower(hex(randomblob(16))), ?1, ?2, ?3)
                   RETURNING id, name";
        connection
            .prepare_cached(sql)?
            .query_row(params![uri.as_str(), caller, until], |row| {
                let session = Self {
                    id: row.get(0)?,
                    file_uri: uri.as_str().to_owned(),
                    expires: until,
                };
                Ok((session, row.get(1)?))
            })
    }

    /// Returns the session of a claim if it exists, is not over, and belongs to the caller.
    pub(super) fn find(connection: &Connection, claim: &Claim) -> rusqlite::Result<Option<Self>> {
        let sql = "SELECT id, file_uri, expires FROM session
                   WHERE name = ?1 AND caller = ?2 AND expires > ?3";
        connection
            .prepare_cached(sql)?
            .query_row(params![claim.session, claim.caller, claim.now], |row| {
                Ok(Self {
                    id: row.get(0)?,
                    file_uri: row.get(1)?,
                    expires: row.get(2)?,
                })
            })
            .optional()
    }

    /// Lets the session live until then, unless it lives longer anyway, and returns when it ends.
    pub(super) fn renew(&self, connection: &Connection, until: i64) -> rusqlite::Result<i64> {
        let sql = "UPDATE session SET expires = max(expires, ?2) WHERE id = ?1 RETURNING expires";
        connection
            .prepare_cached(sql)?
            .query_row([self.id, until], |row| row.get(0))
    }

    /// Ends the session and drops what it holds.
    pub(super) fn close(&self, connection: &Connection) -> rusqlite::Result<()> {
        close(connection, self.id)
    }
}

/// Ends a session whoever opened it; false if there is none that is not over already.
pub(super) fn expire(connection: &Connection, name: &str, now: i64) -> rusqlite::Result<bool> {
    let session = connection
        .prepare_cached("SELECT id FROM session WHERE name = ?1 AND expires > ?2")?
        .query_row(params![name, now], |row| row.get(0))
        .optional()?;
    session.map_or(Ok(false), |id| close(connection, id).map(|()| true))
}

/// Drops up to `most` sessions that are over and returns how many there were.
pub(super) fn sweep(connection: &Connection, now: i64, most: usize) -> rusqlite::Result<usize> {
    let over: Vec<i64> = connection
        .prepare_cached("SELECT id FROM session WHERE expires <= ?1 LIMIT ?2")?
        .query_map(
            params![now, i64::try_from(most).unwrap_or(i64::MAX)],
            |row| row.get(0),
        )?
        .collect::<Result<_, _>>()?;
    for id in &over {
        close(connection, *id)?;
    }
    Ok(over.len())
}

fn close(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    for table in CONTENTS {
        connection
            .prepare_cached(&format!("DELETE FROM {table} WHERE session = ?1"))?
            .execute([id])?;
    }
    connection
        .prepare_cached("DELETE FROM session WHERE id = ?1")?
        .execute([id])
        .map(drop)
}
