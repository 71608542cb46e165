//! `dpe serve` as a process of its own.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

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
        Self::start_at("127.0.0.1:0", store, arguments)
    }

    /// As [`start`](Self::start), at an address.
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

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
