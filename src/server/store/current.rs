//! What a document is now: the rows a decision depends on.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::model::{Contract, Contracts, FileUri, Hash};
use crate::server::store::damage::damaged;
use crate::server::store::spelling::{self, Digests, ELEMENTS};

/// Row of a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document {
    pub(super) id: i64,
    pub(super) digests: Digests,
    /// Elements with repetitions.
    pub(super) element_count: u64,
}

impl Document {
    pub(super) fn find(connection: &Connection, uri: &FileUri) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached(
                "SELECT dpe1, dpex, id, element_count FROM document WHERE file_uri = ?1",
            )?
            .query_row([uri.as_str()], |row| {
                Ok(Self {
                    digests: Digests::from_row(row)?,
                    id: row.get(2)?,
                    element_count: count(row, 3)?,
                })
            })
            .optional()
    }

    /// Whether a condition holds: `base` is the current doc_hash under one of the declared
    /// contracts (http-binding §5.2). A token that is no such hash never matches.
    pub(super) fn is(&self, base: Option<Hash>, declared: Contracts) -> bool {
        base.is_some_and(|base| {
            declared.contains(base.contract()) && self.digests.hash(base.contract()) == Some(base)
        })
    }
}

/// Row of a page, without its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Page {
    pub(super) id: i64,
    pub(super) digests: Digests,
    /// How often the document refers to it.
    pub(super) occurrences: u64,
    /// Elements with repetitions.
    pub(super) element_count: u64,
}

/// Returns the pages of a document by their hashes under `contract`.
pub(super) fn pages(
    connection: &Connection,
    document: i64,
    contract: Contract,
) -> rusqlite::Result<HashMap<Hash, Page>> {
    let mut statement = connection.prepare_cached(
        "SELECT dpe1, dpex, id, occurrences, element_count FROM page WHERE document = ?1",
    )?;
    let rows = statement.query_map([document], |row| {
        Ok(Page {
            digests: Digests::from_row(row)?,
            id: row.get(2)?,
            occurrences: count(row, 3)?,
            element_count: count(row, 4)?,
        })
    })?;
    let mut pages = HashMap::new();
    for page in rows {
        let page = page?;
        if let Some(hash) = page.digests.hash(contract) {
            pages.insert(hash, page);
        }
    }
    Ok(pages)
}

/// Returns the digests of an element if it is part of the document's current state.
pub(super) fn element(
    connection: &Connection,
    document: i64,
    hash: Hash,
) -> rusqlite::Result<Option<Digests>> {
    let sql = match hash.contract() {
        Contract::Dpe1 => "SELECT dpe1, dpex FROM element WHERE document = ?1 AND dpe1 = ?2",
        Contract::Dpex => "SELECT dpe1, dpex FROM element WHERE document = ?1 AND dpex = ?2",
    };
    connection
        .prepare_cached(sql)?
        .query_row(params![document, hash.digest()], |row| {
            Digests::from_row(row)
        })
        .optional()
}

/// Whether an element of the document's current state refers to this blob.
pub(super) fn has_blob(
    connection: &Connection,
    document: i64,
    digest: [u8; 32],
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM element WHERE document = ?1 AND blob = ?2")?
        .exists(params![document, digest])
}

/// Returns the elements of a stored page in order, with repetitions, as `dpe1` digests.
pub(super) fn page_elements(connection: &Connection, page: i64) -> rusqlite::Result<Vec<[u8; 32]>> {
    let text: String = connection
        .prepare_cached("SELECT text FROM page WHERE id = ?1")?
        .query_row([page], |row| row.get(0))?;
    spelling::children(&text, ELEMENTS)
}

/// Reads a count. It may be told in JSON, so it is no greater than 2^53 - 1 (hash contract §4.3).
pub(super) fn count(row: &Row<'_>, index: usize) -> rusqlite::Result<u64> {
    let count = u64::try_from(row.get::<_, i64>(index)?).map_err(damaged)?;
    if count >= 1 << 53 {
        return Err(damaged(format!("nothing occurs {count} times")));
    }
    Ok(count)
}
