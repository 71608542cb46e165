//! A connector as the runner uses it: started, asked for batches, closed.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use dpe_connector::initialize::{Identity, InitializeParams, Instance, RemoteLimits};
use dpe_connector::manifest::Manifest;
use dpe_connector::read_blob::{ReadBlobParams, largest_chunk};
use dpe_connector::rpc::Empty;
use dpe_connector::{PROTOCOL_VERSION, ScanParams};

use crate::config::Mask;
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::{
    Batch, BlobChunk, BlobFailure, PluginIdentity, ScanFailure, ScanRequest, Source,
};

use super::blob;
use super::connection::{Answer, Broken, Connection};
use super::event::OnProcess;
use super::initialize;
use super::message::{ErrorResponse, Outcome};
use super::scan::{Asked, NoBatch, batch};
use super::spawn::{Program, spawn};

/// Default of `max_message_bytes` (connector contract §34).
const DEFAULT_MESSAGE_BYTES: u64 = 32 << 20;

/// Room above the remote's largest payload.
const MESSAGE_HEADROOM_BYTES: u64 = 1 << 20;

/// Returns the `max_message_bytes` of a process: what is configured, raised so that anything the
/// remote takes fits (connector contract §9).
pub fn message_limit(configured: Option<u64>, max_payload_bytes: u64) -> u64 {
    configured
        .unwrap_or(DEFAULT_MESSAGE_BYTES)
        .max(max_payload_bytes.saturating_add(MESSAGE_HEADROOM_BYTES))
}

/// How long a plugin may take (connector contract §34).
#[derive(Clone, Copy, Debug)]
pub struct Deadlines {
    /// For `initialize`.
    pub initialize: Duration,
    /// For one `scan`.
    pub scan: Duration,
    /// For one `read_blob`.
    pub blob: Duration,
    /// For everything that should happen at once: an answer to `cancel` or `shutdown`, the exit.
    pub grace: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self {
            initialize: Duration::from_secs(30),
            scan: Duration::from_secs(300),
            blob: Duration::from_secs(60),
            grace: Duration::from_secs(5),
        }
    }
}

/// Everything that is needed to start a plugin.
pub struct Launch<'a> {
    /// What is executed, directly.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment, see [`super::plugin_environment`].
    pub environment: Vec<(OsString, OsString)>,
    /// What it has to be.
    pub manifest: &'a Manifest,
    /// Prefix and configuration.
    pub instance: Instance,
    /// Limits of the remote, if they are known.
    pub remote_limits: Option<RemoteLimits>,
    /// See [`message_limit`].
    pub max_message_bytes: u64,
    /// How long it may take.
    pub deadlines: Deadlines,
    /// Hides secrets in what it writes on its stderr.
    pub mask: Mask,
    /// Told what becomes of it.
    pub on_event: OnProcess,
}

/// A plugin that has been initialised.
#[derive(Debug)]
pub struct ConnectorProcess {
    /// Nothing once it has broken the contract and was killed.
    connection: Option<Connection>,
    identity: PluginIdentity,
    deadlines: Deadlines,
    cursor_given: bool,
}

impl ConnectorProcess {
    /// Starts a plugin and initialises it.
    ///
    /// # Errors
    ///
    /// `definition_invalid` if the program cannot be started; otherwise as §10 says. The process
    /// is gone then.
    pub async fn start(launch: Launch<'_>) -> Result<Self, Failure> {
        let deadlines = launch.deadlines;
        let mut connection = connect(&launch)?;
        match greet(&mut connection, launch).await {
            Ok(identity) => Ok(Self {
                connection: Some(connection),
                identity,
                deadlines,
                cursor_given: false,
            }),
            Err(failure) => {
                connection.kill().await;
                Err(failure)
            }
        }
    }

    /// Ends the process because of what it did, and returns what is reported.
    async fn break_off(&mut self, failure: Failure) -> Failure {
        if let Some(connection) = self.connection.take() {
            connection.kill().await;
        }
        failure
    }
}

impl Source for ConnectorProcess {
    fn identity(&self) -> &PluginIdentity {
        &self.identity
    }

