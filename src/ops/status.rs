//! What a push would do, and what the remote has that the source has not. Writes nothing.
//!
//! It is the very round of a push, over a copy of the state and a remote whose writes are imagined. What such
//! a round does not look at, because the source has not changed, is found by listing the remote.

mod change;
mod collector;
mod remote_side;

use std::path::PathBuf;
use std::sync::Arc;

use crate::ops::source::{NoSource, Remotes, Source, SourceError, SourceRound, limits};
use crate::runner::{Cancel, DryRun, Scope, Settings};
use crate::state::StateDirectory;
use crate::sync::event::Observer;
use crate::sync::guard::DeleteLimit;
use crate::sync::report::{Outcome, Report};

pub use change::{Change, Effect, Kind};
use collector::Collector;
use remote_side::RemoteSide;

/// Where to look.
#[derive(Clone, Debug)]
pub struct Status {
    /// The state directory.
    pub state_dir: PathBuf,
}

/// What a push of one source would do.
#[derive(Debug)]
pub struct SourceStatus {
    /// The source, as a person named it.
    pub source: String,
    /// Where its documents lie; empty if that is not known.
    pub uri_prefix: String,
    /// The remote, as a person would call it.
    pub remote: String,
    /// What is not as it was, in the order of [`Kind`] and of the URIs.
    pub changes: Vec<Change>,
    /// Documents that are as they were.
    pub unchanged: u64,
    /// Why a push would be refused as a whole, although it could begin.
    pub refused: Option<String>,
    /// The round, if there was one.
    pub report: Option<Report>,
    /// Why nothing can be said.
    pub error: Option<SourceError>,
}

impl SourceStatus {
    /// Returns whether a push would write anything, or not end well.
    pub fn has_something_to_do(&self) -> bool {
        let acts = |change: &Change| change.effect != Effect::None;
        self.error.is_some() || self.refused.is_some() || self.changes.iter().any(acts)
    }

    fn nothing_said(source: &str, remote: String, error: SourceError) -> Self {
        Self {
            source: source.to_owned(),
            uri_prefix: String::new(),
            remote,
            changes: Vec::new(),
            unchanged: 0,
            refused: None,
            report: None,
            error: Some(error),
        }
    }
}

/// Looks at every source, one after the other.
pub async fn status(
    status: &Status,
    sources: Vec<Result<Source, NoSource>>,
    observer: &Arc<dyn Observer>,
    cancel: &Cancel,
) -> Vec<SourceStatus> {
    let mut remotes = Remotes::default();
    let mut all = Vec::new();
    for source in sources {
        all.push(match source {
            Ok(source) => {
                let looked = look(status, &source, &mut remotes, observer, cancel).await;
                looked.unwrap_or_else(|error| {
                    let remote = source.remote.location.describe();
                    SourceStatus::nothing_said(source.name(), remote, error)
                })
            }
            Err(none) => {
                let remote = none.remote.location.describe();
                SourceStatus::nothing_said(&none.name, remote, *none.error)
            }
        });
    }
    all
}

async fn look(
    status: &Status,
    source: &Source,
    remotes: &mut Remotes,
    observer: &Arc<dyn Observer>,
    cancel: &Cancel,
) -> Result<SourceStatus, SourceError> {
    let round = SourceRound {
        source,
        state_dir: &status.state_dir,
        adopt: false,
        observer,
        cancel,
    };
    let Imagined {
        report,
        changes,
        known,
    } = imagine(&round, Depth::Changed, remotes).await?;
    Ok(SourceStatus {
        source: source.name().to_owned(),
        uri_prefix: source.uri_prefix().to_owned(),
        remote: source.remote.location.describe(),
        refused: refused(source.delete_limit, &changes, known),
        changes,
        unchanged: report.counts.unchanged,
        error: SourceError::of_report(&report, source.root.kind()),
        report: Some(report),
    })
}

/// Says why the guard would keep a push from beginning, if it would.
fn refused(limit: DeleteLimit, changes: &[Change], known: u64) -> Option<String> {
    let deletes = changes.iter().filter(|change| change.kind == Kind::Deleted);
    let deletes = deletes.count() as u64;
    limit.exceeded(deletes, known).then(|| {
        format!(
            "a push would delete {deletes} of {known} documents, and is refused; if they are really to go, \
             push with --max-delete {deletes}"
        )
    })
}

/// What the round of a push would come to.
pub(super) struct Imagined {
    pub(super) report: Report,
    /// In the order of [`Kind`] and of the URIs.
    pub(super) changes: Vec<Change>,
    /// Documents confirmed before.
    pub(super) known: u64,
}

/// How much of a source is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// What a push would look at: what has changed since the stored cursor.
    Changed,
    /// Everything, enumerated and hashed again.
    Whole,
}

/// Runs the round over a copy of the state, without the guard, and compares with the remote what it does not
/// come to.
///
/// # Errors
///
/// What keeps the round from beginning; what ends it is in the report.
pub(super) async fn imagine(
    round: &SourceRound<'_>,
    depth: Depth,
    remotes: &mut Remotes,
) -> Result<Imagined, SourceError> {
    let source = round.source;
    let instance = source.instance();
    let directory = StateDirectory::at(round.state_dir);
    directory.check_registration(&round.registration(&instance), round.adopt)?;
    let mut state = directory.snapshot(&instance.id)?;
    let known = state.confirmed_count()?;
    if depth == Depth::Whole {
        state.doubt_everything()?;
    }
    let opened = remotes.look(&source.remote).await?;
    let remote_side = match (opened, source.root.scope()) {
        (Some(opened), Scope::Whole) => {
            let prefix = &instance.uri_prefix;
            RemoteSide::below(prefix, &opened.client, &state, &**round.observer)
                .await
                .map_err(|error| error.into_source_error(source.root.kind()))?
        }
        // Without a remote there is nothing, and a round over some documents comes to each of them.
        _ => RemoteSide::default(),
    };
    let collector = Arc::new(Collector::before(Arc::clone(round.observer)));
    let observer: Arc<dyn Observer> = Arc::<Collector>::clone(&collector);
    let round = SourceRound {
        observer: &observer,
        ..*round
    };
    let settings = Settings {
        delete_limit: DeleteLimit::Unlimited,
        ..round.settings(opened)
    };
    let remote = DryRun::over(opened.map(|remote| &remote.client));
    let (report, passed_over) = round
        .look(&instance, &mut state, &remote, &settings, limits(opened))
        .await?;
    let mut changes = collector.take();
    changes.extend(passed_over.into_iter().map(Change::passed_over));
    if report.outcome != Outcome::Failed {
        let elsewhere = remote_side.apart_from(&changes, &state)?;
        changes.extend(elsewhere);
    }
    changes.sort();
    // A round that enumerates twice passes over the same file twice.
    changes.dedup();
    Ok(Imagined {
        report,
        changes,
        known,
    })
}
