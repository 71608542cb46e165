//! One object under several contracts (hash contract §14.1).
//!
//! Stored texts spell their child lists in `dpe1`. Whoever writes or reads under another contract
//! gets the list respelled; everything else in the text stays as it was written.

use rusqlite::{Connection, Row, params};

use crate::json::{Text, Writer};
use crate::model::{self, Contract, Contracts, Hash};
use crate::server::store::damage::damaged;

/// Member of a page that lists its children.
pub(super) const ELEMENTS: &str = "elements";
/// Member of a document that lists its children.
pub(super) const PAGES: &str = "pages";

/// Digests of one object: `dpe1` always, `dpex` while the server declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Digests {
    pub(super) dpe1: [u8; 32],
    pub(super) dpex: Option<[u8; 32]>,
}

impl Digests {
    /// Reads the first two columns of a row.
    pub(super) fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            dpe1: row.get(0)?,
            dpex: row.get(1)?,
        })
    }

    /// Returns the hash under `contract`, if it is known.
    pub(super) fn hash(&self, contract: Contract) -> Option<Hash> {
        let digest = match contract {
            Contract::Dpe1 => Some(self.dpe1),
            Contract::Dpex => self.dpex,
        };
        digest.map(|digest| Hash::new(contract, digest))
    }
}

/// Returns the contracts whose hashes are kept for every object.
pub(super) fn kept(declared: Contracts) -> Contracts {
    declared.with(Contract::Dpe1)
}

/// Computes the digests of an element whose hash under one contract is known.
pub(super) fn element(text: &str, hash: Hash, kept: Contracts) -> rusqlite::Result<Digests> {
    digests(hash, kept, |contract| {
        let text = parse(text)?;
        let element = model::element(text.root(), contract);
        Ok(element.map_err(damaged)?.hash)
    })
}

/// Computes the digests of a page or document whose hash under one contract is known, and its
/// text as it is stored.
pub(super) fn parent(
    text: &str,
    list: &str,
    hash: Hash,
    children: &[Digests],
    kept: Contracts,
) -> rusqlite::Result<(Digests, Option<String>)> {
    let digests = digests(hash, kept, |contract| {
        let respelled = respell(text, list, children, contract)?;
        hash_parent(&respelled, list, contract)
    })?;
    Ok((digests, stored(text, list, hash, children)?))
}

/// Returns the text of a page or document as it is stored, if that is not how it was written.
pub(super) fn stored(
    text: &str,
    list: &str,
    hash: Hash,
    children: &[Digests],
) -> rusqlite::Result<Option<String>> {
    (hash.contract() != Contract::Dpe1)
        .then(|| respell(text, list, children, Contract::Dpe1))
        .transpose()
}

fn digests(
    known: Hash,
    kept: Contracts,
    compute: impl Fn(Contract) -> rusqlite::Result<Hash>,
) -> rusqlite::Result<Digests> {
    let digest = |contract| {
        if contract == known.contract() {
            Ok(known.digest())
        } else {
            compute(contract).map(|hash| hash.digest())
        }
    };
    let dpex = kept
        .contains(Contract::Dpex)
        .then(|| digest(Contract::Dpex));
    Ok(Digests {
        dpe1: digest(Contract::Dpe1)?,
        dpex: dpex.transpose()?,
    })
}

fn hash_parent(text: &str, list: &str, contract: Contract) -> rusqlite::Result<Hash> {
    let text = parse(text)?;
    let declared = Contracts::only(contract);
    let hash = if list == ELEMENTS {
        model::page(text.root(), contract, declared).map(|page| page.hash)
    } else {
        model::document(text.root(), contract, declared).map(|document| document.hash)
    };
    hash.map_err(damaged)
}

/// Returns `text` with its child list spelled in `contract`.
pub(super) fn respell(
    text: &str,
    list: &str,
    children: &[Digests],
    contract: Contract,
) -> rusqlite::Result<String> {
    let parsed = parse(text)?;
    let old = parsed.root().member(list).ok_or_else(|| no_list(list))?;
    let mut new = Writer::new();
    new.begin_array();
    for child in children {
        let hash = child.hash(contract).ok_or_else(|| no_hash(contract))?;
        new.string(&hash.to_string());
    }
    new.end_array();
    let (start, end) = (old.offset(), old.offset() + old.raw().len());
    Ok([&text[..start], &new.into_string(), &text[end..]].concat())
}

