//! The switch from a document's old content to its new one (step 7 of http-binding §10.2).
//!
//! Everything it needs is available; what nothing refers to afterwards is removed on the way.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use crate::model::{BlobRef, Contracts, Hash};
use crate::protocol::wire::commit::{Reply, Status};
use crate::server::store::availability::Found;
use crate::server::store::commit::{Commit, InlineElement, InlinePage};
use crate::server::store::current::{self, Document, Page};
use crate::server::store::damage::damaged;
use crate::server::store::delta::Change;
use crate::server::store::spelling::{self, Digests, ELEMENTS, PAGES};

pub(super) struct Switch<'c> {
    connection: &'c Connection,
    commit: &'c Commit,
    kept: Contracts,
    old_pages: HashMap<Hash, Page>,
    elements: HashMap<Hash, Element<'c>>,
}

/// An element that an inline page refers to.
#[derive(Clone, Copy, Debug)]
struct Element<'c> {
    digests: Digests,
    inline: Option<&'c InlineElement>,
    is_new: bool,
}

/// What the pages of a document amount to while they are replaced.
#[derive(Default)]
struct Tally {
    /// Elements of the new document with repetitions.
    total: u64,
    change: Change,
    /// By how much `uses` of an element changes.
    uses: HashMap<[u8; 32], i64>,
    /// Digests of the new pages.
    pages: HashMap<Hash, Digests>,
}

impl<'c> Switch<'c> {
    pub(super) fn new(
        connection: &'c Connection,
        commit: &'c Commit,
        kept: Contracts,
        old_pages: HashMap<Hash, Page>,
        found: Found,
    ) -> rusqlite::Result<Self> {
        let element = |(hash, current): (Hash, Option<Digests>)| {
            let inline = commit.elements.get(&hash);
            let digests = match current {
                Some(digests) => digests,
                None => {
                    let inline =
                        inline.expect("an element that is available and not current is inline");
                    spelling::element(&inline.text, hash, kept)?
                }
            };
            let element = Element {
                digests,
                inline,
                is_new: current.is_none(),
            };
            Ok((hash, element))
        };
        Ok(Self {
            connection,
            commit,
            kept,
            old_pages,
            elements: found
                .into_iter()
                .map(element)
                .collect::<rusqlite::Result<_>>()?,
        })
    }

    pub(super) fn run(&self, current: Option<&Document>) -> rusqlite::Result<Reply> {
        let id = match current {
            Some(document) => document.id,
            None => self.insert_document()?,
        };
        let mut tally = Tally::default();
        self.replace_pages(id, &mut tally)?;
        self.replace_elements(id, &tally.uses)?;
        self.update_document(id, &tally)?;
        Ok(Reply {
            status: match current {
                Some(_) => Status::Updated,
                None => Status::Created,
            },
            doc_hash: self.commit.document.hash,
            delta: tally.change.delta(tally.total)?,
        })
    }

    fn replace_pages(&self, id: i64, tally: &mut Tally) -> rusqlite::Result<()> {
        let mut occurrences = HashMap::<Hash, u64>::new();
        for page in &self.commit.document.pages {
            *occurrences.entry(*page).or_default() += 1;
        }
        for (&hash, &occurrences) in &occurrences {
            match self.old_pages.get(&hash) {
                Some(old) => self.keep_page(hash, old, occurrences, tally)?,
                None => self.add_page(id, hash, occurrences, tally)?,
            }
        }
        let gone = |(hash, _): &(&Hash, &Page)| !occurrences.contains_key(*hash);
        for (_, page) in self.old_pages.iter().filter(gone) {
            self.remove_page(page, tally)?;
        }
        Ok(())
    }

