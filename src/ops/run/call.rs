//! A call under way: what it has come to so far, and what becomes of it when something stops it.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use dpe_connector::initialize::{self, RemoteLimits};
use futures_util::FutureExt;
use serde_json::value::RawValue;

use crate::config::{
    ConflictAction, Credential, CredentialSource, Definition, Network, Remote, RemoteLocation,
};
use crate::host::{ConnectorProcess, Deadlines, Launch, message_limit};
use crate::model::Contract;
use crate::ops::remote::{self, OpenRemote, RemoteError};
use crate::runner::{Cancel, Instance, Profile, Round, Settings};
use crate::server::OpenMode;
use crate::state::{self, CursorChange, InstanceLock, Registration, StateDirectory, StateError};
use crate::sync::decision::{Policies, Policy};
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::Source;
use crate::sync::report::{Outcome, Report};

use super::preparation::{self, Prepared};
use super::{Run, defect, identity};

/// A child of a process that was killed holds its locks until it is another program. That is all
/// that is waited for (connector contract §8.1).
pub(super) const LOCK_PATIENCE: Duration = Duration::from_millis(50);

/// Writes on their way at once, as many as the peers have (connector contract §34).
const CONCURRENCY: usize = 4;

/// What keeps a call from going on.
pub(super) enum Stop {
    /// Something that is reported.
    Failed(Failure),
    /// Somebody who wants it to end.
    Interrupted,
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<StateError> for Stop {
    fn from(error: StateError) -> Self {
        Self::Failed(state_failure(&error))
    }
}

/// A call of the runner.
pub(super) struct Call<'a> {
    run: &'a Run,
    observer: &'a Arc<dyn Observer>,
    cancel: &'a Cancel,
    report: Report,
    /// State that has an identity, and its lock. From then on it is noted since when the cursor is
    /// held (§23).
    state: Option<state::Instance>,
    /// Whether the round came to its end: nothing that follows changes what it came to.
    is_complete: bool,
}

impl<'a> Call<'a> {
    pub(super) fn begin(run: &'a Run, observer: &'a Arc<dyn Observer>, cancel: &'a Cancel) -> Self {
        Self {
            run,
            observer,
            cancel,
            report: Report::begun(None, None, None, jiff::Timestamp::now()),
            state: None,
            is_complete: false,
        }
    }

    pub(super) async fn run(mut self) -> Option<Report> {
        // A defect must not take the report with it (§24).
        let steps = AssertUnwindSafe(self.steps()).catch_unwind().await;
        match steps {
            Ok(Ok(())) => {}
            Ok(Err(Stop::Failed(failure))) => self.fail(failure),
            Ok(Err(Stop::Interrupted)) => {
                // No report says so, but the round did not succeed.
                if !self.is_complete {
                    self.hold_cursor();
                }
                return None;
            }
            Err(panic) => self.crash(&*panic),
        }
        if self.cancel.is_cancelled() {
            return None;
        }
        // The lock.
        self.state = None;
        self.report.end(jiff::Timestamp::now());
        let redaction = &self.run.redaction;
        for failure in &mut self.report.failures {
            *failure = redaction.failure(failure);
        }
        self.observer.event(Event::Finished(&self.report));
        Some(self.report)
    }

    /// The steps of §24 from the second on.
    async fn steps(&mut self) -> Result<(), Stop> {
        let definition = self.definition()?;
        let lock = self.lock(&definition.id)?;
        let prepared = preparation::prepare(&definition)?;
        self.run.redaction.know(prepared.mask.clone());
        let instance = Instance {
            fingerprint: identity::fingerprint(&definition, &prepared.manifest),
            remote_url: definition.remote_url.as_str().to_owned(),
            uri_prefix: definition.uri_prefix.clone(),
            id: definition.id.clone(),
        };
        self.open_state(lock, &instance)?;
        let remote = self.unless_cancelled(connect(self.run, &definition, &prepared));
        let remote = remote.await??;
        let process = self.unless_cancelled(self.start(&definition, &prepared, &remote));
        let mut process = process.await??;
        self.report.plugin = Some(process.identity().clone());
        let settings = self.settings(&definition, &prepared, &remote);
        self.round(&instance, &settings, &remote, &mut process)
            .await?;
        // How it ends changes nothing any more; the log tells it.
        let _ = self.unless_cancelled(process.close()).await?;
        Ok(())
    }

