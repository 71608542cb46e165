//! A place with a source, a remote that lives long, and the state of an instance; and rounds in
//! it, whole ones and such that are cut short.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::over_http::served::{Served, host_of_its_own};

use super::History;
use super::random::Chance;

const PREFIX: &str = "dpe://c/";

/// A round that fails for a passing reason is run again so many times at most.
const ATTEMPTS: usize = 4;

/// Who runs the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// `dpe push` to an embedded remote.
    Push,
    /// `dpe run` of a definition, over HTTP.
    Run,
}

/// How a round is cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interruption {
    /// Not at all.
    None,
    /// There is a document that cannot be delivered.
    Broken,
    /// The runner is killed.
    Runner,
    /// The connector is killed.
    Connector,
    /// The remote is killed; or, where it is part of the runner, both.
    Remote,
}

impl Interruption {
    pub(super) fn by(chance: &mut Chance) -> Self {
        *chance.one(&[
            Self::None,
            Self::None,
            Self::Broken,
            Self::Runner,
            Self::Connector,
            Self::Remote,
        ])
    }
}

/// What a round changed on the remote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Written(u64);

impl Written {
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// What the remote holds: URI → doc_hash.
pub(super) type Held = BTreeMap<String, String>;

pub(super) struct Place {
    way: Way,
    directory: TempDir,
    /// The address the remote has in every life.
    address: String,
    served: std::cell::RefCell<Option<Served>>,
}

impl Place {
    pub(super) fn new(way: Way) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home", "source"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        let free = TcpListener::bind((host_of_its_own(), 0))
            .unwrap()
            .local_addr()
            .unwrap();
        let place = Self {
            way,
            directory,
            address: free.to_string(),
            served: std::cell::RefCell::new(None),
        };
        place.revive();
        place
    }

    pub(super) fn source(&self) -> PathBuf {
        self.directory.path().join("source")
    }

    /// Runs a round and cuts it short, at a moment of chance.
    pub(super) fn interrupted_round(
        &self,
        history: &impl History,
        interruption: Interruption,
        chance: &mut Chance,
    ) {
        let mut round = self.command(history);
        let mut child = round
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let moment = Duration::from_millis(chance.of(0..150) as u64);
        match interruption {
            Interruption::None | Interruption::Broken => {}
            Interruption::Runner => {
                thread::sleep(moment);
                let _ = child.kill();
            }
            Interruption::Connector => {
                thread::sleep(moment);
                kill_children(&child);
            }
            Interruption::Remote => {
                thread::sleep(moment);
                let had = self.served.borrow_mut().take();
                if had.is_none() {
                    let _ = child.kill();
                }
            }
        }
        child.wait().unwrap();
        self.revive();
    }

    /// Runs a round until it succeeds, and returns what the last one wrote.
    pub(super) fn round_that_succeeds(&self, history: &impl History, said: &[String]) -> Written {
        let mut last = String::new();
        for _ in 0..ATTEMPTS {
            let output = self.command(history).output().unwrap();
            if output.status.success() {
                let report: Value = serde_json::from_slice(&output.stdout).unwrap();
                let counts = ["created", "updated", "deleted", "moved"];
                let counts = counts.map(|name| report["counts"][name].as_u64().unwrap());
                return Written(counts.iter().sum());
            }
            last = format!("{output:?}");
        }
        panic!("no round succeeds: {last}\nafter {said:#?}");
    }

    /// Returns what the remote holds.
    pub(super) fn remote(&self) -> Held {
        #[derive(serde::Deserialize)]
        struct Listed {
            file_uri: String,
            doc_hash: String,
        }
        let mut ls = self.dpe();
        ls.args(["ls", "--json", "--remote", &self.location()]);
        let output = ls.output().unwrap();
        if self.way == Way::Push && !self.store().exists() {
            return Held::new();
        }
        assert!(output.status.success(), "{output:?}");
        let lines = std::str::from_utf8(&output.stdout).unwrap().lines();
        let listed = lines.map(|line| serde_json::from_str::<Listed>(line).unwrap());
        listed.map(|one| (one.file_uri, one.doc_hash)).collect()
    }

    /// Returns what a full round of the same source gives to a fresh remote: the truth.
    pub(super) fn fresh_remote(&self, history: &impl History) -> Held {
        let fresh = Self::new(self.way);
        fresh.round_that_succeeds(history, &["a fresh remote".to_owned()]);
        fresh.remote()
    }

    /// Starts the remote, if it has a life of its own and is not alive.
    fn revive(&self) {
        let mut served = self.served.borrow_mut();
        if self.way == Way::Run && served.is_none() {
            *served = Some(Served::start_at(&self.address, &self.store(), &[]));
        }
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn location(&self) -> String {
        match &*self.served.borrow() {
            Some(served) => served.url.clone(),
            None => self.store().to_str().unwrap().to_owned(),
        }
    }

    /// A command that sees nothing of the environment of the tests.
    fn dpe(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path().join("home"))
            .current_dir(self.directory.path());
        command
    }

    /// A round.
    fn command(&self, history: &impl History) -> Command {
        let mut command = self.dpe();
        match self.way {
            Way::Push => {
                command.args(["push", "--json", "--max-delete", "100%", "--prefix", PREFIX]);
                command.args(["--remote", &self.location()]);
                command.args(history.push_arguments());
            }
            Way::Run => {
                command
                    .arg("run")
                    .arg("--state-dir")
                    .arg(self.directory.path().join("state"));
                command.arg(self.definition(history));
            }
        }
        command
    }

    fn definition(&self, history: &impl History) -> PathBuf {
        let at = |name: &str| self.directory.path().join(name);
        let command = [
            env!("CARGO_BIN_EXE_dpe"),
            "connector",
            "serve",
            history.connector(),
        ];
        let definition = json!({
            "definition_version": 1,
            "id": "convergence",
            "remote": {"url": self.location()},
            "uri_prefix": PREFIX,
            "plugin": {"manifest": "manifest.json", "command": command},
            "config": history.config(),
        });
        fs::write(at("manifest.json"), history.manifest()).unwrap();
        fs::write(at("definition.json"), definition.to_string()).unwrap();
        at("definition.json")
    }
}

/// Kills the children of a process, if it has some already.
fn kill_children(of: &Child) {
    let children = PathBuf::from(format!("/proc/{0}/task/{0}/children", of.id()));
    let listed = fs::read_to_string(children).unwrap_or_default();
    for child in listed.split_whitespace().filter_map(|pid| pid.parse().ok()) {
        if let Some(pid) = Pid::from_raw(child) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
