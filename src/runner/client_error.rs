//! What the failure of an operation means: for a round, and for a person at a command.

use std::fmt::Display;

use miette::Diagnostic;

use crate::protocol::{ErrorCode, OperationError, ReplyError};
use crate::sync::failure::{ErrorPage, Failure, FailureSource, Level};
use crate::sync::ports::{Refusal, Transport, WriteError};
use crate::sync::printable::printable;

/// Why a request did not do what it should, for a person at a command.
#[derive(Debug, thiserror::Error)]
#[error("{}", failure.message)]
pub struct ClientError {
    /// As it would be reported by a round.
    pub failure: Box<Failure>,
    /// The refusal, if it was the condition of a write that certainly did not hold.
    pub refusal: Option<Refusal>,
    /// True unless there is positive evidence that a write did not take effect (HTTP binding §16).
    pub outcome_unknown: bool,
    /// What exactly happened; reports keep to the status (connector contract §35).
    #[source]
    pub error: Option<Box<OperationError>>,
}

impl Diagnostic for ClientError {
    /// An unknown outcome is one of its own: a program that reads the code must not take it for a
    /// write that did not happen.
    fn code(&self) -> Option<Box<dyn Display + '_>> {
        Some(Box::new(if self.outcome_unknown {
            "dpe::runner::outcome_unknown"
        } else {
            "dpe::runner::remote"
        }))
    }

    fn help(&self) -> Option<Box<dyn Display + '_>> {
        Some(Box::new(self.way_out()))
    }
}

impl ClientError {
    /// Returns what the failure of a request over `transport` means. Here, and nowhere else, the
    /// texts of an error become texts for people: without the secrets of the transport, and without
    /// what moves a cursor.
    pub(super) fn over(
        transport: &impl Transport,
        error: OperationError,
        outcome_unknown: bool,
    ) -> Self {
        let error = error.hiding(|text| printable(&transport.hide(text)).into_owned());
        Self::of(error, outcome_unknown)
    }

    /// Returns the error of a reply that is well-formed and cannot be. `why` is written here.
    pub(crate) fn unexpected(status: u16, why: &str) -> Self {
        let reply = ReplyError::Unexpected {
            status,
            why: why.to_owned(),
            retry_after: None,
            line: None,
        };
        Self::of(reply.into(), false)
    }

    /// Returns what a person can do about it.
    fn way_out(&self) -> &'static str {
        match self.error.as_deref() {
            _ if self.outcome_unknown => {
                "look at what the remote holds now, by `dpe show`: the write may have arrived. To \
                 do the same once more is safe, unless it was forced"
            }
            Some(OperationError::MissingBlob { .. }) => {
                "give the bytes of the blob, to `dpe commit` by --blob FILE"
            }
            _ => way_out(&self.failure),
        }
    }

    fn of(error: OperationError, outcome_unknown: bool) -> Self {
        Self {
            failure: Box::new(classify(&error, outcome_unknown)),
            refusal: refusal(&error).filter(|_| !outcome_unknown),
            outcome_unknown,
            error: Some(Box::new(error)),
        }
    }
}

impl From<ClientError> for WriteError {
    fn from(error: ClientError) -> Self {
        Self {
            failure: *error.failure,
            outcome_unknown: error.outcome_unknown,
            refusal: error.refusal,
        }
    }
}

