//! `dpe connector check` against connectors that keep the contract, and against one that breaks
//! one rule at a time.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::{connector, objects};
use crate::host::plugin::{is_gone, python};

const PLUGIN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/connector/plugin.py");

const GUIDE: &str = include_str!("../../docs/connectors.md");

const MANIFEST: &str = r#"{"manifest_version":1,"name":"probed","version":"1",
    "protocol_versions":["dpe-connector/1"],
    "config_schema":{"type":"object","required":["space"],"properties":{"space":{"type":"string"}}},
    "secrets":[{"name":"TOKEN","required":false}]}"#;

/// All rules, in the order of their lines.
const RULES: [&str; 21] = [
    "manifest",
    "before_initialize",
    "version_refused",
    "config_refused",
    "initialize",
    "unknown_method",
    "round",
    "items",
    "prefix",
    "blobs",
    "unknown_handle",
    "unknown_next",
    "cancel",
    "shutdown",
    "oversized_request",
    "message_limit",
    "determinism",
    "cursor",
    "cursor_fallback",
    "end_of_input",
    "framing",
];

/// So many connectors are examined at once.
const AT_ONCE: usize = 6;

struct Probed {
    folder: TempDir,
    manifest: &'static str,
}

impl Probed {
    fn new(manifest: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("manifest.json"), manifest).unwrap();
        Self { folder, manifest }
    }

    fn check(&self, flags: &[&str], broken: &str) -> Output {
        let manifest = self.folder.path().join("manifest.json");
        let manifest = manifest.to_str().unwrap();
        let python = python();
        let mut arguments = vec!["check", "--prefix", "x://check/", "--wait", "20"];
        if !self.manifest.is_empty() {
            arguments.extend(["--manifest", manifest]);
        }
        arguments.extend(flags);
        arguments.extend([
            "--config",
            r#"{"space":"s"}"#,
            "--",
            python.to_str().unwrap(),
            // It is started three hundred times, and needs neither sites nor variables.
            "-SE",
            PLUGIN,
            broken,
        ]);
        connector(&arguments).output().unwrap()
    }
}

/// Returns the names of the checks with this verdict.
fn with_verdict(output: &Output, verdict: &str) -> BTreeSet<String> {
    let is_wanted = |object: &Value| object["verdict"] == verdict;
    let checks = objects(output).into_iter().filter(is_wanted);
    checks
        .map(|object| object["check"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_connector_that_keeps_the_contract_passes_every_check() {
    let output = Probed::new(MANIFEST).check(&["--json"], "");
    let checks = objects(&output);
    let names: Vec<_> = checks
        .iter()
        .map(|check| check["check"].as_str().unwrap())
        .collect();
    assert_eq!(names, RULES);
    for check in &checks {
        assert_eq!(check["verdict"], "ok", "{check}");
        // Who reads a section finds in the guide where it is treated.
        for section in check["section"].as_str().unwrap().split(", ") {
            assert!(section.starts_with('§'));
            let row = format!("\n| {section} | ");
            let mut rows = GUIDE.match_indices(&row).map(|(at, _)| &GUIDE[at + 1..]);
            let name = format!("`{}`", check["check"].as_str().unwrap());
            let is_named = rows.any(|row| row.lines().next().unwrap().contains(&name));
            assert!(is_named, "{check}");
        }
    }
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_table_for_people_has_a_line_for_each_check() {
    let output = Probed::new(MANIFEST).check(&[], "prefix");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), RULES.len());
    assert!(
        text.contains("\nunknown_method     ok       §9        refused with -32601\n"),
        "{text}"
    );
    assert!(
        text.contains("\nprefix             failed   §3        x://elsewhere/a: out_of_prefix"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(1));
}

/// What one broken rule hides need not be known, but no other rule may be called broken.
#[test]
fn each_broken_rule_is_found_and_no_other() {
    let mut broken: Vec<(&str, &str)> = RULES[1..].iter().map(|rule| (*rule, *rule)).collect();
    broken.extend([("segments", "items"), ("blob_size", "blobs")]);
    let probed = Probed::new(MANIFEST);
    let next = AtomicUsize::new(0);
    let examine = || {
        while let Some((mode, rule)) = broken.get(next.fetch_add(1, Ordering::Relaxed)) {
            let output = probed.check(&["--json"], mode);
            let failed = with_verdict(&output, "failed");
            assert_eq!(failed, BTreeSet::from([(*rule).to_owned()]), "{mode}");
            assert_eq!(output.status.code(), Some(1), "{mode}");
        }
    };
    // Processes mostly wait for each other.
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(examine);
        }
    });
}

