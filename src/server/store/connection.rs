//! How connections to a store's database are set up.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// Longest wait for a foreign process that holds the database, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the database at `path`; `access` says whether it may be written or created.
pub(super) fn open(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    set_up(Connection::open_with_flags(
        path,
        access | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?)
}

/// Opens a database that nobody writes as long as the connection is open, and leaves no trace: no
/// file is created, and none written.
pub(super) fn open_still(path: &Path) -> rusqlite::Result<Connection> {
    let access = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !log(path).exists() {
        let access = access | OpenFlags::SQLITE_OPEN_URI;
        return set_up(Connection::open_with_flags(immutable(path)?, access)?);
    }
    if cfg!(not(unix)) {
        return open(path, OpenFlags::SQLITE_OPEN_READ_ONLY);
    }
    // Somebody was killed and left a log. Without locks in the database and with the index of the
    // log in memory, it can be read as it lies there.
    let connection = Connection::open_with_flags_and_vfs(path, access, c"unix-none")?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
    set_up(connection)
}

/// Returns the path of the write-ahead log.
fn log(path: &Path) -> PathBuf {
    let mut log = OsString::from(path);
    log.push("-wal");
    log.into()
}

/// Returns the URI under which SQLite takes a file for one that does not change.
fn immutable(path: &Path) -> rusqlite::Result<String> {
    let absolute = path.canonicalize();
    let absolute = absolute.map_err(|_| rusqlite::Error::InvalidPath(path.to_owned()))?;
    let mut uri = "file://".to_owned();
    for &byte in absolute.as_os_str().as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

fn set_up(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Prepares a connection for durable writes: once a commit returns, it survives a power cut.
pub(super) fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")
}
