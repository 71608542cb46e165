//! One running plugin: its pipes, its process, and the exchange of a request for a response.
//!
//! Writes, reads and the end of the process are watched together, since a plugin may answer
//! before it has read everything, and may die at any point (connector contract §9, §15, §17).

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use bytes::{Buf, BufMut, BytesMut};
use dpe_connector::rpc::{CancelParams, Outgoing};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout};

use super::event::{OnProcess, ProcessEvent};
use super::group::ProcessGroup;
use super::lines::{LineReader, NextLine};
use super::message::{Outcome, parse};
use super::spawn::Started;

/// How often a killed process is waited for, and how long each time; together a second.
const REAPING_ATTEMPTS: u32 = 500;
const REAPING_PAUSE: Duration = Duration::from_millis(2);

/// Why a plugin is of no further use.
#[derive(Debug)]
pub(super) enum Broken {
    /// It broke a rule of the wire protocol.
    Violation(String),
    /// Its process ended.
    Exited(ExitStatus),
    /// It did not answer, not even after `cancel`.
    Unresponsive,
}

/// An answer to a request.
#[derive(Debug)]
pub(super) enum Answer {
    /// It came in time.
    InTime(Outcome),
    /// Something came within the grace after `cancel`: the request failed, the plugin lives.
    AfterCancel,
}

/// The host's end of a plugin.
pub(super) struct Connection {
    /// Before the child, since values are dropped in this order: a leader that was reaped might
    /// have left its number to somebody else.
    group: ProcessGroup,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: LineReader<ChildStdout>,
    stderr: JoinHandle<()>,
    on_event: OnProcess,
    /// Bytes of requests that the plugin has not taken yet. A cursor of megabytes goes in pieces
    /// of the size of a pipe.
    unsent: BytesMut,
    limit: u64,
    grace: Duration,
    last_id: i64,
    /// The request that waits for its response.
    pending: Option<i64>,
    /// Requests whose response nobody waits for any more.
    abandoned: HashSet<i64>,
    exited: Option<(ExitStatus, Instant)>,
}

impl Connection {
    /// Takes over a process that was started. Messages have at most `limit` bytes; `grace` bounds
    /// every wait for something that should happen at once.
    pub(super) fn new(started: Started, limit: u64, grace: Duration, on_event: OnProcess) -> Self {
        Self {
            group: started.group,
            stdin: Some(started.stdin),
            stdout: LineReader::new(started.stdout, limit),
            child: started.child,
            stderr: started.draining,
            on_event,
            unsent: BytesMut::new(),
            limit,
            grace,
            last_id: 0,
            pending: None,
            abandoned: HashSet::new(),
            exited: None,
        }
    }

    /// Returns the most bytes of a message in either direction.
    pub(super) fn limit(&self) -> u64 {
        self.limit
    }

    /// Sends a request and waits for its response, at most `deadline` including the time the
    /// plugin takes to read the request.
    pub(super) async fn exchange<P: Serialize>(
        &mut self,
        method: &str,
        params: P,
        deadline: Duration,
    ) -> Result<Answer, Broken> {
        if let Some(outcome) = self.ask(method, params, deadline).await? {
            return Ok(Answer::InTime(outcome));
        }
        if !self.unsent.is_empty() {
            return Err(Broken::Unresponsive);
        }
        let id = self.last_id;
        self.queue(&Outgoing::notification("cancel", CancelParams { id }));
        let answered = timeout(self.grace, self.response(id)).await;
        self.pending = None;
        match answered {
            Ok(Ok(_)) => Ok(Answer::AfterCancel),
            Ok(Err(broken)) => Err(broken),
            Err(_) => Err(Broken::Unresponsive),
        }
    }

    /// Sends a request and waits for its response, at most `deadline`; nothing is cancelled after
    /// that. A caller that gives up before abandons the request: it is cancelled before the next
    /// one, and its response is ignored.
    pub(super) async fn ask<P: Serialize>(
        &mut self,
        method: &str,
        params: P,
        deadline: Duration,
    ) -> Result<Option<Outcome>, Broken> {
        if let Some(id) = self.pending.take() {
            self.abandoned.insert(id);
            self.queue(&Outgoing::notification("cancel", CancelParams { id }));
        }
        self.last_id += 1;
        let id = self.last_id;
        self.queue(&Outgoing::request(id, method, params));
        self.pending = Some(id);
        let answered = timeout(deadline, self.response(id)).await.ok().transpose();
        if !matches!(answered, Ok(None)) {
            self.pending = None;
        }
        answered
    }

