//! Closes the gap that a round without a stored cursor leaves (connector contract §22).
//!
//! What such a round delivered may be deleted from the source before the next one, and no plugin
//! would ever mention it. So the documents touched since the last stored cursor are remembered,
//! and those that a complete enumeration does not mention any more are deleted.

use std::collections::HashSet;

use crate::model::FileUri;
use crate::state::{self, Pending};
use crate::sync::assembly::{Assembly, Step};
use crate::sync::event::Event;
use crate::sync::failure::{Failure, FailureSource, Subject};
use crate::sync::guard::DeleteLimit;
use crate::sync::ports::{Base, Remote, Source};
use crate::sync::wave::Operation;

use super::enumeration::Mentions;
use super::feed::{Enumerated, Feed, Portion};
use super::interruption::unless;
use super::landing::{Landing, Undecided, state_failure};
use super::round::{Instance, Profile, Settings};
use super::spool::Spool;
use super::task::Task;

/// What one more enumeration has to clear up.
struct Missed {
    /// Documents of which nothing was said: gone if the enumeration does not have them.
    unproduced: HashSet<FileUri>,
    /// Documents that stale moves left undecided, besides; they are not gone for not being there.
    undecided: HashSet<FileUri>,
    extent: Extent,
}

/// How much the round said.
#[derive(Clone, Copy, Debug)]
struct Extent {
    /// Whether it started from a cursor, so that not being mentioned means nothing.
    incremental: bool,
    /// Whether it named nothing at all, though it was to name everything, and something is known.
    is_silent: bool,
}

impl Missed {
    /// Collects what a round has missed: what should have been mentioned and was not; and what stale moves
    /// left behind.
    fn new<R: Remote>(
        mentions: &Mentions,
        enumerated: &Enumerated,
        landing: &mut Landing<'_, R>,
    ) -> Result<Self, Failure> {
        let mut unproduced = mentions.missing(enumerated, landing.state)?;
        let extent = Extent {
            incremental: enumerated.incremental,
            is_silent: mentions.heard_nothing(),
        };
        let mut undecided = HashSet::new();
        if landing.profile() == Profile::Contract || !extent.incremental {
            landing.finish(false);
        } else {
            let Undecided { overtaken, skipped } = std::mem::take(&mut landing.undecided);
            unproduced.extend(overtaken);
            undecided.extend(skipped);
            undecided.extend(landing.reconsider_moves().into_iter().map(|cause| cause.to));
        }
        Ok(Self {
            unproduced,
            undecided,
            extent,
        })
    }

    /// Leaves alone what lies in folders that failed: one more enumeration would not have it either.
    fn set_apart<R: Remote>(&mut self, landing: &mut Landing<'_, R>) {
        let doubt = landing.doubt();
        let below = self
            .unproduced
            .extract_if(|uri| doubt.covers_folder_of(uri));
        landing.in_doubt.extend(below);
    }

    fn is_empty(&self) -> bool {
        self.unproduced.is_empty() && self.undecided.is_empty()
    }
}

/// Delivers what a round has missed by what it said, and deletes what is gone.
///
/// # Errors
///
/// A failure that ends the round.
pub(super) async fn run<R: Remote, S: Source>(
    (mentions, enumerated): (&Mentions, &Enumerated),
    (source, spool): (&mut S, &mut Spool),
    instance: &Instance,
    settings: &Settings,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    let mut missed = Missed::new(mentions, enumerated, landing)?;
    // The contract draws no conclusion from an enumeration with failures. People expect one
    // broken document to stand in nobody's way but its own.
    let stops =
        |landing: &Landing<'_, R>| landing.profile() == Profile::Contract && landing.has_failures();
    if missed.is_empty() || stops(landing) {
        return Ok(());
    }
    let uris = missed.unproduced.len() as u64;
    if landing.profile() == Profile::People {
        missed.set_apart(landing);
    }
    if missed.extent.incremental && !missed.is_empty() {
        enumerate(&mut missed, (source, spool), instance, settings, landing).await?;
    }
    landing.finish(false);
    let doubt = landing.doubt();
    let (in_doubt, mut gone): (Vec<_>, Vec<_>) = missed
        .unproduced
        .into_iter()
        .partition(|uri| stops(landing) || doubt.covers(uri));
    landing.in_doubt.extend(in_doubt);
    gone.sort();
    take_away(gone, uris, missed.extent, settings.delete_limit, landing).await
}

