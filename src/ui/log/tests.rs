//! Every row of the table of §27.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Log, Weight};
use crate::json::Text;
use crate::model::{Contract, FileUri, TreeBuilder};
use crate::ops::run::Redaction;
use crate::sync::blobs::Blobs;
use crate::sync::event::{Event, Observer};
use crate::sync::failure::{Failure, FailureSource, Level, Subject};
use crate::sync::report::{Outcome, Report};
use crate::sync::unachieved::Cause;
use crate::sync::wave::Operation;

fn log() -> Log<Vec<u8>> {
    Log::to(Vec::new(), Redaction::default())
}

fn lines(log: &Log<Vec<u8>>) -> Vec<Value> {
    let text = String::from_utf8(log.to.lock().unwrap().clone()).unwrap();
    assert!(text.ends_with('\n'));
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Returns the one line of an event, without `ts`.
fn line(event: Event<'_>) -> Value {
    let log = log();
    log.event(event);
    let mut lines = lines(&log);
    let mut line = lines.remove(0);
    assert!(lines.is_empty());
    line.as_object_mut().unwrap().remove("ts").unwrap();
    line
}

fn uri(name: &str) -> FileUri {
    FileUri::parse(&format!("t://{name}")).unwrap()
}

/// Returns the members that every line has, of a call whose instance is not known yet.
fn expected(level: &str, event: &str, mut members: Value) -> Value {
    let more = members.as_object_mut().unwrap();
    more.insert("level".into(), level.into());
    more.insert("event".into(), event.into());
    more.insert("instance".into(), Value::Null);
    more.insert("round".into(), Value::Null);
    members
}

#[test]
fn a_line_begins_with_time_level_event_instance_and_round() {
    let log = log();
    log.event(Event::PluginStarted { pid: 7 });
    log.event(Event::Instance { id: "a" });
    log.event(Event::Locked { round: "r1" });
    log.event(Event::PluginStarted { pid: 7 });
    let text = String::from_utf8(log.to.lock().unwrap().clone()).unwrap();
    let rests: Vec<&str> = text
        .lines()
        .map(|line| {
            let (ts, rest) = line
                .strip_prefix("{\"ts\":\"")
                .unwrap()
                .split_once('"')
                .unwrap();
            ts.parse::<Timestamp>().unwrap();
            assert!(ts.ends_with('Z'), "{ts}");
            rest
        })
        .collect();
    let expected = [
        r#","level":"info","event":"plugin.started","instance":null,"round":null,"pid":7}"#,
        r#","level":"info","event":"plugin.started","instance":"a","round":"r1","pid":7}"#,
    ];
    assert_eq!(rests, expected);
}

#[test]
fn what_a_plugin_does_is_logged() {
    let exited = |exit_code, signal| line(Event::PluginExited { exit_code, signal });
    let members = json!({"exit_code": 0, "signal": null});
    let clean = expected("info", "plugin.exited", members);
    assert_eq!(exited(Some(0), None), clean);
    let members = json!({"exit_code": 3, "signal": null});
    assert_eq!(
        exited(Some(3), None),
        expected("warn", "plugin.exited", members)
    );
    let members = json!({"exit_code": null, "signal": 9});
    assert_eq!(
        exited(None, Some(9)),
        expected("warn", "plugin.exited", members)
    );
    let said = line(Event::PluginStderr {
        line: "a \"b\"",
        truncated: true,
    });
    let members = json!({"line": "a \"b\"", "truncated": true});
    assert_eq!(said, expected("info", "plugin.stderr", members));
}

#[test]
fn what_a_round_does_is_logged() {
    let started = line(Event::RoundStarted { cursor_given: true });
    let members = json!({"cursor_given": true});
    assert_eq!(started, expected("info", "round.started", members));
    let refreshed = line(Event::Refreshed {
        uris: 3,
        deleted: 2,
        violations: 1,
    });
    let members = json!({"uris": 3, "deleted": 2, "violations": 1});
    assert_eq!(refreshed, expected("warn", "round.refreshed", members));
    let rejected = line(Event::BatchReadRejected {
        code: "DPE_FORBIDDEN",
        entries: 5,
        denied: 4,
    });
    let members = json!({"code": "DPE_FORBIDDEN", "entries": 5, "denied": 4});
    assert_eq!(
        rejected,
        expected("warn", "remote.batch_read_rejected", members)
    );
}

#[test]
fn failures_of_items_are_warnings_and_others_errors_and_the_object_is_nested() {
    let subject = Subject::Document("t://a".into());
    let item = Failure::item(FailureSource::Plugin, "internal", "why", subject).retryable(true);
    let object = json!({"level": "item", "source": "plugin", "code": "internal",
        "message": "why", "retryable": true, "file_uri": "t://a"});
    let members = json!({ "failure": object });
    let found = line(Event::Failed(&item));
    assert_eq!(found, expected("warn", "item.failed", members));
    for level in [Level::Round, Level::Instance, Level::Protocol] {
        let failure = Failure::new(level, FailureSource::Runner, "timeout", "why");
        let object = json!({"level": level.as_str(), "source": "runner", "code": "timeout",
            "message": "why", "retryable": false});
        let members = json!({ "failure": object });
        let found = line(Event::Failed(&failure));
        assert_eq!(found, expected("error", "item.failed", members.clone()));
        let found = line(Event::HeldWriteFailed(&failure));
        assert_eq!(found, expected("warn", "state.held_write_failed", members));
    }
}

#[test]
fn what_is_skipped_is_logged_with_its_cause() {
    let head = Text::parse(br#"{"file_type":"md"}"#).unwrap();
    let tree = TreeBuilder::new(Contract::Dpe1).finish(head.root());
    let document = Operation::Commit {
        uri: uri("c"),
        tree: Box::new(tree.unwrap()),
        blobs: Blobs::default(),
    };
    let delete = Operation::Delete { uri: uri("c") };
    let rename = Operation::Move {
        from: uri("c"),
        to: uri("d"),
    };
    let cause = Cause {
        from: uri("a"),
        to: uri("b"),
    };
    for (operation, members) in [
        (document, json!({"kind": "document", "file_uri": "t://c"})),
        (delete, json!({"kind": "delete", "file_uri": "t://c"})),
        (
            rename,
            json!({"kind": "move", "from_uri": "t://c", "to_uri": "t://d"}),
        ),
    ] {
        let mut members = members;
        members["cause"] = json!({"from_uri": "t://a", "to_uri": "t://b"});
        let found = line(Event::Skipped {
            operation: &operation,
            cause: &cause,
        });
        assert_eq!(found, expected("warn", "item.skipped", members));
    }
}

#[test]
fn the_end_of_a_round_repeats_the_report_at_the_level_of_its_outcome() {
    let mut report = Report::begun(Some("a"), None, None, Timestamp::UNIX_EPOCH);
    report.counts.created = 2;
    for (outcome, cursor_given, incremental, level) in [
        (Outcome::Failed, false, None, "error"),
        (Outcome::Partial, true, Some(true), "warn"),
        (Outcome::Succeeded, true, Some(false), "warn"),
        (Outcome::Succeeded, true, Some(true), "info"),
        (Outcome::Succeeded, false, Some(false), "info"),
    ] {
        report.outcome = outcome;
        report.incremental = incremental;
        report.cursor_held_since = Some("2026-11-02T10:15:00Z".into());
        let log = log();
        log.event(Event::RoundStarted { cursor_given });
        log.event(Event::Finished(&report));
        let mut found = lines(&log).remove(1);
        found.as_object_mut().unwrap().remove("ts");
        let members = json!({"outcome": outcome.as_str(), "incremental": incremental,
            "cursor_persisted": false, "cursor_held_since": "2026-11-02T10:15:00Z",
            "counts": {"created": 2, "updated": 0, "unchanged": 0, "deleted": 0, "moved": 0,
                "failed": 0}});
        assert_eq!(found, expected(level, "round.finished", members));
    }
}

#[test]
fn ends_of_the_runner_itself_are_logged() {
    let crashed = line(Event::Crashed { traceback: "why" });
    let members = json!({"traceback": "why"});
    assert_eq!(crashed, expected("error", "runner.crashed", members));
    for found in [true, false] {
        let mut deleted = line(Event::Deleted { found });
        let message = deleted.as_object_mut().unwrap().remove("message").unwrap();
        assert!(message.is_string());
        let members = json!({"found": found});
        assert_eq!(deleted, expected("info", "instance.deleted", members));
    }
    let log = log();
    log.interrupted("SIGTERM");
    let mut found = lines(&log).remove(0);
    found.as_object_mut().unwrap().remove("ts");
    let members = json!({"signal": "SIGTERM"});
    assert_eq!(found, expected("warn", "runner.interrupted", members));
}

#[test]
fn a_line_that_cannot_be_rendered_is_replaced_by_one_that_says_so() {
    let log = log();
    log.line(Weight::Info, "plugin.started", |json| {
        json.name("pid").integer(i64::MAX);
    });
    let found = &lines(&log)[0];
    assert_eq!(found["event"], "plugin.started");
    assert!(found["render_error"].is_string());
    assert!(found.get("pid").is_none());
}

#[test]
fn events_for_people_have_no_line() {
    let log = log();
    log.event(Event::Warning("x"));
    log.event(Event::Replaced(&uri("a")));
    assert!(log.to.lock().unwrap().is_empty());
}
