//! One round of one instance: enumerate, land, and store the cursor only if everything landed
//! (connector contract §11, §16, §23).

use std::collections::HashSet;

use jiff::Timestamp;

use crate::json::Value;
use crate::model::{Contract, Contracts, FileUri};
use crate::state::{self, CursorChange};
use crate::sync::assembly::{Assembly, Step};
use crate::sync::decision::Policies;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, FailureSource, Level, Subject};
use crate::sync::guard::DeleteLimit;
use crate::sync::ports::{Batch, BatchEnd, Remote, ScanRequest, Source};
use crate::sync::report::{Outcome, Report};

use super::gate::Gate;
use super::landing::{Landing, state_failure};
use super::refresh;
use super::task::Rules;

/// So many confirmed documents are looked up to notice a remote that was reset.
const RESET_SAMPLE: u32 = 32;

/// Who pushes what where.
#[derive(Clone, Debug)]
pub struct Instance {
    /// Id, unique in the state directory.
    pub id: String,
    /// URI prefix; every document lies below it.
    pub uri_prefix: String,
    /// URL of the remote, or the location of an embedded one.
    pub remote_url: String,
    /// Content identity (§8.3): another one starts over.
    pub fingerprint: String,
}

/// How much of the source a round enumerates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All of it, or all that changed since the stored cursor.
    #[default]
    Whole,
    /// Some documents that somebody named. Nothing follows for the others: the cursor is neither
    /// used nor replaced.
    Named,
}

/// How a round is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Contract of all hashes.
    pub contract: Contract,
    /// Contracts whose confirmed values count: declared by the remote and known here.
    pub accepted: Contracts,
    /// Conflict policies.
    pub policies: Policies,
    /// At most so many resubmissions after conflicts, per item.
    pub conflict_retries: u32,
    /// At most so many items per batch.
    pub max_items: u32,
    /// At most so many writes at once.
    pub concurrency: usize,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
    /// What is enumerated.
    pub scope: Scope,
    /// Whether confirmed documents that an incremental source had no reason to mention are
    /// counted as unchanged, as people expect; the contract's report counts items only.
    pub count_untouched: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            contract: Contract::Dpe1,
            accepted: Contracts::SUPPORTED,
            policies: Policies::default(),
            conflict_retries: 2,
            max_items: 500,
            concurrency: 8,
            delete_limit: DeleteLimit::Usual,
            scope: Scope::Whole,
            count_untouched: true,
        }
    }
}

/// One round, ready to run.
pub struct Round<'a, R, S> {
    /// The remote, or a dry run over it.
    pub remote: &'a R,
    /// The running plugin.
    pub source: &'a mut S,
    /// The state of the instance, locked.
    pub state: &'a mut state::Instance,
    /// Who pushes what where.
    pub instance: &'a Instance,
    /// How.
    pub settings: &'a Settings,
    /// Told what happens.
    pub observer: &'a dyn Observer,
}

/// What one enumeration ended with.
pub(super) struct Enumerated {
    pub cursor: Option<String>,
    pub incremental: bool,
}

