//! How connections to a store's database are set up.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

/// Longest wait for a foreign process that holds the database, such as a backup.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Opens the database at `path`; `access` says whether it may be written or created.
pub(super) fn open(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Prepares a connection for durable writes: once a commit returns, it survives a power cut.
pub(super) fn make_durable(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")
}
