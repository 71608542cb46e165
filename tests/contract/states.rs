//! What a runner remembers between rounds, and what happens when it cannot (§1, §8, §16, §22).

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rig::{Ended, Rig, document};

#[test]
fn same_id_with_another_configuration_starts_a_full_round() {
    let mut rig = Rig::scripted();
    let say = json!({"full": [[document("a", "one")]], "incremental": [[]], "cursor": "c1"});
    rig.says(&say);
    rig.succeeds();
    rig.succeeds();
    assert_eq!(rig.asked(), ["scan c1", "shutdown"]);
    rig.definition["config"]["note"] = json!("another");
    assert_eq!(rig.succeeds()["unchanged"], 1);
    assert_eq!(rig.asked(), ["scan", "shutdown"]);
    // Credentials, the command and tuning are not part of what it is.
    rig.definition["runner"] = json!({"max_items": 7});
    rig.definition["plugin"]["env"] = json!({"FIXTURE_LOCALE": "en"});
    rig.succeeds();
    assert_eq!(rig.asked(), ["scan c1", "shutdown"]);
}

#[test]
fn second_run_at_the_same_time_is_told_that_the_instance_is_busy() {
    let mut rig = Rig::new("slow_scan");
    rig.definition["runner"] = json!({"scan_timeout": 4});
    fs::write(rig.path("asked"), "").unwrap();
    let mut first = rig.command();
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped());
    let first = first.spawn().unwrap();
    let patience = Instant::now() + Duration::from_secs(20);
    while rig.asked().is_empty() {
        assert!(Instant::now() < patience, "the first run does not scan");
        thread::sleep(Duration::from_millis(20));
    }
    let second = Ended::of(&rig.command().output().unwrap());
    assert_eq!(second.code, Some(4), "{second:#?}");
    assert_eq!(
        second.failures(),
        json!([["round", "runner", "instance_busy", true]])
    );
    assert_eq!(second.report["cursor_held_since"], Value::Null);
    assert_eq!(second.report["outcome"], "failed");
    assert!(second.log.iter().all(|line| line["round"].is_null()));
    let first = Ended::of(&first.wait_with_output().unwrap());
    assert_eq!(
        first.failures(),
        json!([["round", "runner", "timeout", true]])
    );
}

/// The file with the state of the instance.
fn state_of(rig: &Rig) -> PathBuf {
    rig.path("state/instances/fixture/state.db")
}

/// A rig that has done a round.
fn used() -> Rig {
    let rig = Rig::scripted();
    let items = [document("a", "one")];
    rig.says(&json!({"full": [items], "incremental": [[]], "cursor": "c1"}));
    rig.succeeds();
    rig
}

#[test]
fn corrupt_state_is_no_empty_state_and_is_left_as_it_is() {
    let rig = used();
    let state = state_of(&rig);
    let garbage = b"garbage, and not a little of it ".repeat(300);
    for name in ["state.db-wal", "state.db-shm"] {
        let _ = fs::remove_file(state.with_file_name(name));
    }
    fs::write(&state, &garbage).unwrap();
    let ended = rig.run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["round", "runner", "state_unavailable", false]])
    );
    assert_eq!(ended.report["cursor_held_since"], Value::Null);
    assert_eq!(rig.asked(), [""; 0]);
    assert!(fs::read(&state).unwrap() == garbage, "it was touched");
}

#[test]
fn state_that_cannot_be_read_may_be_readable_next_time() {
    let rig = used();
    let state = state_of(&rig);
    let kept = rig.path("kept");
    fs::rename(&state, &kept).unwrap();
    // Even a superuser cannot read a folder as a file.
    fs::create_dir(&state).unwrap();
    let ended = rig.run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["round", "runner", "state_unavailable", true]])
    );
    fs::remove_dir(&state).unwrap();
    fs::rename(&kept, &state).unwrap();
    rig.succeeds();
    assert_eq!(rig.asked(), ["scan c1", "shutdown"]);
}

#[test]
fn what_a_failed_round_delivered_and_the_source_then_deleted_is_deleted_by_a_refresh() {
    let rig = used();
    let error = json!({"kind": "error", "file_uri": "t://p/y", "code": "source_unavailable",
                       "message": "locked", "retryable": true});
    let full = json!([[document("a", "one")]]);
    rig.says(
        &json!({"full": full, "incremental": [[document("x", "new"), error]],
                     "cursor": "c2"}),
    );
    let failed = rig.run();
    assert_eq!(failed.code, Some(1), "{failed:#?}");
    rig.holds(&json!({"a": "one", "x": "new"}));

    // For the source, `x` came and went since the cursor: it does not mention it.
    rig.says(&json!({"full": full, "incremental": [[]], "cursor": "c3"}));
    let ended = rig.run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(rig.asked(), ["scan c1", "scan", "shutdown"]);
    assert_eq!(ended.report["counts"]["deleted"], 1);
    assert_eq!(ended.report["incremental"], true);
    assert_eq!(ended.report["cursor_persisted"], true);
    let refreshed = ended.events("round.refreshed");
    assert_eq!(refreshed.len(), 1);
    let members = ["level", "uris", "deleted", "violations"];
    let members = members.map(|member| refreshed[0][member].clone());
    assert_eq!(json!(members), json!(["warn", 1, 1, 0]));
    rig.holds(&json!({"a": "one"}));

    rig.succeeds();
    assert_eq!(rig.asked(), ["scan c3", "shutdown"]);
}

#[test]
fn round_that_died_is_done_again_from_the_same_cursor() {
    let rig = used();
    let batches = json!([[document("b", "two")], [document("c", "three")]]);
    let full = json!([[document("a", "one")]]);
    rig.says(&json!({"full": full, "incremental": batches, "cursor": "c2", "crash": true}));
    let ended = rig.run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["round", "runner", "plugin_crashed", false]])
    );
    assert_eq!(ended.report["counts"]["created"], 1);
    rig.says(&json!({"full": full, "incremental": batches, "cursor": "c2"}));
    let counts = rig.succeeds();
    assert_eq!(rig.asked()[0], "scan c1");
    assert_eq!(
        (&counts["created"], &counts["unchanged"]),
        (&json!(1), &json!(1))
    );
    rig.holds(&json!({"a": "one", "b": "two", "c": "three"}));
}