impl From<WriteError> for ClientError {
    fn from(error: WriteError) -> Self {
        Self {
            failure: Box::new(error.failure),
            refusal: error.refusal,
            outcome_unknown: error.outcome_unknown,
            error: None,
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
        "definition_invalid" => "check the host of the remote and the value of the credential",
        "remote_incompatible" => "use a remote and a version of dpe that speak the same contract",
        "remote_protocol_error" => "check that the location is that of a DPE remote",
        "DPE_SESSION_EXPIRED" => "try again; what was uploaded has to be uploaded anew",
        "DPE_FORBIDDEN" => "ask whoever runs the remote for the right to this document",
        _ if failure.retryable => "try again later",
        _ => "the code says what has to change before this can succeed",
    }
}

fn refusal(error: &OperationError) -> Option<Refusal> {
    match error.code()? {
        ErrorCode::PreconditionFailed => Some(Refusal::PreconditionFailed),
        ErrorCode::AlreadyExists => Some(Refusal::AlreadyExists),
        ErrorCode::NotFound => Some(Refusal::NotFound),
        _ => None,
    }
}

/// The table of connector contract §25.2. "Not DPE" comes before "unknown": it decides how the
/// round ends, while the intent is kept all the same.
fn classify(error: &OperationError, outcome_unknown: bool) -> Failure {
    Failure {
        page: error.page_line().map(|line| {
            Box::new(ErrorPage {
                line: line.to_owned(),
            })
        }),
        ..classify_operation(error, outcome_unknown)
    }
}

fn classify_operation(error: &OperationError, outcome_unknown: bool) -> Failure {
    let remote = |level, code: &'static str, message: String| {
        Failure::new(level, FailureSource::Remote, code, message)
    };
    let unavailable = |message| remote(Level::Round, "remote_unavailable", message).retryable(true);
    match error {
        OperationError::Reply(reply) => classify_reply(reply, outcome_unknown),
        OperationError::Credential { message } => {
            // Contract §7.1: for somebody to mend.
            let source = FailureSource::Runner;
            Failure::new(Level::Instance, source, "secret_missing", message.clone())
        }
        // Never sent, and never will be: the address or the credential cannot be written as HTTP.
        OperationError::LocalRequest { .. } if !outcome_unknown => {
            let source = FailureSource::Runner;
            Failure::new(
                Level::Instance,
                source,
                "definition_invalid",
                error.to_string(),
            )
        }
        OperationError::NotSent { .. }
        | OperationError::LocalRequest { .. }
        | OperationError::Lost { .. }
        | OperationError::ForceNotConfirmed { .. } => unavailable(error.to_string()),
        _ if outcome_unknown => unavailable(undecided(error)),
        OperationError::BlobUnreadable { .. } => {
            let message = error.to_string();
            let source = FailureSource::Blob;
            Failure::new(Level::Item, source, "blob_read_failed", message).retryable(true)
        }
        OperationError::TooLarge { .. } => {
            let code = ErrorCode::PayloadTooLarge.as_str();
            remote(Level::Item, code, error.to_string())
        }
        OperationError::MissingBlob { .. } => {
            let code = ErrorCode::MissingContent.as_str();
            remote(Level::Item, code, error.to_string())
        }
    }
}

fn classify_reply(error: &ReplyError, outcome_unknown: bool) -> Failure {
    let remote = FailureSource::Remote;
    match error {
        ReplyError::Coded(coded) if coded.status == 401 => unauthorized(),
        ReplyError::Coded(coded) if coded.known == Some(ErrorCode::ContractUnsupported) => {
            let message = coded.message.clone();
            Failure::new(Level::Instance, remote, "remote_incompatible", message)
        }
        ReplyError::Coded(coded) if coded.retryable => {
            let message = format!("the remote says {}: {}", coded.code, coded.message);
            Failure::new(Level::Round, remote, "remote_unavailable", message).retryable(true)
        }
        ReplyError::Coded(_) if outcome_unknown => {
            Failure::new(Level::Round, remote, "remote_unavailable", undecided(error))
                .retryable(true)
        }
        ReplyError::Coded(coded) => {
            let message = coded.message.clone();
            Failure::new(Level::Item, remote, coded.code.clone(), message)
        }
        ReplyError::Unexpected { status: 401, .. } => unauthorized(),
        ReplyError::Unexpected { status, .. } => {
            let message = format!("the remote answered with status {status}, which is not DPE");
            Failure::new(Level::Round, remote, "remote_protocol_error", message)
                .retryable((500..600).contains(status))
        }
        ReplyError::Incompatible { .. } => Failure::new(
            Level::Instance,
            remote,
            "remote_incompatible",
            error.to_string(),
        ),
    }
}

fn unauthorized() -> Failure {
    let message = "the remote wants a credential (status 401)";
    let code = "remote_unauthorized";
    Failure::new(Level::Instance, FailureSource::Remote, code, message)
}

/// Returns a failure of the remote as the connector contract has it: a request that cannot be
/// built is for now a remote that cannot be reached (§25.2, §35). A person is told what to mend.
pub fn by_the_contract(failure: Failure) -> Failure {
    if failure.code != "definition_invalid" {
        return failure;
    }
    Failure {
        level: Level::Round,
        source: FailureSource::Remote,
        code: "remote_unavailable".into(),
        retryable: true,
        ..failure
    }
}

fn undecided(error: &dyn std::error::Error) -> String {
    format!("an earlier attempt may have taken effect; the last one ended with {error}")
}