    async fn scan(&mut self, request: ScanRequest) -> Result<Batch, ScanFailure> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(ended_before().into());
        };
        let is_following = request.next.is_some();
        if !is_following {
            self.cursor_given = request.cursor.is_some();
        }
        let params = ScanParams {
            cursor: request.cursor,
            next: request.next,
            max_items: (request.max_items > 0).then_some(request.max_items),
        };
        let asked = Asked {
            cursor_given: self.cursor_given,
            supports_cursor: self.identity.supports_cursor,
        };
        let answer = connection.exchange("scan", params, self.deadlines.scan);
        let (failure, incremental) = match answer.await {
            Ok(Answer::InTime(Outcome::Result(result))) => match batch(result.value(), asked) {
                Ok(batch) => return Ok(batch),
                Err(NoBatch { why, incremental }) => {
                    let why = format!("the result of scan: {why}");
                    (violation(&why), incremental)
                }
            },
            Ok(Answer::InTime(Outcome::Error(error))) => {
                return Err(scan_refused(&error, is_following).into());
            }
            Ok(Answer::AfterCancel) => {
                let why = format!("no batch within {:?}", self.deadlines.scan);
                return Err(Failure::round("timeout", why).retryable(true).into());
            }
            Err(broken) => (of(&broken), None),
        };
        Err(ScanFailure {
            failure: self.break_off(failure).await,
            incremental,
        })
    }

    async fn read_blob(
        &mut self,
        handle: &str,
        offset: u64,
        max_bytes: u64,
    ) -> Result<BlobChunk, BlobFailure> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(BlobFailure::Ended(ended_before()));
        };
        let max_bytes = max_bytes.min(largest_chunk(connection.limit()));
        let params = ReadBlobParams {
            handle: handle.to_owned(),
            offset,
            max_bytes,
        };
        let deadline = self.deadlines.blob;
        match connection.exchange("read_blob", params, deadline).await {
            Ok(Answer::InTime(Outcome::Result(result))) => {
                blob::chunk(result.value(), max_bytes).map_err(|why| blob::malformed(&why))
            }
            Ok(Answer::InTime(Outcome::Error(error))) => Err(blob::refused(&error)),
            Ok(Answer::AfterCancel) => Err(BlobFailure::Unread {
                message: format!("read_blob was not answered within {deadline:?}"),
                retryable: true,
            }),
            Err(broken) => Err(BlobFailure::Ended(self.break_off(of(&broken)).await)),
        }
    }

    async fn close(mut self) -> Result<(), Failure> {
        // What broke off a plugin has been reported already.
        let Some(mut connection) = self.connection.take() else {
            return Ok(());
        };
        if let Some(status) = connection.exit_status() {
            connection.end().await;
            return Err(exited(status));
        }
        let grace = self.deadlines.grace;
        let answer = connection.ask("shutdown", Empty {}, grace).await;
        connection.end().await;
        match answer {
            Err(Broken::Exited(status)) if !status.success() => Err(exited(status)),
            // Whatever else it did instead of answering, the round is over and it is gone.
            _ => Ok(()),
        }
    }
}

fn connect(launch: &Launch<'_>) -> Result<Connection, Failure> {
    let failed = |why: &std::io::Error| {
        let why = format!("cannot start {}: {why}", launch.program.display());
        Failure::instance("definition_invalid", why)
    };
    let program = Program {
        path: &launch.program,
        args: &launch.args,
        environment: &launch.environment,
    };
    let on_event = Arc::clone(&launch.on_event);
    let started = spawn(program, &launch.mask, on_event).map_err(|why| failed(&why))?;
    Ok(Connection::new(
        started,
        launch.max_message_bytes,
        launch.deadlines.grace,
        Arc::clone(&launch.on_event),
    ))
}

async fn greet(connection: &mut Connection, launch: Launch<'_>) -> Result<PluginIdentity, Failure> {
    let params = InitializeParams {
        protocol_versions: vec![PROTOCOL_VERSION.into()],
        max_message_bytes: connection.limit(),
        instance: launch.instance,
        runner: Some(Identity {
            name: env!("CARGO_PKG_NAME").into(),
            version: env!("CARGO_PKG_VERSION").into(),
        }),
        remote_limits: launch.remote_limits,
    };
    let deadline = launch.deadlines.initialize;
    match connection.exchange("initialize", params, deadline).await {
        Ok(Answer::InTime(Outcome::Result(result))) => {
            initialize::identity(result.value(), launch.manifest)
        }
        Ok(Answer::InTime(Outcome::Error(error))) => Err(initialize::refused(&error)),
        Ok(Answer::AfterCancel) | Err(Broken::Unresponsive) => Err(Failure::round(
            "timeout",
            format!("initialize was not answered within {deadline:?}"),
        )),
        Err(broken) => Err(of(&broken)),
    }
}

fn ended_before() -> Failure {
    let why = "the plugin was ended after an earlier failure";
    Failure::round("plugin_crashed", why)
}

fn scan_refused(error: &ErrorResponse, is_following: bool) -> Failure {
    let name = error.name();
    // An expired continuation: the round is void and begins anew from the old cursor (§11).
    let retryable = error.is_retryable() || (is_following && name == "invalid_params");
    Failure::new(
        Level::Round,
        FailureSource::Plugin,
        name,
        error.message.clone(),
    )
    .retryable(retryable)
}

fn of(broken: &Broken) -> Failure {
    match broken {
        Broken::Violation(why) => violation(why),
        Broken::Exited(status) => exited(*status),
        Broken::Unresponsive => Failure::round("timeout", "the plugin does not react to cancel"),
    }
}

/// The two ends without shutdown of §17.
fn exited(status: ExitStatus) -> Failure {
    if status.success() {
        violation("the plugin exited with code 0 without a shutdown")
    } else {
        Failure::round("plugin_crashed", format!("the plugin ended with {status}"))
    }
}

fn violation(why: &str) -> Failure {
    Failure::protocol(format!("the plugin broke the protocol: {why}"))
}
