//! The loop of a plugin: requests in, responses out (connector contract §9, §10, §15, §17).
//!
//! Stdin is read on a thread of its own, so that `cancel`, `shutdown` and the end of input are
//! seen while a request is being worked on.

use std::collections::HashMap;
use std::io::{self, BufReader, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::PROTOCOL_VERSION;
use crate::cancel::CancelFlag;
use crate::framing::{Line, read_line, write_line};
use crate::initialize::{Capabilities, Identity, InitializeParams, InitializeResult};
use crate::read_blob::{BlobChunk, ReadBlobParams};
use crate::rpc::{CancelParams, Empty, ErrorCode, Incoming, RpcError, response};
use crate::scan::{ScanParams, ScanResult};

/// Longest line taken before `initialize` has said what the runner's limit is.
const FIRST_LINE_BYTES: u64 = 64 << 20;

/// What a connector author writes.
pub trait Connector {
    /// Returns name and version, the same as in the manifest.
    fn identity(&self) -> Identity;

    /// Takes the configuration. Called once, before anything else.
    ///
    /// # Errors
    ///
    /// `invalid_config` if the configuration cannot be used.
    fn initialize(&mut self, params: &InitializeParams) -> Result<Capabilities, RpcError>;

    /// Returns the next batch. A request without `next` begins a new round.
    ///
    /// # Errors
    ///
    /// `source_failed` if the source cannot be read, `invalid_params` for an unknown `next`,
    /// `cancelled` once `cancel` is set.
    fn scan(&mut self, params: ScanParams, cancel: &CancelFlag) -> Result<ScanResult, RpcError>;

    /// Returns bytes of a blob. A connector that gives no handles keeps this default.
    ///
    /// # Errors
    ///
    /// `unknown_handle`, `source_failed`, `cancelled`.
    fn read_blob(
        &mut self,
        _params: ReadBlobParams,
        _cancel: &CancelFlag,
    ) -> Result<BlobChunk, RpcError> {
        Err(RpcError::new(ErrorCode::UnknownHandle, "no such handle"))
    }
}

/// Why [`serve`] returned. Either way the process exits with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The runner asked for it and has been answered.
    Shutdown,
    /// Stdin was closed.
    EndOfInput,
}

/// Answers the requests on `stdin` until shutdown or the end of input.
///
/// # Errors
///
/// When `stdout` cannot be written to.
pub fn serve(
    connector: &mut impl Connector,
    stdin: impl Read + Send + 'static,
    stdout: impl Write,
) -> io::Result<Ended> {
    let shared = Arc::new(Shared {
        line_limit: AtomicU64::new(FIRST_LINE_BYTES),
        pending: Mutex::default(),
    });
    let (sender, events) = mpsc::channel();
    let for_reader = Arc::clone(&shared);
    thread::spawn(move || read_requests(stdin, &for_reader, &sender));
    Session {
        connector,
        stdout,
        shared,
        initialized: false,
    }
    .run(&events)
}

/// What the reading thread and the working thread both touch.
struct Shared {
    line_limit: AtomicU64,
    pending: Mutex<HashMap<i64, CancelFlag>>,
}

impl Shared {
    fn pending(&self) -> MutexGuard<'_, HashMap<i64, CancelFlag>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel_all(&self) {
        self.pending().values().for_each(CancelFlag::cancel);
    }
}

enum Event {
    Request(Request),
    Refused(Option<i64>, RpcError),
}

struct Request {
    id: i64,
    method: String,
    params: Option<Box<RawValue>>,
    cancel: CancelFlag,
}

fn read_requests(stdin: impl Read, shared: &Shared, events: &Sender<Event>) {
    let mut reader = BufReader::with_capacity(64 << 10, stdin);
    // An error of stdin is the end of input: there is nobody left to be told.
    let limit = || shared.line_limit.load(Ordering::Acquire);
    while let Ok(line) = read_line(&mut reader, limit) {
        let event = match line {
            Line::End => break,
            Line::TooLong(beginning) => {
                let why = "the message exceeds max_message_bytes";
                let error = RpcError::new(ErrorCode::InvalidRequest, why);
                Some(Event::Refused(id_in(&beginning), error))
            }
            Line::Whole(bytes) => understand(&bytes, shared),
        };
        if event.is_some_and(|event| events.send(event).is_err()) {
            return;
        }
    }
    shared.cancel_all();
}

/// Returns what the working thread has to do about a line; nothing for notifications.
fn understand(line: &[u8], shared: &Shared) -> Option<Event> {
    let refused = |code, why: String| Some(Event::Refused(None, RpcError::new(code, why)));
    let message: Incoming = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(why) if why.is_data() => {
            return refused(ErrorCode::InvalidRequest, why.to_string());
        }
        Err(why) => return refused(ErrorCode::ParseError, why.to_string()),
    };
    if message.jsonrpc != "2.0" {
        return refused(ErrorCode::InvalidRequest, "`jsonrpc` is \"2.0\"".into());
    }
    let Some(id) = message.id else {
        notified(&message, shared);
        return None;
    };
    let Ok(id) = id.get().parse() else {
        return refused(ErrorCode::InvalidRequest, "`id` is an integer".into());
    };
    if message.method == "shutdown" {
        shared.cancel_all();
    }
    let cancel = CancelFlag::new();
    shared.pending().insert(id, cancel.clone());
    Some(Event::Request(Request {
        id,
        method: message.method,
        params: message.params,
        cancel,
    }))
}

