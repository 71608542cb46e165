//! A plugin held by its bare wire, for whoever examines it.
//!
//! The runner ends a plugin at the first broken rule; here a plugin may be sent anything, and what
//! it does is told apart. Which rule is examined how is for others to decide. However the
//! examination ends, the process and all it started are gone afterwards.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use dpe_connector::manifest::Manifest;
use dpe_connector::rpc::{CancelParams, Outgoing};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, timeout};

use crate::config::Mask;
use crate::json::Text;
use crate::sync::ports::{Batch, BlobChunk, PluginIdentity};

use super::blob;
use super::event::OnProcess;
use super::group::ProcessGroup;
use super::initialize;
use super::lines::{LineReader, NextLine};
use super::message::{self, ErrorResponse, Outcome, Response, ResultText};
use super::scan::{Asked, batch};
use super::spawn::{Program, Started, spawn};

/// So much of a line that is no message is quoted, in bytes.
const QUOTED_BYTES: usize = 60;

/// A process that was started and told nothing yet.
pub struct Probe {
    /// Before the child, so that it is dropped while the number is still the child's.
    group: ProcessGroup,
    child: Child,
    stdout: LineReader<ChildStdout>,
    /// What is written to stdin, by a task of its own; closing this closes stdin.
    outbox: Option<UnboundedSender<Vec<u8>>>,
    grace: Duration,
    last_id: i64,
    /// Requests whose responses nobody waits for any more.
    abandoned: HashSet<i64>,
    limit: u64,
    /// Hides secrets in what is quoted.
    mask: Mask,
    /// Bytes of the last request, the line feed included.
    sent: usize,
}

/// What a plugin did instead of answering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It wrote something that is no response to what it was asked (connector contract §9).
    Framing(String),
    /// It wrote a line above the limit, in bytes.
    TooLong(u64),
    /// It wrote no whole line for so long, and so many bytes of one.
    Silent(Duration, usize),
    /// Its process ended.
    Ended(ExitStatus),
    /// It closed stdout and lives on.
    Closed,
}

/// A response.
#[derive(Debug)]
pub enum Reply {
    /// It did what it was asked.
    Done(Done),
    /// It refused.
    Refused {
        /// The number.
        code: i64,
        /// Its name in the contract.
        name: &'static str,
        /// For people.
        message: String,
    },
}

/// The result of a request.
#[derive(Debug)]
pub struct Done(ResultText);

