//! The state directory: locks, identity, faults (§8, §23).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::instance::{EMPTY, Instance};
use crate::host::plugin::python;

/// Says which cursor it was given, by a document that is named after it.
const CURSOR: &str = r#"
initialize()
request = read()
cursor = request["params"].get("cursor")
result(request, {"items": [], "cursor": "c-1", "incremental": cursor is not None})
shutdown()
"#;

/// What the state directory holds after a run.
const STATE_FILES: [&str; 3] = ["instances/i/lock", "instances/i/state.db", "registry.db"];

fn failing() -> &'static str {
    "initialize()\nerror(read(), -32003)"
}

#[test]
fn of_two_runs_at_once_one_is_busy_and_touches_nothing() {
    let instance = Instance::new(
        "initialize()\nrequest = read()\nwhile not os.path.exists(sys.argv[1] + \"/go\"): time.sleep(0.01)\nresult(request, FINAL)\nshutdown()",
    );
    let child = instance.start();
    instance.wait_for("round.started");
    let ran = instance.run();
    ran.assert_failed(4, "round", "runner", "instance_busy");
    let report = ran.report();
    assert_eq!(report["cursor_held_since"], Value::Null);
    assert_eq!(report["failures"][0]["retryable"], true);
    assert_eq!(report["outcome"], "failed");
    assert_eq!(ran.events("round.finished").len(), 1, "{ran:?}");
    for line in ran.stderr.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["round"], Value::Null, "{line}");
    }
    instance.write("go", "");
    let ran = instance.end_of(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn another_content_identity_starts_over_and_another_command_does_not() {
    let mut instance = Instance::new(CURSOR);
    let incremental = |instance: &Instance| {
        let ran = instance.run();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let given = ran.events("round.started")[0]["cursor_given"].clone();
        assert_eq!(given, ran.report()["incremental"], "{ran:?}");
        given == true
    };
    assert!(!incremental(&instance));
    assert!(incremental(&instance));
    // The same configuration in other words.
    instance.definition["runner"] = json!({"scan_timeout": 7});
    instance.definition["conflict_policy"] = json!({"commit": "report"});
    instance.definition["plugin"]["env"] = json!({"X": "y"});
    assert!(incremental(&instance));
    instance.definition["config"] = json!({"a": 1});
    assert!(!incremental(&instance));
    assert!(incremental(&instance));
    instance.definition["uri_prefix"] = json!("t://p/sub/");
    assert!(!incremental(&instance));
    assert!(incremental(&instance));
}

#[test]
fn the_hold_record_keeps_the_time_of_the_first_round_and_survives_a_change_of_identity() {
    let mut instance = Instance::new(failing());
    let since = |instance: &Instance| instance.run().report()["cursor_held_since"].clone();
    let first = since(&instance);
    assert!(first.is_string());
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(since(&instance), first);
    instance.definition["config"] = json!({"a": 1});
    assert_eq!(since(&instance), first);
    // Before state is read, nothing is known of it.
    let manifest = instance.definition["plugin"]["manifest"].take();
    instance.definition["plugin"]["manifest"] = json!("missing.json");
    assert_eq!(since(&instance), Value::Null);
    instance.definition["plugin"]["manifest"] = manifest;
    instance.write_plugin(EMPTY);
    assert_eq!(since(&instance), Value::Null);
    instance.write_plugin(failing());
    let second = since(&instance);
    assert!(second.as_str() > first.as_str(), "{second} {first}");
}

#[test]
fn a_prefix_that_may_not_be_taken_is_noted_in_the_old_state_whose_cursor_stays() {
    let mut instance = Instance::new(CURSOR);
    instance.definition["id"] = json!("other");
    instance.definition["uri_prefix"] = json!("t://q/");
    assert_eq!(instance.run().code, Some(0));
    instance.definition["id"] = json!("i");
    instance.definition["uri_prefix"] = json!("t://p/");
    assert_eq!(instance.run().code, Some(0));
    instance.definition["uri_prefix"] = json!("t://q/sub/");
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "definition_invalid");
    let since = ran.report()["cursor_held_since"].clone();
    assert_eq!(since, ran.report()["started_at"]);
    instance.definition["uri_prefix"] = json!("t://p/");
    instance.write_plugin(failing());
    let ran = instance.run();
    assert_eq!(ran.report()["cursor_held_since"], since);
    assert_eq!(
        ran.events("round.started")[0]["cursor_given"],
        true,
        "{ran:?}"
    );
}

#[test]
fn state_that_is_corrupt_is_told_and_left_untouched() {
    for name in ["instances/i/state.db", "registry.db"] {
        let instance = Instance::new(EMPTY);
        assert_eq!(instance.run().code, Some(0));
        let path = instance.state().join(name);
        for content in [
            "no database, and long enough to be looked at by somebody",
            "",
        ] {
            fs::write(&path, content).unwrap();
            let ran = instance.run();
            ran.assert_failed(2, "round", "runner", "state_unavailable");
            let report = ran.report();
            assert_eq!(
                report["failures"][0]["retryable"], false,
                "{name}: {report}"
            );
            assert!(ran.events("plugin.started").is_empty());
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
            if name.starts_with("instances") {
                assert_eq!(report["cursor_held_since"], Value::Null);
            }
        }
    }
}