    fn add_page(
        &self,
        document: i64,
        hash: Hash,
        occurrences: u64,
        tally: &mut Tally,
    ) -> rusqlite::Result<()> {
        let inline = self.commit.pages.get(&hash);
        let inline = inline.expect("a page that is available and not current is inline");
        let elements = self.digests_of(inline);
        let (digests, stored) =
            spelling::parent(&inline.text, ELEMENTS, hash, &elements, self.kept)?;
        let count = u64::try_from(elements.len()).expect("a length fits 64 bits");
        let sql = "INSERT INTO page (document, dpe1, dpex, occurrences, element_count, text)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(params![
            document,
            digests.dpe1,
            digests.dpex,
            signed(occurrences),
            signed(count),
            stored.as_deref().unwrap_or(&inline.text)
        ])?;
        let elements: Vec<_> = elements.iter().map(|element| element.dpe1).collect();
        tally.use_distinct(&elements, 1);
        tally.change.count(&elements, signed(occurrences));
        tally.add(count, occurrences)?;
        tally.pages.insert(hash, digests);
        Ok(())
    }

    /// Keeps a page of the old content. If it is inline, too, that is how it was written last.
    fn keep_page(
        &self,
        hash: Hash,
        old: &Page,
        occurrences: u64,
        tally: &mut Tally,
    ) -> rusqlite::Result<()> {
        tally.pages.insert(hash, old.digests);
        tally.add(old.element_count, occurrences)?;
        if old.occurrences != occurrences {
            let elements = current::page_elements(self.connection, old.id)?;
            let more = signed(occurrences) - signed(old.occurrences);
            tally.change.count(&elements, more);
            self.connection
                .prepare_cached("UPDATE page SET occurrences = ?2 WHERE id = ?1")?
                .execute(params![old.id, signed(occurrences)])?;
        }
        if let Some(inline) = self.commit.pages.get(&hash) {
            let elements = self.digests_of(inline);
            let stored = spelling::stored(&inline.text, ELEMENTS, hash, &elements)?;
            self.connection
                .prepare_cached("UPDATE page SET text = ?2 WHERE id = ?1 AND text <> ?2")?
                .execute(params![old.id, stored.as_deref().unwrap_or(&inline.text)])?;
        }
        Ok(())
    }

    fn remove_page(&self, page: &Page, tally: &mut Tally) -> rusqlite::Result<()> {
        let elements = current::page_elements(self.connection, page.id)?;
        tally.use_distinct(&elements, -1);
        tally.change.count(&elements, -signed(page.occurrences));
        self.connection
            .prepare_cached("DELETE FROM page WHERE id = ?1")?
            .execute([page.id])
            .map(drop)
    }

    fn digests_of(&self, page: &InlinePage) -> Vec<Digests> {
        let digests = |element| self.elements[element].digests;
        page.elements.iter().map(digests).collect()
    }

    /// Adds new elements, rewrites texts that came again, and removes what nothing refers to.
    fn replace_elements(&self, id: i64, uses: &HashMap<[u8; 32], i64>) -> rusqlite::Result<()> {
        let mut added = HashSet::new();
        for element in self.elements.values() {
            let Some(inline) = element.inline else {
                continue;
            };
            let dpe1 = element.digests.dpe1;
            if element.is_new {
                // Only a page of the old content can refer to it otherwise, and that has a row
                // for it.
                let uses = uses.get(&dpe1).copied();
                let uses = uses.ok_or_else(|| damaged("a page refers to a missing element"))?;
                self.insert_element(id, element.digests, uses, inline)?;
                added.insert(dpe1);
            } else {
                let sql = "UPDATE element SET text = ?3
                           WHERE document = ?1 AND dpe1 = ?2 AND text <> ?3";
                self.connection
                    .prepare_cached(sql)?
                    .execute(params![id, dpe1, inline.text])?;
            }
        }
        for (dpe1, by) in uses {
            if *by != 0 && !added.contains(dpe1) {
                self.change_uses(id, dpe1, *by)?;
            }
        }
        Ok(())
    }

    fn insert_element(
        &self,
        document: i64,
        digests: Digests,
        uses: i64,
        inline: &InlineElement,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO element (document, dpe1, dpex, uses, blob, text)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(params![
            document,
            digests.dpe1,
            digests.dpex,
            uses,
            inline.blob.map(BlobRef::digest),
            inline.text
        ])?;
        Ok(())
    }

    fn change_uses(&self, document: i64, dpe1: &[u8; 32], by: i64) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "UPDATE element SET uses = uses + ?3 WHERE document = ?1 AND dpe1 = ?2",
            )?
            .execute(params![document, dpe1, by])?;
        if by < 0 {
            let sql = "DELETE FROM element WHERE document = ?1 AND dpe1 = ?2 AND uses = 0";
            self.connection
                .prepare_cached(sql)?
                .execute(params![document, dpe1])?;
        }
        Ok(())
    }

    /// Makes room for a new document; the rest of the row follows when its pages are known.
    fn insert_document(&self) -> rusqlite::Result<i64> {
        let sql =
            "INSERT INTO document (file_uri, dpe1, element_count, text) VALUES (?1, x'', 0, '')";
        self.connection
            .prepare_cached(sql)?
            .insert([self.commit.uri.as_str()])
    }

    fn update_document(&self, id: i64, tally: &Tally) -> rusqlite::Result<()> {
        let document = &self.commit.document;
        let pages = document.pages.iter().map(|page| tally.pages[page]);
        let pages: Vec<_> = pages.collect();
        let (digests, stored) =
            spelling::parent(&document.text, PAGES, document.hash, &pages, self.kept)?;
        let sql = "UPDATE document SET dpe1 = ?2, dpex = ?3, element_count = ?4, text = ?5
                   WHERE id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![
            id,
            digests.dpe1,
            digests.dpex,
            signed(tally.total),
            stored.as_deref().unwrap_or(&document.text)
        ])?;
        Ok(())
    }
}

impl Tally {
    /// Adds the elements of a page that occurs `occurrences` times.
    fn add(&mut self, elements: u64, occurrences: u64) -> rusqlite::Result<()> {
        let total = elements.checked_mul(occurrences);
        let total = total.and_then(|more| self.total.checked_add(more));
        // It is told in JSON (hash contract §4.3).
        self.total = total
            .filter(|total| *total < 1 << 53)
            .ok_or_else(|| damaged("a document has more elements than can be counted"))?;
        Ok(())
    }

    fn use_distinct(&mut self, elements: &[[u8; 32]], by: i64) {
        let mut seen = HashSet::new();
        for element in elements {
            if seen.insert(element) {
                *self.uses.entry(*element).or_default() += by;
            }
        }
    }
}

/// Counts stay far below 2^63: each is bounded by the bytes of a request times those of another.
fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
