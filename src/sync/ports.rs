//! The ports of the runner: what it needs from the world, as traits.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;

use crate::json;
use crate::model::{FileUri, Hash, Tree};
use crate::protocol::{Request, Response};

use super::blobs::Blobs;
use super::failure::Failure;

/// Carries one DPE/1 request to a remote and brings the reply back.
pub trait Transport: Send + Sync {
    /// Sends `request` once; repeats nothing.
    ///
    /// # Errors
    ///
    /// When no complete reply arrived; the failure says whether the request can have left.
    fn send(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, TransportFailure>> + Send;

    /// Returns what counts the bytes of request bodies while they go, if the transport knows better than
    /// the requests tell: because it compresses them, and sends them bit by bit.
    fn wire_bytes(&self) -> Option<&Arc<AtomicU64>> {
        None
    }

    /// Returns a text that others wrote without any secret that this transport sent them
    /// (connector contract §7.3). Replies are handed over as they came; what is taken from them
    /// for people has to pass through here before anybody sees it.
    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }
}

/// No reply: the cases that the rules of resending tell apart (HTTP binding §15.1).
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct TransportFailure {
    /// True only with positive evidence that the request never left.
    pub definitely_not_sent: bool,
    /// Set if this side could not even build the request (§13.3): then it never left, and sending
    /// it again cannot help.
    pub local: Option<LocalFault>,
    /// For people; never holds a credential.
    pub message: String,
}

/// What kept a request from being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalFault {
    /// The request itself: a header value or a URL that HTTP does not allow.
    Request,
    /// A credential was promised and could not be had (connector contract §7.1,
    /// `secret_missing`).
    Credential,
}

impl TransportFailure {
    /// Returns the failure of a request that never left because there was no connection.
    pub fn not_sent(message: impl Into<String>) -> Self {
        Self {
            definitely_not_sent: true,
            local: None,
            message: message.into(),
        }
    }

    /// Returns the failure of a request that may have reached the remote.
    pub fn lost(message: impl Into<String>) -> Self {
        Self {
            definitely_not_sent: false,
            local: None,
            message: message.into(),
        }
    }

    /// Returns the failure of a request that could not be built.
    pub fn local(fault: LocalFault, message: impl Into<String>) -> Self {
        Self {
            definitely_not_sent: true,
            local: Some(fault),
            message: message.into(),
        }
    }
}

/// A running plugin (connector contract §10, §11, §14).
pub trait Source: Send {
    /// Returns what the plugin said of itself when it was initialised.
    fn identity(&self) -> &PluginIdentity;

    /// Asks for the next batch.
    ///
    /// # Errors
    ///
    /// A failure of level round or protocol; the source is of no further use.
    fn scan(
        &mut self,
        request: ScanRequest,
    ) -> impl Future<Output = Result<Batch, ScanFailure>> + Send;

    /// Reads bytes behind `handle` from `offset` on: at most `max_bytes`, or what fits a message if
    /// that is less (§14.2).
    ///
    /// # Errors
    ///
    /// See [`BlobFailure`].
    fn read_blob(
        &mut self,
        handle: &str,
        offset: u64,
        max_bytes: u64,
    ) -> impl Future<Output = Result<BlobChunk, BlobFailure>> + Send;

    /// Says goodbye and waits for the end, by force if need be.
    ///
    /// # Errors
    ///
    /// When the plugin ended in another way than it should (§17).
    fn close(self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// Name, version and protocol of a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginIdentity {
    /// Name, as in the manifest.
    pub name: String,
    /// Version, as in the manifest.
    pub version: String,
    /// The version of the connector protocol that was agreed on.
    pub protocol_version: String,
    /// Whether cursors may be stored and sent.
    pub supports_cursor: bool,
}

/// One `scan` request. `cursor` and `next` exclude each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanRequest {
    /// Cursor of an earlier round; only in the first request of a round.
    pub cursor: Option<String>,
    /// Continuation of the previous batch.
    pub next: Option<String>,
    /// At most so many items; 0 leaves it to the plugin.
    pub max_items: u32,
}

/// One batch of items, as the plugin sent it and not judged yet.
#[derive(Debug)]
pub struct Batch {
    /// The items: an array.
    pub items: json::Text<'static>,
    /// How the batch ends.
    pub end: BatchEnd,
}

