//! Pushes folders and files: one round per source.

mod error;
mod source;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dpe_connector::initialize::{self, RemoteLimits};

use crate::config::RemoteLocation;
use crate::host::{
    Bundled, ConnectorProcess, Deadlines, Launch, bundled, message_limit, plugin_environment,
};
use crate::model::Contract;
use crate::runner::{DryRun, Instance, Round, Scope, Settings, Traffic};
use crate::server::{OpenMode, StoreError};
use crate::state::{self, StateDirectory};
use crate::sync::event::{Event, Observer};
use crate::sync::guard::DeleteLimit;
use crate::sync::ports::{Remote, Source};
use crate::sync::report::{Outcome, Report};

use super::remote::{self, OpenRemote, RemoteError};

pub use error::PushError;
pub use source::FolderSource;

/// Writes to an embedded remote share one sync of the disk if they come at once, and nothing
/// travels: many at a time cost nothing and save most of the waiting.
const EMBEDDED_CONCURRENCY: usize = 64;

/// What to push where.
#[derive(Clone, Debug)]
pub struct Push {
    /// Folders and files.
    pub sources: Vec<PathBuf>,
    /// URI prefix; by default that of the folder's name.
    pub prefix: Option<String>,
    /// The remote.
    pub remote: RemoteLocation,
    /// The state directory.
    pub state_dir: PathBuf,
    /// Whether nothing may be written.
    pub dry_run: bool,
    /// When deletes are too many.
    pub delete_limit: DeleteLimit,
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
/// When there is nothing that could be pushed: no source of that name, or no connector.
pub async fn push(push: &Push, observer: &Arc<dyn Observer>) -> Result<Vec<Pushed>, PushError> {
    let sources = source::resolve(&push.sources, push.prefix.as_deref())?;
    let connector = bundled("fs").ok_or(PushError::NoConnector)?;
    let mode = if push.dry_run {
        OpenMode::MustExist
    } else {
        OpenMode::Create
    };
    let remote = match remote::open(&push.remote, mode).await {
        Ok(remote) => Some(remote),
        Err(RemoteError::Store(StoreError::Missing { .. })) if push.dry_run => None,
        Err(error) => return Err(error.into()),
    };
    let mut all = Vec::with_capacity(sources.len());
    for source in &sources {
        let one = OneSource {
            push,
            source,
            connector: &connector,
            remote: remote.as_ref(),
            observer,
        };
        all.push(one.push().await);
    }
    Ok(all)
}

/// The push of one source, with all it needs.
struct OneSource<'a> {
    push: &'a Push,
    source: &'a FolderSource,
    connector: &'a Bundled,
    remote: Option<&'a OpenRemote>,
    observer: &'a Arc<dyn Observer>,
}

impl OneSource<'_> {
    async fn push(&self) -> Pushed {
        let begun = Instant::now();
        let before = self.traffic();
        self.observer.event(Event::Begun {
            source: &self.source.name,
            uri_prefix: &self.source.uri_prefix,
            remote: &self.push.remote.describe(),
            dry_run: self.push.dry_run,
        });
        let instance = self.instance();
        let mut report = Report::begun(
            &instance.id,
            &instance.uri_prefix,
            &instance.remote_url,
            jiff::Timestamp::now(),
        );
        let error = match self.round(&instance).await {
            Ok(ended) => {
                report = ended;
                (report.outcome == Outcome::Failed)
                    .then(|| PushError::of_report(&report))
                    .flatten()
            }
            Err(error) => {
                report.failures.push(error.failure());
                report.end(jiff::Timestamp::now());
                Some(error)
            }
        };
        let after = self.traffic();
        Pushed {
            source: self.source.name.clone(),
            report,
            traffic: Traffic {
                requests: after.requests - before.requests,
                bytes: after.bytes - before.bytes,
            },
            elapsed: begun.elapsed(),
            error,
        }
    }

    async fn round(&self, instance: &Instance) -> Result<Report, PushError> {
        let registration = state::Registration {
            id: instance.id.clone(),
            remote_url: instance.remote_url.clone(),
            uri_prefix: instance.uri_prefix.clone(),
            origin: self.source.root.display().to_string(),
        };
        let directory = StateDirectory::at(&self.push.state_dir);
        if self.push.dry_run {
            directory.check_registration(&registration)?;
            let mut state = directory.snapshot(&instance.id)?;
            let remote = DryRun::over(self.remote.map(|remote| &remote.client));
            return self.run(instance, &mut state, &remote).await;
        }
        let mut state = directory.open(&instance.id)?;
        directory.register(&registration)?;
        let remote = self.remote.expect("only a dry run goes without a remote");
        self.run(instance, &mut state, &remote.client).await
    }

    /// Starts the connector, runs the round, and ends the connector.
    async fn run<R: Remote>(
        &self,
        instance: &Instance,
        state: &mut state::Instance,
        remote: &R,
    ) -> Result<Report, PushError> {
        let mut source = self.start().await?;
        let settings = Settings {
            contract: Contract::DEFAULT,
            delete_limit: self.push.delete_limit,
            concurrency: EMBEDDED_CONCURRENCY,
            scope: match self.source.only {
                Some(_) => Scope::Named,
                None => Scope::Whole,
            },
            ..Settings::default()
        };
        let round = Round {
            remote,
            source: &mut source,
            state,
            instance,
            settings: &settings,
            observer: &**self.observer,
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

    async fn start(&self) -> Result<ConnectorProcess, PushError> {
        let limits = self
            .remote
            .map(|remote| remote.client.capabilities().limits);
        let observer = Arc::clone(self.observer);
        let launch = Launch {
            program: std::env::current_exe().map_err(PushError::Executable)?,
            args: self.connector.args.iter().map(OsString::from).collect(),
            environment: plugin_environment(Vec::new()),
            manifest: &self.connector.manifest,
            instance: initialize::Instance {
                uri_prefix: self.source.uri_prefix.clone(),
                config: self.source.config(),
            },
            remote_limits: limits.map(|limits| RemoteLimits {
                max_payload_bytes: limits.max_payload_bytes,
                page_max_bytes: limits.page_max_bytes,
                blob_max_bytes: limits.blob_max_bytes,
            }),
            max_message_bytes: message_limit(
                None,
                limits.map_or(0, |limits| limits.max_payload_bytes),
            ),
            deadlines: Deadlines::default(),
            on_stderr: Arc::new(move |line| observer.event(Event::PluginStderr(&line.line))),
        };
        ConnectorProcess::start(launch)
            .await
            .map_err(|failure| PushError::Round { failure })
    }

    fn instance(&self) -> Instance {
        let remote_url = remote::remote_url(&self.push.remote);
        let uri_prefix = self.source.uri_prefix.clone();
        Instance {
            id: self.source.instance_id(&remote_url),
            fingerprint: self
                .source
                .fingerprint(&remote_url, &self.connector.manifest),
            uri_prefix,
            remote_url,
        }
    }

    fn traffic(&self) -> Traffic {
        self.remote
            .map(|remote| remote.client.transport().traffic())
            .unwrap_or_default()
    }
}
