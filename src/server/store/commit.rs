//! commit, decided and done inside one transaction: steps 4 to 7 of http-binding §10.2.
//!
//! First everything is looked up and decided, then everything is written: a refusal leaves no
//! trace.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, params};

use crate::model::{BlobRef, Contract, Contracts, FileUri, Hash};
use crate::protocol::Missing;
use crate::protocol::wire::commit::{Delta, Reply, Status};
use crate::server::store::Refused;
use crate::server::store::current::{self, Document, Page};
use crate::server::store::delta::Change;
use crate::server::store::spelling::{self, Digests, ELEMENTS, PAGES};

/// A commit that passed everything that does not depend on the document.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) uri: FileUri,
    /// Contract of all hashes in here.
    pub(crate) contract: Contract,
    pub(crate) condition: Condition,
    pub(crate) document: NewDocument,
    /// Inline pages; of two with the same hash, the later one.
    pub(crate) pages: HashMap<Hash, InlinePage>,
    /// Inline elements; of two with the same hash, the later one.
    pub(crate) elements: HashMap<Hash, InlineElement>,
    /// Whether a staging session was named; none can be usable yet.
    pub(crate) names_session: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    IfAbsent,
    /// `If-Match`; `None` if it is no hash of a declared contract, which never matches.
    Base(Option<Hash>),
    Force,
}

#[derive(Debug)]
pub(crate) struct NewDocument {
    pub(crate) hash: Hash,
    pub(crate) pages: Vec<Hash>,
    pub(crate) text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct InlinePage {
    pub(crate) elements: Vec<Hash>,
    pub(crate) text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct InlineElement {
    pub(crate) blob: Option<BlobRef>,
    pub(crate) text: Box<str>,
}

impl Commit {
    pub(super) fn run(
        &self,
        connection: &Connection,
        declared: Contracts,
        kept: Contracts,
    ) -> rusqlite::Result<Result<Reply, Refused>> {
        let current = Document::find(connection, &self.uri)?;
        if let Some(unchanged) = self.unchanged(current.as_ref()) {
            return Ok(Ok(unchanged));
        }
        if let Some(refused) = self.refused(current.as_ref(), declared) {
            return Ok(Err(refused));
        }
        let old_pages = match &current {
            Some(document) => current::pages(connection, document.id, self.contract)?,
            None => HashMap::new(),
        };
        let elements = match self.available(connection, current.as_ref(), &old_pages)? {
            Ok(elements) => elements,
            Err(missing) => return Ok(Err(Refused::Missing(missing))),
        };
        let switch = Switch {
            connection,
            commit: self,
            kept,
            old_pages,
            elements: self.digests(elements, kept),
        };
        switch.run(current.as_ref()).map(Ok)
    }

    fn unchanged(&self, current: Option<&Document>) -> Option<Reply> {
        let document = current?;
        let same = document.digests.hash(self.contract) == Some(self.document.hash);
        same.then_some(Reply {
            status: Status::Unchanged,
            doc_hash: self.document.hash,
            delta: Delta {
                retained: document.element_count,
                ..Delta::default()
            },
        })
    }

    /// Steps 5 and 6a.
    fn refused(&self, current: Option<&Document>, declared: Contracts) -> Option<Refused> {
        match (self.condition, current) {
            (Condition::IfAbsent, Some(_)) => Some(Refused::AlreadyExists),
            (Condition::Base(_), None) => Some(Refused::NotFound),
            (Condition::Base(base), Some(document)) if !document.is(base, declared) => {
                Some(Refused::PreconditionFailed)
            }
            _ => self.names_session.then_some(Refused::SessionExpired),
        }
    }

    /// Step 6b, the walk of http-binding §10.3. Returns every element that inline pages of the
    /// document refer to, with its digests if it is part of the current state.
    fn available(
        &self,
        connection: &Connection,
        current: Option<&Document>,
        old_pages: &HashMap<Hash, Page>,
    ) -> rusqlite::Result<Result<HashMap<Hash, Option<Digests>>, Missing>> {
        let mut missing = Missing::default();
        let mut walked = HashSet::new();
        let mut elements = HashMap::new();
        let mut blobs = HashSet::new();
        for page in &self.document.pages {
            if !walked.insert(page) {
                continue;
            }
            let Some(inline) = self.pages.get(page) else {
                if !old_pages.contains_key(page) {
                    missing.pages.push(*page);
                }
                continue;
            };
            for &element in &inline.elements {
                if elements.contains_key(&element) {
                    continue;
                }
                let found = match current {
                    Some(document) => current::element(connection, document.id, element)?,
                    None => None,
                };
                elements.insert(element, found);
                if found.is_some() {
                    continue;
                }
                match self.elements.get(&element) {
                    None => missing.content_hashes.push(element),
                    Some(InlineElement { blob: None, .. }) => {}
                    Some(InlineElement {
                        blob: Some(blob), ..
                    }) => {
                        if blobs.insert(*blob) && !has_blob(connection, current, *blob)? {
                            missing.blobs.push(*blob);
                        }
                    }
                }
            }
        }
        Ok(if missing.is_empty() {
            Ok(elements)
        } else {
            Err(missing)
        })
    }

    /// Completes the digests of available elements that are new.
    fn digests(
        &self,
        elements: HashMap<Hash, Option<Digests>>,
        kept: Contracts,
    ) -> HashMap<Hash, Element<'_>> {
        let complete = |(hash, found): (Hash, Option<Digests>)| {
            let inline = self.elements.get(&hash);
            let element = match found {
                Some(digests) => Element {
                    digests,
                    inline,
                    is_new: false,
                },
                None => {
                    let text = &inline.expect("a new element came inline").text;
                    Element {
                        digests: spelling::element(text, hash, kept),
                        inline,
                        is_new: true,
                    }
                }
            };
            (hash, element)
        };
        elements.into_iter().map(complete).collect()
    }
}

fn has_blob(
    connection: &Connection,
    current: Option<&Document>,
    blob: BlobRef,
) -> rusqlite::Result<bool> {
    match current {
        Some(document) => current::has_blob(connection, document.id, blob.digest()),
        None => Ok(false),
    }
}

/// An element that an inline page refers to.
#[derive(Clone, Copy, Debug)]
struct Element<'c> {
    digests: Digests,
    inline: Option<&'c InlineElement>,
    is_new: bool,
}

