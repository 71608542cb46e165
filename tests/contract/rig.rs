//! `dpe run` over the fixture plugin and a `dpe serve` of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use dpe_sdk::{CONTRACT, ExpandedDocument};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::host::plugin::python;
use crate::over_http::served::Served;

pub(super) const PREFIX: &str = "t://p/";

pub(super) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/contract/fixture")
        .join(name)
}

/// A definition, a state directory and a remote.
pub(super) struct Rig {
    folder: TempDir,
    pub(super) served: Served,
    /// Written anew before each run.
    pub(super) definition: Value,
    /// Additional variables of the runner's environment.
    pub(super) environment: Vec<(&'static str, String)>,
}

/// What one run came to.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    /// The one line on stdout.
    pub(super) report: Value,
    /// The lines on stderr.
    pub(super) log: Vec<Value>,
}

impl Rig {
    pub(super) fn new(scenario: &str) -> Self {
        Self::serving(scenario, &[])
    }

    /// The remote is served with these further arguments.
    pub(super) fn serving(scenario: &str, arguments: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let served = Served::start(&folder.path().join("store"), arguments);
        let definition = json!({
            "definition_version": 1,
            "id": "fixture",
            "remote": {"url": served.url},
            "uri_prefix": PREFIX,
            "plugin": {
                "manifest": fixture("dpe-connector.json"),
                "command": [python(), fixture("plugin.py")],
            },
            "config": {
                "scenario": scenario,
                "log": folder.path().join("asked"),
                "script": folder.path().join("script"),
            },
        });
        Self {
            folder,
            served,
            definition,
            environment: Vec::new(),
        }
    }

    /// A source that says what [`Rig::says`] was told.
    pub(super) fn scripted() -> Self {
        Self::new("script")
    }

