//! The door to dpe-extract: which format a file has, and how much of it is needed.

use std::sync::Arc;

/// How much of a file the format decision looks at, in bytes.
pub const HEAD_BYTES: usize = dpe_extract::HEAD_BYTES;

/// Returns the `file_type` of a file with this name that begins with `head`, if its format is
/// understood. Later bytes than [`HEAD_BYTES`] do not matter.
pub fn format_of(name: &[u8], head: &[u8]) -> Option<Arc<str>> {
    dpe_extract::format_of(name, head).map(|format| format.file_type().into())
}

/// How large files may be, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// A file that is read as a whole.
    pub file: u64,
    /// A file that is delivered as it is.
    pub blob: u64,
}

/// How much of a file is wanted, seeing how it begins.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// A longer file is too large.
    pub limit: u64,
    /// So many bytes are kept; the others only enter the fingerprint.
    pub kept: u64,
}

/// Returns how much of a file is needed to make its document, if its format is understood.
pub fn wanted(name: &[u8], head: &[u8], limits: Limits) -> Option<Wanted> {
    dpe_extract::format_of(name, head).map(|format| wanted_of(format, limits))
}

/// Returns how much of a file would be needed to make the document that its name claims.
pub fn wanted_by_name(name: &[u8], limits: Limits) -> Option<Wanted> {
    dpe_extract::format_by_name(name).map(|format| wanted_of(format, limits))
}

fn wanted_of(format: dpe_extract::Format, limits: Limits) -> Wanted {
    if format.is_read_from_head() {
        Wanted {
            limit: limits.blob,
            kept: dpe_extract::IMAGE_HEAD_BYTES as u64,
        }
    } else {
        Wanted {
            limit: limits.file,
            kept: u64::MAX,
        }
    }
}
