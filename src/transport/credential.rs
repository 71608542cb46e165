//! Asks for the credential of a remote, anew before every attempt (HTTP binding §13.3).

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use http::HeaderValue;
use tokio::process::Command;

use crate::config::{Credential, Mask, Secret};
use crate::sync::ports::{LocalFault, TransportFailure};

use super::header;

/// How long a command may take. A person may have to touch a key for it.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Gives the `Authorization` value, if there is to be one.
#[derive(Debug)]
pub(super) struct Provider {
    source: Option<Credential>,
    mask: Mask,
}

impl Provider {
    /// Returns a provider that makes every value it gives known to `mask`.
    pub(super) fn new(source: Option<Credential>, mask: Mask) -> Self {
        Self { source, mask }
    }

    /// Returns the value for one attempt.
    ///
    /// # Errors
    ///
    /// A local failure: the source gives nothing, or something no header can hold.
    pub(super) async fn authorization(&self) -> Result<Option<HeaderValue>, TransportFailure> {
        let value = match &self.source {
            None => return Ok(None),
            Some(Credential::Value(value)) => value.clone(),
            Some(Credential::File(path)) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
                let bytes = read
                    .map_err(|_| missing("the file of the credential cannot be read"))?
                    .map_err(|error| {
                        missing(format!(
                            "the file of the credential cannot be read: {error}"
                        ))
                    })?;
                text("the file of the credential", bytes)?
            }
            Some(Credential::Command(command)) => text(
                "the command of the credential",
                output(shell(command)).await?,
            )?,
            Some(Credential::Program(command)) => text(
                "the command of the credential",
                output(program(command)?).await?,
            )?,
            Some(Credential::Variable(name)) => variable(name)?,
        };
        self.mask.add_authorization(&value);
        let mut value = header::value(value.expose()).ok_or_else(|| {
            let why = "the credential has characters that no header can have";
            TransportFailure::local(LocalFault::Request, why)
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

/// Returns the value of a variable.
fn variable(name: &str) -> Result<Secret, TransportFailure> {
    let value = std::env::var_os(name)
        .ok_or_else(|| missing(format!("the variable {name} of the credential is not set")))?;
    let value = value.into_string();
    let value = value.map_err(|_| missing(format!("the variable {name} is not valid Unicode")))?;
    Secret::of_variable(value).map_err(|why| missing(format!("the variable {name} {why}")))
}

/// Returns a command of the shell.
fn shell(command: &Secret) -> Command {
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let mut started = Command::new(shell);
    started.arg(flag).arg(command.expose());
    started
}

/// Returns a program and its arguments as they are.
fn program(command: &[String]) -> Result<Command, TransportFailure> {
    let (program, arguments) = command
        .split_first()
        .ok_or_else(|| missing("the command of the credential is empty"))?;
    let mut started = Command::new(program);
    started.args(arguments);
    Ok(started)
}

/// Runs a command and returns what it printed. What it says on stderr is for the person who wrote it,
/// and passes by.
async fn output(mut command: Command) -> Result<Vec<u8>, TransportFailure> {
    let running = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(COMMAND_TIMEOUT, running).await;
    let output = ended
        .map_err(|_| missing("the command of the credential does not come to an end"))?
        .map_err(|error| {
            missing(format!(
                "the command of the credential cannot be run: {error}"
            ))
        })?;
    match output.status {
        status if ExitStatus::success(&status) => Ok(output.stdout),
        status => Err(missing(format!(
            "the command of the credential failed: {status}"
        ))),
    }
}

/// Reads a value (connector contract §7.1).
fn text(source: &str, bytes: Vec<u8>) -> Result<Secret, TransportFailure> {
    Secret::of_file(bytes).map_err(|why| missing(format!("{source} {why}")))
}

fn missing(why: impl Into<String>) -> TransportFailure {
    TransportFailure::local(LocalFault::Credential, why)
}
