//! How files are extracted: within which limits, and so that no file costs more than itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dpe_connector::ItemErrorCode;
use dpe_extract::{ExtractError, Extraction, HEAD_BYTES, Input, Reason, format_of};

use crate::document::NoDocument;
use crate::trouble::Failure;
use crate::workers::{Program, Workers};

/// Extracts files, on any number of threads.
///
/// Texts and pictures are looked through here. Whatever has a parser of its own is extracted by workers,
/// if there are any.
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

    /// Returns an extractor with the limits that suit most files, and with workers of this program.
    pub fn with_defaults(worker: Option<Program>) -> Self {
        Self::new(
            dpe_extract::Limits::default(),
            worker.map(Workers::with_defaults),
        )
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
        if format.is_simple() || bytes.is_empty() {
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

fn no_worker(why: &std::io::Error) -> NoDocument {
    NoDocument::Failed(Failure {
        code: ItemErrorCode::Internal,
        message: format!("no process could be started to extract it: {why}"),
        retryable: true,
    })
}
