//! The store: documents in one SQLite database, in a directory with a lock.
//!
//! It decides everything that depends on a document's current state, inside the transaction that
//! writes. It knows nothing of HTTP, callers or limits.

mod availability;
mod blob;
mod collect;
mod commit;
mod connection;
mod create;
mod current;
mod damage;
mod delta;
mod error;
mod files;
mod lock;
mod partial;
mod query;
mod reader;
mod remove;
mod schema;
mod scope;
mod session;
mod skeleton;
mod spelling;
mod staged;
mod staging;
mod switch;
mod turns;
mod upload;
mod writer;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::model::{BlobRef, Contract, Contracts, FileUri, Hash};
use crate::protocol::Missing;
use crate::protocol::wire::commit::Reply;
use crate::server::store::files::Files;
use crate::server::store::lock::Lock;
use crate::server::store::reader::Readers;
use crate::server::store::turns::Uploads;
use crate::server::store::writer::Writer;

pub use blob::Blob;
pub(crate) use commit::{Commit, Condition, InlineElement, InlinePage, NewDocument};
pub(crate) use damage::is_damage;
pub use error::StoreError;
pub(crate) use partial::{Received, UploadState};
pub(crate) use query::Listing;
pub(crate) use remove::{Delete, Move};
pub(crate) use session::Claim;
pub(crate) use skeleton::{Pages, Skeleton};
pub(crate) use staged::{Complete, NewElement, NewPage};
pub(crate) use staging::Negotiation;
pub(crate) use upload::{BlobSource, Receipt, Upload};
pub(crate) use writer::NotWritten;

/// What a store is opened for, and what to do where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// Write, and create the store if there is none.
    Create,
    /// Write; fail with [`StoreError::Missing`].
    MustExist,
    /// Read beside other readers and leave no trace; fail with [`StoreError::Missing`].
    ReadOnly,
}

/// A write that does not happen because of what the document is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    PreconditionFailed,
    AlreadyExists,
    NotFound,
    SessionExpired,
    Missing(Missing),
}

type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// An open store. Clones share it; it is closed when the last one is gone.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

/// Fields are dropped in order: writes end, then the lock is freed.
struct Shared {
    contracts: Contracts,
    cursor_key: [u8; 16],
    /// Whether there are the tables of staging; not in an older store that is only read.
    has_staging: bool,
    files: Files,
    uploads: Uploads,
    readers: Readers,
    /// None where the store was opened to be read.
    writer: Option<Writer>,
    on_failure: Arc<Mutex<Option<Report>>>,
    lock: Lock,
}

impl Store {
    /// Opens the store in `dir` for `dpe1`, the contract of production remotes.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; a store that is in use, too new or no store at all is left as it is.
    pub fn open(dir: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        Self::open_declaring(dir, mode, Contracts::SUPPORTED)
    }

