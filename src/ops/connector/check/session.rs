//! One process of the connector and what it is asked.

use std::io;
use std::time::Duration;

use dpe_connector::initialize::{Identity, InitializeParams, Instance, RemoteLimits};
use dpe_connector::{ErrorCode, PROTOCOL_VERSION};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::host::{Done, Probe, Program, Reply, Trouble};
use crate::sync::ports::PluginIdentity;

use super::Subject;
use super::bench::{Found, Why};

/// The usual `max_message_bytes` (connector contract §34).
pub(super) const ROOMY: u64 = 32 << 20;

/// A method no version of the protocol has.
const UNHEARD_OF: &str = "dpe_connector_check";

/// Starts a process that is told nothing yet.
pub(super) fn start(subject: &Subject, limit: u64) -> io::Result<Probe> {
    Probe::start(
        Program {
            path: &subject.program,
            args: &subject.args,
            environment: &subject.environment,
        },
        limit,
        subject.deadlines.grace,
        &subject.mask,
        subject.on_event.clone(),
    )
}

/// A running process.
pub(super) struct Session<'s> {
    pub(super) subject: &'s Subject,
    pub(super) probe: Probe,
    /// Whether there is nobody left to ask.
    is_over: bool,
}

/// A process that has been initialised.
pub(super) struct Opened<'s> {
    pub(super) session: Session<'s>,
    pub(super) identity: PluginIdentity,
}

impl<'s> Session<'s> {
    /// Starts a process.
    pub(super) fn start(subject: &'s Subject, limit: u64) -> Found<Self> {
        let probe = start(subject, limit);
        let probe = probe.map_err(|why| Why::broken(format!("cannot be started again: {why}")))?;
        let is_over = false;
        Ok(Self {
            subject,
            probe,
            is_over,
        })
    }

    /// Starts a process and initialises it.
    pub(super) async fn open(subject: &'s Subject, limit: u64) -> Found<Opened<'s>> {
        let mut session = Self::start(subject, limit)?;
        let params = session.greeting(PROTOCOL_VERSION, subject.config.clone());
        let within = subject.deadlines.initialize;
        let done = match session.ask("initialize", params, within).await? {
            Reply::Done(done) => done,
            Reply::Refused { name, message, .. } => {
                return Err(Why::Broken(format!("refused: {name}: {message}")));
            }
        };
        let identity = done.identity(subject.manifest()).map_err(Why::Broken)?;
        if identity.protocol_version != PROTOCOL_VERSION {
            let why = format!("chose protocol {:?}", identity.protocol_version);
            return Err(Why::Broken(why));
        }
        Ok(Opened { session, identity })
    }

    /// Returns the parameters of `initialize`.
    pub(super) fn greeting(&self, version: &str, config: Box<RawValue>) -> InitializeParams {
        let limit = self.probe.limit();
        InitializeParams {
            protocol_versions: vec![version.to_owned()],
            max_message_bytes: limit,
            instance: Instance {
                uri_prefix: self.subject.uri_prefix.clone(),
                config,
            },
            runner: Some(Identity {
                name: env!("CARGO_PKG_NAME").into(),
                version: env!("CARGO_PKG_VERSION").into(),
            }),
            // As the specification has them for a remote with usual limits; a message has to hold
            // what the remote takes.
            remote_limits: Some(RemoteLimits {
                max_payload_bytes: (8 << 20).min(limit / 2),
                page_max_bytes: 256 << 20,
                blob_max_bytes: 100 << 20,
            }),
        }
    }

    /// Sends a request and waits for its response.
    pub(super) async fn ask<P: Serialize>(
        &mut self,
        method: &str,
        params: P,
        within: Duration,
    ) -> Found<Reply> {
        let id = self.begin(method, params)?;
        self.answer(id, within).await
    }

    /// Sends a request.
    pub(super) fn begin<P: Serialize>(&mut self, method: &str, params: P) -> Found<i64> {
        if self.is_over {
            return Err(Why::unknown("the process had ended, or was of no use"));
        }
        Ok(self.probe.request(method, params))
    }

    /// Waits for a response.
    pub(super) async fn answer(&mut self, id: i64, within: Duration) -> Found<Reply> {
        let answer = self.probe.answer(id, within).await;
        self.noting(answer)
    }

    /// Sends a request that should do something.
    pub(super) async fn result_of<P: Serialize>(
        &mut self,
        method: &str,
        params: P,
        within: Duration,
    ) -> Found<Done> {
        match self.ask(method, params, within).await? {
            Reply::Done(done) => Ok(done),
            Reply::Refused { code, message, .. } if code == ErrorCode::SourceFailed.number() => {
                Err(Why::Source(message))
            }
            Reply::Refused { name, message, .. } => Err(Why::Broken(format!(
                "{method} was refused: {name}: {message}"
            ))),
        }
    }

    /// Sends a request that has to be refused with this code.
    pub(super) async fn refusal_of<P: Serialize>(
        &mut self,
        method: &str,
        params: P,
        code: ErrorCode,
    ) -> Found<String> {
        let within = self.subject.deadlines.initialize;
        let expected = code.number();
        match self.ask(method, params, within).await? {
            Reply::Refused { code, .. } if code == expected => Ok(format!("refused with {code}")),
            Reply::Refused { code, message, .. }
                if method == "scan" && code == ErrorCode::SourceFailed.number() =>
            {
                Err(Why::Source(message))
            }
            Reply::Refused { code, .. } => Err(Why::Broken(format!(
                "{method} was refused with {code}, not {expected}"
            ))),
            Reply::Done(_) => Err(Why::Broken(format!(
                "{method} was answered, not refused with {expected}"
            ))),
        }
    }

    /// Returns once the process has answered something, whatever it says.
    pub(super) async fn is_alive(&mut self) -> Found<()> {
        let within = self.subject.deadlines.initialize;
        let params = dpe_connector::rpc::Empty {};
        self.ask(UNHEARD_OF, params, within).await.map(drop)
    }

    /// Sends a request for something no version of the protocol has.
    pub(super) async fn unheard_of(&mut self) -> Found<String> {
        let params = dpe_connector::rpc::Empty {};
        self.refusal_of(UNHEARD_OF, params, ErrorCode::MethodNotFound)
            .await
    }

    /// Passes a result on, and remembers that nothing can be asked any more after a trouble.
    pub(super) fn noting<T>(&mut self, result: Result<T, Trouble>) -> Found<T> {
        result.map_err(|trouble| {
            self.is_over = true;
            trouble.into()
        })
    }
}
