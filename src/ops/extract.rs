//! `dpe extract`: what files become, without any remote.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use dpe_connector_files::Program;

/// Where Linux says which file a process was started from. A process started from there is the same
/// program, even if the file was replaced or removed meanwhile.
#[cfg(target_os = "linux")]
const OWN_FILE: &str = "/proc/self/exe";

/// Returns how this program is started as a process that extracts files.
///
/// # Errors
///
/// When its own file cannot be found.
pub fn worker() -> io::Result<Program> {
    Ok(Program {
        path: own_file()?,
        args: ["connector", "extract-worker"].map(OsString::from).into(),
    })
}

#[cfg(target_os = "linux")]
fn own_file() -> io::Result<PathBuf> {
    std::fs::read_link(OWN_FILE)?;
    Ok(OWN_FILE.into())
}

#[cfg(not(target_os = "linux"))]
fn own_file() -> io::Result<PathBuf> {
    std::env::current_exe()
}