    /// Tells the source what to say from now on; see the scenario `script` of the fixture.
    pub(super) fn says(&self, script: &Value) {
        fs::write(self.path("script"), script.to_string()).unwrap();
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn dpe(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            // Python would add one of its own to the environment in the locale C.
            .env("LANG", "C.UTF-8")
            .current_dir(self.folder.path());
        command
    }

    /// The command that does a round, with the definition as it is now.
    pub(super) fn command(&self) -> Command {
        let definition = self.path("definition.json");
        fs::write(&definition, self.definition.to_string()).unwrap();
        let mut command = self.dpe();
        command
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .arg("run")
            .arg("--state-dir")
            .arg(self.path("state"))
            .arg(definition)
            .stdin(Stdio::null());
        command
    }

    pub(super) fn run(&self) -> Ended {
        fs::write(self.path("asked"), "").unwrap();
        Ended::of(&self.command().output().unwrap())
    }

    /// Runs a round that has to succeed, and returns its counts.
    pub(super) fn succeeds(&self) -> Value {
        let ended = self.run();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert_eq!(ended.report["outcome"], "succeeded", "{ended:#?}");
        ended.report["counts"].clone()
    }

    /// Runs `dpe` against the remote, as somebody else would; it has to succeed.
    pub(super) fn somebody(&self, arguments: &[&str]) -> String {
        let mut command = self.dpe();
        command.args(arguments).args(["--remote", &self.served.url]);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Somebody else writes a document of one paragraph.
    pub(super) fn somebody_commits(&self, name: &str, text: &str) {
        let file = self.path("foreign.json");
        fs::write(&file, expanded(&json!(text)).to_string()).unwrap();
        self.somebody(&["commit", &format!("{PREFIX}{name}"), file.to_str().unwrap()]);
    }

    /// What the remote holds: name → `doc_hash`.
    pub(super) fn remote(&self) -> BTreeMap<String, String> {
        let listed = self.somebody(&["ls", "--json"]);
        let listed = listed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        listed
            .map(|entry| {
                let uri = entry["file_uri"].as_str().unwrap();
                let name = uri.strip_prefix(PREFIX).unwrap_or(uri).to_owned();
                (name, entry["doc_hash"].as_str().unwrap().to_owned())
            })
            .collect()
    }

    /// Asserts that the remote holds these documents and no others.
    pub(super) fn holds(&self, documents: &Value) {
        assert_eq!(self.remote(), hashes(documents), "{documents}");
    }

    /// What the plugin was asked in the last run, `initialize` left out.
    pub(super) fn asked(&self) -> Vec<String> {
        self.logged().iter().filter_map(asked).collect()
    }

    /// All that the plugin wrote into its log in the last run.
    pub(super) fn logged(&self) -> Vec<Value> {
        lines(&fs::read(self.path("asked")).unwrap())
    }
}

impl Ended {
    pub(super) fn of(output: &Output) -> Self {
        let reports = lines(&output.stdout);
        assert!(reports.len() <= 1, "{output:?}");
        Self {
            code: output.status.code(),
            report: reports.into_iter().next().unwrap_or_default(),
            log: lines(&output.stderr),
        }
    }

    /// The failures of the report: level, source, code, retryable, and the URIs.
    pub(super) fn failures(&self) -> Value {
        let failures = self.report["failures"].as_array().unwrap();
        failures.iter().map(short).collect()
    }

    /// The events of this name.
    pub(super) fn events(&self, name: &str) -> Vec<&Value> {
        let named = |line: &&Value| line["event"] == name;
        self.log.iter().filter(named).collect()
    }
}

/// Level, source, code, retryable and the URIs of a failure.
fn short(failure: &Value) -> Value {
    let always = ["level", "source", "code", "retryable"];
    let mut short: Vec<_> = always
        .iter()
        .map(|member| failure[member].clone())
        .collect();
    let uris = ["file_uri", "from_uri", "to_uri"];
    short.extend(uris.iter().filter_map(|uri| failure.get(uri).cloned()));
    Value::Array(short)
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect()
}

/// A request as the table has it: `scan`, `scan CURSOR`, `next NEXT`, `read_blob OFFSET`, …
fn asked(logged: &Value) -> Option<String> {
    let params = &logged["params"];
    let method = logged["method"].as_str()?;
    match method {
        "initialize" => None,
        "scan" => Some(match (params["next"].as_str(), params["cursor"].as_str()) {
            (Some(next), _) => format!("next {next}"),
            (None, Some(cursor)) => format!("scan {cursor}"),
            (None, None) => method.to_owned(),
        }),
        "read_blob" => Some(format!("read_blob {}", params["offset"])),
        _ => Some(method.to_owned()),
    }
}

/// A document of the table: its only paragraph, the only paragraphs of its pages, or all of it.
fn expanded(short: &Value) -> Value {
    let page = |text: &Value| json!({"elements": [{"category": "NarrativeText", "text": text}]});
    match short {
        Value::String(_) => json!({"file_type": "txt", "pages": [page(short)]}),
        Value::Array(pages) => {
            json!({"file_type": "txt", "pages": pages.iter().map(page).collect::<Value>()})
        }
        whole => whole.clone(),
    }
}

/// name → `doc_hash` as the published library computes it.
pub(super) fn hashes(documents: &Value) -> BTreeMap<String, String> {
    let documents = documents.as_object().unwrap();
    let hash = |document: &Value| {
        let text = expanded(document).to_string();
        let parsed = ExpandedDocument::parse(&text, CONTRACT).unwrap();
        parsed.doc_hash(CONTRACT).unwrap()
    };
    documents
        .iter()
        .map(|(name, document)| (name.clone(), hash(document)))
        .collect()
}

/// Items, as a script has them.
pub(super) fn document(name: &str, text: &str) -> Value {
    let expanded = expanded(&json!(text));
    json!({"kind": "document", "file_uri": format!("{PREFIX}{name}"),
           "document": {"file_type": "txt"}, "pages": expanded["pages"]})
}

pub(super) fn delete(name: &str) -> Value {
    json!({"kind": "delete", "file_uri": format!("{PREFIX}{name}")})
}

pub(super) fn moved(from: &str, to: &str) -> Value {
    json!({"kind": "move", "from_uri": format!("{PREFIX}{from}"),
           "to_uri": format!("{PREFIX}{to}")})
}
