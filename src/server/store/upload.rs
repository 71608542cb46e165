//! One object on its way into a session, whole or in chunks.
//!
//! Uploads of the same object to the same session come one after the other: whoever holds an
//! [`Upload`] is alone with the object. Bytes of a chunk go to a file; the row that counts them
//! follows in a transaction of its own, so that what was counted survives the process.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use rusqlite::{Connection, params};
use tokio::sync::OwnedMutexGuard;

use crate::model::{BlobHasher, BlobRef};
use crate::protocol::Staged;
use crate::server::blocking::blocking;
use crate::server::store::files::{INLINE_MAX, Source};
use crate::server::store::session::{Claim, Session};
use crate::server::store::staged::{self, NewPage};
use crate::server::store::turns::Progress;
use crate::server::store::{NotWritten, Shared, partial};

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

impl BlobSource {
    fn length(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Chunks(length) => *length,
        }
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
        let name = format!("{}.{}", claim.session, partial::key(object));
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
        let (claim, key) = (self.claim.clone(), partial::key(self.object));
        let work = move |connection: &Connection| {
            let Some(session) = Session::find(connection, &claim)? else {
                return Ok(None);
            };
            partial::count(connection, session.id, &key, received, total)?;
            session.renew(connection, claim.until).map(Some)
        };
        self.shared.writer()?.write_briefly(work).await
    }

    /// Forgets everything that was received in chunks.
    pub(crate) async fn discard(&mut self) -> Result<(), NotWritten> {
        *self.progress = None;
        let (claim, key) = (self.claim.clone(), partial::key(self.object));
        let work = move |connection: &Connection| match Session::find(connection, &claim)? {
            Some(session) => partial::forget(connection, session.id, &key).map(drop),
            None => Ok(()),
        };
        self.shared.writer()?.write_briefly(work).await?;
        self.remove_partial().await;
        Ok(())
    }

    /// Removes the file, which may be a large one.
    async fn remove_partial(&self) {
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        blocking(move || shared.files.remove_partial(&name)).await;
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
        let length = source.length();
        let (inline, pin) = self.place(blob, source).await?;
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

    /// Puts the bytes of a blob where they can be referred to: small ones come back to go into the
    /// database, others are a file from now on. The pin travels with the transaction that refers
    /// to it, so that it is released after that has ended, even if nobody waits for it any more.
    async fn place(
        &self,
        blob: BlobRef,
        source: BlobSource,
    ) -> Result<(Option<Bytes>, Option<Pin>), NotWritten> {
        let (shared, name) = (Arc::clone(&self.shared), self.name.clone());
        let is_partial = matches!(source, BlobSource::Chunks(_));
        let placed = blocking(move || {
            if source.length() <= INLINE_MAX {
                return Ok(Some(match source {
                    BlobSource::Bytes(bytes) => bytes,
                    BlobSource::Chunks(_) => shared.files.read_partial(&name)?.into(),
                }));
            }
            let source = match &source {
                BlobSource::Bytes(bytes) => Source::Bytes(bytes),
                BlobSource::Chunks(_) => Source::Partial(&name),
            };
            let temporary = format!("{name}{}", partial::WHOLE);
            shared.files.place(blob, &source, &temporary).map(|()| None)
        });
        let inline = placed.await.map_err(|error| self.failed(&error))?;
        let pin = inline.is_none().then(|| Pin {
            shared: Arc::clone(&self.shared),
            blob,
            back: is_partial.then(|| self.name.clone()),
        });
        Ok((inline, pin))
    }

    /// Stores an object in one transaction with everything that goes with it.
    async fn store(
        &mut self,
        pin: Option<Pin>,
        put: impl FnOnce(&Connection, i64) -> rusqlite::Result<bool> + Send + 'static,
    ) -> Result<Option<Receipt>, NotWritten> {
        let (claim, key) = (self.claim.clone(), partial::key(self.object));
        let work = move |connection: &Connection| {
            let Some(session) = Session::find(connection, &claim)? else {
                return Ok((None, pin));
            };
            let is_new = put(connection, session.id)?;
            let had_partial = partial::forget(connection, session.id, &key)?;
            let expires = session.renew(connection, claim.until)?;
            Ok((Some((Receipt { is_new, expires }, had_partial)), pin))
        };
        let (stored, pin) = self.shared.writer()?.write_briefly(work).await?;
        if let Some(pin) = pin {
            blocking(move || drop(pin)).await;
        }
        let Some((receipt, had_partial)) = stored else {
            return Ok(None);
        };
        *self.progress = None;
        if had_partial {
            self.remove_partial().await;
        }
        Ok(Some(receipt))
    }

    /// A disk that fails now may work later, and nothing was counted.
    fn failed(&self, error: &io::Error) -> NotWritten {
        self.shared
            .report(&format!("a staged file cannot be used: {error}"));
        NotWritten::because_of_file(error)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if self.progress.is_some() {
            return;
        }
        self.shared.uploads.leave(&self.name);
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

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tempfile::TempDir;
    use tokio::runtime::Builder;
    use tokio::task;
    use tokio::time::timeout;

    use crate::model::BlobRef;
    use crate::protocol::Staged;
    use crate::server::store::{Claim, OpenMode, Store};

    #[test]
    fn file_of_a_discarded_upload_is_removed_where_that_holds_up_nobody() {
        let dir = TempDir::new().unwrap();
        let files = || {
            std::fs::read_dir(dir.path().join("partial"))
                .unwrap()
                .count()
        };
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_time().max_blocking_threads(1).build();
        runtime.unwrap().block_on(async {
            let store = Store::open(dir.path(), OpenMode::Create).unwrap();
            let claim = Claim {
                session: "st-none".to_owned(),
                caller: Vec::new(),
                now: 0,
                until: 1,
            };
            let object = Staged::Blob(BlobRef::of(b"half"));
            let mut upload = store.upload(claim, object).await;
            assert!(upload.append(0, b"ha".as_slice().into()).await.unwrap());
            assert_eq!(files(), 1);
            let (end, ended) = mpsc::channel::<()>();
            let busy = task::spawn_blocking(move || ended.recv());
            let discard = upload.discard();
            tokio::pin!(discard);
            let short = Duration::from_millis(300);
            assert!(timeout(short, &mut discard).await.is_err());
            assert_eq!(files(), 1, "the only thread for such work is taken");
            drop(end);
            assert!(busy.await.unwrap().is_err());
            discard.await.unwrap();
            assert_eq!(files(), 0);
        });
    }
}
