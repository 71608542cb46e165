//! The documents of a remote behind a transport: requests out, replies read, failures classified.

use std::time::Duration;

use crate::model::{Contract, FileUri, Hash, Tree};
use crate::protocol::wire::{capabilities, commit, delete, head, heads, list, move_, skeleton};
use crate::protocol::{ErrorCode, ReplyError, Request, Response, Wait, problem};
use crate::sync::blobs::Blobs;
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::{
    Base, Committed, LocalFault, Refusal, Remote, Transport, TransportFailure, WriteError,
};

/// Repetitions of one request (HTTP binding §22).
const MAX_RETRIES: u32 = 2;
/// The longest delay that is waited for; beyond it the error is returned.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// The delay when the remote names none.
const DEFAULT_WAIT: Duration = Duration::from_secs(1);

/// A remote whose capabilities are known.
#[derive(Debug)]
pub struct Client<T> {
    transport: T,
    contract: Contract,
    capabilities: capabilities::Capabilities,
}

/// Why a request did not do what it should, for a person at a command.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("{}", failure.message)]
#[diagnostic(code(dpe::runner::remote), help("{}", way_out(failure)))]
pub struct ClientError {
    /// As it would be reported by a round.
    pub failure: Failure,
    /// The refusal, if it was the condition of a write that did not hold.
    pub refusal: Option<Refusal>,
    /// What exactly the remote answered; reports keep to the status (connector contract §35).
    #[source]
    reply: Option<Box<ReplyError>>,
}

impl From<WriteError> for ClientError {
    fn from(error: WriteError) -> Self {
        Self {
            failure: error.failure,
            refusal: error.refusal,
            reply: None,
        }
    }
}

impl From<ReplyError> for ClientError {
    fn from(reply: ReplyError) -> Self {
        Self {
            failure: classify(&reply),
            refusal: None,
            reply: Some(Box::new(reply)),
        }
    }
}

/// Returns what a person can do about a failure of a remote.
pub fn way_out(failure: &Failure) -> &'static str {
    match &*failure.code {
        "remote_unauthorized" => {
            "give the complete Authorization value of a caller the remote knows by \
             DPE_AUTHORIZATION, DPE_AUTHORIZATION_FILE or DPE_AUTHORIZATION_COMMAND"
        }
        "secret_missing" => "mend what the variable names, or unset it to go without a credential",
        "remote_incompatible" => "use a remote and a version of dpe that speak the same contract",
        "remote_protocol_error" => "check that the location is that of a DPE remote",
        "DPE_FORBIDDEN" => "ask whoever runs the remote for the right to this document",
        _ if failure.retryable => "try again later",
        _ => "the code says what has to change before this can succeed",
    }
}

impl<T: Transport> Client<T> {
    /// Fetches the capabilities and makes sure that both sides speak `contract`.
    ///
    /// # Errors
    ///
    /// When the remote cannot be reached, is no DPE/1 remote, or does not take the contract.
    pub async fn connect(transport: T, contract: Contract) -> Result<Self, Failure> {
        let reply = exchange(&transport, capabilities::Request.into_http(), Resend::Safe)
            .await
            .map_err(|error| error.failure)?;
        let capabilities = capabilities::decode(&reply)
            .map_err(|error| read_failed(&error).failure)
            .map_err(|failure| match failure.level {
                Level::Item => Failure {
                    level: Level::Round,
                    ..failure
                },
                _ => failure,
            })?;
        if !capabilities.accepts(contract) {
            return Err(Failure::new(
                Level::Instance,
                FailureSource::Remote,
                "remote_incompatible",
                format!(
                    "the remote does not take hashes of contract {}",
                    contract.name()
                ),
            ));
        }
        Ok(Self {
            transport,
            contract,
            capabilities,
        })
    }

    /// Returns what the remote declared.
    pub fn capabilities(&self) -> &capabilities::Capabilities {
        &self.capabilities
    }

    /// Returns the transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Returns the doc_hash of one document, or `None` where there is none.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read.
    pub async fn head(&self, uri: &FileUri) -> Result<Option<Hash>, ClientError> {
        let request = head::Request { uri: uri.as_str() };
        let reply = self.read(request.into_http(self.contract)).await?;
        Ok(head::decode(&reply, self.contract)?)
    }

