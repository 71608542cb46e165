//! How a store comes into being: complete once its database has its name.
//!
//! So a database without content is one that lost it, never one that is only just made. It knows
//! nothing of what the tables mean.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use rusqlite::Connection;

use crate::server::store::{StoreError, schema};

/// How the names of directories begin in which a database is made.
const UNFINISHED: &str = ".new-";

/// Whether a file of a store directory was left by a creation that was cut short.
pub(super) fn is_unfinished(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(UNFINISHED.as_bytes())
}

/// Creates the directory of a store for its owner only: the text of all documents is in it. One that
/// exists stays as it is.
pub(super) fn directory(dir: &Path) -> io::Result<()> {
    if let Some(parent) = dir.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Creates the database of the store at `dir` if it has none. For who holds the lock: what others
/// left unfinished is removed.
pub(super) fn database(dir: &Path) -> Result<(), StoreError> {
    let path = dir.join(schema::FILE);
    let io = |source| StoreError::Io {
        doing: "create",
        path: path.clone(),
        source,
    };
    if path.try_exists().map_err(io)? {
        return Ok(());
    }
    remove_unfinished(dir).map_err(io)?;
    let place = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempdir_in(dir)
        .map_err(io)?;
    let file = tempfile::NamedTempFile::new_in(place.path()).map_err(io)?;
    fill(file.path()).map_err(|source| StoreError::database(&path, source))?;
    file.as_file().sync_all().map_err(io)?;
    file.persist_noclobber(&path)
        .map(drop)
        .map_err(|failed| io(failed.error))
}

/// Writes the tables without a write-ahead log: one that stayed behind would have the content.
fn fill(path: &Path) -> rusqlite::Result<()> {
    let mut connection = Connection::open(path)?;
    // Whatever fails, the file is thrown away.
    connection.pragma_update(None, "journal_mode", "off")?;
    connection.pragma_update(None, "synchronous", "full")?;
    schema::create(&mut connection)?;
    connection.close().map_err(|(_, error)| error)
}

fn remove_unfinished(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if is_unfinished(&entry.file_name()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
