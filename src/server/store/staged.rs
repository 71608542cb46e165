//! What a session holds: pages, elements and blobs, by the hash they were uploaded under
//! (http-binding §8.1). Nothing of it is visible to any read of documents.

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::{BlobRef, Hash};
use crate::server::store::spelling::{self, ELEMENTS};

/// A page on its way into a session.
#[derive(Debug)]
pub(crate) struct NewPage {
    pub(crate) hash: Hash,
    pub(crate) text: Box<str>,
    /// Bytes received for it.
    pub(crate) length: u64,
    /// Whether it came in chunks.
    pub(crate) in_chunks: bool,
}

/// An element on its way into a session.
#[derive(Debug)]
pub(crate) struct NewElement {
    pub(crate) hash: Hash,
    pub(crate) blob: Option<BlobRef>,
    pub(crate) text: Box<str>,
}

/// A complete object of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Complete {
    /// Bytes received for it.
    pub(crate) length: u64,
    /// Whether it is a page that came in chunks.
    pub(crate) in_chunks: bool,
}

/// Adds a page, or replaces it by another representation.
pub(super) fn put_page(
    connection: &Connection,
    session: i64,
    page: &NewPage,
) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO staged_page
               (session, contract, digest, length, in_chunks, text)
               VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    connection.prepare_cached(sql)?.execute(params![
        session,
        page.hash.contract().name(),
        page.hash.digest(),
        signed(page.length),
        page.in_chunks,
        page.text
    ])?;
    Ok(())
}

/// Returns how a page came, if the session has it.
pub(super) fn complete_page(
    connection: &Connection,
    session: i64,
    hash: Hash,
) -> rusqlite::Result<Option<Complete>> {
    let sql = "SELECT length, in_chunks FROM staged_page
               WHERE session = ?1 AND contract = ?2 AND digest = ?3";
    connection
        .prepare_cached(sql)?
        .query_row(
            params![session, hash.contract().name(), hash.digest()],
            |row| {
                Ok(Complete {
                    length: row.get::<_, i64>(0)?.unsigned_abs(),
                    in_chunks: row.get(1)?,
                })
            },
        )
        .optional()
}

/// Returns the row and the elements of a page, if the session has it.
pub(super) fn page(
    connection: &Connection,
    session: i64,
    hash: Hash,
) -> rusqlite::Result<Option<(i64, Vec<Hash>)>> {
    let sql = "SELECT id, text FROM staged_page
               WHERE session = ?1 AND contract = ?2 AND digest = ?3";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![session, hash.contract().name(), hash.digest()])?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let text = row.get_ref(1)?.as_str()?;
    let elements = spelling::spelled_children(text, ELEMENTS, hash.contract())?;
    Ok(Some((row.get(0)?, elements)))
}

/// Returns the text of a page by its row.
pub(super) fn page_text(connection: &Connection, id: i64) -> rusqlite::Result<String> {
    connection
        .prepare_cached("SELECT text FROM staged_page WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
}

/// Adds an element; false if the session has it already.
pub(super) fn add_element(
    connection: &Connection,
    session: i64,
    element: &NewElement,
) -> rusqlite::Result<bool> {
    let sql = "INSERT OR IGNORE INTO staged_element (session, contract, digest, blob, text)
               VALUES (?1, ?2, ?3, ?4, ?5)";
    let added = connection.prepare_cached(sql)?.execute(params![
        session,
        element.hash.contract().name(),
        element.hash.digest(),
        element.blob.map(BlobRef::digest),
        element.text
    ])?;
    Ok(added > 0)
}

/// Returns the row of an element and the blob it refers to, if the session has it.
pub(super) fn element(
    connection: &Connection,
    session: i64,
    hash: Hash,
) -> rusqlite::Result<Option<(i64, Option<BlobRef>)>> {
    let sql = "SELECT id, blob FROM staged_element
               WHERE session = ?1 AND contract = ?2 AND digest = ?3";
    connection
        .prepare_cached(sql)?
        .query_row(
            params![session, hash.contract().name(), hash.digest()],
            |row| {
                let blob: Option<[u8; 32]> = row.get(1)?;
                Ok((row.get(0)?, blob.map(BlobRef::from_digest)))
            },
        )
        .optional()
}

/// Returns the text of an element by its row.
pub(super) fn element_text(connection: &Connection, id: i64) -> rusqlite::Result<String> {
    connection
        .prepare_cached("SELECT text FROM staged_element WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
}

/// Adds a reference to a blob; false if the session has it already.
pub(super) fn add_blob(
    connection: &Connection,
    session: i64,
    blob: BlobRef,
) -> rusqlite::Result<bool> {
    let added = connection
        .prepare_cached("INSERT OR IGNORE INTO staged_blob (session, digest) VALUES (?1, ?2)")?
        .execute(params![session, blob.digest()])?;
    Ok(added > 0)
}

/// Returns the length of a blob, if the session has it.
pub(super) fn complete_blob(
    connection: &Connection,
    session: i64,
    blob: BlobRef,
) -> rusqlite::Result<Option<Complete>> {
    let sql = "SELECT length FROM staged_blob JOIN blob USING (digest)
               WHERE session = ?1 AND digest = ?2";
    connection
        .prepare_cached(sql)?
        .query_row(params![session, blob.digest()], |row| {
            Ok(Complete {
                length: row.get::<_, i64>(0)?.unsigned_abs(),
                in_chunks: false,
            })
        })
        .optional()
}

/// Lengths are those of bodies that were received.
pub(super) fn signed(length: u64) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}