impl<R: Remote, S: Source> Round<'_, R, S> {
    /// Runs the round to its end and reports; failures are in the report.
    pub async fn run(self) -> Report {
        let Instance {
            id,
            uri_prefix,
            remote_url,
            ..
        } = self.instance;
        let mut report = Report::begun(id, uri_prefix, remote_url, Timestamp::now());
        report.plugin = Some(self.source.identity().clone());
        if let Err(failure) = self.enumerate_and_land(&mut report).await {
            report.failures.push(failure);
            report.outcome = Outcome::Failed;
        }
        report.end(Timestamp::now());
        report
    }

    async fn enumerate_and_land(self, report: &mut Report) -> Result<(), Failure> {
        let Self {
            remote,
            source,
            state,
            instance,
            settings,
            observer,
        } = self;
        if state.adopt(&instance.fingerprint).map_err(state_failure)? == state::Adoption::Changed {
            observer.event(Event::Warning(
                "the source, its settings or its connector changed: everything is compared anew",
            ));
        }
        let cursor = starting_cursor(remote, source, state, settings, observer).await?;
        let known = state.confirmed_count().map_err(state_failure)?;
        let earlier: HashSet<FileUri> = match settings.scope {
            Scope::Whole => state
                .write_set()
                .map_err(state_failure)?
                .into_iter()
                .collect(),
            Scope::Named => HashSet::new(),
        };
        let rules = Rules {
            policies: settings.policies,
            conflict_retries: settings.conflict_retries,
        };
        let mut landing = Landing::new(
            remote,
            state,
            observer,
            rules,
            settings.concurrency,
            settings.accepted,
        );
        let mut enumeration = Enumeration {
            assembly: Assembly::new(&*instance.uri_prefix, settings.contract),
            gate: Gate::new(settings.delete_limit, known),
            unproduced: earlier,
        };
        let given = cursor.is_some();
        let mut ended = enumeration
            .run(source, cursor, settings.max_items, &mut landing)
            .await;
        if matches!(&ended, Ok(Some(enumerated)) if enumerated.incremental && !given) {
            ended = Err(protocol_error("`incremental` without a cursor"));
        }
        landing.finish(ended.is_err());
        if let Ok(Some(enumerated)) = &ended {
            report.incremental = Some(enumerated.incremental);
            let unproduced = std::mem::take(&mut enumeration.unproduced);
            if landing.failures.is_empty() && !unproduced.is_empty() {
                let missed = refresh::Missed {
                    unproduced,
                    incremental: enumerated.incremental,
                };
                ended = refresh::run(missed, source, instance, settings, &mut landing)
                    .await
                    .and(ended);
            }
        }
        report.counts = landing.counts;
        report.failures = std::mem::take(&mut landing.failures);
        close(
            ended,
            source.identity().supports_cursor,
            state,
            settings,
            report,
        )
    }
}

/// Decides the outcome and stores the cursor, or since when it is held (§23).
fn close(
    ended: Result<Option<Enumerated>, Failure>,
    supports_cursor: bool,
    state: &mut state::Instance,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    let held_before = state.held_since().map_err(state_failure)?;
    let enumerated = match &ended {
        Ok(Some(enumerated)) if report.failures.is_empty() => Some(enumerated),
        _ => None,
    };
    let Some(enumerated) = enumerated else {
        let held = held_before.unwrap_or_else(|| report.started_at.clone());
        let saved = state.finish(CursorChange::Keep, Some(&held));
        report.cursor_held_since = Some(held);
        report.outcome = match &ended {
            Ok(Some(_)) => Outcome::Partial,
            _ => Outcome::Failed,
        };
        count_untouched(state, settings, report)?;
        ended?;
        return saved.map_err(state_failure);
    };
    let stored = state.cursor().map_err(state_failure)?;
    let change = match &enumerated.cursor {
        _ if settings.scope == Scope::Named => CursorChange::Keep,
        Some(cursor) if supports_cursor => CursorChange::Store(cursor),
        _ if !supports_cursor || stored.is_none() => CursorChange::Clear,
        _ => CursorChange::Keep,
    };
    state.finish(change, None).map_err(state_failure)?;
    report.cursor_persisted = matches!(change, CursorChange::Store(_));
    report.outcome = Outcome::Succeeded;
    count_untouched(state, settings, report)
}

/// Adds the documents that an incremental round had no reason to mention.
fn count_untouched(
    state: &state::Instance,
    settings: &Settings,
    report: &mut Report,
) -> Result<(), Failure> {
    if !settings.count_untouched || report.incremental != Some(true) {
        return Ok(());
    }
    let confirmed = state.confirmed_count().map_err(state_failure)?;
    let mut mentioned = report.counts.created
        + report.counts.updated
        + report.counts.unchanged
        + report.counts.moved;
    for failure in &report.failures {
        if let Subject::Document(uri) = &failure.subject
            && let Ok(uri) = FileUri::parse(uri)
            && state
                .pending(&uri)
                .map_err(state_failure)?
                .confirmed
                .is_some()
        {
            mentioned += 1;
        }
    }
    report.counts.unchanged += confirmed.saturating_sub(mentioned);
    Ok(())
}

