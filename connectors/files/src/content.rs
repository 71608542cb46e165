//! The door to dpe-extract: which format a file has, and what document it gives.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector::content::BlobSource;
use dpe_connector::{Item, ItemErrorCode};

use crate::trouble::Failure;

/// Longest file whose bytes travel inside its item.
const INLINE_BYTES: u64 = 64 << 10;

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

/// Why a file gives no document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoDocument {
    /// Its format is not understood.
    Unsupported,
    /// It is not what its format says, or trips over a defect here.
    Failed(Failure),
}

/// Returns the document item of a file of which as much is at hand as is [`wanted`]. Where the
/// content is the file itself, `whole` says where its bytes are.
///
/// # Errors
///
/// Why it gives none.
pub fn document(
    file_uri: String,
    name: &[u8],
    bytes: &[u8],
    whole: impl Fn() -> BlobSource,
) -> Result<Item, NoDocument> {
    // One file that trips over a defect must not end the round of all others.
    let made = catch_unwind(AssertUnwindSafe(|| extracted(file_uri, name, bytes, whole)));
    made.unwrap_or_else(|_| {
        Err(NoDocument::Failed(Failure {
            code: ItemErrorCode::Internal,
            message: "the extraction failed; see the connector's messages".into(),
            retryable: false,
        }))
    })
}

fn extracted(
    file_uri: String,
    name: &[u8],
    bytes: &[u8],
    whole: impl Fn() -> BlobSource,
) -> Result<Item, NoDocument> {
    let input = dpe_extract::Input { name, bytes };
    match dpe_extract::extract(&input, &dpe_extract::Limits::default()) {
        Ok(mut extraction) => {
            let pages = extraction.pages.iter_mut();
            let elements = pages.flat_map(|page| &mut page.elements);
            for blob in elements.filter_map(|element| element.blob.as_mut()) {
                *blob = whole();
            }
            Ok(Item::document(file_uri, extraction.head, extraction.pages))
        }
        Err(error) if error.reason == dpe_extract::Reason::UnsupportedFormat => {
            Err(NoDocument::Unsupported)
        }
        Err(error) => Err(NoDocument::Failed(Failure::of_content(error.message))),
    }
}

/// Returns where the bytes of a file of `size` bytes are: in the item itself, if they are few and
/// all in `bytes`, or behind the handle that `give` makes.
pub fn whole_bytes(bytes: &[u8], size: u64, give: impl FnOnce() -> String) -> BlobSource {
    if size <= INLINE_BYTES && bytes.len() as u64 <= INLINE_BYTES {
        let inline = STANDARD.encode(bytes);
        return BlobSource::Inline { inline };
    }
    BlobSource::Handle {
        handle: give(),
        size: Some(size),
    }
}