impl Probe {
    /// Starts a process whose messages may have `limit` bytes. It is given `grace` for what should
    /// happen at once.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(
        program: Program<'_>,
        limit: u64,
        grace: Duration,
        mask: &Mask,
        on_event: OnProcess,
    ) -> io::Result<Self> {
        let Started {
            group,
            child,
            stdin,
            stdout,
            draining: _,
        } = spawn(program, mask, on_event)?;
        let (outbox, lines) = unbounded_channel();
        tokio::spawn(write_all(stdin, lines));
        Ok(Self {
            group,
            child,
            stdout: LineReader::new(stdout, limit),
            outbox: Some(outbox),
            grace,
            last_id: 0,
            abandoned: HashSet::new(),
            limit,
            mask: mask.clone(),
            sent: 0,
        })
    }

    /// Returns the most bytes of a message.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the bytes of the last message that was sent, its line feed included.
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// Sends a request and returns its number.
    pub fn request<P: Serialize>(&mut self, method: &str, params: P) -> i64 {
        self.last_id += 1;
        self.send(&Outgoing::request(self.last_id, method, params));
        self.last_id
    }

    /// Asks the plugin to give up a request.
    pub fn cancel(&mut self, id: i64) {
        self.send(&Outgoing::notification("cancel", CancelParams { id }));
    }

    /// Closes its stdin once everything has been written.
    pub fn hang_up(&mut self) {
        self.outbox = None;
    }

    /// Waits for the response to request `id`.
    ///
    /// # Errors
    ///
    /// Whatever comes instead. After silence, a response that comes late is ignored.
    pub async fn answer(&mut self, id: i64, within: Duration) -> Result<Reply, Trouble> {
        let until = Instant::now() + within;
        loop {
            let line = self.line(until, within).await.inspect_err(|_| {
                self.abandoned.insert(id);
            })?;
            let response = self.response(line)?;
            if response.id == id {
                return Ok(Reply::of(response.outcome));
            }
            if !self.abandoned.remove(&response.id) {
                let why = format!("a response to {}, which was not asked", response.id);
                return Err(Trouble::Framing(why));
            }
        }
    }

    /// Waits for an error response to request `id`, or to no request at all if the plugin could not
    /// tell which it was. Returns its code; nothing for a result.
    ///
    /// # Errors
    ///
    /// As [`Probe::answer`].
    pub async fn refusal(&mut self, id: i64, within: Duration) -> Result<Option<i64>, Trouble> {
        let line = self.line(Instant::now() + within, within).await?;
        if let Some(code) = code_without_id(&line) {
            return Ok(Some(code));
        }
        let response = self.response(line)?;
        match response.outcome {
            Outcome::Error(error) if response.id == id => Ok(Some(error.code)),
            Outcome::Result(_) if response.id == id => Ok(None),
            _ => Err(Trouble::Framing(format!(
                "a response to {}, which was not asked",
                response.id
            ))),
        }
    }

    /// Waits for the end of the process, no longer than the grace. Responses nobody
    /// waits for may still come, nothing else.
    ///
    /// # Errors
    ///
    /// When it says something else, or lives on.
    pub async fn exit(&mut self) -> Result<ExitStatus, Trouble> {
        let until = Instant::now() + self.grace;
        loop {
            match self.line(until, self.grace).await {
                Err(Trouble::Ended(status)) => return Ok(status),
                Err(other) => return Err(other),
                Ok(line) => {
                    let response = self.response(line)?;
                    if !self.abandoned.remove(&response.id) {
                        let why = format!("a response to {}, which was not asked", response.id);
                        return Err(Trouble::Framing(why));
                    }
                }
            }
        }
    }

    fn send<P: Serialize>(&mut self, message: &Outgoing<'_, P>) {
        let mut line = serde_json::to_vec(message).expect("requests have string keys only");
        line.push(b'\n');
        self.sent = line.len();
        if let Some(outbox) = &self.outbox {
            // Whoever closed its stdin is found out when no answer comes.
            let _ = outbox.send(line);
        }
    }

    /// Reads a response. A line that is no JSON is quoted, as nobody else is told what a plugin wrote
    /// by mistake; whoever runs a plugin for others must not (connector contract §7.3).
    fn response(&self, line: Vec<u8>) -> Result<Response, Trouble> {
        let shown = line.len().min(QUOTED_BYTES + self.mask.longest());
        let head = line[..shown].to_vec();
        let is_cut = line.len() > QUOTED_BYTES;
        let text = message::text(line).map_err(|why| {
            let hidden = self.mask.hide_in_line(&head, QUOTED_BYTES);
            let quoted = String::from_utf8_lossy(&hidden);
            let more = if is_cut { " …" } else { "" };
            Trouble::Framing(format!("{why}: {quoted:?}{more}"))
        })?;
        message::response(text).map_err(Trouble::Framing)
    }

    async fn line(&mut self, until: Instant, within: Duration) -> Result<Vec<u8>, Trouble> {
        let left = until.saturating_duration_since(Instant::now());
        match timeout(left, self.stdout.next()).await {
            // Somebody else may hold its stdout open after it.
            Err(_) => match self.child.try_wait() {
                Ok(Some(status)) => Err(self.ended(status)),
                _ => Err(Trouble::Silent(within, self.stdout.unfinished())),
            },
            Ok(Ok(NextLine::Whole(line))) => Ok(line),
            Ok(Ok(NextLine::TooLong)) => Err(Trouble::TooLong(self.limit)),
            Ok(Ok(NextLine::End) | Err(_)) => match timeout(self.grace, self.child.wait()).await {
                Ok(Ok(status)) => Err(self.ended(status)),
                _ => Err(Trouble::Closed),
            },
        }
    }

    fn ended(&mut self, status: ExitStatus) -> Trouble {
        self.group.dissolve();
        Trouble::Ended(status)
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("child", &self.child)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Framing(why) => f.write_str(why),
            Self::TooLong(limit) => write!(f, "a line above max_message_bytes ({limit})"),
            Self::Silent(within, 0) => write!(f, "nothing within {}s", seconds(*within)),
            Self::Silent(within, bytes) => {
                let within = seconds(*within);
                write!(
                    f,
                    "{bytes} bytes within {within}s, and no line feed behind them"
                )
            }
            Self::Ended(status) => write!(f, "the process ended: {status}"),
            Self::Closed => f.write_str("stdout was closed while the process lives on"),
        }
    }
}

impl Reply {
    fn of(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Result(text) => Self::Done(Done(text)),
            Outcome::Error(error) => {
                let name = error.name();
                let ErrorResponse { code, message, .. } = error;
                Self::Refused {
                    code,
                    name,
                    message,
                }
            }
        }
    }
}

/// Results, judged as the runner judges them.
impl Done {
    /// Reads the result of `initialize` and compares it with the manifest, if there is one.
    ///
    /// # Errors
    ///
    /// The rule of §10 that is broken.
    pub fn identity(&self, manifest: Option<&Manifest>) -> Result<PluginIdentity, String> {
        match manifest {
            Some(manifest) => {
                initialize::identity(self.0.value(), manifest).map_err(|failure| failure.message)
            }
            None => initialize::shape(self.0.value()).map_err(str::to_owned),
        }
    }

    /// Reads the result of `scan`.
    ///
    /// # Errors
    ///
    /// The rule of §11 that is broken.
    pub fn batch(&self, cursor_given: bool, supports_cursor: bool) -> Result<Batch, &'static str> {
        let asked = Asked {
            cursor_given,
            supports_cursor,
        };
        batch(self.0.value(), asked).map_err(|refused| refused.why)
    }

    /// Reads the result of `read_blob`.
    ///
    /// # Errors
    ///
    /// The rule of §14.2 that is broken.
    pub fn chunk(&self, max_bytes: u64) -> Result<BlobChunk, String> {
        blob::chunk(self.0.value(), max_bytes)
    }
}

/// Returns seconds as they were allowed: what is left of them is a little less.
fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64().ceil()
}

/// Returns the code of an error response whose `id` is null.
fn code_without_id(line: &[u8]) -> Option<i64> {
    let text = Text::parse(line).ok()?;
    let root = text.root();
    let is_null = root.member("id")?.is_null();
    let code = root.member("error")?.member("code")?.number()?;
    is_null.then(|| code.as_integer())?
}

async fn write_all(mut stdin: ChildStdin, mut lines: UnboundedReceiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}
