//! Opens files that somebody named, where a pipe could be in their place: whoever waits for its other
//! end waits for ever, and hears no signal.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// Opens a regular file.
///
/// # Errors
///
/// When it cannot be opened, or is something else: a directory, a pipe, a device.
pub(super) fn open(path: &Path) -> io::Result<File> {
    check(path)?;
    File::open(path)
}

/// Returns all bytes of a regular file.
///
/// # Errors
///
/// As [`open`], or when it cannot be read.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Makes sure that there is a regular file.
///
/// # Errors
///
/// When there is nothing, or something else.
pub(super) fn check(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        Ok(())
    } else {
        let kind = io::ErrorKind::InvalidInput;
        Err(io::Error::new(kind, "it is no regular file"))
    }
}