#[test]
fn state_that_cannot_be_reached_is_retryable() {
    let instance = Instance::new(CURSOR);
    assert_eq!(instance.run().code, Some(0));
    let path = instance.state().join("instances/i/state.db");
    let kept = instance.path("kept");
    fs::rename(&path, &kept).unwrap();
    // Even a superuser cannot read a folder as a file.
    fs::create_dir(&path).unwrap();
    let ran = instance.run();
    ran.assert_failed(2, "round", "runner", "state_unavailable");
    assert_eq!(ran.report()["failures"][0]["retryable"], true);
    // And next time it may be.
    fs::remove_dir(&path).unwrap();
    fs::rename(&kept, &path).unwrap();
    let ran = instance.run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.events("round.started")[0]["cursor_given"], true);
    // A file where the directory should be.
    let instance = Instance::new(EMPTY);
    instance.write("state", "");
    let ran = instance.run();
    ran.assert_failed(2, "round", "runner", "state_unavailable");
    assert_eq!(ran.report()["failures"][0]["retryable"], true);
}

/// Runs with files that cannot become longer than `blocks` blocks of 512 bytes, as on a disk that
/// is full: with an error if `is_told`, else by being killed.
fn run_limited(instance: &Instance, blocks: usize, is_told: bool) -> Option<i32> {
    let trap = if is_told { "trap '' XFSZ; " } else { "" };
    let whole = instance.command(&[]);
    let mut limited = Command::new("sh");
    limited
        .arg("-c")
        .arg(format!(
            "{trap}ulimit -c 0; ulimit -f {blocks}; exec \"$0\" \"$@\""
        ))
        .arg(whole.get_program())
        .args(whole.get_args())
        .env_clear();
    for (name, value) in whole.get_envs() {
        limited.env(name, value.unwrap_or_default());
    }
    limited.output().unwrap().status.code()
}

#[test]
fn a_state_that_could_not_be_created_for_want_of_space_is_created_by_the_next_run() {
    let instance = Instance::new(EMPTY);
    // Pages have 8 blocks; a limit in the middle of one leaves half of it.
    for (is_told, failed, step) in [(true, Some(2), 4), (false, None, 12)] {
        let codes = (0..=160).step_by(step).map(|blocks| {
            let code = run_limited(&instance, blocks, is_told);
            let ran = instance.run();
            assert_eq!(ran.code, Some(0), "{blocks} {is_told}: {ran:?}");
            let files = instance.state_files();
            if is_told {
                assert_eq!(files, STATE_FILES, "{blocks}");
            }
            fs::remove_dir_all(instance.state()).unwrap();
            code
        });
        let codes: Vec<_> = codes.take_while(|code| *code != Some(0)).collect();
        assert!(codes.len() > 3 && codes.len() < 160 / step, "{codes:?}");
        assert!(codes.iter().all(|code| *code == failed), "{codes:?}");
    }
}

#[test]
fn what_a_killed_run_left_of_a_new_state_is_removed_by_the_next() {
    let instance = Instance::new(EMPTY);
    fs::create_dir_all(instance.path("state/instances/i/.new-a")).unwrap();
    for name in [".new-a/b", ".new-a/b-journal", ".new-c", ".new-c-wal"] {
        instance.write(&format!("state/instances/i/{name}"), "x");
    }
    assert_eq!(instance.run().code, Some(0));
    assert_eq!(instance.state_files(), STATE_FILES);
}

/// Runs as a user for whom modes count, which they do not for the superuser.
fn run_as_somebody(instance: &Instance) -> Option<i32> {
    const SCRIPT: &str = "import os, sys
if os.getuid() == 0:
    for place, _, names in os.walk(sys.argv[1]):
        for path in [place] + [os.path.join(place, name) for name in names]:
            os.chown(path, 65534, 65534)
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.execv(sys.argv[2], sys.argv[2:])";
    let program = instance.path("dpe");
    let whole = instance.command(&[]);
    let mut other = Command::new(python());
    other
        .args(["-c", SCRIPT])
        .args([instance.path(""), program])
        .args(whole.get_args())
        .env_clear();
    for (name, value) in whole.get_envs() {
        other.env(name, value.unwrap_or_default());
    }
    other.output().unwrap().status.code()
}

#[test]
fn a_state_that_was_write_protected_for_a_while_is_written_after_it() {
    let mut instance = Instance::new(EMPTY);
    // Neither where the program was built nor the interpreter of the plugin need be everybody's.
    let program = instance.path("dpe");
    // Another process copies: one that a test beside this starts in the meantime would hold the file open for
    // writing, and it could not be run.
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_dpe"))
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    let manifest = Command::new(&program)
        .args(["connector", "manifest", "fs"])
        .output();
    instance.write("manifest.json", manifest.unwrap().stdout);
    instance.write("document.md", "# One\n");
    instance.definition["plugin"]["command"] = json!([program, "connector", "serve", "fs"]);
    instance.definition["config"] = json!({"root": instance.path(""), "include": ["*.md"]});
    assert_eq!(run_as_somebody(&instance), Some(0));
    for name in ["instances/i/state.db", "registry.db"] {
        let path = instance.state().join(name);
        let set_mode = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        set_mode(&path, 0o444);
        assert_eq!(run_as_somebody(&instance), Some(2), "{name}");
        assert_eq!(instance.state_files(), STATE_FILES);
        set_mode(&path, 0o644);
        // As an interrupted run leaves them, and as a write-protected one has left them.
        for suffix in ["-wal", "-shm"] {
            let beside = format!("state/{name}{suffix}");
            instance.write(&beside, "");
            set_mode(&instance.path(&beside), 0o444);
        }
        assert_eq!(run_as_somebody(&instance), Some(0), "{name}");
        assert_eq!(instance.state_files(), STATE_FILES);
    }
}
