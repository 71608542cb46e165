//! `dpe serve` as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::Pid;
use serde_json::Value;

/// A running server; killed when dropped.
pub(crate) struct Served {
    child: Child,
    pub(crate) url: String,
    /// Kept open: a server whose standard output is gone is not what is tested.
    _stdout: BufReader<ChildStdout>,
}

impl Served {
    /// Starts a server on `store` and waits until it is ready.
    pub(crate) fn start(store: &Path, arguments: &[&str]) -> Self {
        Self::start_at(&format!("{}:0", host_of_its_own()), store, arguments)
    }

    /// As [`start`](Self::start), at an address; for a server that comes back where it was.
    pub(crate) fn start_at(address: &str, store: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_dpe"))
            .env_clear()
            .arg("serve")
            .arg("--store")
            .arg(store)
            .args(["--listen", address])
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).unwrap();
        Self {
            child,
            url: ready["url"].as_str().unwrap().to_owned(),
            _stdout: stdout,
        }
    }

    /// The process, for whoever kills it while others use it.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends the server as a power cut would, without a chance to tidy up.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Returns a loopback host that no other server of the tests has, where the system knows more than one: the
/// port of a server that is dead for a while must not be given to somebody else meanwhile.
pub(crate) fn host_of_its_own() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    if !cfg!(target_os = "linux") {
        return "127.0.0.1".to_owned();
    }
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let (process, high, low) = (std::process::id() % 250, number / 250 % 250, number % 250);
    format!("127.{}.{high}.{}", process + 1, low + 2)
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