    /// Returns how the process ended, if it has.
    pub(super) fn exit_status(&mut self) -> Option<ExitStatus> {
        if self.exited.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.ended(status);
        }
        self.exited.map(|(status, _)| status)
    }

    /// Closes stdin and waits for the end of the process, by force if need be.
    pub(super) async fn end(mut self) {
        self.stdin = None;
        if !self.has_ended().await {
            self.group.terminate();
            if !self.has_ended().await {
                self.group.kill();
                self.has_ended().await;
            }
        }
        self.tidy().await;
    }

    /// Ends the process and everything it started, at once.
    pub(super) async fn kill(mut self) {
        self.group.kill();
        self.has_ended().await;
        self.tidy().await;
    }

    fn queue<P: Serialize>(&mut self, message: &Outgoing<'_, P>) {
        serde_json::to_writer((&mut self.unsent).writer(), message)
            .expect("memory takes every write, and requests have string keys only");
        self.unsent.put_u8(b'\n');
    }

    /// Waits for the response to request `id`. Cancel safe: what was sent and read stays so.
    async fn response(&mut self, id: i64) -> Result<Outcome, Broken> {
        loop {
            let drained_by = self.exited.map(|(_, at)| at + self.grace);
            let far = Instant::now() + self.grace;
            tokio::select! {
                // In this order: what was written before the exit still counts.
                biased;
                line = self.stdout.next() => {
                    if let Some(outcome) = self.said(line, id).await? {
                        return Ok(outcome);
                    }
                }
                status = self.child.wait(), if self.exited.is_none() => match status {
                    Ok(status) => self.ended(status),
                    Err(why) => return Err(Broken::Violation(format!("cannot be waited for: {why}"))),
                },
                written = write_some(&mut self.stdin, &self.unsent), if !self.unsent.is_empty() => {
                    match written {
                        Ok(length) => self.sent(length),
                        // Whoever closed its stdin may still answer what it has read.
                        Err(_) => self.unsent.clear(),
                    }
                }
                () = sleep_until(drained_by.unwrap_or(far)), if drained_by.is_some() => {
                    return Err(self.stdout_ended().await);
                }
            }
        }
    }

    /// Forgets bytes that the plugin has taken. The last of them frees the memory: after a cursor of
    /// megabytes there are only short requests.
    fn sent(&mut self, length: usize) {
        self.unsent.advance(length);
        if self.unsent.is_empty() {
            self.unsent = BytesMut::new();
        }
    }

    /// Judges what came on stdout: the response to request `id`, or one that nobody waits for any more.
    async fn said(
        &mut self,
        line: io::Result<NextLine>,
        id: i64,
    ) -> Result<Option<Outcome>, Broken> {
        match line {
            Ok(NextLine::Whole(line)) => {
                let response = parse(line).map_err(Broken::Violation)?;
                if response.id == id {
                    return Ok(Some(response.outcome));
                }
                if self.abandoned.remove(&response.id) {
                    return Ok(None);
                }
                let why = format!("a response to {}, which was not asked", response.id);
                Err(Broken::Violation(why))
            }
            Ok(NextLine::TooLong) => {
                let why = format!("a line above max_message_bytes ({})", self.limit);
                Err(Broken::Violation(why))
            }
            Ok(NextLine::End) | Err(_) => Err(self.stdout_ended().await),
        }
    }

    /// Decides what the end of stdout means.
    async fn stdout_ended(&mut self) -> Broken {
        if self.has_ended().await
            && let Some((status, _)) = self.exited
        {
            return Broken::Exited(status);
        }
        Broken::Violation("stdout was closed while the process lives on".into())
    }

    /// Waits for the end of the process, no longer than the grace.
    async fn has_ended(&mut self) -> bool {
        if self.exited.is_none()
            && let Ok(Ok(status)) = timeout(self.grace, self.child.wait()).await
        {
            self.ended(status);
        }
        self.exited.is_some()
    }

    fn ended(&mut self, status: ExitStatus) {
        self.exited = Some((status, Instant::now()));
        self.group.dissolve();
        (self.on_event)(ProcessEvent::exited(status));
    }

    /// Lets the last lines of stderr through. Somebody who left the group may hold it open.
    async fn tidy(&mut self) {
        if timeout(self.grace, &mut self.stderr).await.is_err() {
            self.stderr.abort();
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("child", &self.child)
            .field("exited", &self.exited)
            .finish_non_exhaustive()
    }
}

impl Drop for Connection {
    /// Whoever stops waiting for a plugin has it killed. It is waited for as well, which takes a
    /// moment: nobody else will, and a process that nobody waited for still looks like one.
    fn drop(&mut self) {
        if self.exited.is_some() {
            return;
        }
        self.group.kill();
        for _ in 0..REAPING_ATTEMPTS {
            if self.exit_status().is_some() {
                return;
            }
            std::thread::sleep(REAPING_PAUSE);
        }
    }
}

async fn write_some(stdin: &mut Option<ChildStdin>, bytes: &[u8]) -> io::Result<usize> {
    let stdin = stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    match stdin.write(bytes).await? {
        0 => Err(io::ErrorKind::WriteZero.into()),
        length => Ok(length),
    }
}
