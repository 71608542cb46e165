//! As many workers as there are files extracted at a time: started when they are needed, used again, and
//! replaced when they are lost.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use dpe_extract::{ExtractError, Extraction, Limits, Reason};

use super::process::{Lost, Worker};

/// A worker that had to do with so many bytes at once is not kept: much of its memory may be in pieces.
const LARGE_BYTES: u64 = 16 << 20;

/// A document may have so many bytes, with its pictures and as JSON: several files are extracted at a time, and what
/// becomes of them is held here.
const ANSWER_BYTES: u64 = 512 << 20;

/// How a worker is started: this very program, with arguments that make it one
/// ([`serve_worker`](super::serve_worker)). One more is added: how many bytes of memory files may need.
#[derive(Clone, Debug)]
pub struct Program {
    /// The executable.
    pub path: PathBuf,
    /// Its first arguments.
    pub args: Vec<OsString>,
}

/// Workers, and what each of them may use.
#[derive(Debug)]
pub struct Workers {
    /// What is started.
    pub program: Program,
    /// How long one file may take.
    pub time: Duration,
    /// How many bytes of memory one file may need.
    pub memory_bytes: u64,
    idle: Mutex<Vec<Worker>>,
    /// Held by all who extract, or by the one who does so alone.
    side_by_side: RwLock<()>,
}

impl Workers {
    /// Returns no workers yet.
    pub fn of(program: Program, time: Duration, memory_bytes: u64) -> Self {
        Self {
            program,
            time,
            memory_bytes,
            idle: Mutex::default(),
            side_by_side: RwLock::default(),
        }
    }

    /// Has a file extracted whose name and beginning speak for `file_type`.
    ///
    /// # Errors
    ///
    /// When no worker can be started; else in it why the file gives no document.
    pub(crate) fn extract(
        &self,
        file_type: &str,
        (name, bytes): (&[u8], &[u8]),
        limits: &Limits,
    ) -> io::Result<Result<Extraction, ExtractError>> {
        let file = (name, bytes);
        let guard = self.side_by_side.read();
        let kept = self.idle().pop();
        let is_new = kept.is_none();
        let mut tried = self.ask(kept, limits, file)?;
        // It may have died of what others left behind, or in idleness: a new one tells.
        if !is_new && matches!(tried, Err(Lost::Died(..) | Lost::Killed(_) | Lost::Garbage)) {
            tried = self.ask(None, limits, file)?;
        }
        drop(guard);
        // So may one that the system killed, for want of memory that others had: one that is alone tells.
        if matches!(tried, Err(Lost::Killed(_))) {
            let _alone = self.side_by_side.write();
            tried = self.ask(None, limits, file)?;
        }
        let made = tried.unwrap_or_else(|lost| Err(self.reason(&lost, file_type)));
        Ok(made)
    }

    /// Asks a worker, or a new one, and keeps it if it is of further use.
    fn ask(
        &self,
        kept: Option<Worker>,
        limits: &Limits,
        (name, bytes): (&[u8], &[u8]),
    ) -> io::Result<Result<Result<Extraction, ExtractError>, Lost>> {
        let mut worker = match kept {
            Some(worker) => worker,
            None => Worker::start(&self.program, self.memory_bytes)?,
        };
        let bounds = (Instant::now() + self.time, ANSWER_BYTES);
        let answer = match worker.ask(limits, name, bytes, bounds) {
            Ok(answer) => answer,
            Err(lost) => return Ok(Err(lost)),
        };
        let weight = (bytes.len() as u64).saturating_add(answer.bytes);
        if !answer.is_last && weight < LARGE_BYTES {
            self.idle().push(worker);
        }
        Ok(Ok(answer.made))
    }

    fn reason(&self, lost: &Lost, file_type: &str) -> ExtractError {
        let mut message = lost.describe(file_type, self.memory_bytes);
        let reason = match lost {
            Lost::Late => {
                let seconds = self.time.as_secs();
                message.push_str(&format!(": more than {seconds} seconds"));
                Reason::Timeout
            }
            Lost::Died(..) | Lost::Killed(_) | Lost::Garbage => Reason::ParserFailed,
        };
        ExtractError { reason, message }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
