//! A worker: what a process does that was started to extract files.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Mutex, PoisonError};
use std::thread;

use dpe_extract::{ExtractError, Extraction, Input, Reason};

use super::frame::{Asked, answer, asked};
use super::process::MEMORY_RAN_OUT;

/// Stack of the thread that extracts, in bytes: parsers call themselves for what is nested.
const STACK_BYTES: usize = 64 << 20;

/// What a worker needs besides what a file makes it need, in bytes of addresses: the program itself, its
/// stacks, what the allocator sets aside.
#[cfg(not(target_os = "macos"))]
const OWN_BYTES: u64 = 256 << 20;

/// What the last panic said.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Extracts what is asked for on `stdin` until that ends, and returns the exit code of the process. Files
/// may need `memory_bytes` bytes of memory, where the system can be told so.
///
/// This is for a process of its own: it sets limits and a panic hook for the whole of it, and when it
/// returns a file may still be worked on, so that the process has to end then.
pub fn serve(memory_bytes: u64, stdin: impl Read, stdout: impl Write + Send + 'static) -> u8 {
    limit_resources(memory_bytes);
    panic::set_hook(Box::new(|info| {
        let said = info.payload_as_str().unwrap_or("it did not say why");
        let said = said.lines().next().unwrap_or_default().to_owned();
        *PANIC.lock().unwrap_or_else(PoisonError::into_inner) = Some(said);
    }));
    let (sender, requests) = mpsc::sync_channel(0);
    let extracting = thread::Builder::new().stack_size(STACK_BYTES);
    if extracting
        .spawn(move || extract_all(&requests, stdout))
        .is_err()
    {
        return 1;
    }
    let mut stdin = BufReader::with_capacity(64 << 10, stdin);
    // Read ahead while a file is extracted, only to see whether anybody is still there.
    loop {
        match asked(&mut stdin) {
            Ok(Some(request)) => {
                if sender.send(request).is_err() {
                    return 1;
                }
            }
            Err(why) if why.kind() == io::ErrorKind::OutOfMemory => {
                // As the allocator says it when it is he who gives up.
                let _ = writeln!(io::stderr(), "{MEMORY_RAN_OUT} the file failed");
                return 1;
            }
            Ok(None) => return 0,
            // Its starter is gone, in the middle of a request.
            Err(why) if why.kind() == io::ErrorKind::UnexpectedEof => return 0,
            Err(_) => return 1,
        }
    }
}

fn extract_all(requests: &Receiver<Asked>, stdout: impl Write) {
    let mut stdout = BufWriter::with_capacity(64 << 10, stdout);
    while let Ok(request) = requests.recv() {
        let input = Input {
            name: &request.name,
            bytes: &request.bytes,
        };
        let extract = AssertUnwindSafe(|| dpe_extract::extract(&input, &request.limits));
        let made = catch_unwind(extract);
        let is_broken = made.is_err();
        let made: Result<Extraction, ExtractError> = made.unwrap_or_else(|_| Err(defect()));
        let answered = answer(&mut stdout, made, is_broken, request.answer_bytes);
        if is_broken || answered.is_err() {
            return;
        }
    }
}

fn defect() -> ExtractError {
    let said = PANIC.lock().unwrap_or_else(PoisonError::into_inner).take();
    ExtractError {
        reason: Reason::ParserFailed,
        message: format!("the parser has a defect: {}", said.unwrap_or_default()),
    }
}

/// Limits what this process can do to the machine. What the system does not know is left out.
#[cfg(not(target_os = "macos"))]
fn limit_resources(memory_bytes: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let limits = [
        (Resource::As, memory_bytes.saturating_add(OWN_BYTES)),
        // What is left of a parser that failed would be as large as its memory, and hold the file.
        (Resource::Core, 0),
        // It has its pipes, and nothing to open or to write.
        (Resource::Fsize, 0),
        (Resource::Nofile, 16),
    ];
    for (resource, most) in limits {
        let now = getrlimit(resource);
        let maximum = now.maximum.map_or(most, |now| now.min(most));
        let new = Rlimit {
            current: Some(maximum),
            maximum: Some(maximum),
        };
        // A worker without a limit is better than none: its time is limited too.
        let _ = setrlimit(resource, new);
    }
}

/// Its limit of addresses is not heeded by the system.
#[cfg(target_os = "macos")]
fn limit_resources(_: u64) {}