    /// Opens the store in `dir` for the contracts a remote is to declare, and computes hashes its
    /// documents do not have yet (hash contract §14.1).
    ///
    /// # Errors
    ///
    /// As for [`Store::open`]. Under [`OpenMode::ReadOnly`] no hash can be added, and
    /// [`StoreError::Database`] says so if one is missing.
    pub fn open_declaring(
        dir: &Path,
        mode: OpenMode,
        contracts: Contracts,
    ) -> Result<Self, StoreError> {
        let shared = match mode {
            OpenMode::ReadOnly => Shared::to_read(dir, contracts)?,
            OpenMode::Create | OpenMode::MustExist => Shared::to_write(dir, mode, contracts)?,
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    /// Returns the contracts the store answers in.
    pub fn contracts(&self) -> Contracts {
        self.shared.contracts
    }

    /// Returns the current elements of a document with their texts as last written, or `None` if
    /// the document is absent. Elements never travel; this is for who has the store itself.
    ///
    /// # Errors
    ///
    /// [`StoreError::Damaged`] or [`StoreError::Database`] when they cannot be read.
    pub fn elements(&self, uri: &FileUri) -> Result<Option<HashMap<Hash, Box<str>>>, StoreError> {
        self.read(|connection| query::elements(connection, uri))
            .map_err(|source| StoreError::database(self.shared.readers.path(), source))
    }

    /// Leaves word for other processes at which URL this one serves the store: they find it in
    /// [`StoreError::InUse`] as long as this one has the store open to write.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn announce(&self, url: &str) -> Result<(), StoreError> {
        let lock = &self.shared.lock;
        lock.announce(url).map_err(|source| StoreError::Io {
            doing: "say where the store is served in",
            path: self.shared.readers.path().with_file_name(lock::FILE),
            source,
        })
    }

    /// Returns a blob that the current content of a document refers to, or `None` if there is no
    /// such document or it does not refer to it. Blobs never travel back; this is for who has the
    /// store itself.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when it cannot be read.
    pub fn blob(&self, uri: &FileUri, blob: BlobRef) -> Result<Option<Blob>, StoreError> {
        Blob::find(&self.shared, uri, blob)
    }

    /// Sets who is told why something could not be written.
    pub(crate) fn report_failures_to(&self, report: Report) {
        if let Ok(mut slot) = self.shared.on_failure.lock() {
            *slot = Some(report);
        }
    }

    pub(crate) fn cursor_key(&self) -> [u8; 16] {
        self.shared.cursor_key
    }

    /// Returns the current doc_hashes under `contract`, positional, of one moment.
    pub(crate) fn heads(
        &self,
        uris: &[FileUri],
        contract: Contract,
    ) -> rusqlite::Result<Vec<Option<Hash>>> {
        self.read(|connection| query::heads(connection, uris, contract))
    }

    pub(crate) fn skeleton(
        &self,
        uri: &FileUri,
        contract: Contract,
    ) -> rusqlite::Result<Option<Skeleton>> {
        Skeleton::begin(&self.shared, uri, contract)
    }

    pub(crate) fn list(&self, listing: &Listing<'_>) -> rusqlite::Result<Vec<(FileUri, Hash)>> {
        self.read(|connection| query::list(connection, listing))
    }

    /// Commits; the outer error means that nothing was written because the database failed.
    pub(crate) async fn commit(
        &self,
        commit: Commit,
    ) -> Result<Result<Reply, Refused>, NotWritten> {
        let kept = spelling::kept(self.shared.contracts);
        let declared = self.shared.contracts;
        let work = move |connection: &Connection| commit.run(connection, declared, kept);
        self.shared.writer()?.write(work).await
    }

    pub(crate) async fn delete(&self, delete: Delete) -> Result<Result<(), Refused>, NotWritten> {
        let declared = self.shared.contracts;
        let work = move |connection: &Connection| delete.run(connection, declared);
        self.shared.writer()?.write(work).await
    }

    pub(crate) async fn move_(&self, move_: Move) -> Result<Result<Hash, Refused>, NotWritten> {
        let declared = self.shared.contracts;
        let work = move |connection: &Connection| move_.run(connection, declared);
        self.shared.writer()?.write(work).await
    }

    fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.shared.readers.read(query)
    }
}

impl Shared {
    fn to_write(dir: &Path, mode: OpenMode, contracts: Contracts) -> Result<Self, StoreError> {
        make_directory(dir, mode)?;
        let lock = Lock::take(dir)?;
        create::database(dir)?;
        schema::check_file(dir)?;
        let path = dir.join(schema::FILE);
        let connection = open_database(dir, &path)?;
        let database = |source| StoreError::database(&path, source);
        spelling::complete(&connection, contracts).map_err(database)?;
        let cursor_key = query::cursor_key(&connection).map_err(database)?;
        let files = Files::new(dir);
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
        collect::sweep_at_open(&connection, &files, now, lock.was_abandoned()).map_err(database)?;
        checkpoint_on_close(&connection, true).map_err(database)?;
        let on_failure = Arc::<Mutex<Option<Report>>>::default();
        let writer =
            start_writer(connection, Arc::clone(&on_failure)).map_err(|source| StoreError::Io {
                doing: "start the writer of",
                path: path.clone(),
                source,
            })?;
        Ok(Self {
            contracts,
            cursor_key,
            has_staging: true,
            files,
            uploads: Uploads::default(),
            readers: Readers::beside_writer(&path),
            writer: Some(writer),
            on_failure,
            lock,
        })
    }

