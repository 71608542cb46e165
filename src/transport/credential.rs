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
            Some(Credential::Command(command)) => {
                text("the command of the credential", output(command).await?)?
            }
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

/// Runs a command of the shell and returns what it printed. What it says on stderr is for the
/// person who wrote it, and passes by.
async fn output(command: &Secret) -> Result<Vec<u8>, TransportFailure> {
    let (shell, flag) = if cfg!(windows) {
        ("cmd", "/C")
    } else {
        ("sh", "-c")
    };
    let running = Command::new(shell)
        .arg(flag)
        .arg(command.expose())
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
