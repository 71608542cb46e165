//! Why an operation did not do what it should: what a machine ends with, and what the rules of
//! resending look at.

use miette::Diagnostic;

use crate::model::{BlobRef, Hash};
use crate::protocol::{ErrorCode, ReplyError};

/// Why an operation failed. Whether a write may have taken effect nevertheless is said beside it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
pub enum OperationError {
    /// The remote answered, but not with success.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Reply(#[from] ReplyError),
    /// The request certainly never left (http-binding §15.1).
    #[error("the remote cannot be reached: {message}")]
    #[diagnostic(
        code(dpe::protocol::not_sent),
        help("check the address and the network, then try again")
    )]
    NotSent {
        /// For people.
        message: String,
    },
    /// The request cannot be written as HTTP; it never left and never will (§13.3).
    #[error("the request cannot be sent: {message}")]
    #[diagnostic(
        code(dpe::protocol::local_request),
        help("check the host of the remote and the value of the credential")
    )]
    LocalRequest {
        /// For people; holds neither the URL nor a header value.
        message: String,
    },
    /// A credential was promised and could not be had; the request never left.
    #[error("the credential cannot be had: {message}")]
    #[diagnostic(
        code(dpe::protocol::credential),
        help("mend what the credential comes from, or go without one")
    )]
    Credential {
        /// For people.
        message: String,
    },
    /// No complete reply arrived, and the request may have had its effect (§15.1).
    #[error("the reply was lost: {message}")]
    #[diagnostic(
        code(dpe::protocol::lost),
        help("try again later; what the remote holds now tells whether the request arrived")
    )]
    Lost {
        /// For people.
        message: String,
    },
    /// The bytes of a blob could not be read here, so its request was not sent.
    #[error("the bytes of blob {blob} cannot be read: {message}")]
    #[diagnostic(
        code(dpe::protocol::blob_unreadable),
        help("check that the source of the blob is still there, then try again")
    )]
    BlobUnreadable {
        /// Which blob.
        blob: BlobRef,
        /// For people.
        message: String,
    },
    /// An object is larger than the remote takes; nothing was sent for it (§13.2).
    #[error("{object} has {size} bytes; the remote takes {limit}")]
    #[diagnostic(
        code(dpe::protocol::too_large),
        help("split the document, the text or the blob, or ask for a higher limit of the remote")
    )]
    TooLarge {
        /// Which object.
        object: Oversize,
        /// Its length in bytes before compression.
        size: u64,
        /// Most bytes of the remote.
        limit: u64,
    },
    /// The remote lacks a blob whose bytes are not at hand (§21).
    #[error("the remote lacks blob {blob}, and its bytes are not at hand")]
    #[diagnostic(
        code(dpe::protocol::missing_blob),
        help("give the bytes of the blob along with the document")
    )]
    MissingBlob {
        /// Which blob.
        blob: BlobRef,
    },
    /// The reply to a forced commit was lost and the document does not hold what was submitted, or
    /// cannot be read (§15.2). A forced commit is never sent again.
    #[error("it is not known whether the forced commit of {submitted} took effect: {read}")]
    #[diagnostic(
        code(dpe::protocol::force_not_confirmed),
        help("look at the document, then decide whether to force again")
    )]
    ForceNotConfirmed {
        /// The doc_hash that was submitted.
        submitted: Hash,
        /// What the document held afterwards.
        read: ReadBack,
    },
}

/// An object that is larger than a remote takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Oversize {
    /// The document object, in the smallest request that can carry it.
    #[error("the document object {doc_hash} in one request")]
    Document {
        /// Its doc_hash.
        doc_hash: Hash,
    },
    /// A page object.
    #[error("page {} ({page_hash})", .position + 1)]
    Page {
        /// Its page_hash.
        page_hash: Hash,
        /// Where it first stands among the pages, from 0.
        position: usize,
    },
    /// An element object.
    #[error("element {content_hash}{}", place(*.page))]
    Element {
        /// Its content_hash.
        content_hash: Hash,
        /// The page it first stands on, from 0, if known.
        page: Option<usize>,
    },
    /// A blob.
    #[error("blob {blob}")]
    Blob {
        /// Its reference.
        blob: BlobRef,
    },
}

fn place(page: Option<usize>) -> String {
    page.map_or_else(String::new, |page| format!(" on page {}", page + 1))
}

/// What a document held when it was read after a forced commit whose reply was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadBack {
    /// It could not be read.
    #[error("the document cannot be read")]
    Unreadable,
    /// There was no document.
    #[error("there is no document now")]
    Absent,
    /// It held something else.
    #[error("the document holds {0} now")]
    Other(Hash),
}

impl OperationError {
    /// Returns the known code of the remote's answer, if that is what failed.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Reply(ReplyError::Coded(coded)) => coded.known,
            _ => None,
        }
    }

    /// Returns the first line of an error page that came instead of a DPE reply; it may hold
    /// anything, secrets included unless they are hidden.
    pub fn page_line(&self) -> Option<&str> {
        match self {
            Self::Reply(ReplyError::Unexpected { line, .. }) => line.as_deref(),
            _ => None,
        }
    }

    /// Returns the error with `hide` applied to every text in it that others wrote, or that repeats
    /// what they wrote. Nothing of it is for people before that.
    #[must_use]
    pub fn hiding(self, hide: impl Fn(&str) -> String) -> Self {
        match self {
            Self::Reply(reply) => Self::Reply(reply.hiding(hide)),
            Self::NotSent { message } => Self::NotSent {
                message: hide(&message),
            },
            Self::Lost { message } => Self::Lost {
                message: hide(&message),
            },
            // Written here, and without what was to be sent.
            Self::LocalRequest { .. }
            | Self::Credential { .. }
            | Self::BlobUnreadable { .. }
            | Self::TooLarge { .. }
            | Self::MissingBlob { .. }
            | Self::ForceNotConfirmed { .. } => self,
        }
    }

    /// Returns true if this end of an attempt is positive evidence that the attempt did not take
    /// effect (§16): a code of the remote, or a request that never left.
    pub(crate) fn is_certain(&self) -> bool {
        match self {
            Self::Reply(reply) => matches!(reply, ReplyError::Coded(_)),
            Self::Lost { .. } | Self::ForceNotConfirmed { .. } => false,
            Self::NotSent { .. }
            | Self::LocalRequest { .. }
            | Self::Credential { .. }
            | Self::BlobUnreadable { .. }
            | Self::TooLarge { .. }
            | Self::MissingBlob { .. } => true,
        }
    }
}
