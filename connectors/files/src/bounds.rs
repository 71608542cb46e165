//! How much one file may cost, as configurations have it.

use std::time::Duration;

use dpe_extract::Limits;
use serde::{Deserialize, Serialize};

use crate::extractor::Extractor;
use crate::workers::{Program, Workers};

/// Longest file that is read as a whole unless a configuration says otherwise, in bytes: the large PDF files that people
/// really have are shorter.
pub const MAX_FILE_BYTES: u64 = 128 << 20;

/// The member `limits` of a configuration. What is not given is what suits most files.
///
/// How many bytes the file itself may have is not among them: that is `max_file_bytes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// How long a worker may take for a file.
    pub seconds: u64,
    /// How many bytes of memory a worker may need for a file.
    pub memory_bytes: u64,
    /// Bytes that everything packed in it may unpack to, together.
    pub unpacked_bytes: u64,
    /// How many times larger than the file that may be.
    pub unpacked_ratio: u64,
    /// Entries of archives, parts of messages, streams of compound files.
    pub entries: u64,
    /// Files within files within files.
    pub depth: u32,
    /// Tags within tags, in XML.
    pub xml_depth: u32,
    /// Pages of the document.
    pub pages: usize,
    /// Elements of the document.
    pub elements: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        let Limits {
            input_bytes: _,
            unpacked_bytes,
            unpacked_ratio,
            entries,
            depth,
            xml_depth,
            pages,
            elements,
        } = Limits::default();
        Self {
            seconds: 60,
            memory_bytes: 2 << 30,
            unpacked_bytes,
            unpacked_ratio,
            entries,
            depth,
            xml_depth,
            pages,
            elements,
        }
    }
}

impl Bounds {
    /// Returns [`MAX_FILE_BYTES`], for configurations.
    pub fn max_file_bytes() -> u64 {
        MAX_FILE_BYTES
    }

    /// Returns what extracts files of up to so many bytes within these bounds, with workers if there is a
    /// program for them.
    pub fn extractor(&self, max_file_bytes: u64, worker: Option<Program>) -> Extractor {
        let limits = Limits {
            // Of a picture, which may have more, only the beginning is looked at.
            input_bytes: max_file_bytes.max(dpe_extract::IMAGE_HEAD_BYTES as u64),
            unpacked_bytes: self.unpacked_bytes,
            unpacked_ratio: self.unpacked_ratio,
            entries: self.entries,
            depth: self.depth,
            xml_depth: self.xml_depth,
            pages: self.pages,
            elements: self.elements,
        };
        let time = Duration::from_secs(self.seconds);
        let workers = worker.map(|program| Workers::of(program, time, self.memory_bytes));
        Extractor::new(limits, workers)
    }
}
