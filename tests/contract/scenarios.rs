//! Every scenario of the fixture, good and hostile, ends as `scenarios.json` says.
//!
//! The table was written from the contract (section 32, and sections 9 to 28 for what it does not have) and tried on the
//! published runner, which it describes as well.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::rig::{Ended, Rig, hashes};

/// So many runners at once; most of the time they wait.
const AT_ONCE: usize = 6;

fn table() -> Value {
    serde_json::from_str(include_str!("scenarios.json")).unwrap()
}

/// Runs the scenarios of one part of the table and returns what differs.
fn differences(part: &str) -> Vec<String> {
    let table = table();
    let rows: VecDeque<_> = table[part].as_array().unwrap().iter().collect();
    let rows = Mutex::new(rows);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(row) = rows.lock().unwrap().pop_front() else {
                        break;
                    };
                    found.lock().unwrap().extend(run(row));
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Runs the rounds of one scenario and returns what differs.
fn run(row: &Value) -> Vec<String> {
    let name = row["name"].as_str().unwrap();
    let mut rig = Rig::new(name);
    rig.definition["runner"] = row.get("runner").cloned().unwrap_or_else(|| json!({}));
    let mut differences = Vec::new();
    for (number, expected) in (1..).zip(row["rounds"].as_array().unwrap()) {
        let ended = rig.run();
        let mut got = outcome(&ended);
        got["asked"] = json!(rig.asked());
        got["remote"] = json!(rig.remote());
        for (what, got) in got.as_object().unwrap() {
            let expected = match &**what {
                "events" => sorted(&expected["events"]),
                "remote" => json!(hashes(&expected["remote"])),
                _ => expected[what].clone(),
            };
            let undetermined = expected.is_null() && ["events", "asked"].contains(&&**what);
            if !undetermined && expected != *got {
                differences.push(format!(
                    "{name}, round {number}, {what}: {got} in place of {expected}"
                ));
            }
        }
        differences.extend(disagreement(&ended).map(|what| format!("{name}: {what}")));
    }
    differences
}

/// What the table has, of what a run came to.
fn outcome(ended: &Ended) -> Value {
    let report = &ended.report;
    let events = ended.log.iter().map(|line| {
        let text = |member: &str| line[member].as_str().unwrap().to_owned();
        format!("{} {}", text("level"), text("event"))
    });
    let table: Value = events
        .filter(|event| event != "info plugin.stderr")
        .collect();
    json!({
        "exit": ended.code,
        "outcome": report["outcome"],
        "incremental": report["incremental"],
        "cursor_persisted": report["cursor_persisted"],
        "held": !report["cursor_held_since"].is_null(),
        "plugin": !report["plugin"].is_null(),
        "counts": report["counts"],
        "failures": ended.failures(),
        "events": sorted(&table),
    })
}

fn sorted(strings: &Value) -> Value {
    let Some(strings) = strings.as_array() else {
        return Value::Null;
    };
    let mut strings: Vec<_> = strings
        .iter()
        .map(|string| string.as_str().unwrap())
        .collect();
    strings.sort_unstable();
    json!(strings)
}

/// What the log and the report tell differently, if they do (§26, §27).
fn disagreement(ended: &Ended) -> Option<String> {
    let finished = ended.log.last()?;
    let members = [
        "outcome",
        "incremental",
        "cursor_persisted",
        "cursor_held_since",
        "counts",
    ];
    let differs = |member: &&&str| finished[**member] != ended.report[**member];
    if let Some(member) = members.iter().find(differs) {
        return Some(format!("round.finished has another {member}"));
    }
    let logged = ended.events("item.failed");
    let logged: Value = logged.iter().map(|line| line["failure"].clone()).collect();
    if logged != ended.report["failures"] {
        return Some(format!("other failures were logged: {logged}"));
    }
    let rounds: Vec<_> = ended.log.iter().map(|line| &line["round"]).collect();
    let same = rounds.windows(2).all(|pair| pair[0] == pair[1]) && rounds[0].is_string();
    (!same).then(|| "the lines of the log are not of one round".to_owned())
}

#[test]
fn scenarios_of_the_contract_end_as_its_table_says() {
    assert_eq!(differences("contract"), [""; 0]);
}

#[test]
fn hostile_plugins_are_told_from_broken_sources_and_none_outlives_its_round() {
    assert_eq!(differences("hostile"), [""; 0]);
}

#[test]
fn plugin_that_sends_a_gigabyte_in_one_line_is_stopped_at_the_limit() {
    let rig = Rig::new("gigabyte_line");
    let ended = rig.run();
    assert_eq!(
        ended.failures(),
        json!([["protocol", "runner", "protocol_error", false]])
    );
    let logged = rig.logged();
    let sent = logged.iter().filter_map(|line| line["megabytes"].as_u64());
    assert!(
        !ended.events("plugin.exited")[0]["signal"].is_null(),
        "{ended:#?}"
    );
    // The limit is 32 MiB, and pipes hold little.
    assert!(sent.max().unwrap() <= 64, "{logged:?}");
}

#[test]
fn child_that_a_plugin_leaves_behind_is_ended_with_it() {
    let rig = Rig::new("grandchild");
    rig.succeeds();
    let logged = rig.logged();
    let child = logged
        .iter()
        .find_map(|line| line["grandchild"].as_i64())
        .unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child).unwrap()).unwrap();
    // It was sent a signal; who it then belongs to has to take note of its end.
    let patience = Instant::now() + Duration::from_secs(5);
    while rustix::process::test_kill_process(pid).is_ok() {
        assert!(Instant::now() < patience, "{child} is still there");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn lines_of_a_flood_on_stderr_are_logged_cut_and_with_bad_bytes_replaced() {
    let rig = Rig::new("floods_stderr");
    let ended = rig.run();
    let lines = ended.events("plugin.stderr");
    assert_eq!(lines.len(), 400);
    let long = lines[0]["line"].as_str().unwrap();
    assert!(long.len() >= 8192 && long.bytes().all(|byte| byte == b'x'));
    assert_eq!(lines[0]["truncated"], true);
    assert_eq!(lines[1]["line"], "\u{fffd} short");
    assert_eq!(lines[1]["truncated"], false);
}

#[test]
fn plugin_sees_the_base_its_secrets_and_its_own_variables_and_nothing_else() {
    let mut rig = Rig::new("env_probe");
    rig.definition["plugin"]["manifest"] = json!(super::rig::fixture("needs-secret.json"));
    rig.definition["plugin"]["env"] = json!({"FIXTURE_LOCALE": "en"});
    rig.definition["secrets"] = json!({"FIXTURE_TOKEN": {"env": "TOKEN_OF_THE_RUNNER"}});
    let without = rig.run();
    assert_eq!(without.code, Some(3));
    assert_eq!(
        without.failures(),
        json!([["instance", "runner", "secret_missing", false]])
    );
    assert_eq!(without.report["plugin"], Value::Null);

    rig.environment = vec![
        ("TOKEN_OF_THE_RUNNER", "sesame".to_owned()),
        ("DPE_AUTHORIZATION", "Bearer nobody".to_owned()),
        ("LC_TIME", "C".to_owned()),
        ("TZ", "UTC".to_owned()),
        ("SHELL", "/bin/sh".to_owned()),
    ];
    rig.succeeds();
    let names = [
        "FIXTURE_LOCALE",
        "FIXTURE_TOKEN",
        "HOME",
        "LANG",
        "LC_TIME",
        "PATH",
        "TZ",
    ];
    let elements: Value = names
        .iter()
        .map(|name| json!({"category": "NarrativeText", "text": name}))
        .collect();
    rig.holds(&json!({"env": {"file_type": "txt", "pages": [{"elements": elements}]}}));
}
