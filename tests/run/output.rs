//! Report, log and exit code (§26 to §28).

use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use dpe::config::{Network, Places};
use dpe::ops::run::{self, Cancel, Redaction, Run};
use dpe::sync::event::{Event, Observer};
use dpe::sync::report::Outcome;
use serde_json::{Value, json};

use super::instance::{EMPTY, Instance};

/// Two documents, one of which cannot be read.
const PARTIAL: &str = r#"
initialize()
result(read(), {"items": [
    {"kind": "document", "file_uri": "t://p/a", "document": {"file_type": "md"}, "pages": []},
    {"kind": "error", "file_uri": "t://p/b", "code": "source_unavailable", "message": "locked",
     "retryable": True}], "cursor": "c", "incremental": False})
shutdown()
"#;

#[test]
fn report_and_log_of_a_partial_round_have_all_their_members_in_order() {
    let instance = Instance::new(PARTIAL);
    let ran = instance.run();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let url = &instance.served.url;
    let (started, rest) = ran.stdout.split_once("\"ended_at\":").unwrap();
    let (started, time) = started.split_once("\"started_at\":").unwrap();
    assert_eq!(
        started,
        format!(
            r#"{{"report_version":1,"instance":{{"id":"i","uri_prefix":"t://p/"}},"remote_url":"{url}","plugin":{{"name":"scripted","version":"1"}},"protocol_version":"dpe-connector/1","#
        )
    );
    let time = time.trim_end_matches(',').trim_matches('"');
    assert_eq!(time.len(), "2026-11-02T10:15:00Z".len(), "{time}");
    let (_, rest) = rest.split_once(',').unwrap();
    assert_eq!(
        rest,
        format!(
            r#""outcome":"partial","incremental":false,"cursor_persisted":false,"cursor_held_since":"{time}","counts":{{"created":1,"updated":0,"unchanged":0,"deleted":0,"moved":0,"failed":1}},"failures":[{{"level":"item","source":"plugin","code":"source_unavailable","message":"locked","retryable":true,"file_uri":"t://p/b"}}]}}"#
        ) + "\n"
    );
    ran.assert_finished(&ran.report());
    let events: Vec<Value> = ran.log().iter().map(|line| line["event"].clone()).collect();
    let expected = json!([
        "plugin.started",
        "round.started",
        "item.failed",
        "plugin.exited",
        "round.finished"
    ]);
    assert_eq!(json!(events), expected);
    let rounds: Vec<_> = ran.log().iter().map(|line| line["round"].clone()).collect();
    assert!(rounds[0].is_string() && rounds.iter().all(|round| *round == rounds[0]));
    let levels: Vec<_> = ran.log().iter().map(|line| line["level"].clone()).collect();
    assert_eq!(
        json!(levels),
        json!(["info", "info", "warn", "info", "warn"])
    );
}

#[test]
fn a_plugin_that_ends_badly_after_its_last_batch_changes_nothing() {
    for end in [
        "sys.exit(3)",
        "read()\nsys.exit(3)",
        "result(read(), {})\nsys.exit(3)",
    ] {
        let instance = Instance::new(&format!("initialize()\nresult(read(), FINAL)\n{end}"));
        let ran = instance.run();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(ran.report()["cursor_persisted"], true);
        let exited = &ran.events("plugin.exited")[0];
        assert_eq!(
            (&exited["exit_code"], &exited["level"]),
            (&json!(3), &json!("warn"))
        );
    }
}

#[test]
fn a_crash_between_batches_leaves_what_has_landed() {
    let instance = Instance::new(
        r#"
initialize()
result(read(), {"items": [{"kind": "document", "file_uri": "t://p/a",
    "document": {"file_type": "md"}, "pages": []}], "next": "n"})
read()
os._exit(9)
"#,
    );
    let ran = instance.run();
    ran.assert_failed(2, "round", "runner", "plugin_crashed");
    let report = ran.report();
    assert_eq!(report["counts"]["created"], 1);
    assert_eq!(report["incremental"], Value::Null);
    assert_eq!(instance.remote(), ["t://p/a"]);
}

#[test]
fn a_scan_that_takes_too_long_is_bounded_by_the_definition() {
    let mut instance = Instance::new(
        "initialize()\nrequest = read()\nread()\nerror(request, -32001)\nresult(read(), {})",
    );
    instance.definition["runner"] = json!({"scan_timeout": 0.2});
    let ran = instance.run();
    ran.assert_failed(2, "round", "runner", "timeout");
    assert_eq!(ran.report()["failures"][0]["retryable"], true);
}

