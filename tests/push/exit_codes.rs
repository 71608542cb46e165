//! The exit code is the truth, one test per code; and where output goes.

use std::process::Stdio;

use super::place::{Place, run};

fn place() -> Place {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place
}

#[test]
fn success_is_0_and_leaves_stdout_empty() {
    let place = place();
    let run = place.dpe(&["push", "docs"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");
    let lines: Vec<&str> = run.stderr.lines().collect();
    let [first, last] = lines[..] else {
        panic!("{run:?}");
    };
    let store = place.store();
    let expected = format!(
        "pushing docs as dpe://docs/ to the embedded remote {}",
        store.display()
    );
    assert_eq!(first, expected);
    let expected = "pushed docs: 1 created, 0 updated, 0 moved, 0 deleted, 0 unchanged, 0 failed (";
    assert!(last.starts_with(expected), "{last}");
}

#[test]
fn quiet_says_nothing_when_all_is_well_and_something_when_not() {
    let place = place();
    let run = place.dpe(&["push", "-q", "docs"]);
    assert_eq!((run.code, &*run.stdout, &*run.stderr), (Some(0), "", ""));
    place.write("b.json", "\0\u{1}");
    let run = place.dpe(&["push", "-q", "docs"]);
    assert_eq!(run.code, Some(1));
    assert!(run.stderr.contains("b.json"), "{run:?}");
}

#[test]
fn a_failed_document_is_1() {
    let place = place();
    place.write("b.json", "\0\u{1}");
    assert_eq!(place.dpe(&["push", "docs"]).code, Some(1));
}

/// A place whose store was damaged by `sql` after a push, with a changed file.
fn damaged(sql: &str) -> Place {
    let place = place();
    assert_eq!(place.dpe(&["push", "docs"]).code, Some(0));
    let store = rusqlite::Connection::open(place.store().join("remote.db")).unwrap();
    assert!(store.execute(sql, []).unwrap() > 0);
    place.write("a.md", "# Two\n");
    place
}

#[test]
fn a_damaged_store_is_3_where_it_is_found_on_opening() {
    let place = damaged("DELETE FROM setting");
    for arguments in [
        &["ls"][..],
        &["show", "dpe://docs/a.md"],
        &["push", "-n", "docs"],
        &["push", "docs"],
    ] {
        let run = place.dpe(arguments);
        assert_eq!((run.code, &*run.stdout), (Some(3), ""), "{run:?}");
        let said: Vec<_> = run.stderr.split_whitespace().collect();
        let said = said.join(" ");
        assert!(said.contains("is damaged"), "{run:?}");
        assert!(said.contains("the file was left untouched"), "{run:?}");
    }
}

#[test]
fn a_damaged_document_is_2_and_no_crash() {
    let place = damaged("UPDATE document SET file_uri = 'x', dpe1 = x'00'");
    let run = place.dpe(&["ls"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""), "{run:?}");
    assert!(run.stderr.contains("DPE_UNAVAILABLE"), "{run:?}");
    assert!(!run.stderr.contains("panicked"), "{run:?}");
    let place = damaged("UPDATE page SET text = '{'");
    let run = place.dpe(&["push", "docs"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("DPE_UNAVAILABLE"), "{run:?}");
    assert!(!run.stderr.contains("panicked"), "{run:?}");
}

#[test]
fn a_store_in_use_is_2() {
    let place = place();
    place.dpe(&["push", "docs"]);
    let file = std::fs::File::options()
        .write(true)
        .open(place.store().join("lock"))
        .unwrap();
    file.lock().unwrap();
    place.write("b.md", "New.\n");
    let run = place.dpe(&["push", "docs"]);
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("in use"), "{run:?}");
    file.unlock().unwrap();
    assert_eq!(place.dpe(&["push", "docs"]).code, Some(0));
}

#[test]
fn a_missing_source_is_3() {
    let run = place().dpe(&["--json", "push", "nowhere"]);
    assert_eq!(run.code, Some(3));
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    // Programs read nothing else.
    let message = report["failures"][0]["message"].as_str().unwrap();
    assert!(message.contains("No such file"), "{message}");
}

#[test]
fn a_source_that_is_being_pushed_is_4() {
    let place = place();
    place.dpe(&["push", "docs"]);
    let instances = place.path().join("home/.local/state/dpe/instances");
    let instance = std::fs::read_dir(instances)
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(instance.path().join("lock"))
        .unwrap();
    file.lock().unwrap();
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(4), "instance_busy"),
        "{run:?}"
    );
}