/// Deletes what is gone, and says so: so many `uris` had been missed.
async fn take_away<R: Remote>(
    gone: Vec<FileUri>,
    uris: u64,
    extent: Extent,
    limit: DeleteLimit,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    let violations = match extent.incremental {
        true => present_before(&gone, landing.state)?,
        false => 0,
    };
    let before = landing.counts.deleted;
    if !gone.is_empty() {
        if extent.is_silent && !extent.incremental && limit == DeleteLimit::Usual {
            let known = landing.state.confirmed_count().map_err(state_failure)?;
            return Err(super::gate::too_many(gone.len() as u64, known));
        }
        infer_deletes(gone, limit, landing).await?;
    }
    landing.observer.event(Event::Refreshed {
        uris,
        deleted: landing.counts.deleted - before,
        violations,
    });
    Ok(())
}

/// Returns how many of these were there before this instance touched them: an incremental source
/// should have said that they are gone.
fn present_before(gone: &[FileUri], state: &state::Instance) -> Result<u64, Failure> {
    let mut present = 0;
    for uri in gone {
        present += u64::from(state.before(uri).map_err(state_failure)?.is_some());
    }
    Ok(present)
}

/// Enumerates once more without a cursor, landing only documents that are considered.
async fn enumerate<R: Remote, S: Source>(
    missed: &mut Missed,
    (source, spool): (&mut S, &mut Spool),
    instance: &Instance,
    settings: &Settings,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    let considered: HashSet<FileUri> = missed
        .unproduced
        .union(&missed.undecided)
        .cloned()
        .collect();
    let assembly = Assembly::new(&*instance.uri_prefix, settings.contract);
    let feed = Feed::new(source, spool, assembly, settings.max_items, None);
    let mut feed = feed.only(considered.clone());
    let mut pass = Pass {
        considered,
        unproduced: &mut missed.unproduced,
        moved_onto: Vec::new(),
        reported: landing.failed_documents(),
    };
    loop {
        let Portion { steps, end, .. } = unless(landing.cancel, feed.next(|_| ())).await?;
        landing.land(pass.kept(steps, end.is_some())).await?;
        match end {
            None => {}
            Some(Enumerated { incremental, .. }) if incremental => {
                return Err(Failure::protocol("`incremental` without a cursor"));
            }
            Some(_) => return Ok(()),
        }
    }
}

/// One pass that looks only at some documents.
struct Pass<'a> {
    considered: HashSet<FileUri>,
    unproduced: &'a mut HashSet<FileUri>,
    /// Targets of moves, which a full enumeration should name as documents.
    moved_onto: Vec<FileUri>,
    /// Documents whose failure the round has reported already.
    reported: HashSet<String>,
}

impl Pass<'_> {
    /// Keeps what is about the considered documents.
    fn kept(&mut self, steps: Vec<Step>, last: bool) -> Vec<Step> {
        let mut kept: Vec<Step> = steps
            .into_iter()
            .filter_map(|step| self.keep(step))
            .collect();
        if last {
            let mut seen = HashSet::new();
            let unsettled = self.moved_onto.drain(..);
            let unsettled =
                unsettled.filter(|to| self.unproduced.contains(to) && seen.insert(to.clone()));
            kept.extend(unsettled.map(|to| Step::Failed(moved_while_refreshing(&to))));
        }
        kept
    }

    fn keep(&mut self, step: Step) -> Option<Step> {
        match step {
            Step::Operation(Operation::Move { to, .. }) => {
                self.moved_onto.push(to);
                None
            }
            Step::Operation(operation) => {
                let uri = operation.uris().next()?;
                self.unproduced.remove(uri);
                self.considered
                    .contains(uri)
                    .then_some(Step::Operation(operation))
            }
            Step::Failed(Failure {
                subject: Subject::Document(uri),
                ..
            }) if self.reported.contains(&uri) => {
                if let Ok(uri) = FileUri::parse(&uri) {
                    self.unproduced.remove(&uri);
                }
                None
            }
            Step::Failed(failure) => about_considered(&failure, &self.considered, self.unproduced)
                .then_some(Step::Failed(failure)),
        }
    }
}

