//! What happens during a round, told while it happens.

use crate::model::FileUri;

use super::failure::Failure;
use super::unachieved::Cause;

/// Receives the events of a round. Must not fail and should not block for long.
pub trait Observer: Send + Sync {
    /// Takes one event.
    fn event(&self, event: Event<'_>);
}

/// One event.
#[derive(Debug)]
pub enum Event<'a> {
    /// A source is about to be pushed.
    Begun {
        /// The source, as a person named it.
        source: &'a str,
        /// Where its documents lie.
        uri_prefix: &'a str,
        /// The remote, as a person would call it.
        remote: &'a str,
        /// Whether nothing will be written.
        dry_run: bool,
    },
    /// The plugin wrote a line on its stderr.
    PluginStderr(&'a str),
    /// The remote was read or written, and something about it should be known.
    Warning(&'a str),
    /// A batch of heads was refused and read again one by one (connector contract §19.5).
    BatchReadRejected {
        /// Code of the refusal.
        code: &'a str,
        /// Documents in the batch.
        entries: usize,
        /// How many of them the remote does not let be read.
        denied: usize,
    },
    /// One document was delivered, or would be in a dry run.
    Landed(Landed<'a>),
    /// A document was written over that this source had not written, as far as is known.
    Replaced(&'a FileUri),
    /// Something failed.
    Failed(&'a Failure),
    /// An operation was not sent because an earlier move did not reach its goal
    /// (connector contract §21.2).
    Skipped {
        /// The documents it would have touched.
        uris: &'a [FileUri],
        /// The move.
        cause: &'a Cause,
    },
}

/// A change that has landed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Landed<'a> {
    /// A new document.
    Created(&'a FileUri),
    /// A document with new content.
    Updated(&'a FileUri),
    /// A document is gone.
    Deleted(&'a FileUri),
    /// A document has another name.
    Moved {
        /// The old name.
        from: &'a FileUri,
        /// The new name.
        to: &'a FileUri,
    },
}