#[test]
fn a_wrong_command_line_is_64_and_help_is_0() {
    let place = place();
    for arguments in [
        &["push"][..],
        &["push", "docs", "--max-delete", "many"],
        &["fetch"],
        &["show", "no uri"],
    ] {
        assert_eq!(place.dpe(arguments).code, Some(64), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["push", "--help"], &["--version"]] {
        let run = place.dpe(arguments);
        assert_eq!(run.code, Some(0), "{arguments:?}");
        assert!(!run.stdout.is_empty());
    }
}

#[test]
fn a_wrong_value_of_a_variable_is_told_with_the_name_of_the_variable() {
    let place = place();
    for (name, value) in [("DPE_VERBOSE", "x"), ("DPE_MAX_DELETE", "many")] {
        let mut command = place.command();
        command.args(["push", "docs"]).env(name, value);
        let told = run(&mut command);
        assert_eq!(told.code, Some(64), "{told:?}");
        let tip = format!("the variable {name} has this value");
        assert!(told.stderr.contains(&tip), "{told:?}");
    }
    let told = place.dpe(&["push", "docs", "--max-delete", "many"]);
    assert!(!told.stderr.contains("variable"), "{told:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_result_that_cannot_be_written_is_74() {
    let place = place();
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let status = place
        .command()
        .args(["push", "--json", "docs"])
        .stdout(Stdio::from(full))
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(74));
}

#[test]
fn with_json_an_error_is_an_object_too() {
    let place = place();
    let run = place.dpe(&["ls", "--json"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    let error: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(error["error"]["code"], "dpe::server::store_missing");
    assert!(error["error"]["help"].is_string());
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new();
    for number in 0..2000 {
        place.write(&format!("{number}.txt"), format!("{number}"));
    }
    place.pushed();
    let dpe = env!("CARGO_BIN_EXE_dpe");
    let script = format!("{dpe} ls | head -n 1; echo ${{PIPESTATUS[0]}}");
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &script])
        .env("HOME", place.path().join("home"))
        .current_dir(place.path());
    let piped = run(&mut bash);
    assert_eq!(piped.stdout, "dpe://docs/0.txt\n0\n");
    assert_eq!(piped.stderr, "");
}

#[test]
fn flags_may_come_from_the_environment() {
    let place = place();
    for (value, json) in [
        ("1", true),
        ("true", true),
        ("0", false),
        ("no", false),
        ("", false),
    ] {
        let run = run(place
            .command()
            .env("DPE_JSON", value)
            .args(["push", "docs"]));
        assert_eq!(run.code, Some(0), "{value:?}: {run:?}");
        assert_eq!(!run.stdout.is_empty(), json, "{value:?}");
    }
    let elsewhere = run(place
        .command()
        .env("DPE_REMOTE", "./elsewhere")
        .args(["push", "docs"]));
    assert!(elsewhere.stderr.contains("1 created"), "{elsewhere:?}");
    assert!(place.path().join("elsewhere").exists());
}

#[test]
fn another_directory_may_be_started_from() {
    let place = place();
    let run = run(place
        .command()
        .current_dir("/")
        .arg("-C")
        .arg(place.path())
        .args(["push", "docs"]));
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(place.dpe(&["-C", "nowhere", "ls"]).code, Some(3));
}

#[test]
fn a_report_whose_reader_went_away_is_74() {
    let place = place();
    let dpe = env!("CARGO_BIN_EXE_dpe");
    let script = format!("{dpe} push --json docs 2>/dev/null | sleep 0; echo ${{PIPESTATUS[0]}}");
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", &script])
        .env("HOME", place.path().join("home"))
        .current_dir(place.path());
    assert_eq!(run(&mut bash).stdout, "74\n");
}

#[test]
fn one_missing_source_does_not_keep_the_others_from_being_pushed() {
    let place = place();
    let run = place.dpe(&["push", "--json", "nowhere", "docs"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    let reports: Vec<super::place::Report> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let outcomes: Vec<&str> = reports.iter().map(|report| &*report.outcome).collect();
    assert_eq!(outcomes, ["failed", "succeeded"]);
    assert_eq!(place.names(), ["a.md"]);
}