#[test]
fn a_batch_has_as_many_items_as_the_definition_says_and_else_a_hundred() {
    let body = r#"
initialize()
request = read()
open(sys.argv[1] + "/asked", "w").write(str(request["params"]["max_items"]))
result(request, FINAL)
shutdown()
"#;
    let mut instance = Instance::new(body);
    for (tuning, expected) in [(json!({}), "100"), (json!({"max_items": 7}), "7")] {
        instance.definition["runner"] = tuning;
        assert_eq!(instance.run().code, Some(0));
        let asked = std::fs::read_to_string(instance.path("asked")).unwrap();
        assert_eq!(asked, expected);
    }
}

#[test]
fn too_many_deletes_stop_a_round_only_if_the_definition_asks_for_it() {
    let documents = |kind: &str| {
        format!(
            r#"
initialize()
more = {{"document": {{"file_type": "md"}}, "pages": []}} if "{kind}" == "document" else {{}}
items = [dict({{"kind": "{kind}", "file_uri": "t://p/%d" % n}}, **more) for n in range(30)]
result(read(), {{"items": items, "cursor": "c", "incremental": False}})
shutdown()
"#
        )
    };
    let mut instance = Instance::new(&documents("document"));
    assert_eq!(instance.run().report()["counts"]["created"], 30);
    instance.write_plugin(&documents("delete"));
    instance.definition["runner"] = json!({"max_delete": "50%"});
    let ran = instance.run();
    ran.assert_failed(3, "instance", "runner", "mass_delete");
    assert_eq!(ran.report()["counts"]["deleted"], 0);
    instance.definition["runner"] = json!({});
    let ran = instance.run();
    assert_eq!(ran.report()["counts"]["deleted"], 30, "{ran:?}");
}

#[test]
fn a_report_that_cannot_be_written_is_74() {
    let instance = Instance::new(EMPTY);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = instance
        .command(&[])
        .stdout(Stdio::from(full))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(74));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let status = instance
        .command(&[])
        .stdout(writer)
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(74));
}

/// Returns the command of an instance as a shell runs it: `exec` with what comes before and behind it.
fn in_shell(instance: &Instance, before: &str, redirection: &str) -> Command {
    let run = instance.command(&[]);
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("{before} exec \"$0\" \"$@\" {redirection}")])
        .arg(run.get_program())
        .args(run.get_args())
        .env_clear();
    for (name, value) in run.get_envs() {
        shell.env(name, value.unwrap());
    }
    shell
}

#[test]
fn a_report_on_a_closed_or_read_only_stdout_is_74() {
    let instance = Instance::new(EMPTY);
    for redirection in ["1>&-", "0<&- 1>&-", "1</dev/null"] {
        let mut run = in_shell(&instance, "", redirection);
        let status = run.stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), Some(74), "{redirection}");
    }
}

#[test]
fn how_a_plugin_ended_is_known_below_a_parent_that_ignores_its_children() {
    let instance = Instance::new("initialize()\nread()\nos._exit(3)");
    let output = in_shell(&instance, "trap '' CHLD;", "").output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["failures"][0]["code"], "plugin_crashed");
    let log = String::from_utf8(output.stderr).unwrap();
    assert!(log.contains("\"exit_code\":3"), "{log}");
}

#[test]
fn the_start_of_a_plugin_is_told_before_what_it_says() {
    let mut instance = Instance::new(EMPTY);
    instance.definition["plugin"]["command"] = json!(["/bin/sh", "-c", "echo early >&2"]);
    for _ in 0..30 {
        let ran = instance.run();
        assert_eq!(ran.log()[0]["event"], "plugin.started", "{ran:?}");
        assert_eq!(ran.events("plugin.stderr")[0]["line"], "early");
    }
}

#[test]
fn a_log_that_cannot_be_written_changes_nothing() {
    let instance = Instance::new(PARTIAL);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = instance.command(&[]).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["outcome"], "partial");
}

