//! One object on its way into a session, whole or in chunks.
//!
//! Uploads of the same object to the same session come one after the other: whoever holds an
//! [`Upload`] is alone with the object. Bytes of a chunk go to a file; the row that counts them
//! follows in a transaction of its own, so that what was counted survives the process.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::OwnedMutexGuard;

use crate::model::{BlobHasher, BlobRef};
use crate::protocol::Staged;
use crate::server::blocking::blocking;
use crate::server::store::files::{INLINE_MAX, Source};
use crate::server::store::session::{Claim, Session};
use crate::server::store::staged::{self, Complete, NewPage};
use crate::server::store::{NotWritten, Shared};

/// How long an idle upload keeps what it need not compute again.
const IDLE: Duration = Duration::from_secs(600);

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

/// A successful upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Receipt {
    /// Whether the session did not have the object before.
    pub(crate) is_new: bool,
    /// When the session is over now, in seconds since 1970.
    pub(crate) expires: i64,
}

/// Bytes of a blob.
pub(crate) enum BlobSource {
    /// At hand.
    Bytes(Bytes),
    /// Received in chunks, this many.
    Chunks(u64),
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

/// Name of an object in the table of partial uploads, and in the names of their files.
fn key(object: Staged) -> String {
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
const WHOLE: &str = ".whole";

/// Takes the name of a file apart: which session, and which object.
pub(super) fn owner(file: &str) -> Option<(&str, &str)> {
    file.strip_suffix(WHOLE).unwrap_or(file).split_once('.')
}

/// The uploads that are under way, by the names of their files.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    slots: Mutex<HashMap<String, Slot>>,
}

#[derive(Debug)]
struct Slot {
    progress: Arc<tokio::sync::Mutex<Progress>>,
    used: Instant,
}

/// The bytes of a blob that have been hashed. It only saves reading them again.
type Progress = Option<BlobHasher>;

impl Uploads {
    async fn take(&self, name: &str) -> OwnedMutexGuard<Progress> {
        let progress = {
            let mut slots = self.slots();
            let used = Instant::now();
            let slot = slots.entry(name.to_owned()).or_insert_with(|| Slot {
                progress: Arc::default(),
                used,
            });
            slot.used = used;
            Arc::clone(&slot.progress)
        };
        progress.lock_owned().await
    }

