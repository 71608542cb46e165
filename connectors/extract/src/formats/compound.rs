//! Compound files: what is in one, by its streams.

use std::io::{Cursor, Read};

use cfb::CompoundFile;

#[cfg(feature = "mail")]
use super::mail;
use super::{doc, ppt, sheets};
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
    if is_older_word(bytes) {
        let message = "a document of Word from before it was kept in compound files";
        return Err(ExtractError::new(Reason::UnsupportedVersion, message));
    }
    if bytes.starts_with(b"\xED\xDE\xAD\x0B") {
        return Err(ppt::older());
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
    if file.is_stream("/WordDocument") {
        return doc::read(format, &mut file, reading);
    }
    if file.is_stream("/PowerPoint Document") {
        return ppt::read(format, &mut file, reading);
    }
    if file.is_stream("/PP40") {
        return Err(ppt::older());
    }
    Err(ExtractError::unsupported())
}

/// Whether it is of Word 1 or 2, of Word for the Macintosh up to 5, or of Write.
fn is_older_word(bytes: &[u8]) -> bool {
    let starts: [&[u8]; 6] = [
        b"\xDB\xA5\x2D\0",
        b"\x9B\xA5",
        b"\xFE\x32\0",
        b"\xFE\x34\0",
        b"\xFE\x37\0",
        b"\x31\xBE\0\0",
    ];
    starts.iter().any(|start| bytes.starts_with(start))
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
