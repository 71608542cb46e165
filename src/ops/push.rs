//! Pushes folders, files and repositories: one round per source.

mod error;
mod source;

use std::any::Any;
use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dpe_connector::initialize::{self, RemoteLimits};
use futures_util::FutureExt;

use crate::config::{self, RemoteLocation};
use crate::host::{Bundled, ConnectorProcess, Deadlines, Launch, bundled, plugin_environment};
use crate::model::Contract;
use crate::runner::{Cancel, DryRun, Instance, Round, Scope, Settings, Traffic};
use crate::server::{OpenMode, StoreError};
use crate::state::{self, StateDirectory};
use crate::sync::event::{Event, Observer};
use crate::sync::guard::DeleteLimit;
use crate::sync::ports::{Remote, Source};
use crate::sync::report::{Outcome, Report};

use super::remote::{self, OpenRemote, RemoteError};

pub use error::PushError;
pub use source::{
    FolderSource, PushSource, RepositoryMode, RepositoryOptions, RepositorySource, SourceKind,
};

/// Longest message of the connector. The content of the largest file it reads fits, with room for
/// what the mapping adds.
const MESSAGE_BYTES: u64 = 256 << 20;

/// What to push where.
#[derive(Clone, Debug)]
pub struct Push {
    /// Paths, or URLs of repositories.
    pub sources: Vec<PathBuf>,
    /// What they are.
    pub kind: SourceKind,
    /// URI prefix; by default that of the folder's name.
    pub prefix: Option<String>,
    /// The remote.
    pub remote: config::Remote,
    /// The state directory.
    pub state_dir: PathBuf,
    /// Whether nothing may be written.
    pub dry_run: bool,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
    /// Whether the prefix may be taken over from a folder that is gone.
    pub adopt: bool,
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
    pub error: Option<PushError>,
}

/// Pushes every source, one after the other. What goes wrong with one does not keep the others
/// from being pushed.
///
/// # Errors
///
/// When there is nothing to push with: no connector, or a prefix that is no URI.
pub async fn push(push: &Push, observer: &Arc<dyn Observer>) -> Result<Vec<Pushed>, PushError> {
    let name = push.kind.connector();
    let connector = bundled(name).ok_or(PushError::NoConnector { name })?;
    let mut remote = None;
    let mut all = Vec::new();
    for source in source::resolve(&push.sources, &push.kind, push.prefix.as_deref())? {
        all.push(match source {
            Ok(source) => {
                let one = OneSource {
                    push,
                    source: &source,
                    connector: &connector,
                    observer,
                };
                one.push(&mut remote).await
            }
            Err((name, error)) => refused(push, name, *error),
        });
    }
    Ok(all)
}

/// Returns how the push of a source ended that is not there to be pushed.
fn refused(push: &Push, source: String, error: PushError) -> Pushed {
    let remote_url = remote::remote_url(&push.remote.location);
    let mut report = Report::begun(None, None, Some(&remote_url), jiff::Timestamp::now());
    report.failures.push(error.failure());
    Pushed {
        source,
        report,
        traffic: Traffic::default(),
        elapsed: Duration::ZERO,
        error: Some(error),
    }
}

/// The push of one source, with all it needs.
struct OneSource<'a> {
    push: &'a Push,
    source: &'a PushSource,
    connector: &'a Bundled,
    observer: &'a Arc<dyn Observer>,
}

