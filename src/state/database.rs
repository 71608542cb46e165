//! Opening the SQLite files of this room: format check first, schema if new.

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rustix::fs::{Access, access};
use rustix::io::Errno;

use super::error::StateError;

/// How long one process waits for another in the middle of a short transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// How the names of databases begin that are not complete.
const UNFINISHED: &str = ".new-";

/// What a database of this room contains.
pub(super) struct Schema {
    /// Marks the file as ours; the bytes read as text in a hex dump.
    pub application_id: i32,
    /// Version of the tables.
    pub version: i64,
    /// The tables.
    pub tables: &'static str,
}

/// Opens or creates the database at `path`.
pub(super) fn open(path: &Path, schema: &Schema) -> Result<Connection, StateError> {
    let broken = |source| StateError::database(path, source);
    if !is_there(path)? {
        create_file(path, schema)?;
    }
    make_writable(path)?;
    let flags = OpenFlags::default().difference(OpenFlags::SQLITE_OPEN_CREATE);
    let mut connection = Connection::open_with_flags(path, flags).map_err(broken)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
    check(&connection, path, schema)?;
    prepare(&mut connection, schema).map_err(broken)?;
    Ok(connection)
}

/// Returns whether there is a database. One without a byte has lost its content, and so has a write-ahead log
/// without a database: beside a new one it would be taken for that one's.
fn is_there(path: &Path) -> Result<bool, StateError> {
    let lost = |why| Err(StateError::database(path, not_a_database(why)));
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => lost("it is empty"),
        Ok(_) => Ok(true),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(StateError::io(path, error)),
        Err(_) if Path::new(&log).exists() => lost("it is gone, and its log is not"),
        Err(_) => Ok(false),
    }
}

/// Creates a database that is complete once it has its name: an empty file with that name has lost
/// what was in it. Until then everything is in a directory of its own, which goes with all that
/// SQLite may have put there.
fn create_file(path: &Path, schema: &Schema) -> Result<(), StateError> {
    let unavailable = |error| StateError::io(path, error);
    let place = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(path.parent().unwrap_or(Path::new("")))
        .map_err(unavailable)?;
    let file = tempfile::NamedTempFile::new_in(place.path()).map_err(unavailable)?;
    fill(file.path(), schema).map_err(|source| StateError::unfinished(path, source))?;
    file.as_file().sync_all().map_err(unavailable)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(()),
        // Somebody else was faster.
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(unavailable(error.error)),
    }
}

/// Writes the tables into a file that nobody else knows. There is no write-ahead log: one that
/// cannot be written back when the connection closes would stay behind with the content, and
/// closing does not tell.
fn fill(path: &Path, schema: &Schema) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    // Whatever fails, the file is thrown away.
    connection.pragma_update(None, "journal_mode", "off")?;
    connection.pragma_update(None, "synchronous", "full")?;
    create(&mut connection, schema)?;
    connection.close().map_err(|(_, error)| error)
}

/// Removes what was left in `directory` by processes that were killed while they created a
/// database. For who holds the lock of the directory: others may be creating one just now.
pub(super) fn remove_unfinished(directory: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if !entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED.as_bytes())
        {
            continue;
        }
        if entry.file_type()?.is_dir() {
            std::fs::remove_dir_all(entry.path())?;
        } else {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Makes sure that a database and the files beside it can be written. SQLite gives new ones the
/// mode of the database, and does not take them away again if that is write-protected: they would
/// keep later runs from writing when it is not any more.
fn make_writable(path: &Path) -> Result<(), StateError> {
    let unavailable = |path: &Path, error| StateError::io(path, error);
    let may_write = |path: &Path| access(path, Access::WRITE_OK);
    may_write(path).map_err(|error| unavailable(path, error.into()))?;
    for suffix in ["-wal", "-shm"] {
        let mut beside = path.as_os_str().to_owned();
        beside.push(suffix);
        let beside = Path::new(&beside);
        if may_write(beside) == Err(Errno::ACCESS) {
            std::fs::metadata(path)
                .and_then(|metadata| std::fs::set_permissions(beside, metadata.permissions()))
                .map_err(|error| unavailable(beside, error))?;
        }
    }
    Ok(())
}

fn prepare(connection: &mut Connection, schema: &Schema) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    create(connection, schema)
}

/// Copies the database at `path` into memory, so that nothing done to it can reach the disk; a
/// file that does not exist gives an empty one.
pub(super) fn snapshot(path: &Path, schema: &Schema) -> Result<Connection, StateError> {
    let broken = |source| StateError::database(path, source);
    let mut copy = Connection::open_in_memory().map_err(broken)?;
    if is_there(path)? {
        let original = open_read_only(path).map_err(broken)?;
        original.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
        check(&original, path, schema)?;
        rusqlite::backup::Backup::new(&original, &mut copy)
            .and_then(|backup| backup.run_to_completion(1024, Duration::ZERO, None))
            .map_err(broken)?;
    }
    create(&mut copy, schema).map_err(broken)?;
    Ok(copy)
}

/// Reads a database from beginning to end, and what `read` wants of it; nothing if it does not exist. Leaves
/// nothing behind.
pub(super) fn examine<T>(
    path: &Path,
    schema: &Schema,
    read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<Option<T>, StateError> {
    let broken = |source| StateError::database(path, source);
    if !is_there(path)? {
        return Ok(None);
    }
    let database = open_read_only(path).map_err(broken)?;
    database.busy_timeout(BUSY_TIMEOUT).map_err(broken)?;
    check(&database, path, schema)?;
    let verdict: String = database
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(broken)?;
    if verdict != "ok" {
        return Err(broken(not_a_database(&verdict)));
    }
    read(&database).map(Some).map_err(broken)
}

/// Opens a database without leaving anything beside it, not even the files that SQLite keeps for
/// readers; where a writer is at work they are there anyway.
fn open_read_only(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match path.to_str() {
        Some(name) if !Path::new(&log).exists() => {
            let uri = format!("{}?immutable=1", percent_encoded(name));
            Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)
        }
        _ => Connection::open_with_flags(path, flags),
    }
}

/// Encodes what would end the path of a `file:` URI or be decoded in it.
fn percent_encoded(path: &str) -> String {
    let encoded = path
        .replace('%', "%25")
        .replace('?', "%3f")
        .replace('#', "%23");
    format!("file:{encoded}")
}

/// Refuses a file that is not ours or newer than we are, before anything is written to it.
fn check(connection: &Connection, path: &Path, schema: &Schema) -> Result<(), StateError> {
    let read = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let broken = |source| StateError::database(path, source);
    let (found, id) = (
        read("user_version").map_err(broken)?,
        read("application_id").map_err(broken)?,
    );
    if found > schema.version {
        let path = path.to_owned();
        return Err(StateError::Newer { path, found });
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .map_err(broken)?;
    if tables > 0 && id != i64::from(schema.application_id) {
        return Err(broken(not_a_database("it belongs to another program")));
    }
    Ok(())
}

fn not_a_database(why: &str) -> rusqlite::Error {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
    rusqlite::Error::SqliteFailure(code, Some(why.to_owned()))
}

fn create(connection: &mut Connection, schema: &Schema) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let version: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if version < schema.version {
        transaction.execute_batch(schema.tables)?;
        transaction.pragma_update(None, "application_id", schema.application_id)?;
        transaction.pragma_update(None, "user_version", schema.version)?;
    }
    transaction.commit()
}
