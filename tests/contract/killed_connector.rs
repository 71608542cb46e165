//! `kill -9` of the connector at every message it sends: before a byte of it, in the middle of it, and when all of it is
//! out. The round fails, or what was killed was not needed any more; the next one completes what the source says.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;

use serde_json::{Value, json};

use super::rig::{Rig, fixture};
use super::story::{self, Sequel};
use crate::host::plugin::python;
use crate::push::repositories::git;

const MOMENTS: [&str; 3] = ["before", "within", "behind"];

fn crashed() -> Value {
    json!(["round", "runner", "plugin_crashed", false])
}

/// The command of the plugin, to be killed at one of its messages.
fn mortal(number: usize, moment: &str, command: &Value) -> Value {
    let number = number.to_string();
    let mut mortal = vec![
        json!(python()),
        json!(fixture("mortal.py")),
        json!(number),
        json!(moment),
    ];
    mortal.extend(command.as_array().unwrap().iter().cloned());
    Value::Array(mortal)
}

/// Kills the plugin at message after message, until a round has no more of them.
fn killed_at_every_message(moment: &str, turn: usize) {
    for number in 1.. {
        let mut rig = Rig::scripted();
        story::begin(&mut rig);
        let command = rig.definition["plugin"]["command"].clone();
        rig.definition["plugin"]["command"] = mortal(number, moment, &command);
        story::change(&rig, &[]);
        let ended = rig.run();
        let exited = ended.events("plugin.exited")[0]["signal"].clone();
        rig.definition["plugin"]["command"] = command;
        let sequel = Sequel::of(number + turn);
        let at = format!("message {number}, {moment}, {sequel:?}");
        story::ended(&rig, &ended, &crashed(), sequel, &at);
        if exited.is_null() {
            // initialize, two batches, three reads of the blob, shutdown
            assert_eq!(number, 8, "{at}");
            return;
        }
    }
}

#[test]
fn killed_before_any_message_or_within_it_or_behind_it() {
    thread::scope(|scope| {
        for (turn, moment) in MOMENTS.into_iter().enumerate() {
            scope.spawn(move || killed_at_every_message(moment, turn));
        }
    });
}

/// A bundled connector over a folder that is made and changed in the same way every time.
struct Bundled {
    name: &'static str,
    manifest: &'static str,
    root: &'static str,
}

const BUNDLED: [Bundled; 2] = [
    Bundled {
        name: dpe_connector_fs::NAME,
        manifest: dpe_connector_fs::MANIFEST,
        root: "root",
    },
    Bundled {
        name: dpe_connector_git::NAME,
        manifest: dpe_connector_git::MANIFEST,
        root: "repo",
    },
];

/// What looks like a picture and is too large to be sent along with its document.
fn picture(byte: u8) -> Vec<u8> {
    [&b"\x89PNG\r\n\x1a\n"[..], &[byte; 200_000]].concat()
}

impl Bundled {
    fn rig(&self, source: &Path) -> Rig {
        let mut rig = Rig::scripted();
        fs::write(rig.path("manifest.json"), self.manifest).unwrap();
        let dpe = env!("CARGO_BIN_EXE_dpe");
        rig.definition["plugin"] = json!({
            "manifest": "manifest.json",
            "command": [dpe, "connector", "serve", self.name],
        });
        rig.definition["config"] = json!({self.root: source});
        rig.definition["conflict_policy"] = json!({"commit": "report", "delete": "report"});
        rig.definition["runner"] = json!({"max_items": 3});
        rig
    }

    fn commit(&self, source: &Path) {
        if self.name == dpe_connector_git::NAME {
            git(source, &["add", "-A"]);
            git(source, &["commit", "-q", "-m", "x"]);
        }
    }

    fn begin(&self, source: &Path) {
        fs::create_dir_all(source.join("x")).unwrap();
        for name in ["a.md", "b.md", "c.md", "x/d.md", "x/e.md"] {
            fs::write(source.join(name), format!("# {name}\n\nText.\n")).unwrap();
        }
        fs::write(source.join("p.png"), picture(b'1')).unwrap();
        if self.name == dpe_connector_git::NAME {
            git(source, &["init", "-q", "-b", "main"]);
        }
        self.commit(source);
    }

    fn change(&self, source: &Path) {
        fs::write(source.join("a.md"), "# a.md\n\nInserted.\n\nText.\n").unwrap();
        fs::remove_file(source.join("b.md")).unwrap();
        fs::rename(source.join("c.md"), source.join("x/c.md")).unwrap();
        fs::rename(source.join("x/d.md"), source.join("swap")).unwrap();
        fs::rename(source.join("x/e.md"), source.join("x/d.md")).unwrap();
        fs::rename(source.join("swap"), source.join("x/e.md")).unwrap();
        fs::write(source.join("new.txt"), "New.\n").unwrap();
        fs::write(source.join("p.png"), picture(b'2')).unwrap();
        self.commit(source);
    }

    /// What a full round of the changed source gives to a fresh remote.
    fn truth(&self) -> BTreeMap<String, String> {
        let folder = tempfile::tempdir().unwrap();
        self.begin(folder.path());
        self.change(folder.path());
        let fresh = self.rig(folder.path());
        fresh.succeeds();
        fresh.remote()
    }

    /// Kills the connector at message after message, until a round has no more of them.
    fn killed_at_every_message(&self, moment: &str, truth: &BTreeMap<String, String>) {
        for number in 1.. {
            let folder = tempfile::tempdir().unwrap();
            let source = folder.path();
            self.begin(source);
            let mut rig = self.rig(source);
            rig.succeeds();
            self.change(source);
            let command = rig.definition["plugin"]["command"].clone();
            rig.definition["plugin"]["command"] = mortal(number, moment, &command);
            let ended = rig.run();
            rig.definition["plugin"]["command"] = command;
            let at = format!("{}, message {number}, {moment}: {ended:#?}", self.name);
            if ended.code == Some(0) {
                assert_eq!(ended.failures(), json!([]), "{at}");
            } else {
                assert_eq!(ended.code, Some(2), "{at}");
                assert_eq!(ended.failures(), json!([crashed()]), "{at}");
                rig.succeeds();
            }
            assert_eq!(rig.remote(), *truth, "{at}");
            let more = rig.run();
            let counts = json!({"created": 0, "updated": 0, "unchanged": 0, "deleted": 0, "moved": 0, "failed": 0});
            assert_eq!(more.report["counts"], counts, "{at}");
            assert_eq!(more.report["incremental"], true, "{at}");
            if ended.events("plugin.exited")[0]["signal"].is_null() {
                assert!(number > 6, "{at}");
                return;
            }
        }
    }
}

#[test]
fn bundled_connectors_are_killed_at_any_message_and_converge() {
    thread::scope(|scope| {
        for bundled in &BUNDLED {
            scope.spawn(|| {
                let truth = bundled.truth();
                for moment in MOMENTS {
                    bundled.killed_at_every_message(moment, &truth);
                }
            });
        }
    });
}
