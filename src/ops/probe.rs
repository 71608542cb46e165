//! Tries a remote out without writing: what it says of itself, what it lets us do, how far away it is.

use std::time::{Duration, Instant};

use http::header;
use jiff::Timestamp;

use crate::model::{Contract, FileUri, Hash};
use crate::protocol::wire::capabilities;
use crate::runner::ClientError;
use crate::sync::ports::{Remote, Transport};

use super::remote::RemoteClient;

/// How many requests are timed.
const REQUESTS: usize = 5;

/// Last part of a URI below a prefix that no document has.
const NOBODY: &str = ".dpe-remote-test/no-such-document";

/// Whether something is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// It is.
    Allowed,
    /// It is not, and why.
    Denied(String),
    /// The remote answered something else.
    Unknown(String),
}

/// What was found out.
#[derive(Clone, Debug)]
pub struct Probed {
    /// The median of some requests.
    pub latency: Duration,
    /// How far the clock of the remote is ahead of ours, in seconds; nothing if it does not tell.
    pub clock_ahead: Option<i64>,
    /// Whether documents may be read.
    pub read: Access,
    /// Whether documents may be written; nothing if no prefix was given.
    pub write: Option<Access>,
}

/// Tries a remote out. Below `prefix`, the head of a document that is not there is asked, and a delete of it
/// whose condition cannot hold: a remote says whether a caller may do such things before it looks for the
/// document (HTTP binding, evaluation of requests), so the answer tells what is allowed and nothing changes.
///
/// # Errors
///
/// When the remote cannot be reached.
pub async fn probe(client: &RemoteClient, prefix: Option<&FileUri>) -> Result<Probed, ClientError> {
    let (latency, clock_ahead) = timed(client).await;
    let uri = match prefix {
        Some(prefix) => below(prefix),
        None => FileUri::parse(&format!("dpe://{NOBODY}")).ok(),
    };
    let Some(uri) = uri else {
        let why = || "no URI can be made below this prefix".to_owned();
        return Ok(Probed {
            latency,
            clock_ahead,
            read: Access::Unknown(why()),
            write: Some(Access::Unknown(why())),
        });
    };
    let read = match client.head(&uri).await {
        Ok(_) => Access::Allowed,
        Err(error) => access(error)?,
    };
    let write = match prefix {
        None => None,
        Some(_) => Some(may_delete(client, &uri).await?),
    };
    Ok(Probed {
        latency,
        clock_ahead,
        read,
        write,
    })
}

fn below(prefix: &FileUri) -> Option<FileUri> {
    let slash = if prefix.as_str().ends_with('/') {
        ""
    } else {
        "/"
    };
    FileUri::parse(&format!("{prefix}{slash}{NOBODY}")).ok()
}

async fn may_delete(client: &RemoteClient, uri: &FileUri) -> Result<Access, ClientError> {
    let nothing = Hash::new(Contract::DEFAULT, [0; 32]);
    match client.delete(uri, nothing).await {
        Ok(()) => Ok(Access::Allowed),
        // What the condition says is said to those only who may write.
        Err(error) if error.refusal.is_some() => Ok(Access::Allowed),
        Err(error) => access(error.into()),
    }
}

/// Returns what an error says of access, or the error if it is none of the remote's.
fn access(error: ClientError) -> Result<Access, ClientError> {
    let why = error.failure.message.clone();
    match &*error.failure.code {
        "DPE_FORBIDDEN" | "remote_unauthorized" => Ok(Access::Denied(why)),
        code if code.starts_with("DPE_") => Ok(Access::Unknown(why)),
        _ => Err(error),
    }
}

/// Asks for the capabilities some times. What goes wrong is told by the requests that follow.
async fn timed(client: &RemoteClient) -> (Duration, Option<i64>) {
    let (mut times, mut ahead) = (Vec::new(), None);
    for _ in 0..REQUESTS {
        let begun = Instant::now();
        let response = client
            .transport()
            .send(capabilities::Request.into_http())
            .await;
        times.push(begun.elapsed());
        let date = response
            .ok()
            .and_then(|response| response.header(&header::DATE).map(|date| date.into_owned()));
        let date = date.and_then(|date| jiff::fmt::rfc2822::parse(&date).ok());
        ahead =
            ahead.or(date.map(|date| date.timestamp().as_second() - Timestamp::now().as_second()));
    }
    times.sort_unstable();
    (times[REQUESTS / 2], ahead)
}
