//! How files are extracted: within which limits, and so that no file costs more than itself.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dpe_extract::{ExtractError, Extraction, Input, Reason};

/// Extracts files, on any number of threads.
#[derive(Debug, Default)]
pub struct Extractor {
    limits: dpe_extract::Limits,
}

impl Extractor {
    /// Returns what a file of this name becomes of which these bytes are at hand.
    ///
    /// # Errors
    ///
    /// Why it becomes nothing.
    pub fn extract(&self, name: &[u8], bytes: &[u8]) -> Result<Extraction, ExtractError> {
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
