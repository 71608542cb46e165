//! How files are extracted: within which limits, and so that no file costs more than itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dpe_connector::ItemErrorCode;
use dpe_extract::{ExtractError, Extraction, Format, HEAD_BYTES, Input, Reason, format_of};

use crate::document::NoDocument;
use crate::trouble::Failure;
use crate::workers::Workers;

/// Markdown up to this length is extracted here, in bytes.
const SMALL_BYTES: usize = 64 << 10;

/// Texts up to this length are, in bytes. Some take a hundred times their length in memory: paragraphs of one
/// letter, tables of nothing but commas.
const TEXT_BYTES: usize = 4 << 20;

/// Extracts files, on any number of threads.
///
/// Texts and pictures are looked through here unless they are long, and so is short Markdown. Whatever else has a parser of its
/// own is extracted by workers, if there are any.
#[derive(Debug, Default)]
pub struct Extractor {
    limits: dpe_extract::Limits,
    workers: Option<Workers>,
}

impl Extractor {
    /// Returns an extractor; without workers it does everything itself.
    pub fn new(limits: dpe_extract::Limits, workers: Option<Workers>) -> Self {
        Self { limits, workers }
    }

    /// Returns what a file of this name becomes of which these bytes are at hand.
    ///
    /// # Errors
    ///
    /// Why it becomes nothing.
    pub fn extract(&self, name: &[u8], bytes: &[u8]) -> Result<Extraction, NoDocument> {
        let head = &bytes[..bytes.len().min(HEAD_BYTES)];
        let format = format_of(name, head);
        let (Some(workers), Some(format)) = (&self.workers, format) else {
            return Ok(self.extract_here(name, bytes)?);
        };
        if bytes.is_empty() || is_light(format, bytes) || is_small_markdown(format, bytes) {
            return Ok(self.extract_here(name, bytes)?);
        }
        let made = workers.extract(format.file_type(), (name, bytes), &self.limits);
        made.map_err(|why| no_worker(&why))?
            .map_err(NoDocument::from)
    }

    fn extract_here(&self, name: &[u8], bytes: &[u8]) -> Result<Extraction, ExtractError> {
        let input = Input { name, bytes };
        // One file that trips over a defect must not end the round of all others.
        let extract = AssertUnwindSafe(|| dpe_extract::extract(&input, &self.limits));
        catch_unwind(extract).unwrap_or_else(|_| {
            Err(ExtractError {
                reason: Reason::ParserFailed,
                message: "the parser has a defect; see the connector's messages".to_owned(),
            })
        })
    }
}

fn is_light(format: Format, bytes: &[u8]) -> bool {
    format.is_read_from_head() || (format.is_simple() && bytes.len() <= TEXT_BYTES)
}

/// Returns whether a file is one of those notes of which a folder has thousands. A worker would take longer to be asked
/// than to answer: pushing 20,000 of them would take a sixth longer. So few bytes keep no parser of Markdown busy, which
/// goes over them once and bounds its depth.
fn is_small_markdown(format: Format, bytes: &[u8]) -> bool {
    format.file_type() == "md" && bytes.len() <= SMALL_BYTES
}

fn no_worker(why: &std::io::Error) -> NoDocument {
    NoDocument::Failed(Failure {
        code: ItemErrorCode::Internal,
        message: format!("no process could be started to extract it: {why}"),
        retryable: true,
    })
}
