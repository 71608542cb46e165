//! A round over a source: lock and registration, the connector, the settings.
//!
//! The order is that of connector contract §24: nothing of the remote is touched before the lock of
//! the instance is held.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dpe_connector::initialize::{self, RemoteLimits};
use serde_json::value::RawValue;

use crate::config::RemoteLocation;
use crate::host::{ConnectorProcess, Launch, plugin_environment};
use crate::model::{Contract, FileUri, Hash};
use crate::ops::remote::{self, OpenRemote};
use crate::runner::{Cancel, DryRun, Instance, Round, Scope, Settings};
use crate::state::{self, StateDirectory};
use crate::sync::event::{Event, Observer};
use crate::sync::ports::{Remote, Source as _};
use crate::sync::report::{Outcome, Report};

use super::error::SourceError;
use super::looking::{self, Looking, PassedOver};
use super::pruning::Pruning;
use super::{Remotes, Source, strangers};

/// Longest message of the connector. The content of the largest file it reads fits, with room for
/// what the mapping adds.
const MESSAGE_BYTES: u64 = 256 << 20;

/// A source, and the call that a round over it is part of.
#[derive(Clone, Copy)]
pub struct SourceRound<'a> {
    /// The source.
    pub source: &'a Source,
    /// The state directory.
    pub state_dir: &'a Path,
    /// Whether the prefix may be taken over from a folder that is gone.
    pub adopt: bool,
    /// Told what happens.
    pub observer: &'a Arc<dyn Observer>,
    /// Ends the round early.
    pub cancel: &'a Cancel,
}

