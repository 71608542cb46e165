//! `read_blob`, bytes behind a handle (connector contract §14.2).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::rpc::{ErrorCode, RpcError};

/// Part of a message that a chunk leaves to everything around it, in bytes.
const ENVELOPE_BYTES: u64 = 4096;

/// Returns the most bytes of a chunk that fit a message of `max_message_bytes` as base64.
pub fn largest_chunk(max_message_bytes: u64) -> u64 {
    let room = max_message_bytes.saturating_sub(ENVELOPE_BYTES);
    (room / 4 * 3 + room % 4 * 3 / 4).max(1)
}

/// Parameters of `read_blob`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBlobParams {
    /// The handle, from an item.
    pub handle: String,
    /// First byte wanted.
    #[serde(default)]
    pub offset: u64,
    /// At most so many bytes; more than 0.
    pub max_bytes: u64,
}

impl ReadBlobParams {
    pub(crate) fn check(self) -> Result<Self, RpcError> {
        if self.max_bytes == 0 {
            let why = "`max_bytes` is positive";
            return Err(RpcError::new(ErrorCode::InvalidParams, why));
        }
        Ok(self)
    }
}

/// Result of `read_blob`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlobChunk {
    /// Base64, standard alphabet with padding.
    pub data: String,
    /// Whether this chunk reaches the end.
    pub eof: bool,
}

impl BlobChunk {
    /// Returns a chunk that carries `bytes`.
    pub fn new(bytes: &[u8], eof: bool) -> Self {
        Self {
            data: STANDARD.encode(bytes),
            eof,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::largest_chunk;

    #[test]
    fn chunks_fit_messages_as_base64() {
        assert_eq!(largest_chunk(4096 + 4000), 3000);
        assert_eq!(largest_chunk(10), 1);
        assert_eq!(largest_chunk(4096 + 7), 5);
    }
}
