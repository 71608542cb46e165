//! A call under way: what it has come to so far, and what becomes of it when something stops it.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use crate::config::Definition;
use crate::host::ConnectorProcess;
use crate::ops::remote::OpenRemote;
use crate::runner::{self, Cancel, Instance, Round, Settings};
use crate::state::{self, InstanceLock, Registration, StateDirectory, StateError};
use crate::sync::event::{Event, Observer};
use crate::sync::failure::Failure;
use crate::sync::ports::Source;
use crate::sync::report::{Outcome, Report};

use super::failure::{internal_error, state_failure};
use super::preparation;
use super::ready::Ready;
use super::{Run, defect, definition_text, identity};

/// A child of a process that was killed holds its locks until it is another program. That is all
/// that is waited for (connector contract §8.1).
pub(super) const LOCK_PATIENCE: Duration = Duration::from_millis(50);

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
        let definition = self.definition().await?;
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
        let ready = Ready {
            run: self.run,
            definition: &definition,
            prepared: &prepared,
        };
        let remote = unless_cancelled(self.cancel, ready.connect()).await??;
        let start = ready.start(&remote, self.observer);
        let mut process = unless_cancelled(self.cancel, start).await??;
        self.report.plugin = Some(process.identity().clone());
        let settings = ready.settings(&remote);
        self.round(&instance, &settings, &remote, &mut process)
            .await?;
        // How it ends changes nothing any more; the log tells it.
        let _ = unless_cancelled(self.cancel, process.close()).await?;
        Ok(())
    }

    async fn definition(&mut self) -> Result<Definition, Stop> {
        let path = &self.run.definition;
        let text = definition_text::read(path);
        let text = unless_cancelled(self.cancel, text).await??;
        let read = preparation::read_definition(&text, path);
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
                origin: origin(&self.run.definition),
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
    fn crash(&mut self, panic: &(dyn Any + Send)) {
        self.observer.event(Event::Crashed {
            traceback: &defect::traceback(panic),
        });
        self.fail(internal_error());
    }

    /// Notes since when the cursor is held, if there is state to note it in (§23).
    fn hold_cursor(&mut self) {
        if let Some(state) = &mut self.state {
            let since = runner::hold(state, &self.report.started_at, &**self.observer);
            self.report.cursor_held_since = since;
        }
    }
}

/// Returns by what a person in any working directory knows the instance.
fn origin(definition: &Path) -> String {
    let definition = std::path::absolute(definition).unwrap_or_else(|_| definition.to_owned());
    definition.display().to_string()
}

/// Waits for what `future` comes to, unless somebody wants the call to end before.
pub(super) async fn unless_cancelled<T>(
    cancel: &Cancel,
    future: impl Future<Output = T>,
) -> Result<T, Stop> {
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(Stop::Interrupted),
        done = future => Ok(done),
    }
}

pub(super) fn directory(run: &Run) -> Result<StateDirectory, Failure> {
    match &run.state_dir {
        Ok(path) => Ok(StateDirectory::at(path)),
        // Nothing that passes by itself.
        Err(error) => Err(Failure::round("state_unavailable", error.to_string())),
    }
}
