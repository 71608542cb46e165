//! Plugins written in Python, each a few lines around the messages it means to get wrong.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use dpe::config::Mask;
use dpe::host::{
    ConnectorProcess, Deadlines, Launch, ProcessEvent, StderrLine, plugin_environment,
};
use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::ports::{Batch, ScanRequest, Source};
use dpe_connector::initialize::Instance;
use dpe_connector::manifest::Manifest;
use serde_json::value::RawValue;
use tempfile::TempDir;

/// What every script begins with. `answer` keeps the contract; scripts replace what they need.
pub(crate) const PRELUDE: &str = r#"
import json, os, signal, subprocess, sys, time

def read():
    line = sys.stdin.readline()
    return json.loads(line) if line else None

def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()

def send(message):
    raw(json.dumps(message) + "\n")

def result(request, value):
    send({"jsonrpc": "2.0", "id": request["id"], "result": value})

def error(request, code, data=None):
    body = {"code": code, "message": "refused"}
    if data is not None:
        body["data"] = data
    send({"jsonrpc": "2.0", "id": request["id"], "error": body})

def initialize(version="1", supports_cursor=True):
    result(read(), {"protocol_version": "dpe-connector/1",
                    "plugin": {"name": "scripted", "version": version},
                    "capabilities": {"supports_cursor": supports_cursor}})

FINAL = {"items": [], "cursor": "c", "incremental": False}

def shutdown():
    result(read(), {})
    sys.exit(0)
"#;

/// A script in a folder of its own.
pub(crate) struct Script {
    folder: TempDir,
    pub(crate) max_message_bytes: u64,
    pub(crate) deadlines: Deadlines,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) stderr: Arc<Mutex<Vec<StderrLine>>>,
    /// All that became of the process but its lines on stderr.
    pub(crate) events: Arc<Mutex<Vec<ProcessEvent>>>,
}

impl Script {
    /// Returns a plugin that runs `body` after the prelude.
    pub(crate) fn new(body: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("plugin.py"),
            format!("{PRELUDE}\n{body}"),
        )
        .unwrap();
        Self {
            folder,
            max_message_bytes: 1 << 20,
            deadlines: Deadlines {
                initialize: Duration::from_secs(20),
                scan: Duration::from_secs(20),
                blob: Duration::from_secs(20),
                grace: Duration::from_millis(1500),
            },
            environment: Vec::new(),
            stderr: Arc::default(),
            events: Arc::default(),
        }
    }

    /// Returns a plugin that is initialised and then runs `body`.
    pub(crate) fn initialized(body: &str) -> Self {
        Self::new(&format!("initialize()\n{body}"))
    }

    /// Returns a path the script finds as a relative one.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) async fn start(&self) -> Result<ConnectorProcess, Failure> {
        self.start_with(python()).await
    }

    /// Starts the script with another interpreter.
    pub(crate) async fn start_with(&self, program: PathBuf) -> Result<ConnectorProcess, Failure> {
        let manifest = Manifest::parse(
            r#"{"manifest_version":1,"name":"scripted","version":"1","protocol_versions":["dpe-connector/1"],"config_schema":{"type":"object"}}"#,
        )
        .unwrap();
        let lines = Arc::clone(&self.stderr);
        let events = Arc::clone(&self.events);
        let folder = self.folder.path().to_str().unwrap();
        let start = ConnectorProcess::start(Launch {
            program,
            args: vec![self.path("plugin.py").into(), folder.into()],
            environment: plugin_environment(self.environment.clone()),
            manifest: &manifest,
            instance: Instance {
                uri_prefix: "x://p/".into(),
                config: RawValue::from_string("{\"n\":1.0}".into()).unwrap(),
            },
            remote_limits: None,
            max_message_bytes: self.max_message_bytes,
            deadlines: self.deadlines,
            mask: Mask::default(),
            on_event: Arc::new(move |event| match event {
                ProcessEvent::Stderr(line) => lines.lock().unwrap().push(line),
                event => events.lock().unwrap().push(event),
            }),
        });
        start.await
    }

    /// Starts the plugin and returns what a full scan gives.
    pub(crate) async fn scan(&self) -> Result<Batch, Failure> {
        let mut process = self.start().await?;
        Ok(process.scan(ScanRequest::default()).await?)
    }

    /// Returns the failure of a scan that has to fail, and how long it took.
    pub(crate) async fn failing_scan(&self) -> (Failure, Duration) {
        let mut process = self.start().await.unwrap();
        let began = Instant::now();
        let failed = process.scan(ScanRequest::default()).await.unwrap_err();
        (failed.failure, began.elapsed())
    }
}

/// The interpreter itself, without a launcher that would need more of the environment.
pub(crate) fn python() -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    let found = PYTHON.get_or_init(|| {
        let output = std::process::Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .expect("the tests of the host need python3");
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    });
    found.clone()
}

/// Compares level, source, code and retryable.
pub(crate) fn assert_failure(
    failure: &Failure,
    level: Level,
    source: FailureSource,
    code: &str,
    retryable: bool,
) {
    let found = (
        failure.level,
        failure.source,
        &*failure.code,
        failure.retryable,
    );
    assert_eq!(
        found,
        (level, source, code, retryable),
        "{}",
        failure.message
    );
}

/// Waits until the process whose number is in `file` is gone, and returns whether it went.
pub(crate) async fn is_gone(file: &Path) -> bool {
    let pid = fs::read_to_string(file).unwrap();
    for _ in 0..100 {
        // A zombie waits for its parent and runs no more.
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        if stat.map_or(true, |stat| stat.contains(") Z ")) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}
