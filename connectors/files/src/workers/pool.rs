//! As many workers as there are files extracted at a time: started when they are needed, used again, and
//! replaced when they are lost.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
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
}

impl Workers {
    /// Returns no workers yet.
    pub fn of(program: Program, time: Duration, memory_bytes: u64) -> Self {
        Self {
            program,
            time,
            memory_bytes,
            idle: Mutex::default(),
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
        let mut kept = self.idle().pop();
        loop {
            let mut worker = match kept.take() {
                Some(worker) => worker,
                None => Worker::start(&self.program, self.memory_bytes)?,
            };
            let bounds = (Instant::now() + self.time, ANSWER_BYTES);
            match worker.ask(limits, name, bytes, bounds) {
                Ok(answer) => {
                    let weight = (bytes.len() as u64).saturating_add(answer.bytes);
                    if !answer.is_last && weight < LARGE_BYTES {
                        self.idle().push(worker);
                    }
                    return Ok(answer.made);
                }
                // It may have died of what others left behind, or in idleness: a new one tells.
                Err(Lost::Died(..)) if worker.served > 0 => {}
                Err(lost) => return Ok(Err(self.reason(&lost, file_type))),
            }
        }
    }

    fn reason(&self, lost: &Lost, file_type: &str) -> ExtractError {
        let mut message = lost.describe(file_type, self.memory_bytes);
        let reason = match lost {
            Lost::Late => {
                let seconds = self.time.as_secs();
                message.push_str(&format!(": more than {seconds} seconds"));
                Reason::Timeout
            }
            Lost::Died(..) | Lost::Garbage => Reason::ParserFailed,
        };
        ExtractError { reason, message }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Worker>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