/// Step 7: everything is available.
struct Switch<'c> {
    connection: &'c Connection,
    commit: &'c Commit,
    kept: Contracts,
    old_pages: HashMap<Hash, Page>,
    elements: HashMap<Hash, Element<'c>>,
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

impl Switch<'_> {
    fn run(&self, current: Option<&Document>) -> rusqlite::Result<Reply> {
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
            delta: tally.change.delta(tally.total),
        })
    }

    fn replace_pages(&self, id: i64, tally: &mut Tally) -> rusqlite::Result<()> {
        let mut occurrences = HashMap::<Hash, u64>::new();
        for page in &self.commit.document.pages {
            *occurrences.entry(*page).or_default() += 1;
        }
        let mut placed = HashSet::new();
        for page in &self.commit.document.pages {
            if placed.insert(page) {
                self.place_page(id, *page, occurrences[page], tally)?;
            }
        }
        let gone = |(hash, _): &(&Hash, &Page)| !occurrences.contains_key(*hash);
        for (_, page) in self.old_pages.iter().filter(gone) {
            self.remove_page(page, tally)?;
        }
        Ok(())
    }

    /// Puts a page of the new document in place; it occurs `occurrences` times.
    fn place_page(
        &self,
        id: i64,
        hash: Hash,
        occurrences: u64,
        tally: &mut Tally,
    ) -> rusqlite::Result<()> {
        let inline = self.commit.pages.get(&hash);
        let times = signed(occurrences);
        let Some(old) = self.old_pages.get(&hash) else {
            let inline = inline.expect("a page that is available and not current came inline");
            let elements: Vec<_> = inline
                .elements
                .iter()
                .map(|hash| self.elements[hash].digests)
                .collect();
            let (digests, stored) =
                spelling::parent(&inline.text, ELEMENTS, hash, &elements, self.kept);
            let stored = stored.as_deref().unwrap_or(&inline.text);
            let count = u64::try_from(elements.len()).expect("a length fits 64 bits");
            self.insert_page(id, digests, times, count, stored)?;
            let elements: Vec<_> = elements.iter().map(|element| element.dpe1).collect();
            tally.use_distinct(&elements, 1);
            tally.change.count(&elements, times);
            tally.total += count * occurrences;
            tally.pages.insert(hash, digests);
            return Ok(());
        };
        tally.pages.insert(hash, old.digests);
        tally.total += old.element_count * occurrences;
        if old.occurrences != occurrences {
            let elements = current::page_elements(self.connection, old.id)?;
            tally
                .change
                .count(&elements, times - signed(old.occurrences));
            self.connection
                .prepare_cached("UPDATE page SET occurrences = ?2 WHERE id = ?1")?
                .execute(params![old.id, times])?;
        }
        if let Some(inline) = inline {
            let elements: Vec<_> = inline
                .elements
                .iter()
                .map(|hash| self.elements[hash].digests)
                .collect();
            let (_, stored) = spelling::parent(
                &inline.text,
                ELEMENTS,
                hash,
                &elements,
                Contracts::only(hash.contract()),
            );
            self.connection
                .prepare_cached("UPDATE page SET text = ?2 WHERE id = ?1 AND text <> ?2")?
                .execute(params![old.id, stored.as_deref().unwrap_or(&inline.text)])?;
        }
        Ok(())
    }

    fn insert_page(
        &self,
        document: i64,
        digests: Digests,
        occurrences: i64,
        element_count: u64,
        text: &str,
    ) -> rusqlite::Result<()> {
        self.connection
            .prepare_cached(
                "INSERT INTO page (document, dpe1, dpex, occurrences, element_count, text)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                document,
                digests.dpe1,
                digests.dpex,
                occurrences,
                signed(element_count),
                text
            ])
            .map(drop)
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

    /// Adds new elements, rewrites texts that came again, and removes what nothing refers to.
    fn replace_elements(&self, id: i64, uses: &HashMap<[u8; 32], i64>) -> rusqlite::Result<()> {
        let mut inserted = HashSet::new();
        for element in self.elements.values() {
            let Some(inline) = element.inline else {
                continue;
            };
            let digests = element.digests;
            if element.is_new {
                inserted.insert(digests.dpe1);
                self.insert_element(id, digests, uses[&digests.dpe1], inline)?;
            } else {
                self.connection
                    .prepare_cached(
                        "UPDATE element SET text = ?3
                         WHERE document = ?1 AND dpe1 = ?2 AND text <> ?3",
                    )?
                    .execute(params![id, digests.dpe1, inline.text])?;
            }
        }
        let changed = |(dpe1, by): &(&[u8; 32], &i64)| **by != 0 && !inserted.contains(*dpe1);
        for (dpe1, by) in uses.iter().filter(changed) {
            self.connection
                .prepare_cached(
                    "UPDATE element SET uses = uses + ?3 WHERE document = ?1 AND dpe1 = ?2",
                )?
                .execute(params![id, dpe1, by])?;
            if *by < 0 {
                self.connection
                    .prepare_cached(
                        "DELETE FROM element WHERE document = ?1 AND dpe1 = ?2 AND uses = 0",
                    )?
                    .execute(params![id, dpe1])?;
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
        self.connection
            .prepare_cached(
                "INSERT INTO element (document, dpe1, dpex, uses, blob, text)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                document,
                digests.dpe1,
                digests.dpex,
                uses,
                inline.blob.map(BlobRef::digest),
                inline.text
            ])
            .map(drop)
    }

    /// Makes room for a new document; the rest of the row follows when its pages are known.
    fn insert_document(&self) -> rusqlite::Result<i64> {
        self.connection
            .prepare_cached(
                "INSERT INTO document (file_uri, dpe1, element_count, text) VALUES (?1, x'', 0, '')",
            )?
            .insert([self.commit.uri.as_str()])
    }

    fn update_document(&self, id: i64, tally: &Tally) -> rusqlite::Result<()> {
        let document = &self.commit.document;
        let pages: Vec<_> = document
            .pages
            .iter()
            .map(|page| tally.pages[page])
            .collect();
        let (digests, stored) =
            spelling::parent(&document.text, PAGES, document.hash, &pages, self.kept);
        self.connection
            .prepare_cached(
                "UPDATE document SET dpe1 = ?2, dpex = ?3, element_count = ?4, text = ?5
                 WHERE id = ?1",
            )?
            .execute(params![
                id,
                digests.dpe1,
                digests.dpex,
                signed(tally.total),
                stored.as_deref().unwrap_or(&document.text)
            ])
            .map(drop)
    }
}

impl Tally {
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