    fn definition(&mut self) -> Result<Definition, Stop> {
        let read = preparation::read_definition(&self.run.definition);
        let known = read.known;
        if let Some(id) = &known.id {
            self.observer.event(Event::Instance { id });
        }
        self.report.instance_id = known.id;
        self.report.uri_prefix = known.uri_prefix;
        self.report.remote_url = known.remote_url;
        Ok(read.definition?)
    }

    fn lock(&self, id: &str) -> Result<InstanceLock, Stop> {
        let lock = directory(self.run)?.lock(id, LOCK_PATIENCE)?;
        self.observer.event(Event::Locked {
            round: &identity::round_id(),
        });
        Ok(lock)
    }

    /// Steps 11 to 13. A new instance that may not be registered leaves nothing but its lock.
    fn open_state(&mut self, lock: InstanceLock, instance: &Instance) -> Result<(), Stop> {
        let (mut unborn, mut lock) = (None, Some(lock));
        if let Some(held) = lock.take_if(|lock| lock.has_state().unwrap_or(true)) {
            let state = held.open()?;
            if state.is_new()? {
                unborn = Some(state);
            } else {
                self.state = Some(state);
            }
        }
        directory(self.run)?.register(
            &Registration {
                id: instance.id.clone(),
                remote_url: instance.remote_url.clone(),
                uri_prefix: instance.uri_prefix.clone(),
                origin: self.run.definition.display().to_string(),
            },
            false,
        )?;
        if let Some(lock) = lock {
            unborn = Some(lock.open()?);
        }
        if let Some(mut state) = unborn {
            state.adopt(&instance.fingerprint)?;
            self.state = Some(state);
        } else if let Some(state) = &mut self.state {
            state.adopt(&instance.fingerprint)?;
        }
        Ok(())
    }

    async fn start(
        &self,
        definition: &Definition,
        prepared: &Prepared,
        remote: &OpenRemote,
    ) -> Result<ConnectorProcess, Failure> {
        let usual = Deadlines::default();
        let limits = remote.client.capabilities().limits;
        let observer = Arc::clone(self.observer);
        let config = definition.config.root().compact();
        let args = definition.command.iter().skip(1);
        ConnectorProcess::start(Launch {
            program: prepared.program.clone(),
            args: args.map(Into::into).collect(),
            environment: prepared.environment.clone(),
            manifest: &prepared.manifest,
            instance: initialize::Instance {
                uri_prefix: definition.uri_prefix.clone(),
                config: RawValue::from_string(config).expect("a part of a strict text is JSON"),
            },
            remote_limits: Some(RemoteLimits {
                max_payload_bytes: limits.max_payload_bytes,
                page_max_bytes: limits.page_max_bytes,
                blob_max_bytes: limits.blob_max_bytes,
            }),
            max_message_bytes: message_limit(
                prepared.tuning.max_message_bytes,
                limits.max_payload_bytes,
            ),
            deadlines: Deadlines {
                scan: prepared.tuning.scan_timeout.unwrap_or(usual.scan),
                blob: prepared.tuning.blob_timeout.unwrap_or(usual.blob),
                ..usual
            },
            mask: prepared.mask.clone(),
            on_event: Arc::new(move |event| observer.event(event.to_event())),
        })
        .await
    }

    fn settings(
        &self,
        definition: &Definition,
        prepared: &Prepared,
        remote: &OpenRemote,
    ) -> Settings {
        let tuning = &prepared.tuning;
        let usual = Settings::default();
        let policy = |action| match action {
            ConflictAction::SourceWins => Policy::SourceWins,
            ConflictAction::Report => Policy::Report,
        };
        let at_most = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Settings {
            contract: Contract::DEFAULT,
            policies: Policies {
                commit: policy(definition.conflict_policy.commit),
                delete: policy(definition.conflict_policy.delete),
            },
            conflict_retries: tuning.conflict_retries.unwrap_or(usual.conflict_retries),
            max_items: tuning.max_items.map_or(MAX_ITEMS, at_most),
            concurrency: CONCURRENCY,
            blob_max_bytes: remote.client.capabilities().limits.blob_max_bytes,
            spool_directory: match &self.run.state_dir {
                Ok(state_dir) => state_dir.clone(),
                Err(_) => usual.spool_directory.clone(),
            },
            delete_limit: prepared.delete_limit,
            profile: Profile::Contract,
            ..usual
        }
    }

