//! The program on one side, a server process on the other, and a proxy between them.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use http::Method;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::Command;

use super::proxy::{FaultProxy, Meanwhile, Seen};
use super::served::Served;

pub(super) const URI: &str = "fault://a";

/// A server behind a proxy, and a folder for files.
pub(super) struct Wire {
    place: TempDir,
    pub(super) served: Served,
    pub(super) proxy: FaultProxy,
}

/// How a command ended.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Wire {
    pub(super) async fn new(arguments: &[&str]) -> Self {
        let place = TempDir::new().unwrap();
        let served = Served::start(&place.path().join("store"), arguments);
        let proxy = FaultProxy::before(&served.url).await;
        Self {
            place,
            served,
            proxy,
        }
    }

    /// Starts the server of the same place anew, behind the same proxy.
    pub(super) async fn restarted(self, arguments: &[&str]) -> Self {
        let Self {
            place,
            served,
            proxy,
        } = self;
        served.kill();
        let served = Served::start(&place.path().join("store"), arguments);
        proxy.turn_to(&served.url);
        Self {
            place,
            served,
            proxy,
        }
    }

    /// Returns the path of a file of this place.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Returns what makes a document somebody else's, while a request waits at the proxy.
    pub(super) fn somebody_else_commits(&self, uri: &str, text: &str) -> Meanwhile {
        self.document(text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
        command
            .env_clear()
            .args(["commit", uri, text, "--force", "--remote", &self.served.url])
            .stderr(Stdio::null())
            .current_dir(self.place.path());
        Box::new(move || {
            Box::pin(async move { assert!(command.status().await.unwrap().success()) })
        })
    }

    /// Runs a command against the proxy.
    pub(super) async fn run(&self, arguments: &[&str]) -> Run {
        self.run_against(&self.proxy.url, arguments).await
    }

    /// Runs a command against the server itself.
    pub(super) async fn direct(&self, arguments: &[&str]) -> Run {
        self.run_against(&self.served.url, arguments).await
    }

    async fn run_against(&self, url: &str, arguments: &[&str]) -> Run {
        let output = Command::new(env!("CARGO_BIN_EXE_dpe"))
            .env_clear()
            .args(arguments)
            .args(["--remote", url, "--json"])
            .arg("--state-dir")
            .arg(self.place.path().join("state"))
            .current_dir(self.place.path())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .unwrap();
        Run {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Writes a document of one sentence into the file `text`.
    pub(super) fn document(&self, text: &str) {
        let element = json!({"category": "NarrativeText", "text": text});
        let document = json!({"file_type": "txt", "pages": [{"elements": [element]}]});
        self.write(text, &document.to_string());
    }

    /// Makes the sentence the content of the document, past the proxy.
    pub(super) async fn holds(&self, text: &str) {
        self.document(text);
        let run = self.direct(&["commit", URI, text]).await;
        assert_eq!(run.code, Some(0), "{run:?}");
    }

    pub(super) async fn commit(&self, text: &str, arguments: &[&str]) -> Run {
        self.document(text);
        self.run(&[&["commit", URI, text], arguments].concat())
            .await
    }

    /// Asserts that the document has this sentence.
    pub(super) async fn assert_holds(&self, text: &str) {
        self.document(text);
        let expected = hash_of(&self.path(text));
        let shown = self.direct(&["show", URI]).await;
        assert_eq!(shown.json()["doc_hash"], expected, "{shown:?}");
    }

    pub(super) async fn assert_absent(&self, uri: &str) {
        let shown = self.direct(&["show", uri]).await;
        assert_eq!(shown.code, Some(1), "{shown:?}");
    }
}

/// Hashes with the independent crate.
pub(super) fn hash_of(path: &Path) -> String {
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    dpe_hash::document_hashes(&document, "dpe1")
        .unwrap()
        .doc_hash
}

impl Run {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub(super) fn succeeded(&self) -> Value {
        assert_eq!(self.code, Some(0), "{self:?}");
        self.json()
    }
}

pub(super) fn count(seen: &[Seen], method: &Method, path: &str) -> usize {
    seen.iter().filter(|seen| seen.is(method, path)).count()
}

pub(super) fn to(method: Method, path: &'static str) -> impl Fn(&Seen) -> bool + Send + 'static {
    move |seen| seen.is(&method, path)
}
