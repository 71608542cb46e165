//! The bytes a hash is taken of, never kept as a whole.
//!
//! Canonical output comes in small pieces. They are gathered so that SHA-256 gets blocks worth
//! its while; long strings go to it directly from the source text.

use sha2::{Digest, Sha256};

use super::contract::Contract;
use super::hash::Hash;
use crate::json::canonical::Sink;

const BUFFER: usize = 4096;
/// From this length on a piece is not copied into the buffer.
const DIRECT: usize = 1024;

/// A sink whose result is the hash of what was put into it (hash contract §2).
#[derive(Debug)]
pub(super) struct Preimage {
    contract: Contract,
    digest: Sha256,
    /// True once the digest has seen the beginning of this preimage.
    is_begun: bool,
    buffer: Vec<u8>,
}

impl Preimage {
    pub(super) fn new(contract: Contract) -> Self {
        let mut buffer = Vec::with_capacity(BUFFER);
        buffer.extend_from_slice(contract.salt());
        Self {
            contract,
            digest: Sha256::new(),
            is_begun: false,
            buffer,
        }
    }

    /// Returns the hash and starts over.
    pub(super) fn finish(&mut self) -> Hash {
        let digest = if self.is_begun {
            self.flush();
            self.is_begun = false;
            self.digest.finalize_reset()
        } else {
            Sha256::digest(&self.buffer)
        };
        self.buffer.clear();
        self.buffer.extend_from_slice(self.contract.salt());
        Hash::new(self.contract, digest.into())
    }

    fn put_past_buffer(&mut self, bytes: &[u8]) {
        self.flush();
        if bytes.len() >= DIRECT {
            self.digest.update(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }

    fn flush(&mut self) {
        self.digest.update(&self.buffer);
        self.buffer.clear();
        self.is_begun = true;
    }
}

impl Sink for Preimage {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        if self.buffer.len() + bytes.len() > BUFFER || bytes.len() >= DIRECT {
            self.put_past_buffer(bytes);
        } else {
            self.buffer.extend_from_slice(bytes);
        }
    }
}
