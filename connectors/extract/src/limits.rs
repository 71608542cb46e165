//! How much of a file is read before it is given up.

/// Limits while reading one file. What is nested in it counts towards the same limits.
///
/// How long a file may take is for whoever runs the extraction: this crate knows no clock.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Bytes of the file itself.
    pub input_bytes: u64,
    /// Bytes that everything packed in it may unpack to, together.
    pub unpacked_bytes: u64,
    /// How many times larger than the file what it unpacks to may be; it is looked at from
    /// [`UNSUSPICIOUS_BYTES`] on.
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

/// So little is no bomb, whatever it was packed in: sheets of equal cells shrink without measure.
pub const UNSUSPICIOUS_BYTES: u64 = 32 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            input_bytes: 512 << 20,
            unpacked_bytes: 1 << 30,
            unpacked_ratio: 200,
            entries: 100_000,
            depth: 6,
            xml_depth: 256,
            pages: 100_000,
            elements: 2_000_000,
        }
    }
}