    /// Drops what idle uploads remember, and runs `work` on the names of files that nobody uses or
    /// can begin to use meanwhile.
    pub(super) fn sweep(&self, files: Vec<String>, mut work: impl FnMut(&str)) {
        let mut slots = self.slots();
        slots.retain(|_, slot| slot.is_used() || slot.used.elapsed() < IDLE);
        for file in &files {
            let name = file.strip_suffix(WHOLE).unwrap_or(file);
            if !slots.get(name).is_some_and(Slot::is_used) {
                work(file);
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Slot>> {
        // Every change is one step, so the map is sound even after a panic.
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn is_used(&self) -> bool {
        Arc::strong_count(&self.progress) > 1
    }
}

/// An object of which nobody else uploads anything to the same session meanwhile.
pub(crate) struct Upload {
    shared: Arc<Shared>,
    claim: Claim,
    object: Staged,
    /// Name of the file. The session may turn out not to exist, so it is used for one only once
    /// a usable session was seen.
    name: String,
    progress: OwnedMutexGuard<Progress>,
}

impl Upload {
    /// Waits until nobody else uploads the object to the session.
    pub(super) async fn begin(shared: &Arc<Shared>, claim: Claim, object: Staged) -> Self {
        let name = format!("{}.{}", claim.session, key(object));
        Self {
            progress: shared.uploads.take(&name).await,
            shared: Arc::clone(shared),
            claim,
            object,
            name,
        }
    }

    /// Writes bytes behind the first `at` ones without counting them yet. False if those are not
    /// all there any more, and then nothing is.
    pub(crate) async fn append(&mut self, at: u64, bytes: Bytes) -> Result<bool, NotWritten> {
        let known = self.progress.take().filter(|known| known.length() == at);
        let is_blob = matches!(self.object, Staged::Blob(_));
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        let appended = blocking(move || {
            if !shared.files.append(&name, at, &bytes)? {
                return Ok(None);
            }
            if !is_blob {
                return Ok(Some(None));
            }
            let mut hasher = match known {
                Some(known) => known,
                None => shared.files.hash_partial(&name, at)?,
            };
            hasher.update(&bytes);
            Ok(Some(Some(hasher)))
        });
        match appended.await.map_err(|error| self.failed(&error))? {
            Some(progress) => *self.progress = progress,
            None => {
                self.discard().await?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Counts what was appended, and renews the session; `None` if that is not usable.
    pub(crate) async fn count(
        &mut self,
        received: u64,
        total: u64,
    ) -> Result<Option<i64>, NotWritten> {
        let (claim, key) = (self.claim.clone(), key(self.object));
        let work = move |connection: &Connection| {
            let Some(session) = Session::find(connection, &claim)? else {
                return Ok(None);
            };
            let sql = "INSERT OR REPLACE INTO partial (session, object, total, received)
                       VALUES (?1, ?2, ?3, ?4)";
            let (total, received) = (staged::signed(total), staged::signed(received));
            connection
                .prepare_cached(sql)?
                .execute(params![session.id, key, total, received])?;
            session.renew(connection, claim.until).map(Some)
        };
        self.shared.writer()?.write(work).await
    }

    /// Forgets everything that was received in chunks.
    pub(crate) async fn discard(&mut self) -> Result<(), NotWritten> {
        *self.progress = None;
        let (claim, key) = (self.claim.clone(), key(self.object));
        let work = move |connection: &Connection| match Session::find(connection, &claim)? {
            Some(session) => forget(connection, session.id, &key).map(drop),
            None => Ok(()),
        };
        self.shared.writer()?.write(work).await?;
        self.shared.files.remove_partial(&self.name);
        Ok(())
    }

    /// Returns the reference of the bytes received in chunks.
    pub(crate) fn blob(&self) -> Option<BlobRef> {
        self.progress.as_ref().map(BlobHasher::finish)
    }

    /// Returns the bytes received in chunks.
    pub(crate) async fn bytes(&self) -> Result<Vec<u8>, NotWritten> {
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        let read = blocking(move || shared.files.read_partial(&name));
        read.await.map_err(|error| self.failed(&error))
    }

    /// Stores the page, unless the session has it, and forgets what came of it in chunks; `None`
    /// if the session is not usable.
    pub(crate) async fn store_page(
        &mut self,
        page: NewPage,
    ) -> Result<Option<Receipt>, NotWritten> {
        self.store(None, move |connection, session| {
            let is_new = staged::complete_page(connection, session, page.hash)?.is_none();
            if is_new {
                staged::put_page(connection, session, &page)?;
            }
            Ok(is_new)
        })
        .await
    }

    /// Stores the blob, whose bytes have been verified, and forgets what came of it in chunks;
    /// `None` if the session is not usable.
    pub(crate) async fn store_blob(
        &mut self,
        blob: BlobRef,
        source: BlobSource,
    ) -> Result<Option<Receipt>, NotWritten> {
        let (length, is_partial) = match &source {
            BlobSource::Bytes(bytes) => (bytes.len() as u64, false),
            BlobSource::Chunks(length) => (*length, true),
        };
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        let placed = blocking(move || {
            if length <= INLINE_MAX {
                return Ok(Some(match source {
                    BlobSource::Bytes(bytes) => bytes,
                    BlobSource::Chunks(_) => shared.files.read_partial(&name)?.into(),
                }));
            }
            let source = match &source {
                BlobSource::Bytes(bytes) => Source::Bytes(bytes),
                BlobSource::Chunks(_) => Source::Partial(&name),
            };
            let temporary = format!("{name}{WHOLE}");
            shared.files.place(blob, &source, &temporary).map(|()| None)
        });
        let inline = placed.await.map_err(|error| self.failed(&error))?;
        // It travels with the transaction, so that it is released after that has ended, even if
        // nobody waits for it any more.
        let pin = inline.is_none().then(|| Pin {
            shared: Arc::clone(&self.shared),
            blob,
            back: is_partial.then(|| self.name.clone()),
        });
        self.store(pin, move |connection, session| {
            let sql = "INSERT OR IGNORE INTO blob (digest, length, bytes) VALUES (?1, ?2, ?3)";
            let length = staged::signed(length);
            let inline = inline.as_deref();
            connection
                .prepare_cached(sql)?
                .execute(params![blob.digest(), length, inline])?;
            staged::add_blob(connection, session, blob)
        })
        .await
    }

    /// Stores an object in one transaction with everything that goes with it.
    async fn store(
        &mut self,
        pin: Option<Pin>,
        put: impl FnOnce(&Connection, i64) -> rusqlite::Result<bool> + Send + 'static,
    ) -> Result<Option<Receipt>, NotWritten> {
        let (claim, key) = (self.claim.clone(), key(self.object));
        let work = move |connection: &Connection| {
            let Some(session) = Session::find(connection, &claim)? else {
                return Ok((None, pin));
            };
            let is_new = put(connection, session.id)?;
            let had_partial = forget(connection, session.id, &key)?;
            let expires = session.renew(connection, claim.until)?;
            Ok((Some((Receipt { is_new, expires }, had_partial)), pin))
        };
        let (stored, pin) = self.shared.writer()?.write(work).await?;
        if let Some(pin) = pin {
            blocking(move || drop(pin)).await;
        }
        let Some((receipt, had_partial)) = stored else {
            return Ok(None);
        };
        *self.progress = None;
        if had_partial {
            self.shared.files.remove_partial(&self.name);
        }
        Ok(Some(receipt))
    }

    /// A disk that fails now may work later, and nothing was counted.
    fn failed(&self, error: &io::Error) -> NotWritten {
        self.shared
            .report(&format!("a staged file cannot be used: {error}"));
        NotWritten { lasting: false }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.progress.is_some() {
            return;
        }
        let mut slots = self.shared.uploads.slots();
        // Only the map and this guard know it: nobody waits.
        if let Some(slot) = slots.get(&self.name)
            && Arc::strong_count(&slot.progress) == 2
        {
            slots.remove(&self.name);
        }
    }
}

/// A blob whose file is in its place while no row refers to it yet.
struct Pin {
    shared: Arc<Shared>,
    blob: BlobRef,
    /// Partial file that it was.
    back: Option<String>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        let is_referred_to = || self.shared.may_refer_to(self.blob);
        self.shared
            .files
            .release(self.blob, is_referred_to, self.back.as_deref());
    }
}

/// Drops the row of a partial upload; false if there is none.
fn forget(connection: &Connection, session: i64, key: &str) -> rusqlite::Result<bool> {
    let forgotten = connection
        .prepare_cached("DELETE FROM partial WHERE session = ?1 AND object = ?2")?
        .execute(params![session, key])?;
    Ok(forgotten > 0)
}
