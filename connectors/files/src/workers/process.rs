//! One worker as its starter sees it: a child, three pipes, and how it ended.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use dpe_extract::Limits;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::frame::{Answer, answered, ask};
use super::pool::Program;

/// So much of what a worker says on stderr is kept: enough to see why it died.
const SAID_BYTES: usize = 4096;

/// What parsers do not end themselves with.
const SIGKILL: i32 = rustix::process::Signal::KILL.as_raw();
const SIGTERM: i32 = rustix::process::Signal::TERM.as_raw();

/// How a program of Rust begins its last words when there is no memory left.
pub(super) const MEMORY_RAN_OUT: &str = "memory allocation of";

/// A worker. It is killed and waited for when this value goes away.
#[derive(Debug)]
pub(super) struct Worker {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    said: Said,
    draining: Option<JoinHandle<()>>,
}

/// The beginning of what was said on stderr since the last look.
type Said = Arc<Mutex<Vec<u8>>>;

/// Why a worker gave no answer.
#[derive(Debug)]
pub(super) enum Lost {
    /// It was still at it when its time was over.
    Late,
    /// It is gone: how, and what it said last.
    Died(Option<ExitStatus>, String),
    /// Somebody else killed it by this signal: the system perhaps, short of memory.
    Killed(i32),
    /// It said something else.
    Garbage,
}

impl Worker {
    /// Starts a worker in an empty environment.
    ///
    /// # Errors
    ///
    /// When the system does not start it.
    pub(super) fn start(program: &Program, memory_bytes: u64) -> io::Result<Self> {
        let mut child = Command::new(&program.path)
            .args(&program.args)
            .arg(memory_bytes.to_string())
            .env_clear()
            // One file at a time: threads, and the memory set apart for each, would only take what the file may
            // need.
            .env("RAYON_NUM_THREADS", "1")
            .env("MALLOC_ARENA_MAX", "2")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let missing = || io::Error::other("the process has no pipes");
        let stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = child.stderr.take().ok_or_else(missing)?;
        // Or a worker that does not read could hold its starter for ever.
        fcntl_setfl(&stdin, fcntl_getfl(&stdin)? | OFlags::NONBLOCK)?;
        let said = Said::default();
        let for_thread = Arc::clone(&said);
        let draining = thread::spawn(move || drain(stderr, &for_thread));
        Ok(Self {
            child,
            stdin,
            stdout: BufReader::with_capacity(64 << 10, stdout),
            said,
            draining: Some(draining),
        })
    }

    /// Has a file extracted, up to a time and with an answer of at most so many bytes. After anything
    /// but an answer it is of no more use.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub(super) fn ask(
        &mut self,
        limits: &Limits,
        name: &[u8],
        bytes: &[u8],
        (until, most): (Instant, u64),
    ) -> Result<Answer, Lost> {
        lock(&self.said).clear();
        let to = Until(&mut self.stdin, until);
        let asked = ask(to, limits, most, name, bytes);
        // Should it have died of the question, its answer says so.
        let answer = match asked {
            Err(why) if why.kind() == io::ErrorKind::TimedOut => Err(why),
            _ => answered(UntilReader(&mut self.stdout, until), most),
        };
        answer.map_err(|why| match why.kind() {
            io::ErrorKind::TimedOut => Lost::Late,
            io::ErrorKind::InvalidData => Lost::Garbage,
            _ => self.died(),
        })
    }

    /// Finds out how it ended, or ends it.
    fn died(&mut self) -> Lost {
        // Its pipe may be closed a moment before it is gone; one that only closed it gets killed.
        let patience = std::time::Duration::from_millis(5);
        for _ in 0..200 {
            match self.child.try_wait() {
                Ok(None) => thread::sleep(patience),
                Ok(Some(status)) => match status.signal() {
                    Some(signal @ (SIGKILL | SIGTERM)) => return Lost::Killed(signal),
                    _ => break,
                },
                Err(_) => break,
            }
        }
        let _ = self.child.kill();
        let status = self.child.wait().ok();
        if let Some(draining) = self.draining.take() {
            let _ = draining.join();
        }
        let said = String::from_utf8_lossy(&lock(&self.said)).into_owned();
        Lost::Died(status, said)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Lost {
    /// Says what it means, for people.
    pub(super) fn describe(&self, file_type: &str, memory_bytes: u64) -> String {
        let (status, said) = match self {
            Self::Late => return format!("the parser of {file_type} took too long"),
            Self::Garbage => return format!("the parser of {file_type} gave no sensible answer"),
            Self::Killed(signal) => {
                return format!("the parser of {file_type} ended with signal {signal}");
            }
            Self::Died(status, said) => (status, said),
        };
        if said.contains(MEMORY_RAN_OUT) {
            let most = memory_bytes >> 20;
            return format!("the parser of {file_type} needed more than {most} MiB of memory");
        }
        if said.contains("overflowed its stack") {
            return format!("the parser of {file_type} was led too deep by what is nested in it");
        }
        let signal = status.and_then(|status| status.signal());
        match (signal, status.and_then(|status| status.code())) {
            (Some(signal), _) => format!("the parser of {file_type} ended with signal {signal}"),
            (None, Some(code)) => format!("the parser of {file_type} ended with code {code}"),
            (None, None) => format!("the parser of {file_type} ended"),
        }
    }
}

/// Keeps the beginning of what is said, and lets the rest pass, so that nobody has to wait for a reader.
fn drain(mut stderr: ChildStderr, said: &Said) {
    let mut part = [0; 1024];
    while let Ok(length @ 1..) = stderr.read(&mut part) {
        let mut said = lock(said);
        let room = SAID_BYTES - said.len();
        said.extend_from_slice(&part[..length.min(room)]);
    }
}

fn lock(said: &Said) -> std::sync::MutexGuard<'_, Vec<u8>> {
    said.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A pipe that is waited for up to a time.
struct Until<'p>(&'p mut ChildStdin, Instant);

impl Write for Until<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            match self.0.write(bytes) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {
                    wait(&*self.0, PollFlags::OUT, self.1)?;
                }
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct UntilReader<'p>(&'p mut BufReader<ChildStdout>, Instant);

impl Read for UntilReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.0.buffer().is_empty() {
            wait(self.0.get_ref(), PollFlags::IN, self.1)?;
        }
        self.0.read(buffer)
    }
}

/// Waits until something can be done with a pipe.
fn wait(pipe: &impl AsFd, what: PollFlags, until: Instant) -> io::Result<()> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let timeout = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(pipe, what)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(why) => return Err(why.into()),
        }
    }
}
