//! Reading a stored blob back.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use crate::model::{BlobRef, FileUri};
use crate::server::store::current::{self, Document};
use crate::server::store::damage::damaged;
use crate::server::store::{Shared, StoreError};

/// The bytes of a blob, to be read once from the beginning.
#[derive(Debug)]
pub struct Blob {
    /// Length in bytes.
    length: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Inline(Cursor<Vec<u8>>),
    File(File),
}

impl Blob {
    pub(super) fn find(
        shared: &Arc<Shared>,
        uri: &FileUri,
        blob: BlobRef,
    ) -> Result<Option<Self>, StoreError> {
        if !shared.has_staging {
            // Its documents cannot refer to blobs yet.
            return Ok(None);
        }
        let database = |source| StoreError::database(shared.readers.path(), source);
        let row = |connection: &Connection| row(connection, uri, blob);
        let Some((length, inline)) = shared.readers.read(row).map_err(database)? else {
            return Ok(None);
        };
        let content =
            match inline {
                Some(bytes) => Content::Inline(Cursor::new(bytes)),
                None => Content::File(shared.files.open_blob(blob).map_err(|source| {
                    StoreError::Io {
                        doing: "open the blob",
                        path: shared.files.blob(blob),
                        source,
                    }
                })?),
            };
        Ok(Some(Self { length, content }))
    }

    /// Returns the length in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Read for Blob {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Inline(bytes) => bytes.read(buffer),
            Content::File(file) => file.read(buffer),
        }
    }
}

type Row = (u64, Option<Vec<u8>>);

fn row(connection: &Connection, uri: &FileUri, blob: BlobRef) -> rusqlite::Result<Option<Row>> {
    let Some(document) = Document::find(connection, uri)? else {
        return Ok(None);
    };
    if !current::has_blob(connection, document.id, blob.digest())? {
        return Ok(None);
    }
    let row = connection
        .prepare_cached("SELECT length, bytes FROM blob WHERE digest = ?1")?
        .query_row([blob.digest()], |row| {
            Ok((row.get::<_, i64>(0)?.unsigned_abs(), row.get(1)?))
        })
        .optional()?;
    row.map(Some)
        .ok_or_else(|| damaged("a document refers to a missing blob"))
}
