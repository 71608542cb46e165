//! Deletes what the remote alone has below the prefix of a source, besides pushing it.
//!
//! Only what this source was found not to have, by a whole enumeration without a failure; only after somebody
//! has seen the list and said yes, before anything is written; only under the guard; and each only if it still
//! holds what was listed.

use std::sync::Arc;

use crate::model::{FileUri, Hash};
use crate::ops::source::{Remotes, SourceError, SourceRound};
use crate::ops::status::{self, Depth, Kind};
use crate::runner::{Instance, Scope};
use crate::sync::event::{Event, Landed, Observer};
use crate::sync::failure::{Failure, Subject};
use crate::sync::report::{Outcome, Report};

/// Shows the documents that would be deleted, and returns whether they are to be.
pub type Confirm = fn(&[FileUri]) -> bool;

const NOTHING_PRUNED: &str = "nothing was pruned: the source could not be enumerated without a failure, so \
    that it is not sure what only the remote has";

/// A document that the remote alone has, and what it holds.
type RemoteOnly = (FileUri, Hash);

/// Pushes the source, and deletes what the remote alone has if `confirm` says so.
///
/// # Errors
///
/// As [`SourceRound::deliver`]; and when too much would be deleted.
pub(super) async fn deliver(
    round: &SourceRound<'_>,
    instance: &Instance,
    remotes: &mut Remotes,
    confirm: Confirm,
) -> Result<Report, SourceError> {
    let Some(found) = remote_only(round).await? else {
        round.observer.event(Event::Warning(NOTHING_PRUNED));
        return round.deliver(instance, remotes).await;
    };
    let uris: Vec<FileUri> = found.iter().map(|(uri, _)| uri.clone()).collect();
    if uris.is_empty() || !confirm(&uris) {
        return round.deliver(instance, remotes).await;
    }
    round.deliver_and_prune(instance, remotes, &found).await
}

/// Finds out what [`deliver`] would do, if somebody said yes.
///
/// # Errors
///
/// As [`deliver`].
pub(super) async fn imagine(
    round: &SourceRound<'_>,
    instance: &Instance,
    remotes: &mut Remotes,
) -> Result<Report, SourceError> {
    let found = remote_only(round).await?;
    let mut report = round.imagine(instance, remotes).await?;
    match found {
        Some(found) if report.outcome == Outcome::Succeeded => {
            for (uri, _) in &found {
                round.observer.event(Event::Landed(Landed::Deleted(uri)));
                report.counts.deleted += 1;
            }
        }
        _ => round.observer.event(Event::Warning(NOTHING_PRUNED)),
    }
    Ok(report)
}

/// Returns what the remote alone has; nothing if that is not sure.
async fn remote_only(round: &SourceRound<'_>) -> Result<Option<Vec<RemoteOnly>>, SourceError> {
    let origin = round.source.root.kind();
    if round.source.root.scope() == Scope::Named {
        let failure = Failure::instance(
            "definition_invalid",
            "--prune is about all that is below a prefix, and files were named; name their folder",
        );
        return Err(SourceError::Round { failure, origin });
    }
    let silent: Arc<dyn Observer> = Arc::new(Silent);
    let looking = SourceRound {
        observer: &silent,
        ..*round
    };
    // What is opened for reading alone must not be what is written to.
    let imagined = status::imagine(&looking, Depth::Changed, &mut Remotes::default()).await?;
    if imagined.report.outcome != Outcome::Succeeded {
        return Ok(None);
    }
    let changes = &imagined.changes;
    if changes.iter().any(|change| change.kind == Kind::Unreadable) {
        return Ok(None);
    }
    let count = |kind| changes.iter().filter(|change| change.kind == kind).count() as u64;
    let (pruned, deleted) = (count(Kind::RemoteOnly), count(Kind::Deleted));
    let known = imagined.known + pruned;
    if pruned > 0 && round.source.delete_limit.exceeded(pruned + deleted, known) {
        let (deletes, why) = (
            pruned + deleted,
            "would be deleted, those of others included",
        );
        let message = format!("{deletes} of {known} documents below the prefix {why}");
        let failure = Failure::instance("mass_delete", message);
        return Err(SourceError::Round { failure, origin });
    }
    let found = changes.iter().filter_map(|change| {
        let held = change.held.filter(|_| change.kind == Kind::RemoteOnly)?;
        match &change.subject {
            Subject::Document(uri) => Some((FileUri::parse(uri).ok()?, held)),
            _ => None,
        }
    });
    Ok(Some(found.collect()))
}

/// The round of the push tells everything once more.
struct Silent;

impl Observer for Silent {
    fn event(&self, _: Event<'_>) {}
}