#[test]
fn a_wrong_command_line_is_64_without_a_report() {
    for arguments in [&["run"][..], &["run", "a", "b"], &["run", "--unknown", "a"]] {
        let output = Command::new(env!("CARGO_BIN_EXE_dpe"))
            .env_clear()
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(64));
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn help_has_the_table_of_exit_codes() {
    let output = Command::new(env!("CARGO_BIN_EXE_dpe"))
        .args(["run", "--help"])
        .output()
        .unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for code in ["0 ", "1 ", "2 ", "3 ", "4 ", "64 ", "70 ", "74 ", "130 "] {
        let row = format!("\n  {code}");
        assert!(help.contains(&row), "{code}: {help}");
    }
}

/// Notes events, and has a defect when one of them comes.
#[derive(Default)]
struct Defective {
    at: &'static str,
    seen: Mutex<Vec<String>>,
}

impl Observer for Defective {
    fn event(&self, event: Event<'_>) {
        let text = format!("{event:?}");
        let is_first = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(text.clone());
            seen.iter().filter(|seen| seen.starts_with(self.at)).count() == 1
        };
        assert!(!(text.starts_with(self.at) && is_first), "a defect");
    }
}

async fn run_with_defect(
    instance: &Instance,
    at: &'static str,
) -> (dpe::sync::report::Report, Vec<String>) {
    // Writes the definition.
    drop(instance.command(&[]));
    let defective = Arc::new(Defective {
        at,
        ..Defective::default()
    });
    let observer: Arc<dyn Observer> = defective.clone();
    let plan = Run {
        definition: instance.path("definition.json"),
        state_dir: Ok::<_, ()>(instance.state()).or_else(|()| Places::default_state()),
        network: Network::default(),
        redaction: Redaction::default(),
    };
    let report = run::run(&plan, &observer, &Cancel::new()).await.unwrap();
    let seen = defective.seen.lock().unwrap().clone();
    (report, seen)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_defect_of_the_runner_is_reported_and_the_report_survives() {
    let instance = Instance::new(PARTIAL);
    let (report, seen) = run_with_defect(&instance, "RoundStarted").await;
    assert_eq!(report.outcome, Outcome::Failed);
    let [failure] = &report.failures[..] else {
        panic!("{report:?}");
    };
    assert_eq!(failure.code, "runner_internal_error");
    assert_eq!(report.plugin.unwrap().name, "scripted");
    assert!(report.cursor_held_since.is_some());
    let crashed: Vec<&String> = seen.iter().filter(|e| e.starts_with("Crashed")).collect();
    assert_eq!(crashed.len(), 1);
    assert!(crashed[0].contains("a defect"), "{crashed:?}");
    assert!(seen.last().unwrap().starts_with("Finished"), "{seen:?}");
    assert_eq!(instance.run().code, Some(1), "the lock is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_defect_after_the_round_changes_the_outcome_and_nothing_else() {
    let instance = Instance::new(
        r#"
initialize()
result(read(), {"items": [{"kind": "document", "file_uri": "t://p/a",
    "document": {"file_type": "md"}, "pages": []}], "cursor": "c", "incremental": False})
shutdown()
"#,
    );
    let (report, _) = run_with_defect(&instance, "PluginExited").await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert_eq!(report.failures[0].code, "runner_internal_error");
    assert_eq!(report.counts.created, 1);
    assert!(report.cursor_persisted);
    assert_eq!(report.cursor_held_since, None);
}

#[test]
fn the_report_says_what_a_final_batch_said_even_if_it_broke_the_protocol() {
    let item = r#"{"kind": "document", "file_uri": "t://p/a", "document": {"file_type": "md"}, "pages": []}"#;
    for (supports_cursor, end, incremental) in [
        (true, r#""cursor": "c", "incremental": True"#, json!(true)),
        (
            false,
            r#""cursor": "c", "incremental": False"#,
            json!(false),
        ),
        // This one is neither final nor intermediate.
        (true, r#""cursor": "c", "incremental": 1"#, Value::Null),
    ] {
        let capability = if supports_cursor { "True" } else { "False" };
        let instance = Instance::new(&format!(
            "initialize(supports_cursor={capability})\nresult(read(), {{\"items\": [{item}], {end}}})\nread()"
        ));
        let ran = instance.run();
        ran.assert_failed(2, "protocol", "runner", "protocol_error");
        assert_eq!(ran.report()["incremental"], incremental, "{end}");
        assert_eq!(ran.report()["counts"]["created"], 0);
        assert!(instance.remote().is_empty(), "{end}");
    }
}

#[test]
fn an_error_code_beyond_every_limit_is_unknown() {
    let instance =
        Instance::new("initialize()\nerror(read(), 2 ** 80, {\"retryable\": True})\nshutdown()");
    let ran = instance.run();
    ran.assert_failed(2, "round", "plugin", "unknown_error");
    assert_eq!(ran.report()["failures"][0]["retryable"], false);
}