fn notified(message: &Incoming, shared: &Shared) {
    if message.method != "cancel" {
        return;
    }
    let params = message.params.as_deref().map(RawValue::get);
    let named = params.and_then(|params| serde_json::from_str::<CancelParams>(params).ok());
    if let Some(flag) = named.and_then(|named| shared.pending().get(&named.id).cloned()) {
        flag.cancel();
    }
}

/// Finds the id in the beginning of a line that was too long to be parsed, so that its sender
/// gets the refusal under the right number.
fn id_in(beginning: &[u8]) -> Option<i64> {
    let text = String::from_utf8_lossy(beginning);
    let envelope = text.split("\"params\"").next()?;
    let (_, after) = envelope.split_once("\"id\":")?;
    let end = after.find([',', '}'])?;
    after[..end].trim().parse().ok()
}

struct Session<'c, C, W> {
    connector: &'c mut C,
    stdout: W,
    shared: Arc<Shared>,
    initialized: bool,
}

impl<C: Connector, W: Write> Session<'_, C, W> {
    fn run(mut self, events: &Receiver<Event>) -> io::Result<Ended> {
        while let Ok(event) = events.recv() {
            match event {
                Event::Refused(id, error) => self.answer::<Empty>(id, &Err(error))?,
                Event::Request(mut request) => {
                    if self.perform(&mut request)? {
                        return Ok(Ended::Shutdown);
                    }
                    self.shared.pending().remove(&request.id);
                }
            }
        }
        Ok(Ended::EndOfInput)
    }

    /// Answers one request and returns whether it was the last.
    fn perform(&mut self, request: &mut Request) -> io::Result<bool> {
        let refused = |code, why: String| Err::<Empty, _>(RpcError::new(code, why));
        match request.method.as_str() {
            method if !self.initialized && method != "initialize" => {
                let why = "`initialize` comes first".to_owned();
                self.answer(Some(request.id), &refused(ErrorCode::InvalidRequest, why))?;
            }
            "initialize" => {
                let result = self.initialize(request);
                self.answer(Some(request.id), &result)?;
            }
            "scan" => {
                let result = params(request)
                    .and_then(ScanParams::check)
                    .and_then(|params| self.connector.scan(params, &request.cancel));
                self.answer(Some(request.id), &result)?;
            }
            "read_blob" => {
                let result = params(request)
                    .and_then(ReadBlobParams::check)
                    .and_then(|params| self.connector.read_blob(params, &request.cancel));
                self.answer(Some(request.id), &result)?;
            }
            "shutdown" => {
                self.answer(Some(request.id), &Ok(Empty {}))?;
                return Ok(true);
            }
            method => {
                let why = format!("no method `{method}`");
                self.answer(Some(request.id), &refused(ErrorCode::MethodNotFound, why))?;
            }
        }
        Ok(false)
    }

    fn initialize(&mut self, request: &mut Request) -> Result<InitializeResult, RpcError> {
        if self.initialized {
            let why = "`initialize` was answered already";
            return Err(RpcError::new(ErrorCode::InvalidRequest, why));
        }
        let params: InitializeParams = params(request)?;
        if !params
            .protocol_versions
            .iter()
            .any(|version| version == PROTOCOL_VERSION)
        {
            let why = format!("only {PROTOCOL_VERSION} is spoken here");
            return Err(RpcError::new(ErrorCode::VersionUnsupported, why));
        }
        let capabilities = self.connector.initialize(&params)?;
        // Before the answer leaves, since the next line may follow it at once.
        self.shared
            .line_limit
            .store(params.max_message_bytes, Ordering::Release);
        self.initialized = true;
        Ok(InitializeResult {
            protocol_version: PROTOCOL_VERSION,
            plugin: self.connector.identity(),
            capabilities,
        })
    }

    fn answer<R: Serialize>(
        &mut self,
        id: Option<i64>,
        outcome: &Result<R, RpcError>,
    ) -> io::Result<()> {
        let mut text = response(id, outcome)?;
        let limit = self.shared.line_limit.load(Ordering::Acquire);
        if text.len() as u64 >= limit {
            let why = format!(
                "an answer of {} bytes exceeds max_message_bytes",
                text.len()
            );
            let error = RpcError::new(ErrorCode::InternalError, why);
            text = response::<Empty>(id, &Err(error))?;
        }
        write_line(&mut self.stdout, &text)
    }
}

/// Reads the parameters of a request, and lets go of their text: a cursor may be most of a message.
fn params<P: DeserializeOwned>(request: &mut Request) -> Result<P, RpcError> {
    let params = request.params.take();
    let text = params.as_deref().map_or("{}", RawValue::get);
    serde_json::from_str(text)
        .map_err(|why| RpcError::new(ErrorCode::InvalidParams, format!("params: {why}")))
}

#[cfg(test)]
mod tests;
