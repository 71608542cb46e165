//! Opens files that somebody named, where a pipe could be in their place: whoever waits for its other
//! end waits for ever, and hears no signal.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// More than anybody writes by hand: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// Opens a regular file.
///
/// # Errors
///
/// When it cannot be opened, or is something else: a directory, a pipe, a device.
pub(super) fn open(path: &Path) -> io::Result<File> {
    // So that nothing waits for the other end of a pipe; it means nothing for a file.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        let kind = io::ErrorKind::InvalidInput;
        Err(io::Error::new(kind, "it is no regular file"))
    }
}

/// Returns all bytes of a regular file.
///
/// # Errors
///
/// As [`open`] and [`read_all`].
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_all(open(path)?)
}

/// Returns all bytes of what is open, be it a regular file or not.
///
/// # Errors
///
/// When it cannot be read, or does not end within 64 MiB.
pub(super) fn read_all(source: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    source.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        let why = format!("it has more than {} MiB", MAX_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}
