//! Closes the gap that a round without a stored cursor leaves (connector contract §22).
//!
//! What such a round delivered may be deleted from the source before the next one, and no plugin
//! would ever mention it. So the documents touched since the last stored cursor are remembered,
//! and those that a complete enumeration does not mention any more are deleted.

use std::collections::HashSet;

use crate::model::FileUri;
use crate::state::{Change, Pending};
use crate::sync::assembly::{Assembly, Step};
use crate::sync::event::Event;
use crate::sync::failure::{Failure, FailureSource, Subject};
use crate::sync::guard::DeleteLimit;
use crate::sync::ports::{Batch, BatchEnd, Remote, ScanRequest, Source};
use crate::sync::wave::Operation;

use super::enumeration::protocol_error;
use super::landing::{Landing, state_failure};
use super::round::{Instance, Settings};

/// Documents of the write set that the round did not mention.
pub(super) struct Missed {
    pub unproduced: HashSet<FileUri>,
    /// Whether the round started from a cursor, so that not being mentioned means nothing.
    pub incremental: bool,
}

/// Delivers what was missed and deletes what is gone.
///
/// # Errors
///
/// A failure that ends the round.
pub(super) async fn run<R: Remote, S: Source>(
    mut missed: Missed,
    source: &mut S,
    instance: &Instance,
    settings: &Settings,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    if missed.unproduced.is_empty() || landing.has_failures() {
        return Ok(());
    }
    if missed.incremental {
        enumerate(&mut missed.unproduced, source, instance, settings, landing).await?;
        if landing.has_failures() {
            return Ok(());
        }
    }
    let mut gone: Vec<FileUri> = missed.unproduced.into_iter().collect();
    if gone.is_empty() {
        return Ok(());
    }
    gone.sort();
    let message = format!(
        "{} documents of rounds that did not end well are gone from the source",
        gone.len()
    );
    landing.observer.event(Event::Warning(&message));
    refuse_too_many(&gone, settings.delete_limit, landing)?;
    infer_deletes(gone, landing).await
}

/// Enumerates once more without a cursor, landing only documents of `wanted`.
async fn enumerate<R: Remote, S: Source>(
    wanted: &mut HashSet<FileUri>,
    source: &mut S,
    instance: &Instance,
    settings: &Settings,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    let considered = wanted.clone();
    let mut assembly = Assembly::new(&*instance.uri_prefix, settings.contract);
    let mut request = ScanRequest {
        max_items: settings.max_items,
        ..ScanRequest::default()
    };
    loop {
        let batch = source.scan(request).await?;
        let last = matches!(batch.end, BatchEnd::Final { .. });
        let steps = wanted_steps(&batch, last, &mut assembly, &considered, wanted);
        landing.land(steps).await?;
        request = match batch.end {
            BatchEnd::Next(next) => ScanRequest {
                cursor: None,
                next: Some(next),
                max_items: settings.max_items,
            },
            BatchEnd::Final { incremental, .. } if incremental => {
                return Err(protocol_error("`incremental` without a cursor"));
            }
            BatchEnd::Final { .. } => return Ok(()),
        };
    }
}

/// Keeps of a batch what is about `considered`, and strikes from `wanted` what was mentioned.
fn wanted_steps(
    batch: &Batch,
    last: bool,
    assembly: &mut Assembly,
    considered: &HashSet<FileUri>,
    wanted: &mut HashSet<FileUri>,
) -> Vec<Step> {
    let mut steps = Vec::new();
    for item in batch.items.root().items().into_iter().flatten() {
        assembly.push(item, &mut steps);
    }
    if last {
        steps.extend(assembly.finish().map(Step::Failed));
    }
    steps
        .into_iter()
        .filter_map(|step| match step {
            Step::Operation(Operation::Move { to, .. }) => {
                let unsettled = considered.contains(&to) && wanted.contains(&to);
                unsettled.then(|| Step::Failed(moved_while_refreshing(&to)))
            }
            Step::Operation(operation) => {
                let uri = operation.uris().next()?;
                wanted.remove(uri);
                considered
                    .contains(uri)
                    .then_some(Step::Operation(operation))
            }
            Step::Failed(failure) => {
                about_wanted(&failure, considered, wanted).then_some(Step::Failed(failure))
            }
        })
        .collect()
}

/// Returns whether a failure may be about one of `considered`; if it is, that was mentioned.
fn about_wanted(
    failure: &Failure,
    considered: &HashSet<FileUri>,
    wanted: &mut HashSet<FileUri>,
) -> bool {
    let Subject::Document(uri) = &failure.subject else {
        return failure.source != FailureSource::Prefix;
    };
    let Ok(uri) = FileUri::parse(uri) else {
        return true;
    };
    wanted.remove(&uri);
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

fn refuse_too_many<R: Remote>(
    gone: &[FileUri],
    limit: DeleteLimit,
    landing: &Landing<'_, R>,
) -> Result<(), Failure> {
    let known = landing.state.confirmed_count().map_err(state_failure)?;
    let deletes = gone.len() as u64 + landing.counts.deleted;
    if limit.exceeded(deletes, known + landing.counts.deleted) {
        return Err(super::gate::too_many(deletes, known));
    }
    Ok(())
}

/// Deletes what this instance wrote and the source has no more (§22 step 4).
async fn infer_deletes<R: Remote>(
    gone: Vec<FileUri>,
    landing: &mut Landing<'_, R>,
) -> Result<(), Failure> {
    let heads = landing
        .remote
        .heads(&gone)
        .await
        .map_err(|error| error.failure)?;
    let mut deletes = Vec::new();
    for (uri, remote) in gone.into_iter().zip(heads) {
        let Pending { confirmed, intent } = landing.state.pending(&uri).map_err(state_failure)?;
        let own = confirmed.is_some() || remote.is_none() || intent == Some(remote);
        if own {
            deletes.push(Step::Operation(Operation::Delete { uri }));
            continue;
        }
        let foreign = Failure::item(
            FailureSource::Remote,
            "DPE_PRECONDITION_FAILED",
            "this document is gone from the source, but what the remote holds was written by \
             somebody else",
            Subject::Document(uri.to_string()),
        );
        landing
            .state
            .save(&[Change::Disown(uri)])
            .map_err(state_failure)?;
        landing.fail(foreign);
    }
    landing.land(deletes).await
}
