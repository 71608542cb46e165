//! Read-only connections, a few of them, each used by one reader at a time.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rusqlite::{Connection, OpenFlags};

use crate::server::store::connection;

/// Idle connections kept for the next reader.
const IDLE_MAX: usize = 4;

/// The connections.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    open: fn(&Path) -> rusqlite::Result<Connection>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Returns readers beside a writer.
    pub(super) fn beside_writer(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            open: |path| connection::open(path, OpenFlags::SQLITE_OPEN_READ_ONLY),
            idle: Mutex::default(),
        }
    }

    /// Returns readers of a store that nobody writes meanwhile; they leave no trace.
    pub(super) fn of_still(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            open: connection::open_still,
            idle: Mutex::default(),
        }
    }

    /// Returns the path of the database.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Runs `query` on one consistent state of the store.
    pub(super) fn read<T>(
        &self,
        query: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let connection = self.begin()?;
        let result = query(&connection)?;
        self.end(connection);
        Ok(result)
    }

    /// Returns a connection that sees one state of the store until it comes back to [`Self::end`].
    pub(super) fn begin(&self) -> rusqlite::Result<Connection> {
        let connection = self.take()?;
        connection.execute_batch("BEGIN")?;
        Ok(connection)
    }

    /// Ends the reading of a connection.
    pub(super) fn end(&self, connection: Connection) {
        // One that cannot end it is closed, which ends it, too.
        if connection.execute_batch("ROLLBACK").is_ok() {
            self.give_back(connection);
        }
    }

    fn take(&self) -> rusqlite::Result<Connection> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        match idle {
            Some(connection) => Ok(connection),
            None => (self.open)(&self.path),
        }
    }

    fn give_back(&self, connection: Connection) {
        if let Ok(mut idle) = self.idle.lock()
            && idle.len() < IDLE_MAX
        {
            idle.push(connection);
        }
    }
}
