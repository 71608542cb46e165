//! Pushes sources: one round each, one after the other.

mod prune;

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use crate::ops::remote;
use crate::ops::source::{NoSource, Remotes, Source, SourceError, SourceRound};
use crate::runner::Traffic;
use crate::sync::event::{Event, Observer};
use crate::sync::report::{Outcome, Report};

pub use crate::runner::Cancel;

pub use prune::Confirm;

/// How sources are pushed.
#[derive(Clone, Debug)]
pub struct Push {
    /// The state directory.
    pub state_dir: PathBuf,
    /// Whether nothing may be written.
    pub dry_run: bool,
    /// Whether a prefix may be taken over from a folder that is gone.
    pub adopt: bool,
    /// Whether what the remote alone has below the prefix is to be deleted.
    pub prune: Option<Confirm>,
}

/// How the push of one source ended.
#[derive(Debug)]
pub struct Pushed {
    /// The source, as a person named it.
    pub source: String,
    /// The round.
    pub report: Report,
    /// What went to the remote.
    pub traffic: Traffic,
    /// How long it took.
    pub elapsed: Duration,
    /// Why the round did not end, if it did not.
    pub error: Option<SourceError>,
}

/// Pushes every source, one after the other, and hands each over to `ended` as soon as it has ended. What goes
/// wrong with one does not keep the others from being pushed; when `cancel` is set, the rest is left alone.
///
/// # Errors
///
/// Whatever `ended` refuses to go on with.
pub async fn push<E>(
    push: &Push,
    sources: Vec<Result<Source, NoSource>>,
    observer: &Arc<dyn Observer>,
    cancel: &Cancel,
    mut ended: impl FnMut(Pushed) -> Result<(), E>,
) -> Result<(), E> {
    let mut remotes = Remotes::default();
    for source in sources {
        if cancel.is_cancelled() {
            break;
        }
        ended(match source {
            Ok(source) => {
                let round = SourceRound {
                    source: &source,
                    state_dir: &push.state_dir,
                    adopt: push.adopt,
                    observer,
                    cancel,
                };
                one(push, &round, &mut remotes).await
            }
            Err(no_source) => refused(no_source),
        })?;
    }
    Ok(())
}

/// Returns how the push of something ended that is no source.
fn refused(no_source: NoSource) -> Pushed {
    let NoSource {
        name,
        remote,
        error,
    } = no_source;
    let remote_url = remote::remote_url(&remote.location);
    let mut report = Report::begun(None, None, Some(&remote_url), jiff::Timestamp::now());
    report.failures.push(error.failure());
    Pushed {
        source: name,
        report,
        traffic: Traffic::default(),
        elapsed: Duration::ZERO,
        error: Some(*error),
    }
}

/// Pushes one source.
async fn one(push: &Push, round: &SourceRound<'_>, remotes: &mut Remotes) -> Pushed {
    let (begun, source) = (Instant::now(), round.source);
    let before = remotes.traffic(&source.remote);
    round.observer.event(Event::Begun {
        source: source.name(),
        uri_prefix: source.uri_prefix(),
        remote: &source.remote.location.describe(),
        dry_run: push.dry_run,
    });
    let (report, error) = run(push, round, remotes).await;
    round.observer.event(Event::Finished(&report));
    let after = remotes.traffic(&source.remote);
    Pushed {
        source: source.name().to_owned(),
        report,
        traffic: Traffic {
            requests: after.requests - before.requests,
            bytes: after.bytes - before.bytes,
        },
        elapsed: begun.elapsed(),
        error,
    }
}

/// Runs the round, and reports whatever happens to it.
async fn run(
    push: &Push,
    round: &SourceRound<'_>,
    remotes: &mut Remotes,
) -> (Report, Option<SourceError>) {
    let instance = round.source.instance();
    round.observer.event(Event::Instance { id: &instance.id });
    let mut report = Report::begun(
        Some(&instance.id),
        Some(&instance.uri_prefix),
        Some(&instance.remote_url),
        jiff::Timestamp::now(),
    );
    let ends = async {
        match (push.prune, push.dry_run) {
            (Some(confirm), false) => prune::deliver(round, &instance, remotes, confirm).await,
            (Some(_), true) => prune::imagine(round, &instance, remotes).await,
            (None, false) => round.deliver(&instance, remotes).await,
            (None, true) => round.imagine(&instance, remotes).await,
        }
    };
    // A defect in a round must not take the report of the others with it.
    let ended = AssertUnwindSafe(ends).catch_unwind().await;
    match ended.unwrap_or_else(|panic| Err(defect(&*panic))) {
        Ok(mut ended) if ended.outcome == Outcome::Failed && round.cancel.is_cancelled() => {
            let error = SourceError::Interrupted;
            ended.failures.push(error.failure());
            (ended, Some(error))
        }
        Ok(ended) => {
            let error = SourceError::of_report(&ended, round.source.root.kind());
            (ended, error)
        }
        Err(error) => {
            report.failures.push(error.failure());
            report.end(jiff::Timestamp::now());
            (report, Some(error))
        }
    }
}

/// Returns the error of a round that panicked.
fn defect(panic: &(dyn Any + Send)) -> SourceError {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it did not say why".to_owned());
    SourceError::Defect { message }
}
