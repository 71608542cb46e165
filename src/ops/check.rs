//! Whether the remote holds what was confirmed; and if somebody wants to know, what the source gives now.
//!
//! What was confirmed is asked for in batches and told as it is found, so that it needs no more memory for a
//! million documents than for a thousand. Bytes of blobs cannot be asked for: a remote that answers with the
//! doc_hash of a document says that it has all that belongs to it.

use std::path::PathBuf;
use std::sync::Arc;

use crate::ops::source::{NoSource, Remotes, Source, SourceError, SourceRound};
use crate::ops::status::{self, Change, Depth, Kind};
use crate::runner::{Cancel, read_heads};
use crate::state::StateDirectory;
use crate::sync::event::Observer;
use crate::sync::failure::Failure;
use crate::sync::ports::Remote;

/// At most so many documents are asked for at once.
const AT_ONCE: u32 = 1000;

/// What to check.
#[derive(Clone, Debug)]
pub struct Check {
    /// The state directory.
    pub state_dir: PathBuf,
    /// Whether the source is enumerated and hashed again, too.
    pub deep: bool,
}

/// What is wrong with a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// The remote has not got it.
    Missing,
    /// The remote holds something else.
    Different,
    /// The remote does not let it be read.
    Denied,
    /// The remote still has it, and the source has not; only if the source was enumerated.
    Extra,
    /// The source cannot be read there; only if it was enumerated.
    Unreadable,
}

impl Wrong {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Missing,
        Self::Different,
        Self::Denied,
        Self::Extra,
        Self::Unreadable,
    ];

    /// Returns the name that people and programs read.
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Different => "different",
            Self::Denied => "denied",
            Self::Extra => "extra",
            Self::Unreadable => "unreadable",
        }
    }
}

/// How the check of one source ended.
#[derive(Debug)]
pub struct Checked {
    /// The source, as a person named it.
    pub source: String,
    /// Documents that were compared.
    pub compared: u64,
    /// How many were wrong, in the order of [`Wrong::ALL`].
    pub wrong: [u64; 5],
    /// Whether the next push will take the remote for one that was reset.
    pub was_reset: bool,
    /// Why it did not end.
    pub error: Option<SourceError>,
}

impl Checked {
    fn of(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            compared: 0,
            wrong: [0; 5],
            was_reset: false,
            error: None,
        }
    }

    /// Returns whether everything is as it should be.
    pub fn is_well(&self) -> bool {
        self.error.is_none() && self.wrong.iter().all(|count| *count == 0)
    }
}

/// Told what is wrong with which URI, as it is found.
pub type Tell<'t> = dyn FnMut(Wrong, &str) + 't;

/// Checks every source, one after the other, and tells what is wrong as it is found.
pub async fn check(
    check: &Check,
    sources: Vec<Result<Source, NoSource>>,
    observer: &Arc<dyn Observer>,
    cancel: &Cancel,
    tell: &mut Tell<'_>,
) -> Vec<Checked> {
    let mut remotes = Remotes::default();
    let mut all = Vec::new();
    for source in sources {
        all.push(match source {
            Ok(source) => {
                let round = SourceRound {
                    source: &source,
                    state_dir: &check.state_dir,
                    adopt: false,
                    observer,
                    cancel,
                };
                let mut checked = Checked::of(source.name());
                let ended = match check.deep {
                    true => deep(&round, &mut remotes, &mut checked, tell).await,
                    false => shallow(&round, &mut remotes, &mut checked, tell).await,
                };
                checked.error = ended.err();
                checked
            }
            Err(none) => Checked {
                error: Some(*none.error),
                ..Checked::of(&none.name)
            },
        });
    }
    all
}

/// Asks the remote for everything that was confirmed.
async fn shallow(
    round: &SourceRound<'_>,
    remotes: &mut Remotes,
    checked: &mut Checked,
    tell: &mut Tell<'_>,
) -> Result<(), SourceError> {
    let instance = round.source.instance();
    let origin = round.source.root.kind();
    let ended = |failure: Failure| SourceError::Round { failure, origin };
    let state = StateDirectory::at(round.state_dir).snapshot(&instance.id)?;
    let opened = remotes.look(&round.source.remote).await?;
    let mut last = None;
    while !round.cancel.is_cancelled() {
        let known = state.confirmed_after(last.as_ref(), AT_ONCE)?;
        let Some((newest, _)) = known.last() else {
            break;
        };
        last = Some(newest.clone());
        let uris: Vec<_> = known.iter().map(|(uri, _)| uri.clone()).collect();
        let heads = match opened {
            Some(opened) => read_heads(&opened.client, &uris, &**round.observer)
                .await
                .map_err(ended)?,
            None => vec![Ok(None); uris.len()],
        };
        for ((uri, left), head) in known.iter().zip(heads) {
            checked.compared += 1;
            let wrong = match head {
                Ok(None) => Wrong::Missing,
                Ok(Some(held)) if held != *left && held.contract() == left.contract() => {
                    Wrong::Different
                }
                Ok(Some(_)) => continue,
                Err(_) => Wrong::Denied,
            };
            checked.take(wrong, uri.as_str(), tell);
        }
    }
    let is_missing = checked.compared > 0 && checked.wrong[0] == checked.compared;
    checked.was_reset = is_missing
        && match opened {
            Some(opened) => opened
                .client
                .is_empty(&instance.uri_prefix)
                .await
                .map_err(|error| ended(error.failure))?,
            None => true,
        };
    Ok(())
}

/// Enumerates the source as a whole, hashes everything again, and compares that with the remote.
async fn deep(
    round: &SourceRound<'_>,
    remotes: &mut Remotes,
    checked: &mut Checked,
    tell: &mut Tell<'_>,
) -> Result<(), SourceError> {
    let imagined = status::imagine(round, Depth::Whole, remotes).await?;
    if let Some(error) = SourceError::of_report(&imagined.report, round.source.root.kind()) {
        return Err(error);
    }
    checked.compared = imagined.report.counts.unchanged;
    for change in &imagined.changes {
        let Some(wrong) = wrong(change) else { continue };
        checked.compared += 1;
        let prefix = round.source.uri_prefix();
        checked.take(wrong, change.uris().last().unwrap_or(prefix), tell);
    }
    Ok(())
}

/// Returns what a change means to somebody who wants the remote to be what the source is.
fn wrong(change: &Change) -> Option<Wrong> {
    Some(match change.kind {
        Kind::Added => Wrong::Missing,
        Kind::Conflict if change.is_gone => Wrong::Missing,
        Kind::Modified | Kind::Conflict | Kind::Moved => Wrong::Different,
        Kind::Deleted => Wrong::Extra,
        Kind::Unreadable => Wrong::Unreadable,
        Kind::RemoteOnly | Kind::Unsupported => return None,
    })
}

impl Checked {
    fn take(&mut self, wrong: Wrong, uri: &str, tell: &mut Tell<'_>) {
        self.wrong[wrong as usize] += 1;
        tell(wrong, uri);
    }
}
