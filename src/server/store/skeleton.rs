//! A skeleton read page by page, all of it from one state of the store.
//!
//! A document may refer to one page very often: what is stored in a megabyte can be told in
//! hundreds. So texts are looked up one after the other, and only some are kept for the next time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::vec;

use rusqlite::{Connection, params};

use crate::model::{Contract, FileUri, Hash};
use crate::server::store::Shared;
use crate::server::store::current::Document;
use crate::server::store::damage::damaged;
use crate::server::store::spelling::{self, ELEMENTS, PAGES};

/// Bytes of page texts kept for their next occurrence.
const KEPT_MAX: usize = 1 << 20;

/// A skeleton under the contract it was asked for.
pub(crate) struct Skeleton {
    pub(crate) doc_hash: Hash,
    pub(crate) document: String,
    pub(crate) pages: Pages,
}

/// The page texts, one per entry of the document's list. The state they are read from is held
/// until this is dropped.
pub(crate) struct Pages {
    shared: Arc<Shared>,
    /// Inside a transaction; present until the drop.
    connection: Option<Connection>,
    document: i64,
    contract: Contract,
    order: vec::IntoIter<[u8; 32]>,
    kept: HashMap<[u8; 32], Arc<str>>,
    kept_bytes: usize,
}

impl Skeleton {
    /// Begins to read a skeleton, if there is such a document. Every page it refers to exists.
    pub(super) fn begin(
        shared: &Arc<Shared>,
        uri: &FileUri,
        contract: Contract,
    ) -> rusqlite::Result<Option<Self>> {
        let connection = shared.readers.begin()?;
        let Some(found) = find(&connection, uri, contract)? else {
            shared.readers.end(connection);
            return Ok(None);
        };
        Ok(Some(Self {
            doc_hash: found.doc_hash,
            document: found.text,
            pages: Pages {
                shared: Arc::clone(shared),
                connection: Some(connection),
                document: found.id,
                contract,
                order: found.order.into_iter(),
                kept: HashMap::new(),
                kept_bytes: 0,
            },
        }))
    }
}

/// A document and the pages it refers to.
struct Found {
    id: i64,
    doc_hash: Hash,
    text: String,
    order: Vec<[u8; 32]>,
}

fn find(
    connection: &Connection,
    uri: &FileUri,
    contract: Contract,
) -> rusqlite::Result<Option<Found>> {
    let Some(document) = Document::find(connection, uri)? else {
        return Ok(None);
    };
    let Some(doc_hash) = document.digests.hash(contract) else {
        return Ok(None);
    };
    let stored: String = connection
        .prepare_cached("SELECT text FROM document WHERE id = ?1")?
        .query_row([document.id], |row| row.get(0))?;
    let order = spelling::children(&stored, PAGES)?;
    check_pages(connection, document.id, &order)?;
    let text = match contract {
        Contract::Dpe1 => stored,
        other => {
            let children = spelling::resolve(connection, "page", document.id, &order)?;
            spelling::respell(&stored, PAGES, &children, other)?
        }
    };
    Ok(Some(Found {
        id: document.id,
        doc_hash,
        text,
        order,
    }))
}

/// Finds out that a page is missing while an error can still be told.
fn check_pages(connection: &Connection, document: i64, order: &[[u8; 32]]) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached("SELECT dpe1 FROM page WHERE document = ?1")?;
    let pages = statement.query_map([document], |row| row.get(0))?;
    let pages = pages.collect::<rusqlite::Result<HashSet<[u8; 32]>>>()?;
    if order.iter().all(|page| pages.contains(page)) {
        Ok(())
    } else {
        Err(damaged("a document refers to a missing page"))
    }
}

impl Pages {
    /// Returns the text of the next page, or `None` after the last.
    pub(crate) fn next(&mut self) -> rusqlite::Result<Option<Arc<str>>> {
        let Some(page) = self.order.next() else {
            return Ok(None);
        };
        if let Some(text) = self.kept.get(&page) {
            return Ok(Some(Arc::clone(text)));
        }
        let text: Arc<str> = self.read(page)?.into();
        if self.kept_bytes + text.len() <= KEPT_MAX {
            self.kept_bytes += text.len();
            self.kept.insert(page, Arc::clone(&text));
        }
        Ok(Some(text))
    }

    fn read(&self, page: [u8; 32]) -> rusqlite::Result<String> {
        let connection = self.connection.as_ref();
        let connection = connection.expect("it is taken by the drop only");
        let text: String = connection
            .prepare_cached("SELECT text FROM page WHERE document = ?1 AND dpe1 = ?2")?
            .query_row(params![self.document, page], |row| row.get(0))?;
        if self.contract == Contract::Dpe1 {
            return Ok(text);
        }
        let children = spelling::children(&text, ELEMENTS)?;
        let children = spelling::resolve(connection, "element", self.document, &children)?;
        spelling::respell(&text, ELEMENTS, &children, self.contract)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.shared.readers.end(connection);
        }
    }
}
