//! The switch from a document's old content to its new one (step 7 of http-binding §10.2).
//!
//! Everything it needs is available; what nothing refers to afterwards is removed on the way.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use crate::model::{BlobRef, Contracts, Hash};
use crate::protocol::wire::commit::{Reply, Status};
use crate::server::store::availability::{Found, Source, StagedPage};
use crate::server::store::commit::{Commit, InlinePage};
use crate::server::store::current::{self, Document, Page};
use crate::server::store::damage::damaged;
use crate::server::store::delta::Change;
use crate::server::store::spelling::{self, Digests, ELEMENTS, PAGES};
use crate::server::store::staged;

pub(super) struct Switch<'c> {
    connection: &'c Connection,
    commit: &'c Commit,
    kept: Contracts,
    old_pages: &'c HashMap<Hash, Page>,
    new_pages: &'c HashMap<Hash, StagedPage>,
    elements: HashMap<Hash, Element<'c>>,
}

/// An element that an inline or staged page refers to.
#[derive(Clone, Copy, Debug)]
struct Element<'c> {
    digests: Digests,
    /// What is to be written; nothing for an element of the current state that did not come again.
    text: Option<ElementText<'c>>,
    blob: Option<BlobRef>,
    is_new: bool,
}

#[derive(Clone, Copy, Debug)]
enum ElementText<'c> {
    Inline(&'c str),
    /// Row in the session.
    Staged(i64),
}

/// A page as it was written last.
#[derive(Clone, Copy)]
enum Written<'c> {
    Inline(&'c InlinePage),
    Staged(&'c StagedPage),
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
        old_pages: &'c HashMap<Hash, Page>,
        found: &'c Found,
    ) -> rusqlite::Result<Self> {
        let element = |(&hash, &source)| {
            let element = Element::read(connection, commit, kept, hash, source)?;
            Ok((hash, element))
        };
        Ok(Self {
            connection,
            commit,
            kept,
            old_pages,
            new_pages: &found.pages,
            elements: found
                .elements
                .iter()
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
        let written = self.written(hash);
        let written = written.expect("a page that is available and not current was written");
        let elements = self.digests_of(written.elements());
        let text = written.text(self.connection)?;
        let (digests, stored) = spelling::parent(&text, ELEMENTS, hash, &elements, self.kept)?;
        let count = u64::try_from(elements.len()).expect("a length fits 64 bits");
        let sql = "INSERT INTO page (document, dpe1, dpex, occurrences, element_count, text)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(params![
            document,
            digests.dpe1,
            digests.dpex,
            signed(occurrences),
            signed(count),
            stored.as_deref().unwrap_or(&text)
        ])?;
        let elements: Vec<_> = elements.iter().map(|element| element.dpe1).collect();
        tally.use_distinct(&elements, 1);
        tally.change.count(&elements, signed(occurrences));
        tally.add(count, occurrences)?;
        tally.pages.insert(hash, digests);
        Ok(())
    }

    /// Keeps a page of the old content. If it came again, that is how it was written last.
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
        if let Some(written) = self.written(hash) {
            let elements = self.digests_of(written.elements());
            let text = written.text(self.connection)?;
            let stored = spelling::stored(&text, ELEMENTS, hash, &elements)?;
            self.connection
                .prepare_cached("UPDATE page SET text = ?2 WHERE id = ?1 AND text <> ?2")?
                .execute(params![old.id, stored.as_deref().unwrap_or(&text)])?;
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

    /// Returns a page that came with this commit; one that is inline goes before one that is
    /// staged (http-binding §10.3).
    fn written(&self, page: Hash) -> Option<Written<'c>> {
        let inline = self.commit.pages.get(&page).map(Written::Inline);
        inline.or_else(|| self.new_pages.get(&page).map(Written::Staged))
    }

    fn digests_of(&self, elements: &[Hash]) -> Vec<Digests> {
        let digests = |element| self.elements[element].digests;
        elements.iter().map(digests).collect()
    }

    /// Adds new elements, rewrites texts that came again, and removes what nothing refers to.
    fn replace_elements(&self, id: i64, uses: &HashMap<[u8; 32], i64>) -> rusqlite::Result<()> {
        let mut added = HashSet::new();
        for element in self.elements.values() {
            let Some(text) = element.text else {
                continue;
            };
            let text = text.read(self.connection)?;
            let dpe1 = element.digests.dpe1;
            if element.is_new {
                // Only a page of the old content can refer to it otherwise, and that has a row
                // for it.
                let uses = uses.get(&dpe1).copied();
                let uses = uses.ok_or_else(|| damaged("a page refers to a missing element"))?;
                self.insert_element(id, element, uses, &text)?;
                added.insert(dpe1);
            } else {
                let sql = "UPDATE element SET text = ?3
                           WHERE document = ?1 AND dpe1 = ?2 AND text <> ?3";
                self.connection
                    .prepare_cached(sql)?
                    .execute(params![id, dpe1, text])?;
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
        element: &Element<'_>,
        uses: i64,
        text: &str,
    ) -> rusqlite::Result<()> {
        let sql = "INSERT INTO element (document, dpe1, dpex, uses, blob, text)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        self.connection.prepare_cached(sql)?.execute(params![
            document,
            element.digests.dpe1,
            element.digests.dpex,
            uses,
            element.blob.map(BlobRef::digest),
            text
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

impl<'c> Element<'c> {
    fn read(
        connection: &Connection,
        commit: &'c Commit,
        kept: Contracts,
        hash: Hash,
        source: Source,
    ) -> rusqlite::Result<Self> {
        let inline = commit.elements.get(&hash);
        let text = inline.map(|inline| ElementText::Inline(&inline.text));
        let (text, blob) = match source {
            Source::Current(digests) => {
                return Ok(Self {
                    digests,
                    text,
                    blob: None,
                    is_new: false,
                });
            }
            Source::Staged { row, blob } => (Some(ElementText::Staged(row)), blob),
            Source::Inline | Source::Nowhere => (text, inline.and_then(|inline| inline.blob)),
        };
        let known = text.expect("an element that is available and not current was written");
        Ok(Self {
            digests: spelling::element(&known.read(connection)?, hash, kept)?,
            text,
            blob,
            is_new: true,
        })
    }
}

impl<'c> ElementText<'c> {
    fn read(self, connection: &Connection) -> rusqlite::Result<Cow<'c, str>> {
        match self {
            Self::Inline(text) => Ok(Cow::Borrowed(text)),
            Self::Staged(row) => staged::element_text(connection, row).map(Cow::Owned),
        }
    }
}

impl<'c> Written<'c> {
    fn elements(self) -> &'c [Hash] {
        match self {
            Self::Inline(page) => &page.elements,
            Self::Staged(page) => &page.elements,
        }
    }

    fn text(self, connection: &Connection) -> rusqlite::Result<Cow<'c, str>> {
        match self {
            Self::Inline(page) => Ok(Cow::Borrowed(&page.text)),
            Self::Staged(page) => staged::page_text(connection, page.row).map(Cow::Owned),
        }
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
