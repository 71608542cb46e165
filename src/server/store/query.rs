//! Reads, each on one consistent state.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::model::{Contract, FileUri, Hash};
use crate::server::store::current::Document;
use crate::server::store::damage::damaged;
use crate::server::store::spelling::Digests;

/// Which part of the list is wanted.
#[derive(Debug)]
pub(crate) struct Listing<'a> {
    /// Prefixes of the wanted URIs: sorted, and none of them the beginning of another.
    pub(crate) prefixes: &'a [String],
    /// URI after which to go on.
    pub(crate) after: Option<&'a str>,
    /// Most rows wanted.
    pub(crate) limit: u64,
    pub(crate) contract: Contract,
}

pub(super) fn heads(
    connection: &Connection,
    uris: &[FileUri],
    contract: Contract,
) -> rusqlite::Result<Vec<Option<Hash>>> {
    uris.iter()
        .map(|uri| {
            let document = Document::find(connection, uri)?;
            Ok(document.and_then(|document| document.digests.hash(contract)))
        })
        .collect()
}

/// Returns documents in the order of their URIs, which are ASCII: code points and bytes agree.
pub(super) fn list(
    connection: &Connection,
    listing: &Listing<'_>,
) -> rusqlite::Result<Vec<(FileUri, Hash)>> {
    let mut documents = Vec::new();
    for prefix in listing.prefixes {
        list_below(connection, listing, prefix, &mut documents)?;
    }
    Ok(documents)
}

fn list_below(
    connection: &Connection,
    listing: &Listing<'_>,
    prefix: &str,
    documents: &mut Vec<(FileUri, Hash)>,
) -> rusqlite::Result<()> {
    // One bound only, so that the index is entered where the wanted part begins.
    let (sql, start) = match listing.after {
        Some(after) if after >= prefix => (
            "SELECT dpe1, dpex, file_uri FROM document
             WHERE file_uri > ?1 ORDER BY file_uri LIMIT ?2",
            after,
        ),
        _ => (
            "SELECT dpe1, dpex, file_uri FROM document
             WHERE file_uri >= ?1 ORDER BY file_uri LIMIT ?2",
            prefix,
        ),
    };
    let found = u64::try_from(documents.len()).expect("a length fits 64 bits");
    let limit = i64::try_from(listing.limit - found).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![start, limit])?;
    while let Some(row) = rows.next()? {
        let uri = row.get_ref(2)?.as_str()?;
        if !uri.starts_with(prefix) {
            break;
        }
        if let Some(hash) = Digests::from_row(row)?.hash(listing.contract) {
            let uri = FileUri::parse(uri).map_err(damaged)?;
            documents.push((uri, hash));
        }
    }
    Ok(())
}

pub(super) fn elements(
    connection: &Connection,
    uri: &FileUri,
) -> rusqlite::Result<Option<HashMap<Hash, Box<str>>>> {
    let Some(document) = Document::find(connection, uri)? else {
        return Ok(None);
    };
    let mut statement =
        connection.prepare_cached("SELECT dpe1, text FROM element WHERE document = ?1")?;
    let rows = statement.query_map([document.id], |row| {
        let text: String = row.get(1)?;
        Ok((Hash::new(Contract::Dpe1, row.get(0)?), text.into()))
    })?;
    rows.collect::<Result<_, _>>().map(Some)
}

/// Returns the store's own key, with which it recognises its cursors.
pub(super) fn cursor_key(connection: &Connection) -> rusqlite::Result<[u8; 16]> {
    let sql = "SELECT value FROM setting WHERE name = 'cursor_key'";
    // Without it every cursor could be forged, so a store that lost it is not served.
    let key = connection.query_row(sql, [], |row| row.get(0)).optional()?;
    key.ok_or_else(|| damaged("the key of the cursors is missing"))
}
