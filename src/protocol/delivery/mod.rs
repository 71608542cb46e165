//! The machines that bring documents to a remote: one per document, one per uploaded object, and
//! the small ones of delete and move.
//!
//! All of them are [`Machine`](crate::protocol::Machine)s: requests out, their ends in. What an
//! end means is read from the [table](crate::protocol::verdict); what is sent next, and how a
//! write ended, is decided here. They know no socket, no clock, and nothing of why a document is
//! written or what its failure does to a round.

mod commit;
mod delete;
mod document;
mod inline;
mod move_;
mod path;
mod places;
mod session;
mod size;
mod upload;
mod write;

use std::collections::HashMap;

use crate::model::{BlobRef, Contract, FileUri, Tree};
use crate::protocol::OperationError;
use crate::protocol::wire::capabilities::Limits;

pub use crate::protocol::wire::commit::{Delta, Precondition, Reply as Delivered, Status};
pub use commit::Committing;
pub use delete::{Delete, Deleting};
pub use document::Delivery;
pub use move_::{Move, Moving};
pub use session::Session;
pub use upload::{Source, Upload};
pub use write::{Conclusion, Write, WriteFailed, Writing};

/// A document to deliver.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Where.
    pub uri: &'a FileUri,
    /// What must hold.
    pub precondition: Precondition,
    /// What.
    pub tree: &'a Tree,
    /// Length in bytes of every blob whose bytes are at hand.
    pub blobs: HashMap<BlobRef, u64>,
}

/// What holds between client and remote.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// Contract of all hashes.
    pub contract: Contract,
    /// Limits of the remote.
    pub limits: Limits,
    /// Most uploads of one document at a time.
    pub in_flight: usize,
    /// Longest body of an update that goes inline without asking what is missing (http-binding
    /// §21, §22).
    pub fast_update_bytes: u64,
}

impl Terms {
    /// Returns the defaults under the limits of a remote.
    pub fn new(contract: Contract, limits: Limits) -> Self {
        Self {
            contract,
            limits,
            in_flight: 4,
            fast_update_bytes: 64 << 10,
        }
    }
}

/// Why a delivery failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{error}")]
pub struct DeliveryFailed {
    /// Why.
    pub error: OperationError,
    /// True unless there is positive evidence that no commit took effect (http-binding §16).
    pub outcome_unknown: bool,
    /// The session with what was uploaded, for another delivery of the same document, be it under
    /// another precondition.
    pub session: Option<Session>,
}
