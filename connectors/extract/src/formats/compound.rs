//! Compound files: what is in one, by its streams.

use std::io::{Cursor, Read};

use cfb::CompoundFile;

#[cfg(feature = "mail")]
use super::mail;
use super::sheets;
use crate::format::Format;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError};

/// A compound file that is open.
pub(crate) type Compound<'a> = CompoundFile<Cursor<&'a [u8]>>;

/// Reads a compound file.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    if sheets::is_bare_workbook(bytes) {
        return sheets::read_bare_xls(format, bytes, reading);
    }
    let mut file = CompoundFile::open(Cursor::new(bytes))
        .map_err(|error| ExtractError::damaged(format!("the compound file: {error}")))?;
    if file.exists("/EncryptedPackage") {
        return Err(ExtractError::new(
            Reason::Encrypted,
            "the document wants a password",
        ));
    }
    #[cfg(feature = "mail")]
    if mail::is_outlook_message(&file) {
        return mail::read_outlook(format, &mut file, reading);
    }
    if file.is_stream("/Workbook") || file.is_stream("/Book") {
        return sheets::read_xls(format, &mut file, reading);
    }
    Err(ExtractError::unsupported())
}

/// Reads a stream; `None` if there is none of this path.
pub(crate) fn stream(
    file: &mut Compound<'_>,
    path: &str,
    reading: &mut Reading<'_>,
) -> Result<Option<Vec<u8>>, ExtractError> {
    if !file.is_stream(path) {
        return Ok(None);
    }
    reading.entry()?;
    let stream = file
        .open_stream(path)
        .map_err(|error| ExtractError::damaged(format!("the stream {path}: {error}")))?;
    let length = stream.len();
    reading.unpack(stream.take(length)).map(Some)
}