impl OneSource<'_> {
    /// Pushes the source; `remote` is opened by the first source that needs it.
    async fn push(&self, remote: &mut Option<OpenRemote>) -> Pushed {
        let begun = Instant::now();
        let before = traffic(remote.as_ref());
        self.observer.event(Event::Begun {
            source: self.source.name(),
            uri_prefix: self.source.uri_prefix(),
            remote: &self.push.remote.location.describe(),
            dry_run: self.push.dry_run,
        });
        let instance = self.instance();
        let mut report = Report::begun(
            Some(&instance.id),
            Some(&instance.uri_prefix),
            Some(&instance.remote_url),
            jiff::Timestamp::now(),
        );
        // A defect in a round must not take the report of the others with it.
        let round = AssertUnwindSafe(self.round(&instance, remote)).catch_unwind();
        let ended = round.await.unwrap_or_else(|panic| Err(defect(&*panic)));
        let error = match ended {
            Ok(ended) => {
                report = ended;
                PushError::of_report(&report, self.source.kind())
            }
            Err(error) => {
                report.failures.push(error.failure());
                report.end(jiff::Timestamp::now());
                Some(error)
            }
        };
        let after = traffic(remote.as_ref());
        Pushed {
            source: self.source.name().to_owned(),
            report,
            traffic: Traffic {
                requests: after.requests - before.requests,
                bytes: after.bytes - before.bytes,
            },
            elapsed: begun.elapsed(),
            error,
        }
    }

    /// Takes the lock of the source before anything of the remote is touched (connector contract
    /// §24), then runs the round.
    async fn round(
        &self,
        instance: &Instance,
        remote: &mut Option<OpenRemote>,
    ) -> Result<Report, PushError> {
        let registration = state::Registration {
            id: instance.id.clone(),
            remote_url: instance.remote_url.clone(),
            uri_prefix: instance.uri_prefix.clone(),
            origin: self.source.origin(),
        };
        let directory = StateDirectory::at(&self.push.state_dir);
        if self.push.dry_run {
            directory.check_registration(&registration, self.push.adopt)?;
            let mut state = directory.snapshot(&instance.id)?;
            let opened = self.open_for_reading(remote).await?;
            let dry_run = DryRun::over(opened.map(|remote| &remote.client));
            return self.run(instance, &mut state, &dry_run, opened).await;
        }
        let mut state = directory.open(&instance.id)?;
        directory.register(&registration, self.push.adopt)?;
        let opened = match remote {
            Some(opened) => opened,
            None => remote.insert(remote::open(&self.push.remote, OpenMode::Create).await?),
        };
        let ended = self
            .run(instance, &mut state, &opened.client, Some(opened))
            .await;
        let succeeded = |report: &Report| report.outcome != Outcome::Failed;
        // What was no source at all, perhaps by a slip of the hand, must not keep the prefix from those
        // who have something to push.
        if !ended.as_ref().is_ok_and(succeeded) && state.owns_nothing()? {
            directory.unregister(&instance.id)?;
        }
        ended
    }

    /// Opens the remote of a dry run; one that does not exist is left so, and is empty.
    async fn open_for_reading<'r>(
        &self,
        remote: &'r mut Option<OpenRemote>,
    ) -> Result<Option<&'r OpenRemote>, PushError> {
        if remote.is_none() {
            match remote::open(&self.push.remote, OpenMode::ReadOnly).await {
                Ok(opened) => *remote = Some(opened),
                Err(RemoteError::Store(StoreError::Missing { .. })) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(remote.as_ref())
    }

    /// Starts the connector, runs the round, and ends the connector. `opened` is what is behind
    /// `remote`, unless that is an empty one of a dry run.
    async fn run<R: Remote>(
        &self,
        instance: &Instance,
        state: &mut state::Instance,
        remote: &R,
        opened: Option<&OpenRemote>,
    ) -> Result<Report, PushError> {
        self.reclaim_lost_files(state)?;
        let limits = limits(opened);
        let mut source = self.start(limits).await?;
        let settings = self.settings(limits, opened);
        let round = Round {
            remote,
            source: &mut source,
            state,
            instance,
            settings: &settings,
            observer: &**self.observer,
            cancel: &Cancel::new(),
        };
        let report = round.run().await;
        if let Err(failure) = source.close().await
            && report.outcome != Outcome::Failed
        {
            let message = format!(
                "the connector did not end as it should: {}",
                failure.message
            );
            self.observer.event(Event::Warning(&message));
        }
        Ok(report)
    }

    fn settings(&self, limits: RemoteLimits, opened: Option<&OpenRemote>) -> Settings {
        let mut settings = Settings {
            contract: Contract::DEFAULT,
            delete_limit: self.push.delete_limit,
            scope: self.source.scope(),
            blob_max_bytes: limits.blob_max_bytes,
            ..Settings::default()
        };
        if let Some(opened) = opened {
            settings.concurrency = opened.concurrency();
        }
        if !self.push.dry_run {
            // A dry run leaves no trace there, and so lets blobs wait where everybody does.
            settings.spool_directory.clone_from(&self.push.state_dir);
        }
        settings
    }

    /// A file that was pushed by its name may never be enumerated with its folder. That it is gone
    /// can only be seen by looking.
    fn reclaim_lost_files(&self, state: &mut state::Instance) -> Result<(), PushError> {
        if self.source.scope() == Scope::Named {
            return Ok(());
        }
        let mut lost = state.named()?;
        lost.retain(|uri| !self.source.may_have(uri));
        Ok(state.reclaim(&lost)?)
    }

    async fn start(&self, remote_limits: RemoteLimits) -> Result<ConnectorProcess, PushError> {
        let observer = Arc::clone(self.observer);
        let launch = Launch {
            program: std::env::current_exe().map_err(PushError::Executable)?,
            args: self.connector.args.iter().map(OsString::from).collect(),
            environment: plugin_environment(self.source.environment()),
            manifest: &self.connector.manifest,
            instance: initialize::Instance {
                uri_prefix: self.source.uri_prefix().to_owned(),
                config: self.source.config(&self.own_places()),
            },
            remote_limits: Some(remote_limits),
            max_message_bytes: MESSAGE_BYTES,
            deadlines: Deadlines::default(),
            mask: self.source.mask(),
            on_event: Arc::new(move |event| observer.event(event.to_event())),
        };
        ConnectorProcess::start(launch)
            .await
            .map_err(|failure| PushError::Round {
                failure,
                origin: self.source.kind(),
            })
    }

    /// What this program itself keeps, and so must not push: the store and the state.
    fn own_places(&self) -> Vec<PathBuf> {
        let mut places = vec![remote::resolved(&self.push.state_dir)];
        if let RemoteLocation::Store(store) = &self.push.remote.location {
            places.push(remote::resolved(store));
        }
        places
    }

    fn instance(&self) -> Instance {
        let remote_url = remote::remote_url(&self.push.remote.location);
        let uri_prefix = self.source.uri_prefix().to_owned();
        Instance {
            id: self.source.instance_id(&remote_url),
            fingerprint: self
                .source
                .fingerprint(&remote_url, &self.connector.manifest),
            uri_prefix,
            remote_url,
        }
    }
}

/// Returns what the remote takes, as far as it matters to a connector (connector contract §10). A
/// store that does not exist yet will take what stores do.
fn limits(remote: Option<&OpenRemote>) -> RemoteLimits {
    let declared = remote.map(|remote| remote.client.capabilities().limits);
    let limits = declared.unwrap_or_default();
    RemoteLimits {
        max_payload_bytes: limits.max_payload_bytes,
        page_max_bytes: limits.page_max_bytes,
        blob_max_bytes: limits.blob_max_bytes,
    }
}

fn traffic(remote: Option<&OpenRemote>) -> Traffic {
    remote
        .map(|remote| remote.client.transport().traffic())
        .unwrap_or_default()
}

/// Returns the error of a round that panicked.
fn defect(panic: &(dyn Any + Send)) -> PushError {
    let message = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "it did not say why".to_owned());
    PushError::Defect { message }
}
