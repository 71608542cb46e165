//! What happens during a round, told while it happens.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::model::FileUri;

use super::failure::Failure;
use super::report::Report;
use super::unachieved::Cause;
use super::wave::Operation;

/// Receives the events of a round. Must not fail and should not block for long.
pub trait Observer: Send + Sync {
    /// Takes one event.
    fn event(&self, event: Event<'_>);
}

/// One event.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A call of the standalone runner knows its instance.
    Instance {
        /// Id of the instance.
        id: &'a str,
    },
    /// The call holds the lock of its instance.
    Locked {
        /// What tells this round from others in a log.
        round: &'a str,
    },
    /// The call has come to its end; nothing of it changes any more (connector contract §27).
    Finished(&'a Report),
    /// The runner has a defect.
    Crashed {
        /// What is known of it.
        traceback: &'a str,
    },
    /// What was kept of an instance is gone (connector contract §29).
    Deleted {
        /// Whether there was anything.
        found: bool,
    },
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
    /// The process of the plugin was started (connector contract §27).
    PluginStarted {
        /// Its process id.
        pid: u32,
    },
    /// The process of the plugin ended; one of the two is known.
    PluginExited {
        /// Its exit code.
        exit_code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
    /// The plugin wrote a line on its stderr.
    PluginStderr {
        /// The line, without its end.
        line: &'a str,
        /// Whether the line was longer.
        truncated: bool,
    },
    /// The first scan of the round is about to be sent.
    RoundStarted {
        /// Whether it carries a cursor.
        cursor_given: bool,
    },
    /// The remote of the round answers.
    Connected {
        /// Counts the bytes that go to it, while they go.
        sent: &'a Arc<AtomicU64>,
    },
    /// The source has told of some items.
    Scanned {
        /// How many.
        items: u64,
        /// Whether these are the last ones.
        complete: bool,
    },
    /// Documents were compared with what the remote holds.
    Compared {
        /// How many.
        documents: u64,
    },
    /// Writes are about to be sent.
    Sending {
        /// How many.
        writes: u64,
        /// Their content and the bytes of their blobs; what the remote has already is not sent.
        bytes: u64,
    },
    /// It is known what became of a write.
    Answered {
        /// As in [`Event::Sending`].
        bytes: u64,
    },
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
    /// A document was created again that somebody else had deleted.
    Restored(&'a FileUri),
    /// Something failed, at whatever level; every failure of a report once, in its order.
    Failed(&'a Failure),
    /// An operation was not sent because an earlier move did not reach its goal
    /// (connector contract §21.2).
    Skipped {
        /// What was not sent.
        operation: &'a Operation,
        /// The move.
        cause: &'a Cause,
    },
    /// What earlier rounds had written and the source does not have any more was looked for
    /// (connector contract §22).
    Refreshed {
        /// Documents of the write set of which the round had said nothing.
        uris: u64,
        /// How many of them were deleted because a complete enumeration does not have them.
        deleted: u64,
        /// How many of these had been there before they were written, so that an incremental
        /// source should have said that they are gone.
        violations: u64,
    },
    /// It could not be stored since when the cursor is held; nothing else changes by that
    /// (connector contract §23).
    HeldWriteFailed(&'a Failure),
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