/// Returns whether a failure may be about one of `considered`; if it is, that was produced.
fn about_considered(
    failure: &Failure,
    considered: &HashSet<FileUri>,
    unproduced: &mut HashSet<FileUri>,
) -> bool {
    let uri = match &failure.subject {
        Subject::Document(uri) => uri,
        Subject::Move { from_uri, to_uri } => {
            let sides = [FileUri::parse(from_uri), FileUri::parse(to_uri)];
            let is_other = |side: &Result<FileUri, _>| {
                side.as_ref().is_ok_and(|uri| !considered.contains(uri))
            };
            return failure.source != FailureSource::Prefix && !sides.iter().all(is_other);
        }
        Subject::Unknown => return failure.source != FailureSource::Prefix,
    };
    let Ok(uri) = FileUri::parse(uri) else {
        return true;
    };
    unproduced.remove(&uri);
    considered.contains(&uri) || failure.source == FailureSource::Plugin
}

fn moved_while_refreshing(to: &FileUri) -> Failure {
    Failure::item(
        FailureSource::Validation,
        "DPE_VALIDATION",
        "a full enumeration named this document as the target of a move only",
        Subject::Document(to.to_string()),
    )
    .retryable(true)
}

/// The guard, for what is inferred: `unconfirmed` of the deletes are of documents that were
/// written, but whose confirmation a crash took away, and so are known all the same.
fn refuse_too_many<R: Remote>(
    deletes: u64,
    unconfirmed: u64,
    limit: DeleteLimit,
    landing: &Landing<'_, R>,
) -> Result<(), Failure> {
    let confirmed = landing.state.confirmed_count().map_err(state_failure)?;
    let deletes = deletes + landing.counts.deleted;
    let known = confirmed + unconfirmed + landing.counts.deleted;
    if limit.exceeded(deletes, known) {
        return Err(super::gate::too_many(deletes, known));
    }
    Ok(())
}

/// Deletes what this instance wrote and the source has no more (§22 step 4).
async fn infer_deletes<R: Remote>(
    gone: Vec<FileUri>,
    limit: DeleteLimit,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    let heads = landing.heads(&gone).await?;
    let mut tasks = Vec::new();
    let (mut deletes, mut unconfirmed) = (0, 0);
    for (uri, head) in gone.into_iter().zip(heads) {
        let remote = match head {
            Ok(remote) => remote,
            Err(denied) => {
                let subject = Subject::Document(uri.to_string());
                landing.fail(Failure { subject, ..denied });
                continue;
            }
        };
        let Pending { confirmed, intent } = landing.state.pending(&uri).map_err(state_failure)?;
        let confirmed = confirmed.filter(|hash| landing.accepted.contains(hash.contract()));
        deletes += u64::from(remote.is_some());
        unconfirmed += u64::from(remote.is_some() && confirmed.is_none());
        tasks.push(match (confirmed, remote) {
            (Some(_), _) => Task::new(Operation::Delete { uri }),
            (None, None) => Task::inferred(uri, Base::Absent),
            // What was intended and is there is this instance's own; all else is demanded to be
            // absent, which it is not, and so is left alone and reported.
            (None, Some(hash)) if intent == Some(remote) => Task::inferred(uri, Base::Hash(hash)),
            (None, Some(_)) => Task::inferred(uri, Base::Absent),
        });
    }
    refuse_too_many(deletes, unconfirmed, limit, landing)?;
    landing.land_tasks(tasks).await
}