    fn to_read(dir: &Path, contracts: Contracts) -> Result<Self, StoreError> {
        let path = dir.join(schema::FILE);
        if !path.exists() {
            return Err(StoreError::Missing {
                dir: dir.to_owned(),
            });
        }
        let lock = Lock::share(dir)?;
        schema::check_file(dir)?;
        let database = |source| StoreError::database(&path, source);
        let connection = connection::open_still(&path).map_err(database)?;
        let has_staging = schema::check(&connection, dir)?;
        spelling::complete(&connection, contracts).map_err(database)?;
        Ok(Self {
            contracts,
            cursor_key: query::cursor_key(&connection).map_err(database)?,
            has_staging,
            files: Files::new(dir),
            uploads: Uploads::default(),
            readers: Readers::of_still(&path),
            writer: None,
            on_failure: Arc::default(),
            lock,
        })
    }

    fn writer(&self) -> Result<&Writer, NotWritten> {
        self.writer.as_ref().ok_or(NotWritten::Lasting)
    }

    /// Whether a blob has a row, as far as can be found out.
    fn may_refer_to(&self, blob: BlobRef) -> bool {
        let has_row = |connection: &Connection| collect::has_row(connection, blob);
        self.readers.read(has_row).unwrap_or(true)
    }

    fn report(&self, why: &str) {
        report(&self.on_failure, why);
    }
}

fn report(on_failure: &Mutex<Option<Report>>, why: &str) {
    if let Ok(slot) = on_failure.lock()
        && let Some(report) = slot.as_ref()
    {
        report(why);
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared")
            .field("contracts", &self.contracts)
            .finish_non_exhaustive()
    }
}

/// Creates the directory if that is wanted, and refuses one that holds something else.
fn make_directory(dir: &Path, mode: OpenMode) -> Result<(), StoreError> {
    let io = |doing| {
        move |source| StoreError::Io {
            doing,
            path: dir.to_owned(),
            source,
        }
    };
    if dir.join(schema::FILE).exists() {
        return Ok(());
    }
    if mode == OpenMode::MustExist {
        return Err(StoreError::Missing {
            dir: dir.to_owned(),
        });
    }
    create::directory(dir).map_err(io("create"))?;
    for entry in fs::read_dir(dir).map_err(io("read"))? {
        let name = entry.map_err(io("read"))?.file_name();
        // An opening that was cut short can have left a lock file, and what it was making.
        if name != lock::FILE && !create::is_unfinished(&name) {
            return Err(StoreError::Foreign {
                path: PathBuf::from(dir),
            });
        }
    }
    Ok(())
}

/// Opens the connection that writes. It does not checkpoint when it is closed: a database that
/// turns out to be none of ours, or damaged, stays as it is.
fn open_database(dir: &Path, path: &Path) -> Result<Connection, StoreError> {
    let database = |source| StoreError::database(path, source);
    let access = OpenFlags::SQLITE_OPEN_READ_WRITE;
    let mut connection = connection::open(path, access).map_err(database)?;
    checkpoint_on_close(&connection, false).map_err(database)?;
    schema::prepare(&mut connection, dir)?;
    Ok(connection)
}

fn checkpoint_on_close(connection: &Connection, wanted: bool) -> rusqlite::Result<()> {
    let no_checkpoint = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
    connection.set_db_config(no_checkpoint, !wanted).map(drop)
}

fn start_writer(
    connection: Connection,
    on_failure: Arc<Mutex<Option<Report>>>,
) -> io::Result<Writer> {
    let report = move |why: &str| report(&on_failure, why);
    Writer::start(connection, Box::new(report))
}
