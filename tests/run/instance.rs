//! An instance in a folder of its own: definition, manifest, plugin, state, remote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::plugin::{PRELUDE, python};
use crate::over_http::served::Served;

/// What a plugin runs that enumerates nothing.
pub(super) const EMPTY: &str = "initialize()\nresult(read(), FINAL)\nshutdown()";

pub(super) struct Instance {
    place: TempDir,
    pub(super) served: Served,
    /// The definition; written before every run.
    pub(super) definition: Value,
    pub(super) variables: Vec<(String, String)>,
}

/// What one run came to.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Instance {
    /// Returns an instance whose plugin runs `body`; its remote is served with `arguments`.
    pub(super) fn with_remote(body: &str, arguments: &[&str]) -> Self {
        let place = tempfile::tempdir().unwrap();
        let served = Served::start(&place.path().join("remote"), arguments);
        let instance = Self {
            definition: json!({
                "definition_version": 1,
                "id": "i",
                "remote": {"url": served.url},
                "uri_prefix": "t://p/",
                "plugin": {
                    "manifest": "manifest.json",
                    "command": [python(), place.path().join("plugin.py"), place.path()],
                },
                "config": {},
            }),
            place,
            served,
            variables: Vec::new(),
        };
        instance.write_manifest(&json!({}));
        instance.write_plugin(body);
        instance
    }

    pub(super) fn new(body: &str) -> Self {
        Self::with_remote(body, &[])
    }

    pub(super) fn write_plugin(&self, body: &str) {
        self.write("plugin.py", format!("{PRELUDE}\n{body}"));
    }

    /// Writes the manifest with some members replaced.
    pub(super) fn write_manifest(&self, members: &Value) {
        let mut manifest = json!({
            "manifest_version": 1,
            "name": "scripted",
            "version": "1",
            "protocol_versions": ["dpe-connector/1"],
            "config_schema": {"type": "object"},
        });
        let all = manifest.as_object_mut().unwrap();
        all.extend(members.as_object().unwrap().clone());
        self.write("manifest.json", manifest.to_string());
    }

    /// Makes a pipe in place of a file.
    pub(super) fn make_pipe(&self, name: &str) {
        let path = self.path(name);
        let _ = fs::remove_file(&path);
        let mut command = Command::new(python());
        command.args(["-c", "import os, sys; os.mkfifo(sys.argv[1])"]);
        assert!(command.arg(path).status().unwrap().success());
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    pub(super) fn state(&self) -> PathBuf {
        self.path("state")
    }

    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Returns the names of all files of the state directory, sorted.
    pub(super) fn state_files(&self) -> Vec<String> {
        let mut names = Vec::new();
        collect(&self.state(), Path::new(""), &mut names);
        names.sort();
        names
    }

    /// A command that sees nothing of the environment of the tests.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        self.write("definition.json", self.definition.to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.place.path())
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .arg("run")
            .arg("--state-dir")
            .arg(self.state())
            .args(arguments)
            .arg(self.path("definition.json"))
            .stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self) -> Ran {
        self.run_with(&[])
    }

    pub(super) fn run_with(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).output().unwrap())
    }

    /// Starts a run and waits until the log has `event`.
    pub(super) fn start(&self) -> Child {
        let stderr = fs::File::create(self.path("log")).unwrap();
        self.command(&[])
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .unwrap()
    }

    /// Waits until a started run has logged `event`.
    pub(super) fn wait_for(&self, event: &str) {
        let begun = Instant::now();
        let pattern = format!("\"event\":\"{event}\"");
        while !fs::read_to_string(self.path("log"))
            .unwrap()
            .contains(&pattern)
        {
            assert!(begun.elapsed() < Duration::from_secs(20), "no {event}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the end of a started run.
    pub(super) fn end_of(&self, child: Child) -> Ran {
        let mut ran = Ran::of(child.wait_with_output().unwrap());
        ran.stderr = fs::read_to_string(self.path("log")).unwrap();
        ran
    }

    /// What the remote holds, as `dpe ls` lists it.
    pub(super) fn remote(&self) -> Vec<String> {
        let output = Command::new(env!("CARGO_BIN_EXE_dpe"))
            .env_clear()
            .env("HOME", self.place.path())
            .args(["ls", "--remote", &self.served.url])
            .output()
            .unwrap();
        let listed = String::from_utf8(output.stdout).unwrap();
        listed.lines().map(str::to_owned).collect()
    }
}

impl Ran {
    fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns the report: the one line of stdout.
    pub(super) fn report(&self) -> Value {
        let line = self.stdout.strip_suffix('\n');
        let line = line.unwrap_or_else(|| panic!("{self:?}"));
        assert!(!line.contains('\n'), "{self:?}");
        serde_json::from_str(line).unwrap()
    }

    /// Returns the log; every line of stderr is one object.
    pub(super) fn log(&self) -> Vec<Value> {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}"));
        self.stderr.lines().map(line).collect()
    }

    /// Returns the lines of one event.
    pub(super) fn events(&self, name: &str) -> Vec<Value> {
        let mut log = self.log();
        log.retain(|line| line["event"] == name);
        log
    }

    /// Makes sure that this one failure ended the run, in the report and in the log.
    pub(super) fn assert_failed(&self, code: i32, level: &str, source: &str, name: &str) {
        assert_eq!(self.code, Some(code), "{self:?}");
        let report = self.report();
        assert_eq!(report["outcome"], "failed");
        let failures = report["failures"].as_array().unwrap();
        let [failure] = &failures[..] else {
            panic!("{report}");
        };
        let found = (&failure["level"], &failure["source"], &failure["code"]);
        assert_eq!(
            found,
            (&json!(level), &json!(source), &json!(name)),
            "{failure}"
        );
        let logged = self.events("item.failed");
        assert_eq!(logged.len(), 1, "{self:?}");
        assert_eq!(&logged[0]["failure"], failure);
        assert_eq!(logged[0]["level"], "error");
        self.assert_finished(&report);
    }

    /// Makes sure that the last line of the log repeats the report.
    pub(super) fn assert_finished(&self, report: &Value) {
        let finished = self.events("round.finished");
        assert_eq!(finished.len(), 1, "{self:?}");
        for name in [
            "outcome",
            "incremental",
            "cursor_persisted",
            "cursor_held_since",
            "counts",
        ] {
            assert_eq!(finished[0][name], report[name], "{name}");
        }
        assert_eq!(self.log().last(), finished.first());
    }

    /// Returns the message of the first failure.
    pub(super) fn message(&self) -> String {
        let report = self.report();
        report["failures"][0]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

fn collect(directory: &Path, prefix: &Path, names: &mut Vec<String>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let name = prefix.join(entry.file_name());
        if entry.path().is_dir() {
            collect(&entry.path(), &name, names);
        } else {
            names.push(name.to_str().unwrap().to_owned());
        }
    }
}