    /// Returns the document object and all page objects of one document.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read, or sends something that its own hashes contradict.
    pub async fn skeleton(&self, uri: &FileUri) -> Result<Option<skeleton::Skeleton>, ClientError> {
        let request = skeleton::Request { uri };
        let reply = self.read(request.into_http(self.contract)).await?;
        Ok(skeleton::decode(&reply, self.contract, uri)?)
    }

    /// Returns one page of the documents whose URI begins with `prefix`.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read.
    pub async fn list(
        &self,
        prefix: &str,
        cursor: Option<&str>,
    ) -> Result<list::Reply, ClientError> {
        let request = list::Request {
            prefix,
            cursor,
            limit: None,
        };
        let reply = self.read(request.into_http(self.contract)).await?;
        Ok(list::decode(&reply, self.contract)?)
    }

    async fn read(&self, request: Request) -> Result<Response, WriteError> {
        exchange(&self.transport, request, Resend::Safe).await
    }

    async fn write(&self, request: Request) -> Result<Response, WriteError> {
        exchange(&self.transport, request, Resend::Never).await
    }

    /// Refuses a body that the remote would refuse, before any of it is sent (§13.2).
    fn check_size(&self, request: &Request) -> Result<(), WriteError> {
        let length = request.body.as_ref().map_or(0, |body| body.len() as u64);
        let limit = self.capabilities.limits.max_payload_bytes;
        if length <= limit {
            return Ok(());
        }
        let failure = Failure::new(
            Level::Item,
            FailureSource::Remote,
            ErrorCode::PayloadTooLarge.as_str(),
            format!("the document takes {length} bytes in one request; the remote takes {limit}"),
        );
        Err(WriteError {
            failure,
            outcome_unknown: false,
            refusal: None,
        })
    }
}

impl<T: Transport> Remote for Client<T> {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        let at_once = usize::try_from(self.capabilities.limits.batch_head_max)
            .unwrap_or(usize::MAX)
            .max(1);
        let mut all = Vec::with_capacity(uris.len());
        for uris in uris.chunks(at_once) {
            let texts: Vec<&str> = uris.iter().map(FileUri::as_str).collect();
            let request = heads::Request { uris: &texts };
            let reply = self.read(request.into_http(self.contract)).await?;
            let heads = heads::decode(&reply, self.contract, uris.len())
                .map_err(|error| read_failed(&error))?;
            all.extend(heads);
        }
        Ok(all)
    }

    async fn is_empty(&self, prefix: &str) -> Result<bool, WriteError> {
        let request = list::Request {
            prefix,
            cursor: None,
            limit: Some(1),
        };
        let reply = self.read(request.into_http(self.contract)).await?;
        let listed = list::decode(&reply, self.contract).map_err(|error| read_failed(&error))?;
        Ok(listed.documents.is_empty())
    }

    async fn commit(
        &self,
        uri: &FileUri,
        base: Base,
        tree: &Tree,
        _blobs: &Blobs,
    ) -> Result<Committed, WriteError> {
        let pages: Vec<&str> = tree.pages.iter().map(|page| &*page.text).collect();
        let objects: Vec<&str> = tree.elements.iter().map(|element| &*element.text).collect();
        let request = commit::Request {
            uri,
            precondition: match base {
                Base::Absent => commit::Precondition::IfAbsent,
                Base::Hash(hash) => commit::Precondition::Base(hash),
            },
            document: &tree.document,
            pages: &pages,
            objects: &objects,
            staging_session: None,
        }
        .into_http(self.contract);
        self.check_size(&request)?;
        let reply = self.write(request).await?;
        let reply = commit::decode(&reply, self.contract, tree.doc_hash, tree.element_count)
            .map_err(|error| write_failed(&error))?;
        Ok(match reply.status {
            commit::Status::Created => Committed::Created,
            commit::Status::Updated => Committed::Updated,
            commit::Status::Unchanged => Committed::Unchanged,
        })
    }

    async fn delete(&self, uri: &FileUri, base: Hash) -> Result<(), WriteError> {
        let request = delete::Request { uri, base };
        let reply = self.write(request.into_http(self.contract)).await?;
        delete::decode(&reply, self.contract).map_err(|error| write_failed(&error))
    }

    async fn rename(&self, from: &FileUri, to: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        let request = move_::Request { from, to, base };
        let reply = self.write(request.into_http(self.contract)).await?;
        move_::decode(&reply, self.contract, base).map_err(|error| write_failed(&error))
    }
}

