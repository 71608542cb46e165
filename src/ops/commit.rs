//! Commits one document that is given as JSON, with its pages and elements inline.
//!
//! The document is judged and hashed before anything is opened but the files it names; a blob is
//! hashed once, on its way if that will do, and read by range, never held.

mod blob_file;
mod read;

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::model::{BlobRef, FileUri, Hash, Tree, Violation};
use crate::runner::{ClientError, DryRun};
use crate::sync::blobs::Blobs;
use crate::sync::ports::{Base, Committed, Refusal, Remote};

use super::hash_object::Input;
use super::remote::RemoteClient;

pub use crate::protocol::delivery::{Delta, Precondition, Status};
pub use read::read;

/// What to commit.
#[derive(Clone, Debug)]
pub struct Source {
    /// Where the document is.
    pub input: Input,
    /// Files with the bytes of blobs that the document refers to.
    pub blobs: Vec<PathBuf>,
}

/// A document that was read and judged.
#[derive(Debug)]
pub struct Document {
    /// Its objects.
    pub tree: Tree,
    /// Its blobs whose bytes are at hand.
    pub blobs: Blobs,
    /// Files that were given although nothing refers to their bytes.
    pub unused: Vec<PathBuf>,
}

/// Under which condition to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Nobody else writes meanwhile: what is there is read first.
    Fresh,
    /// As given.
    Given(Precondition),
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The document has the content.
    Done {
        /// What that took.
        status: Status,
        /// Its version.
        doc_hash: Hash,
        /// Change of its elements; unknown of a dry run.
        delta: Option<Delta>,
    },
    /// The condition does not hold.
    Refused(Refusal),
}

/// A document that cannot be read.
#[derive(Debug, Error, Diagnostic)]
pub enum CommitError {
    /// The document itself.
    #[error("cannot read {input}")]
    #[diagnostic(
        code(dpe::ops::commit::read),
        help("give a readable file, or `-` to read standard input")
    )]
    Read {
        /// What was named.
        input: Input,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes of a blob.
    #[error("cannot read the blob {}", path.display())]
    #[diagnostic(
        code(dpe::ops::commit::blob),
        help("give a readable file; paths in a document are relative to it")
    )]
    Blob {
        /// What was named.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no valid document.
    #[error("the document is not valid: {}{}{violation}", violation.pointer, if violation.pointer.is_empty() { "" } else { ": " })]
    #[diagnostic(
        code(dpe::ops::commit::invalid),
        help("mend the document; `dpe hash-object --kind expanded` judges it too")
    )]
    Invalid {
        /// Its first violation.
        violation: Violation,
    },
}

/// Makes `document` the content of `uri`.
///
/// # Errors
///
/// When the remote cannot be reached, or refuses for another reason than the condition.
pub async fn commit(
    client: &RemoteClient,
    uri: &FileUri,
    document: &Document,
    condition: Condition,
) -> Result<Outcome, ClientError> {
    let Document { tree, blobs, .. } = document;
    let precondition = match condition {
        Condition::Given(precondition) => precondition,
        Condition::Fresh => match client.head(uri).await? {
            Some(base) => Precondition::Base(base),
            None => Precondition::IfAbsent,
        },
    };
    match client.deliver(uri, precondition, tree, blobs).await {
        Ok(delivered) => Ok(Outcome::Done {
            status: delivered.status,
            doc_hash: delivered.doc_hash,
            delta: Some(delivered.delta),
        }),
        Err(error) => refused(error),
    }
}

/// Returns how [`commit`] would end. Without `client` the remote does not exist yet and is empty.
///
/// # Errors
///
/// When the remote cannot be read.
pub async fn imagine(
    client: Option<&RemoteClient>,
    uri: &FileUri,
    document: &Document,
    condition: Condition,
) -> Result<Outcome, ClientError> {
    let dry_run = DryRun::over(client);
    let base = match condition {
        Condition::Given(Precondition::IfAbsent) => Base::Absent,
        Condition::Given(Precondition::Base(base)) => Base::Hash(base),
        Condition::Fresh | Condition::Given(Precondition::Force) => {
            let heads = dry_run.heads(std::slice::from_ref(uri)).await?;
            let head = heads.into_iter().flatten().next();
            head.map_or(Base::Absent, Base::Hash)
        }
    };
    let Document { tree, blobs, .. } = document;
    match dry_run.commit(uri, base, tree, blobs).await {
        Ok(committed) => Ok(Outcome::Done {
            status: match committed {
                Committed::Created => Status::Created,
                Committed::Updated => Status::Updated,
                Committed::Unchanged => Status::Unchanged,
            },
            doc_hash: tree.doc_hash,
            delta: None,
        }),
        Err(error) => refused(error.into()),
    }
}

fn refused(error: ClientError) -> Result<Outcome, ClientError> {
    match error.refusal {
        Some(refusal) => Ok(Outcome::Refused(refusal)),
        None => Err(error),
    }
}

impl Document {
    fn unused(files: Vec<(BlobRef, PathBuf)>, tree: &Tree) -> Vec<PathBuf> {
        files
            .into_iter()
            .filter(|(blob, _)| !tree.blobs.contains(blob))
            .map(|(_, path)| path)
            .collect()
    }
}