    async fn round(
        &mut self,
        instance: &Instance,
        settings: &Settings,
        remote: &OpenRemote,
        process: &mut ConnectorProcess,
    ) -> Result<(), Stop> {
        let state = self.state.as_mut();
        let round = Round {
            remote: &remote.client,
            source: process,
            state: state.expect("the state is opened before the remote"),
            instance,
            settings,
            observer: &**self.observer,
            cancel: self.cancel,
        };
        self.report = round.run().await;
        self.is_complete = true;
        if self.cancel.is_cancelled() {
            return Err(Stop::Interrupted);
        }
        Ok(())
    }

    async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, Stop> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Stop::Interrupted),
            done = future => Ok(done),
        }
    }

    /// Notes what ended the call before its round did.
    fn fail(&mut self, failure: Failure) {
        self.observer.event(Event::Failed(&failure));
        self.report.failures.push(failure);
        self.report.outcome = Outcome::Failed;
        if !self.is_complete {
            self.hold_cursor();
        }
    }

    /// Notes a defect of this program. What the round came to stays as it is.
    fn crash(&mut self, panic: &(dyn std::any::Any + Send)) {
        self.observer.event(Event::Crashed {
            traceback: &defect::traceback(panic),
        });
        self.fail(Failure::new(
            Level::Round,
            FailureSource::Runner,
            "runner_internal_error",
            "the runner has a defect; its log has the details",
        ));
    }

    /// Notes since when the cursor is held, if there is state to note it in (§23).
    fn hold_cursor(&mut self) {
        let Some(state) = &mut self.state else {
            return;
        };
        let noted = state.held_since().and_then(|since| {
            let since = since.unwrap_or_else(|| self.report.started_at.clone());
            self.report.cursor_held_since = Some(since.clone());
            state.finish(CursorChange::Keep, Some(&since))
        });
        if let Err(error) = noted {
            let failure = state_failure(&error);
            self.observer.event(Event::HeldWriteFailed(&failure));
        }
    }
}

/// Usual size of a batch (connector contract §34).
const MAX_ITEMS: u32 = 100;

pub(super) fn directory(run: &Run) -> Result<StateDirectory, Failure> {
    match &run.state_dir {
        Ok(path) => Ok(StateDirectory::at(path)),
        // Nothing that passes by itself.
        Err(error) => Err(Failure::new(
            Level::Round,
            FailureSource::Runner,
            "state_unavailable",
            error.to_string(),
        )),
    }
}

/// Returns what is reported of trouble with state (connector contract §8.2).
pub(super) fn state_failure(error: &StateError) -> Failure {
    let message = with_causes(error);
    let runner = FailureSource::Runner;
    match error {
        StateError::Busy { .. } => {
            Failure::new(Level::Round, runner, "instance_busy", message).retryable(true)
        }
        StateError::Overlap { .. } | StateError::OriginGone { .. } => {
            Failure::new(Level::Instance, runner, "definition_invalid", message)
        }
        _ => Failure::new(Level::Round, runner, "state_unavailable", message)
            .retryable(error.retryable()),
    }
}

/// Returns a message with those of its causes that it does not repeat itself.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(current) = cause {
        let text = current.to_string();
        if !message.contains(&text) {
            message.push_str(": ");
            message.push_str(&text);
        }
        cause = current.source();
    }
    message
}

/// Fetches the capabilities of the remote.
async fn connect(
    run: &Run,
    definition: &Definition,
    prepared: &Prepared,
) -> Result<OpenRemote, Failure> {
    let credential = match (&definition.credential, &prepared.credential) {
        // A file is read anew for every request.
        (Some(CredentialSource::File(path)), _) => Some(Credential::File(path.clone())),
        (Some(CredentialSource::Env(_)), Some(value)) => Some(Credential::Value(value.clone())),
        _ => None,
    };
    let remote = Remote {
        location: RemoteLocation::Url(definition.remote_url.clone()),
        network: Network {
            credential,
            ..run.network.clone()
        },
    };
    let opened = remote::open(&remote, OpenMode::ReadOnly).await;
    opened.map_err(|error| match error {
        RemoteError::Failed(failure) if failure.code == "definition_invalid" => {
            unbuildable(failure.message)
        }
        RemoteError::Failed(failure) => failure,
        error => unbuildable(with_causes(&error)),
    })
}

/// A request that cannot be built (connector contract §25.2).
fn unbuildable(message: String) -> Failure {
    Failure::new(
        Level::Round,
        FailureSource::Remote,
        "remote_unavailable",
        message,
    )
    .retryable(true)
}