/// Whether a request whose reply was lost may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resend {
    /// It changes nothing.
    Safe,
    /// It may have taken effect.
    Never,
}

impl Resend {
    fn allows(self, lost: &TransportFailure) -> bool {
        lost.local.is_none() && (lost.definitely_not_sent || self == Self::Safe)
    }
}

/// Sends a request, again where that is safe (HTTP binding §15.2, transport layer).
async fn exchange<T: Transport>(
    transport: &T,
    request: Request,
    resend: Resend,
) -> Result<Response, WriteError> {
    let mut retries = 0;
    loop {
        let sent = transport.send(request.clone()).await;
        let again = retries < MAX_RETRIES;
        match sent {
            Ok(response) => match delay(&response) {
                Some(wait) if again => tokio::time::sleep(wait).await,
                _ => return Ok(response),
            },
            Err(lost) if again && resend.allows(&lost) => {}
            Err(lost) => return Err(transport_failed(lost)),
        }
        retries += 1;
    }
}

/// A credential that cannot be had is for somebody to mend (connector contract §7.1); everything
/// else about a network may pass (§25.2).
fn transport_failed(lost: TransportFailure) -> WriteError {
    let (level, source, code) = match lost.local {
        Some(LocalFault::Credential) => (Level::Instance, FailureSource::Runner, "secret_missing"),
        _ => (Level::Round, FailureSource::Remote, "remote_unavailable"),
    };
    let failure = Failure::new(level, source, code, lost.message);
    WriteError {
        failure: failure.retryable(level == Level::Round),
        outcome_unknown: !lost.definitely_not_sent,
        refusal: None,
    }
}

/// Returns how long to wait before the same request may succeed, if it may: the body says so
/// first, then the header (§14.1).
fn delay(response: &Response) -> Option<Duration> {
    if response.status < 400 {
        return None;
    }
    let coded = problem::read(response, None).filter(|coded| coded.retryable)?;
    let named = coded
        .retry_after
        .and_then(|value| value.wait(jiff::Timestamp::now()));
    match named {
        None => Some(DEFAULT_WAIT),
        Some(Wait::Seconds(seconds)) => {
            let wait = Duration::from_secs(seconds);
            (wait <= LONGEST_WAIT).then_some(wait)
        }
        Some(_) => None,
    }
}

fn read_failed(error: &ReplyError) -> WriteError {
    WriteError {
        failure: classify(error),
        outcome_unknown: false,
        refusal: None,
    }
}

/// The outcome of a write is known only from a reply with a DPE code (§16).
fn write_failed(error: &ReplyError) -> WriteError {
    let refusal = match error {
        ReplyError::Coded(coded) => match coded.known {
            Some(ErrorCode::PreconditionFailed) => Some(Refusal::PreconditionFailed),
            Some(ErrorCode::AlreadyExists) => Some(Refusal::AlreadyExists),
            Some(ErrorCode::NotFound) => Some(Refusal::NotFound),
            _ => None,
        },
        _ => None,
    };
    WriteError {
        failure: classify(error),
        outcome_unknown: !matches!(error, ReplyError::Coded(_)),
        refusal,
    }
}

/// The table of connector contract §25.2.
fn classify(error: &ReplyError) -> Failure {
    let remote = FailureSource::Remote;
    match error {
        ReplyError::Coded(coded) if coded.known == Some(ErrorCode::ContractUnsupported) => {
            let message = coded.message.clone();
            Failure::new(Level::Instance, remote, "remote_incompatible", message)
        }
        ReplyError::Coded(coded) if coded.retryable => {
            let message = format!("the remote says {}: {}", coded.code, coded.message);
            Failure::new(Level::Round, remote, "remote_unavailable", message).retryable(true)
        }
        ReplyError::Coded(coded) => {
            let message = coded.message.clone();
            Failure::new(Level::Item, remote, coded.code.clone(), message)
        }
        ReplyError::Unexpected { status: 401, .. } => {
            let message = "the remote wants a credential (status 401)";
            Failure::new(Level::Instance, remote, "remote_unauthorized", message)
        }
        ReplyError::Unexpected { status, .. } => {
            let message = format!("the remote answered with status {status}, which is not DPE");
            Failure::new(Level::Round, remote, "remote_protocol_error", message)
                .retryable(*status >= 500)
        }
        ReplyError::Incompatible { .. } => Failure::new(
            Level::Instance,
            remote,
            "remote_incompatible",
            error.to_string(),
        ),
    }
}