/// Returns the child list of the stored text of a document or of a page of one.
pub(super) fn children(text: &str, list: &str) -> rusqlite::Result<Vec<[u8; 32]>> {
    let hashes = spelled_children(text, list, Contract::Dpe1)?;
    Ok(hashes.into_iter().map(Hash::digest).collect())
}

/// Returns a child list that is spelled in `contract`.
pub(super) fn spelled_children(
    text: &str,
    list: &str,
    contract: Contract,
) -> rusqlite::Result<Vec<Hash>> {
    let parsed = parse(text)?;
    let items = parsed.root().member(list).and_then(|list| list.items());
    items
        .ok_or_else(|| no_list(list))?
        .map(|item| Hash::from_value(item, Contracts::only(contract)).map_err(damaged))
        .collect()
}

/// Parses a text that was parsed before it was stored.
fn parse(text: &str) -> rusqlite::Result<Text<'_>> {
    Text::parse(text.as_bytes()).map_err(damaged)
}

fn no_list(list: &str) -> rusqlite::Error {
    damaged(format!("an object has no list of {list}"))
}

/// Hashes are kept under every declared contract.
pub(super) fn no_hash(contract: Contract) -> rusqlite::Error {
    damaged(format!("an object has no hash of {}", contract.name()))
}

/// Fills the columns of newly declared contracts for documents that lack them.
pub(super) fn complete(connection: &Connection, declared: Contracts) -> rusqlite::Result<()> {
    if !declared.contains(Contract::Dpex) {
        return Ok(());
    }
    let transaction = connection.unchecked_transaction()?;
    let documents: Vec<(i64, [u8; 32], String)> = transaction
        .prepare("SELECT id, dpe1, text FROM document WHERE dpex IS NULL")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    for (id, dpe1, text) in documents {
        complete_document(&transaction, id, dpe1, &text, kept(declared))?;
    }
    transaction.commit()
}

fn complete_document(
    connection: &Connection,
    id: i64,
    dpe1: [u8; 32],
    text: &str,
    kept: Contracts,
) -> rusqlite::Result<()> {
    let hash = |digest| Hash::new(Contract::Dpe1, digest);
    complete_rows(connection, "element", id, |dpe1, text| {
        element(text, hash(dpe1), kept)
    })?;
    complete_rows(connection, "page", id, |dpe1, text| {
        let children = resolve(connection, "element", id, &children(text, ELEMENTS)?)?;
        Ok(parent(text, ELEMENTS, hash(dpe1), &children, kept)?.0)
    })?;
    let children = resolve(connection, "page", id, &children(text, PAGES)?)?;
    let digests = parent(text, PAGES, hash(dpe1), &children, kept)?.0;
    connection
        .prepare_cached("UPDATE document SET dpex = ?2 WHERE id = ?1")?
        .execute(params![id, digests.dpex])
        .map(drop)
}

fn complete_rows(
    connection: &Connection,
    table: &str,
    document: i64,
    compute: impl Fn([u8; 32], &str) -> rusqlite::Result<Digests>,
) -> rusqlite::Result<()> {
    let rows: Vec<(i64, [u8; 32], String)> = connection
        .prepare_cached(&format!(
            "SELECT id, dpe1, text FROM {table} WHERE document = ?1 AND dpex IS NULL"
        ))?
        .query_map([document], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let update = format!("UPDATE {table} SET dpex = ?2 WHERE id = ?1");
    for (id, dpe1, text) in rows {
        let digests = compute(dpe1, &text)?;
        connection
            .prepare_cached(&update)?
            .execute(params![id, digests.dpex])?;
    }
    Ok(())
}

/// Returns the digests of children of a document, looked up in `table` by their `dpe1` digest.
pub(super) fn resolve(
    connection: &Connection,
    table: &str,
    document: i64,
    children: &[[u8; 32]],
) -> rusqlite::Result<Vec<Digests>> {
    let sql = format!("SELECT dpe1, dpex FROM {table} WHERE document = ?1 AND dpe1 = ?2");
    let mut statement = connection.prepare_cached(&sql)?;
    children
        .iter()
        .map(|dpe1| statement.query_row(params![document, dpe1], Digests::from_row))
        .collect()
}