impl SourceRound<'_> {
    /// Delivers what changed.
    ///
    /// # Errors
    ///
    /// What keeps the round from beginning; what ends it is in the report.
    pub async fn deliver(
        &self,
        instance: &Instance,
        remotes: &mut Remotes,
    ) -> Result<Report, SourceError> {
        self.deliver_and_prune(instance, remotes, &[]).await
    }

    /// Delivers what changed, and if all of that went well deletes documents that somebody else put below the
    /// prefix, each if it still holds what is given.
    ///
    /// # Errors
    ///
    /// As [`Self::deliver`].
    pub async fn deliver_and_prune(
        &self,
        instance: &Instance,
        remotes: &mut Remotes,
        others: &[(FileUri, Hash)],
    ) -> Result<Report, SourceError> {
        let directory = StateDirectory::at(self.state_dir);
        let mut state = directory.open(&instance.id)?;
        directory.register(&self.registration(instance), self.adopt)?;
        let is_new = state.is_new()? && self.source.root.scope() == Scope::Whole;
        let opened = self.unless_cancelled(remotes.open(&self.source.remote));
        let opened = opened.await??;
        self.connected(Some(opened));
        let mut settings = self.settings(Some(opened));
        settings.spool_directory = self.state_dir.to_owned();
        let mut ended = self
            .run(
                instance,
                &mut state,
                &opened.client,
                &settings,
                limits(Some(opened)),
            )
            .await;
        if let Ok(report) = &mut ended {
            let pruning = Pruning {
                remote: &opened.client,
                state: &state,
                observer: &**self.observer,
                cancel: self.cancel,
            };
            pruning.delete(others, report).await?;
        }
        let succeeded = |report: &Report| report.outcome != Outcome::Failed;
        // What was no source at all, perhaps by a slip of the hand, must not keep the prefix from those
        // who have something to push.
        if !ended.as_ref().is_ok_and(succeeded) && state.owns_nothing()? {
            directory.unregister(&instance.id)?;
        }
        if let Some(report) = ended
            .as_ref()
            .ok()
            .filter(|report| is_new && succeeded(report))
        {
            strangers::tell(&opened.client, &state, report, &**self.observer).await;
        }
        ended
    }

    /// Finds out what [`Self::deliver`] would do, and cannot write: not to the remote, whose writes are
    /// imagined, and not to the state, of which it takes a copy. No lock is taken.
    ///
    /// # Errors
    ///
    /// As [`Self::deliver`].
    pub async fn imagine(
        &self,
        instance: &Instance,
        remotes: &mut Remotes,
    ) -> Result<Report, SourceError> {
        let directory = StateDirectory::at(self.state_dir);
        directory.check_registration(&self.registration(instance), self.adopt)?;
        let mut state = directory.snapshot(&instance.id)?;
        let opened = self.unless_cancelled(remotes.look(&self.source.remote));
        let opened = opened.await??;
        self.connected(opened);
        let dry_run = DryRun::over(opened.map(|remote| &remote.client));
        // It leaves no trace, and so lets blobs wait where everybody does.
        let settings = self.settings(opened);
        self.run(instance, &mut state, &dry_run, &settings, limits(opened))
            .await
    }

    /// Waits for what `future` comes to, unless somebody wants the round to end before.
    async fn unless_cancelled<T>(&self, future: impl Future<Output = T>) -> Result<T, SourceError> {
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(SourceError::Interrupted),
            done = future => Ok(done),
        }
    }

    fn connected(&self, opened: Option<&OpenRemote>) {
        if let Some(opened) = opened {
            let sent = opened.client.transport().sent();
            self.observer.event(Event::Connected { sent });
        }
    }

    /// Starts the connector, runs the round over what `remote` is, and ends the connector.
    ///
    /// # Errors
    ///
    /// When the connector does not start, or the state cannot be used.
    pub async fn run<R: Remote>(
        &self,
        instance: &Instance,
        state: &mut state::Instance,
        remote: &R,
        settings: &Settings,
        limits: RemoteLimits,
    ) -> Result<Report, SourceError> {
        self.reclaim_lost_files(state)?;
        let mut source = self.unless_cancelled(self.start(limits)).await??;
        let round = Round {
            remote,
            source: &mut source,
            state,
            instance,
            settings,
            observer: &**self.observer,
            cancel: self.cancel,
        };
        let report = round.run().await;
        self.close(source, &report).await;
        Ok(report)
    }

    /// Runs the round like [`Self::run`] for somebody who only looks: what the connector passes over
    /// comes with it, by name.
    ///
    /// # Errors
    ///
    /// As [`Self::run`].
    pub async fn look<R: Remote>(
        &self,
        instance: &Instance,
        state: &mut state::Instance,
        remote: &R,
        settings: &Settings,
        limits: RemoteLimits,
    ) -> Result<(Report, Vec<PassedOver>), SourceError> {
        self.reclaim_lost_files(state)?;
        let config = looking::config_of(self.source, &self.own_places());
        let mut source = self
            .unless_cancelled(self.start_with(config, limits))
            .await??;
        let mut looking = Looking::at(&mut source);
        let round = Round {
            remote,
            source: &mut looking,
            state,
            instance,
            settings,
            observer: &**self.observer,
            cancel: self.cancel,
        };
        let report = round.run().await;
        let passed_over = looking.passed_over;
        self.close(source, &report).await;
        Ok((report, passed_over))
    }

    /// Ends the connector.
    async fn close(&self, source: ConnectorProcess, report: &Report) {
        // One that nobody waits for any more is killed.
        let closed = self.unless_cancelled(source.close()).await;
        if let Ok(Err(failure)) = closed
            && report.outcome != Outcome::Failed
        {
            let message = format!(
                "the connector did not end as it should: {}",
                failure.message
            );
            self.observer.event(Event::Warning(&message));
        }
    }

    /// Returns how the round is run over a remote; nothing is a store that does not exist yet.
    pub fn settings(&self, opened: Option<&OpenRemote>) -> Settings {
        let mut settings = Settings {
            contract: Contract::DEFAULT,
            policies: self.source.policies,
            delete_limit: self.source.delete_limit,
            scope: self.source.root.scope(),
            blob_max_bytes: limits(opened).blob_max_bytes,
            failures_come_back: self.source.root.repeats_failures(),
            enumerations_are_complete: self.source.root.enumerates_completely(),
            ..Settings::default()
        };
        if let Some(opened) = opened {
            settings.concurrency = opened.concurrency();
        }
        settings
    }

    /// Starts the connector.
    ///
    /// # Errors
    ///
    /// When it does not start, or refuses its configuration.
    pub async fn start(
        &self,
        remote_limits: RemoteLimits,
    ) -> Result<ConnectorProcess, SourceError> {
        let config = self.source.root.config(&self.own_places());
        self.start_with(config, remote_limits).await
    }

    async fn start_with(
        &self,
        config: Box<RawValue>,
        remote_limits: RemoteLimits,
    ) -> Result<ConnectorProcess, SourceError> {
        let Source {
            root, connector, ..
        } = self.source;
        let observer = Arc::clone(self.observer);
        let launch = Launch {
            program: connector.program()?,
            args: connector.args.clone(),
            environment: plugin_environment(root.environment()),
            manifest: &connector.manifest,
            instance: initialize::Instance {
                uri_prefix: root.uri_prefix().to_owned(),
                config,
            },
            remote_limits: Some(remote_limits),
            max_message_bytes: MESSAGE_BYTES,
            deadlines: self.source.deadlines,
            mask: root.mask(),
            on_event: Arc::new(move |event| observer.event(event.to_event())),
        };
        ConnectorProcess::start(launch)
            .await
            .map_err(|failure| SourceError::Round {
                failure,
                origin: root.kind(),
            })
    }

    /// Returns how the state directory knows the source.
    pub fn registration(&self, instance: &Instance) -> state::Registration {
        state::Registration {
            id: instance.id.clone(),
            remote_url: instance.remote_url.clone(),
            uri_prefix: instance.uri_prefix.clone(),
            origin: self.source.root.origin(),
        }
    }

    /// A file that was pushed by its name may never be enumerated with its folder. That it is gone
    /// can only be seen by looking.
    fn reclaim_lost_files(&self, state: &mut state::Instance) -> Result<(), SourceError> {
        if self.source.root.scope() == Scope::Named {
            return Ok(());
        }
        let mut lost = state.named()?;
        lost.retain(|uri| !self.source.root.may_have(uri));
        Ok(state.reclaim(&lost)?)
    }

    /// What this program itself keeps, and so must not push: the store and the state.
    fn own_places(&self) -> Vec<PathBuf> {
        let mut places = vec![remote::resolved(self.state_dir)];
        if let RemoteLocation::Store(store) = &self.source.remote.location {
            places.push(remote::resolved(store));
        }
        places
    }
}

/// Returns what the remote takes, as far as it matters to a connector (connector contract §10). A
/// store that does not exist yet will take what stores do.
pub(in crate::ops) fn limits(remote: Option<&OpenRemote>) -> RemoteLimits {
    let declared = remote.map(|remote| remote.client.capabilities().limits);
    let limits = declared.unwrap_or_default();
    RemoteLimits {
        max_payload_bytes: limits.max_payload_bytes,
        page_max_bytes: limits.page_max_bytes,
        blob_max_bytes: limits.blob_max_bytes,
    }
}