#[test]
fn a_manifest_that_is_none_is_a_broken_rule_and_the_rest_is_checked_without() {
    let output = Probed::new(r#"{"manifest_version":1}"#).check(&["--json"], "");
    assert_eq!(
        with_verdict(&output, "failed"),
        BTreeSet::from(["manifest".to_owned()])
    );
    assert_eq!(
        with_verdict(&output, "skipped"),
        BTreeSet::from(["config_refused".to_owned()])
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn without_a_manifest_a_bad_configuration_can_be_given() {
    let flags = ["--json", "--bad-config", r#"{"space":1}"#];
    let output = Probed::new("").check(&flags, "");
    assert_eq!(
        with_verdict(&output, "skipped"),
        BTreeSet::from(["manifest".to_owned()])
    );
    assert_eq!(output.status.code(), Some(0));
}

/// Of what says nothing, or nothing that could be understood, no rule is called kept.
fn assert_no_connector(script: &str, rule: &str, detail: &str) {
    let arguments = ["check", "--json", "--wait", "2", "--", "sh", "-c", script];
    let output = connector(&arguments).output().unwrap();
    assert!(with_verdict(&output, "ok").is_empty(), "{script}");
    assert!(with_verdict(&output, "failed").contains(rule), "{script}");
    let checks = objects(&output);
    let check = checks.iter().find(|check| check["check"] == rule).unwrap();
    assert!(
        check["detail"].as_str().unwrap().contains(detail),
        "{script}: {check}"
    );
    assert_eq!(output.status.code(), Some(1), "{script}");
}

#[test]
fn a_program_that_is_no_connector_is_told_within_the_time_it_is_given() {
    let unfinished = "2 bytes within 2s, and no line feed behind them; --wait allows more time";
    let too_long = "a line above max_message_bytes";
    thread::scope(|scope| {
        for (script, rule, detail) in [
            ("sleep 600", "initialize", "nothing within 2s"),
            ("sleep 600 & exit 3", "initialize", "exit status: 3"),
            ("exec 1>&-; sleep 600", "initialize", "stdout was closed"),
            ("cat /dev/zero", "initialize", too_long),
            ("yes", "framing", "a line that is no JSON"),
            (
                "echo 'Scanning now'; sleep 600",
                "framing",
                "at byte 0: \"Scanning now\"",
            ),
            ("printf '{}'; sleep 600", "initialize", unfinished),
        ] {
            scope.spawn(move || assert_no_connector(script, rule, detail));
        }
    });
}

#[tokio::test]
async fn a_signal_ends_a_check_and_the_connector_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let script = format!(
        "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 600",
        started.display()
    );
    let mut command = connector(&["check", "--", "sh", "-c", &script]);
    let mut check = command.stdout(Stdio::null()).spawn().unwrap();
    while !started.exists() {
        assert_eq!(check.try_wait().unwrap(), None, "it ended by itself");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pid = rustix::process::Pid::from_child(&check);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(check.wait().unwrap().code(), Some(143));
    assert!(is_gone(&started).await);
}

#[test]
fn secrets_reach_the_connector_and_not_the_results() {
    let probed = Probed::new(MANIFEST);
    let path = probed.folder.path().join("token");
    fs::write(&path, "geheimnis\n").unwrap();
    let secret = format!("TOKEN=file:{}", path.display());
    let output = probed.check(&["--json", "--secret", &secret], "cursor_fallback");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.contains("refused [REDACTED]"), "{text}");
    assert!(!text.contains("geheimnis"));
}

#[test]
fn what_is_quoted_of_a_line_that_is_no_json_is_short_and_without_secrets() {
    let probed = Probed::new(MANIFEST);
    let path = probed.folder.path().join("token");
    fs::write(&path, "geheimnis\n").unwrap();
    let secret = format!("TOKEN=file:{}", path.display());
    let manifest = probed.folder.path().join("manifest.json");
    // The secret lies across the end of what is quoted.
    let script = r#"printf '%55s%s%99s\n' x "$TOKEN" y; sleep 600"#;
    let arguments = ["check", "--json", "--wait", "2", "--secret", &secret];
    let mut command = connector(&arguments);
    command.args(["--config", r#"{"space":"s"}"#, "--manifest"]);
    command.arg(manifest).args(["--", "sh", "-c", script]);
    let output = command.output().unwrap();
    let checks = objects(&output);
    let framing = checks.iter().find(|check| check["check"] == "framing");
    let detail = framing.unwrap()["detail"].as_str().unwrap();
    assert!(detail.ends_with("  x[REDACTED]\" …"), "{detail}");
    assert!(
        !detail.contains("geh") && !detail.contains("nis"),
        "{detail}"
    );
}

#[test]
fn a_request_that_should_have_been_refused_for_its_length_is_told_with_it() {
    let output = Probed::new(MANIFEST).check(&["--json"], "oversized_request");
    let checks = objects(&output);
    let check = checks
        .iter()
        .find(|check| check["check"] == "oversized_request")
        .unwrap();
    // {"jsonrpc":"2.0","id":2,"method":"scan","params":{"cursor":"…"}} and a line feed.
    assert_eq!(
        check["detail"],
        "a request of 262208 bytes, longer than max_message_bytes (262144), was answered; \
         refuse it with -32600"
    );
}

#[test]
fn more_time_is_offered_only_where_the_contract_allows_it() {
    let output = Probed::new(MANIFEST).check(&["--json"], "cancel");
    let checks = objects(&output);
    let check = checks.iter().find(|check| check["check"] == "cancel");
    assert_eq!(check.unwrap()["detail"], "nothing within 5s");
}

#[test]
fn a_program_that_may_not_be_executed_is_told_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("connector.py");
    fs::write(&program, "#!/usr/bin/env python3\n").unwrap();
    let mut command = connector(&["check", "--"]);
    let output = command.arg(program).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("chmod +x"), "{stderr}");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn why_a_secret_cannot_be_had_is_told() {
    for (place, why) in [
        ("file:/nowhere/at/all", "No such file"),
        ("file:/", "its file"),
        ("env:NOT_THERE", "not set"),
    ] {
        let secret = format!("TOKEN={place}");
        let arguments = ["check", "--secret", &secret, "--", "x"];
        let output = connector(&arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(why), "{stderr}");
        assert_eq!(output.status.code(), Some(3));
    }
}

#[test]
fn what_is_missing_is_said_before_anything_is_checked() {
    let probed = Probed::new(MANIFEST);
    let manifest = probed.folder.path().join("manifest.json");
    let with_manifest = ["check", "--manifest", manifest.to_str().unwrap()];
    let good = ["--config", r#"{"space":"s"}"#];
    for (arguments, code, expected) in [
        (
            vec!["check", "--", "/nowhere/at/all"],
            3,
            "dpe::connector::start",
        ),
        (vec!["check", "unheard_of"], 3, "dpe::connector::unknown"),
        (
            vec!["check"],
            64,
            "dpe connector check [OPTIONS] --manifest <FILE> -- <COMMAND>...",
        ),
        (vec!["check", "fs", "--", "x"], 64, "cannot be used with"),
        (
            vec!["check", "--secret", "A", "--", "x"],
            64,
            "NAME=env:VARIABLE",
        ),
        (
            [&with_manifest[..], &["--", "x"]].concat(),
            3,
            "dpe::connector::config_schema",
        ),
        (
            vec!["check", "--config", "[]", "--", "x"],
            3,
            "dpe::connector::config",
        ),
        (
            vec!["check", "--config", "{\"a\":1,\"a\":2}", "--", "x"],
            3,
            "dpe::connector::config",
        ),
        (
            vec!["check", "--prefix", "X://y/", "--", "x"],
            3,
            "dpe::connector::prefix",
        ),
        (
            [
                &with_manifest[..],
                &good,
                &["--secret", "TOKEN=env:NOT_THERE", "--", "x"],
            ]
            .concat(),
            3,
            "dpe::connector::secret",
        ),
        (
            [
                &with_manifest[..],
                &good,
                &["--secret", "OTHER=env:PATH", "--", "x"],
            ]
            .concat(),
            3,
            "dpe::connector::undeclared_secret",
        ),
    ] {
        let output = connector(&arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?} {stderr}");
        assert!(stderr.contains(expected), "{arguments:?} {stderr}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_source_that_no_scan_can_read_is_no_fault_whatever_the_scan_asks_for() {
    let output = Probed::new(MANIFEST).check(&["--json"], "no rule, but has no source");
    assert_eq!(with_verdict(&output, "failed"), BTreeSet::new());
    assert!(with_verdict(&output, "skipped").contains("unknown_next"));
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn what_a_missing_source_hides_is_skipped_and_no_fault_of_the_connector() {
    for (name, config) in [
        ("fs", r#"{"root":"/nowhere/at/all"}"#),
        ("git", r#"{"repo":"/nowhere/at/all"}"#),
    ] {
        let arguments = ["check", name, "--json", "--config", config];
        let output = connector(&arguments).output().unwrap();
        assert_eq!(with_verdict(&output, "failed"), BTreeSet::new(), "{name}");
        let skipped = [
            "round",
            "items",
            "prefix",
            "blobs",
            "cancel",
            "message_limit",
            "determinism",
            "cursor",
            "cursor_fallback",
        ];
        let skipped = BTreeSet::from(skipped.map(str::to_owned));
        assert_eq!(with_verdict(&output, "skipped"), skipped, "{name}");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(3), "{name}: {stderr}");
        assert!(
            stderr.contains("dpe::connector::source"),
            "{name}: {stderr}"
        );
    }
}

#[test]
fn the_bundled_connector_for_folders_passes_every_check() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..45 {
        let path = folder.path().join(format!("{number}.md"));
        fs::write(path, format!("# {number}\n\nText.\n")).unwrap();
    }
    // The beginning of a picture says how large it is; too many bytes to go with the item.
    let header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0:~\x9bU";
    let picture = [&header[..], &[7; 200_000]].concat();
    fs::write(folder.path().join("picture.png"), picture).unwrap();
    let config = format!("{{\"root\":{:?}}}", folder.path());
    let arguments = ["check", "fs", "--json", "--config", &config];
    let output = connector(&arguments).output().unwrap();
    for check in objects(&output) {
        assert_eq!(check["verdict"], "ok", "{check}");
    }
    assert_eq!(output.status.code(), Some(0));
}
