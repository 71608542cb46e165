//! A call that is ready for the outside: how its remote is reached, its plugin started, its round run.
//! Translates what the definition says into the values of other rooms.

use std::sync::Arc;

use dpe_connector::initialize::{self, RemoteLimits};
use serde_json::value::RawValue;

use crate::config::{
    ConflictAction, Credential, CredentialSource, Definition, Network, Remote, RemoteLocation,
};
use crate::host::{ConnectorProcess, Deadlines, Launch, message_limit};
use crate::ops::causes::with_causes;
use crate::ops::regular_file;
use crate::ops::remote::{self, OpenRemote, RemoteError};
use crate::runner::{Settings, by_the_contract};
use crate::server::OpenMode;
use crate::sync::decision::{Policies, Policy};
use crate::sync::event::Observer;
use crate::sync::failure::{Failure, FailureSource, Level};

use super::Run;
use super::preparation::Prepared;

/// Everything that steps 14 to 16 of §24 need besides the state.
pub(super) struct Ready<'a> {
    pub(super) run: &'a Run,
    pub(super) definition: &'a Definition,
    pub(super) prepared: &'a Prepared,
}

impl Ready<'_> {
    /// Fetches the capabilities of the remote.
    pub(super) async fn connect(&self) -> Result<OpenRemote, Failure> {
        let credential = match (&self.definition.credential, &self.prepared.credential) {
            // A file is read anew for every request.
            (Some(CredentialSource::File(path)), _) => Some(Credential::File(path.clone())),
            (Some(CredentialSource::Env(_)), Some(value)) => Some(Credential::Value(value.clone())),
            _ => None,
        };
        let remote = Remote {
            location: RemoteLocation::Url(self.definition.remote_url.clone()),
            network: Network {
                credential,
                ..self.run.network.clone()
            },
        };
        self.check_files()?;
        let opened = remote::open(&remote, OpenMode::ReadOnly).await;
        opened.map_err(|error| match error {
            RemoteError::Failed(failure) => by_the_contract(failure),
            // Settings of the network with which no request can be built (§25.2).
            error => unreachable(with_causes(&error)),
        })
    }

    /// Makes sure that nobody waits for the other end of a pipe where a certificate should be.
    fn check_files(&self) -> Result<(), Failure> {
        let network = &self.run.network;
        let files = [&network.authorities, &network.client_certificate];
        for path in files.into_iter().flatten() {
            regular_file::open(path).map_err(|error| {
                let path = path.display();
                unreachable(format!("{path} cannot be read: {error}"))
            })?;
        }
        Ok(())
    }

    /// Starts the plugin and initialises it.
    pub(super) async fn start(
        &self,
        remote: &OpenRemote,
        observer: &Arc<dyn Observer>,
    ) -> Result<ConnectorProcess, Failure> {
        let usual = Deadlines::default();
        let limits = remote.client.capabilities().limits;
        let (tuning, observer) = (&self.prepared.tuning, Arc::clone(observer));
        let config = self.definition.config.root().compact();
        let args = self.definition.command.iter().skip(1);
        let launch = Launch {
            program: self.prepared.program.clone(),
            args: args.map(Into::into).collect(),
            environment: self.prepared.environment.clone(),
            manifest: &self.prepared.manifest,
            instance: initialize::Instance {
                uri_prefix: self.definition.uri_prefix.clone(),
                config: RawValue::from_string(config).expect("a part of a strict text is JSON"),
            },
            remote_limits: Some(RemoteLimits {
                max_payload_bytes: limits.max_payload_bytes,
                page_max_bytes: limits.page_max_bytes,
                blob_max_bytes: limits.blob_max_bytes,
            }),
            max_message_bytes: message_limit(tuning.max_message_bytes, limits.max_payload_bytes),
            deadlines: Deadlines {
                scan: tuning.scan_timeout.unwrap_or(usual.scan),
                blob: tuning.blob_timeout.unwrap_or(usual.blob),
                ..usual
            },
            mask: self.prepared.mask.clone(),
            on_event: Arc::new(move |event| observer.event(event.to_event())),
        };
        ConnectorProcess::start(launch).await
    }

    /// Returns how the round is run.
    pub(super) fn settings(&self, remote: &OpenRemote) -> Settings {
        let tuning = &self.prepared.tuning;
        let usual = Settings::contract(remote.client.capabilities());
        let policy = |action| match action {
            ConflictAction::SourceWins => Policy::SourceWins,
            ConflictAction::Report => Policy::Report,
        };
        let at_most = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        Settings {
            policies: Policies {
                commit: policy(self.definition.conflict_policy.commit),
                delete: policy(self.definition.conflict_policy.delete),
            },
            conflict_retries: tuning.conflict_retries.unwrap_or(usual.conflict_retries),
            state_retries: tuning.state_retries.map_or(usual.state_retries, at_most),
            max_items: tuning.max_items.map_or(usual.max_items, at_most),
            spool_directory: match &self.run.state_dir {
                Ok(state_dir) => state_dir.clone(),
                Err(_) => usual.spool_directory.clone(),
            },
            delete_limit: self.prepared.delete_limit,
            ..usual
        }
    }
}

fn unreachable(why: String) -> Failure {
    let (level, source) = (Level::Round, FailureSource::Remote);
    Failure::new(level, source, "remote_unavailable", why).retryable(true)
}