/// Whether more follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchEnd {
    /// More items follow under this continuation.
    Next(String),
    /// The round is enumerated.
    Final {
        /// Where the next round may start.
        cursor: Option<String>,
        /// Whether the enumeration started from the given cursor.
        incremental: bool,
    },
}

/// Why there is no batch.
#[derive(Clone, Debug)]
pub struct ScanFailure {
    /// A failure of level round or protocol.
    pub failure: Failure,
    /// What the final batch said of itself, if one came that cannot be taken: reports repeat it all
    /// the same (connector contract §23).
    pub incremental: Option<bool>,
}

impl From<Failure> for ScanFailure {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            incremental: None,
        }
    }
}

impl From<ScanFailure> for Failure {
    fn from(failed: ScanFailure) -> Self {
        failed.failure
    }
}

/// A part of the bytes behind a handle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobChunk {
    /// The bytes; none only at the end.
    pub bytes: Bytes,
    /// Whether the end of the blob is reached.
    pub eof: bool,
}

/// Why bytes behind a handle were not read.
#[derive(Clone, Debug)]
pub enum BlobFailure {
    /// The plugin could not or did not give them, and lives on; a matter of the documents that
    /// need them.
    Unread {
        /// For people.
        message: String,
        /// Whether the next round may succeed as it is.
        retryable: bool,
    },
    /// The round is over; the source is of no further use.
    Ended(Failure),
}

/// The documents of a remote, as the runner sees them: heads and conditional writes.
///
/// There are two: the remote itself behind a [`Transport`], and the dry run that reads the
/// remote and only imagines its own writes.
pub trait Remote: Send + Sync {
    /// Returns the doc_hash of each URI, or `None` where there is no document.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read, or refuses the batch.
    fn heads(
        &self,
        uris: &[FileUri],
    ) -> impl Future<Output = Result<Vec<Option<Hash>>, WriteError>> + Send;

    /// Returns how many heads the remote takes in one request.
    fn heads_at_once(&self) -> usize {
        usize::MAX
    }

    /// Returns whether there is no document below `prefix`.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read.
    fn is_empty(&self, prefix: &str) -> impl Future<Output = Result<bool, WriteError>> + Send;

    /// Makes `tree` the content of `uri` under `base`; `blobs` has the bytes it may need.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    fn commit(
        &self,
        uri: &FileUri,
        base: Base,
        tree: &Tree,
        blobs: &Blobs,
    ) -> impl Future<Output = Result<Committed, WriteError>> + Send;

    /// Deletes `uri` if it holds `base`.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    fn delete(
        &self,
        uri: &FileUri,
        base: Hash,
    ) -> impl Future<Output = Result<(), WriteError>> + Send;

    /// Renames `from` to `to` if `from` holds `base` and `to` is free.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    fn rename(
        &self,
        from: &FileUri,
        to: &FileUri,
        base: Hash,
    ) -> impl Future<Output = Result<Hash, WriteError>> + Send;
}

/// Precondition of a commit (core §5.1). The runner never forces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// There must be no document.
    Absent,
    /// The document must hold this doc_hash.
    Hash(Hash),
}

/// What a commit did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// There was no document before.
    Created,
    /// The document had other content before.
    Updated,
    /// The document had this content already.
    Unchanged,
}

/// Why a request to the remote did not do what it should.
#[derive(Clone, Debug)]
pub struct WriteError {
    /// What is reported. Its level says how far it reaches (§25.2).
    pub failure: Failure,
    /// True unless there is positive evidence that the write did not take effect
    /// (HTTP binding §16). Meaningless for reads.
    pub outcome_unknown: bool,
    /// How the remote refused, if it did so with one of the codes of a conflict (§20).
    pub refusal: Option<Refusal>,
}

/// The refusals that are conflicts (§20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `DPE_PRECONDITION_FAILED`
    PreconditionFailed,
    /// `DPE_ALREADY_EXISTS`
    AlreadyExists,
    /// `DPE_NOT_FOUND`
    NotFound,
}

impl Refusal {
    /// Returns the code.
    pub fn code(self) -> &'static str {
        match self {
            Self::PreconditionFailed => "DPE_PRECONDITION_FAILED",
            Self::AlreadyExists => "DPE_ALREADY_EXISTS",
            Self::NotFound => "DPE_NOT_FOUND",
        }
    }
}