/// Returns the stored cursor, unless it is of no use: the plugin takes none, the round is not
/// about the whole source, or the remote has lost what the cursor stands for.
async fn starting_cursor<R: Remote, S: Source>(
    remote: &R,
    source: &S,
    state: &mut state::Instance,
    settings: &Settings,
    observer: &dyn Observer,
) -> Result<Option<String>, Failure> {
    if remote_was_reset(remote, state).await? {
        observer.event(Event::Warning(
            "the remote holds none of the documents pushed before: everything is pushed again",
        ));
        state.start_over().map_err(state_failure)?;
    }
    if settings.scope == Scope::Named || !source.identity().supports_cursor {
        return Ok(None);
    }
    state.cursor().map_err(state_failure)
}

async fn remote_was_reset<R: Remote>(remote: &R, state: &state::Instance) -> Result<bool, Failure> {
    let mut sample = state.sample(RESET_SAMPLE).map_err(state_failure)?;
    let mut undecided = Ok(());
    sample.retain(|uri| match state.pending(uri) {
        Ok(pending) => pending.intent.is_none(),
        Err(error) => {
            undecided = Err(state_failure(error));
            false
        }
    });
    undecided?;
    if sample.is_empty() {
        return Ok(false);
    }
    let heads = remote.heads(&sample).await.map_err(|error| error.failure)?;
    Ok(heads.iter().all(Option::is_none))
}

/// One pass over the batches of a source.
pub(super) struct Enumeration {
    pub assembly: Assembly,
    pub gate: Gate,
    /// Members of the write set that no item has mentioned so far (§22).
    pub unproduced: HashSet<FileUri>,
}

impl Enumeration {
    /// Pulls batch after batch and lands them; the next one is scanned while the last one lands.
    pub(super) async fn run<R: Remote, S: Source>(
        &mut self,
        source: &mut S,
        cursor: Option<String>,
        max_items: u32,
        landing: &mut Landing<'_, R>,
    ) -> Result<Option<Enumerated>, Failure> {
        let first = ScanRequest {
            cursor,
            next: None,
            max_items,
        };
        let mut batch = source.scan(first).await?;
        loop {
            let last = matches!(batch.end, BatchEnd::Final { .. });
            let steps = self.steps(&batch, last)?;
            let end = match batch.end {
                BatchEnd::Next(next) => next,
                BatchEnd::Final {
                    cursor,
                    incremental,
                } => {
                    landing.land(steps).await?;
                    return Ok(Some(Enumerated {
                        cursor,
                        incremental,
                    }));
                }
            };
            let following = ScanRequest {
                cursor: None,
                next: Some(end),
                max_items,
            };
            let (landed, scanned) = tokio::join!(landing.land(steps), source.scan(following));
            landed?;
            batch = scanned?;
        }
    }

    /// Turns a batch into steps, as far as the gate lets them through.
    fn steps(&mut self, batch: &Batch, last: bool) -> Result<Vec<Step>, Failure> {
        let mut steps = Vec::new();
        for item in batch.items.root().items().into_iter().flatten() {
            self.produced(item);
            self.assembly.push(item, &mut steps);
        }
        if last {
            steps.extend(self.assembly.finish().map(Step::Failed));
        }
        self.gate.pass(steps, batch.items.source().len(), last)
    }

    /// Notes that an item mentions its documents, whatever else is wrong with it.
    fn produced(&mut self, item: Value<'_>) {
        if self.unproduced.is_empty() {
            return;
        }
        for member in ["file_uri", "from_uri", "to_uri"] {
            let text = item.member(member).and_then(Value::as_str);
            if let Some(uri) = text.and_then(|text| FileUri::parse(&text).ok()) {
                self.unproduced.remove(&uri);
            }
        }
    }
}

/// Returns the failure of a plugin that broke the wire protocol.
pub(super) fn protocol_error(message: &str) -> Failure {
    Failure::new(
        Level::Protocol,
        FailureSource::Runner,
        "protocol_error",
        message,
    )
}
