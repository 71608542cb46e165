//! What is known of the documents that an operation touches, before it is judged: what the remote
//! holds, what was confirmed, and what an earlier round has done (connector contract §19.1, §19.2).

use std::collections::HashMap;

use crate::model::{FileUri, Hash};
use crate::state::{Change, Pending};
use crate::sync::decision::Known;
use crate::sync::failure::Failure;

use super::task::{self, Task};

/// What is known of the documents a task touches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Knowledge {
    /// Of the document, or of the source of a move.
    pub first: Known,
    /// Of the target of a move.
    pub second: Known,
    /// Whether an earlier round from the same cursor has carried out this very move.
    pub has_moved: bool,
}

impl Knowledge {
    /// Returns whether a move is one that an earlier round has carried out, and whatever has
    /// become of its sides since is this instance's own doing. Then there is nothing left to do:
    /// the source says once more what it said, since the cursor is held.
    pub(super) fn is_said_again(&self) -> bool {
        let is_own = |known: Known| known.confirmed == known.remote;
        self.has_moved && is_own(self.first) && is_own(self.second)
    }
}

/// Applies an intent that the remote has carried out to the confirmed value.
pub(super) fn reconcile(
    uri: &FileUri,
    pending: Pending,
    remote: Option<Hash>,
    changes: &mut Vec<Change>,
) -> Option<Hash> {
    if pending.intent != Some(remote) {
        return pending.confirmed;
    }
    changes.push(Change::Settle(uri.clone()));
    changes.push(match remote {
        Some(hash) => Change::Confirm(uri.clone(), hash),
        None => Change::Forget(uri.clone()),
    });
    remote
}

/// Returns what is known of the documents of a task, or why the remote does not tell.
pub(super) fn knowledge<'k>(
    task: &Task,
    known: &'k HashMap<FileUri, Result<Known, Failure>>,
) -> Result<Knowledge, &'k Failure> {
    let (first, second) = task::sides(&task.operation);
    let of = |uri| match known.get(uri) {
        Some(Ok(known)) => Ok(*known),
        Some(Err(denied)) => Err(denied),
        None => Ok(Known::default()),
    };
    Ok(Knowledge {
        first: of(first)?,
        second: of(second)?,
        has_moved: false,
    })
}
