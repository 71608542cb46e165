//! What the remote holds below a prefix otherwise than it was left.

use std::collections::HashSet;

use super::change::{Change, Effect, Kind, document};
use crate::model::{FileUri, Hash};
use crate::ops::list;
use crate::ops::remote::RemoteClient;
use crate::ops::source::{Origin, SourceError};
use crate::runner::{ClientError, read_heads};
use crate::state::{Instance, StateError};
use crate::sync::event::Observer;
use crate::sync::failure::{Failure, Subject};
use crate::sync::ports::Remote;

const CHANGED: &str =
    "somebody else wrote it on the remote; a push leaves it until the source changes it";
const GONE: &str =
    "somebody else deleted it on the remote; a push leaves it so until the source changes it";

/// At most so many confirmed documents are looked up at once.
const AT_ONCE: u32 = 1000;

/// Documents of a remote that are not what this source left there.
#[derive(Debug, Default)]
pub(super) struct RemoteSide {
    /// Of which nothing is known.
    unknown: Vec<(FileUri, Hash)>,
    /// Which hold something else.
    changed: Vec<(FileUri, Hash)>,
    /// Which are not there.
    gone: Vec<FileUri>,
}

/// Why a remote cannot be compared.
pub(super) enum NotCompared {
    Remote(Failure),
    State(StateError),
}

impl From<ClientError> for NotCompared {
    fn from(error: ClientError) -> Self {
        Self::Remote(*error.failure)
    }
}

impl From<Failure> for NotCompared {
    fn from(failure: Failure) -> Self {
        Self::Remote(failure)
    }
}

impl From<StateError> for NotCompared {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

impl NotCompared {
    /// Returns it as what ends a round over a source.
    pub(super) fn into_source_error(self, origin: Origin) -> SourceError {
        match self {
            Self::Remote(failure) => SourceError::Round { failure, origin },
            Self::State(error) => error.into(),
        }
    }
}

impl RemoteSide {
    /// Lists what the remote holds below `prefix`, and keeps what is not as `state` has it.
    pub(super) async fn below(
        prefix: &str,
        client: &RemoteClient,
        state: &Instance,
        observer: &dyn Observer,
    ) -> Result<Self, NotCompared> {
        let mut side = Self::default();
        let mut there = 0;
        let mut unread = None;
        list::list(client, prefix, |uri, hash| {
            let taken = side.take(uri, hash, state);
            there += u64::from(matches!(taken, Ok(true)));
            unread = taken.err();
            unread.is_none()
        })
        .await?;
        if let Some(error) = unread {
            return Err(error.into());
        }
        if there < state.confirmed_count()? {
            side.gone = gone(client, state, observer).await?;
        }
        Ok(side)
    }

    /// Takes one document that is there; returns whether it is known.
    fn take(&mut self, uri: &str, hash: Hash, state: &Instance) -> Result<bool, StateError> {
        let Ok(uri) = FileUri::parse(uri) else {
            return Ok(false);
        };
        let pending = state.pending(&uri)?;
        match pending.confirmed {
            // What an earlier round was about to write is its own.
            _ if pending.intent == Some(Some(hash)) => {}
            None => self.unknown.push((uri, hash)),
            Some(left) if left != hash && left.contract() == hash.contract() => {
                self.changed.push((uri, hash));
            }
            Some(_) => {}
        }
        Ok(pending.confirmed.is_some())
    }

    /// Returns what is left once a round has come to `changes` and knows what is in `state`.
    pub(super) fn apart_from(
        self,
        changes: &[Change],
        state: &Instance,
    ) -> Result<Vec<Change>, StateError> {
        let is_there = |change: &&Change| change.kind != Kind::Unsupported;
        let documents = changes.iter().filter(is_there);
        let touched: HashSet<&str> = documents.flat_map(Change::uris).collect();
        // What cannot be read may be what the remote has.
        let unread = changes
            .iter()
            .filter(|change| change.kind == Kind::Unreadable);
        let folders = unread.flat_map(Change::uris);
        let folders = folders.map(|uri| format!("{}/", uri.trim_end_matches('/')));
        let folders: Vec<String> = folders.collect();
        let says_nothing = |change: &Change| change.subject == Subject::Unknown;
        let nothing_is_sure = changes.iter().any(says_nothing);
        let mut left = Vec::new();
        for (uri, hash) in &self.unknown {
            let text = uri.as_str();
            let may_be_there = nothing_is_sure
                || touched.contains(text)
                || folders.iter().any(|folder| text.starts_with(folder));
            if !may_be_there && state.pending(uri)?.confirmed.is_none() {
                left.push(Change::remote_only(uri, *hash));
            }
        }
        let changed = self.changed.iter().map(|(uri, hash)| (uri, Some(*hash)));
        let gone = self.gone.iter().map(|uri| (uri, None));
        for (uri, held) in changed.chain(gone) {
            let confirmed = state.pending(uri)?.confirmed;
            // A round that has found the remote empty starts over, and has come to everything; and what the
            // source has by now may be what somebody else wrote.
            if touched.contains(uri.as_str()) || confirmed.is_none() || confirmed == held {
                continue;
            }
            let why = if held.is_some() { CHANGED } else { GONE };
            left.push(Change {
                is_gone: held.is_none(),
                ..Change::conflict(document(uri), Effect::None, why)
            });
        }
        Ok(left)
    }
}

/// Returns the confirmed documents that are not there. What may not be read is not gone.
async fn gone(
    client: &RemoteClient,
    state: &Instance,
    observer: &dyn Observer,
) -> Result<Vec<FileUri>, NotCompared> {
    let mut gone = Vec::new();
    let mut last = None;
    loop {
        let most = AT_ONCE.min(u32::try_from(client.heads_at_once()).unwrap_or(AT_ONCE));
        let known = state.confirmed_after(last.as_ref(), most)?;
        let uris: Vec<FileUri> = known.into_iter().map(|(uri, _)| uri).collect();
        let Some(newest) = uris.last() else {
            return Ok(gone);
        };
        last = Some(newest.clone());
        let heads = read_heads(client, &uris, observer).await?;
        for (uri, head) in uris.into_iter().zip(heads) {
            // What an earlier round was about to delete is gone by its own doing.
            if matches!(head, Ok(None)) && state.pending(&uri)?.intent != Some(None) {
                gone.push(uri);
            }
        }
    }
}
