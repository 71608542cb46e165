//! Readers that go away, and reports with their type.

use crate::push::place::{Place, run};

fn bash(place: &Place, script: &str) -> crate::push::place::Run {
    let mut bash = std::process::Command::new("bash");
    bash.args(["-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.path().join("home"))
        .env("DPE", env!("CARGO_BIN_EXE_dpe"))
        .current_dir(place.path());
    run(&mut bash)
}

#[test]
fn a_push_goes_on_when_nobody_reads_what_it_says() {
    let place = Place::new();
    for number in 0..600 {
        place.write(&format!("{number}.md"), format!("{number}"));
    }
    let ran = bash(
        &place,
        "$DPE push -v docs 2>&1 | head -n 1; echo ${PIPESTATUS[0]}",
    );
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("pushing docs as "), "{ran:?}");
    assert_eq!((lines[1], &*ran.stderr), ("0", ""), "{ran:?}");
    assert_eq!(place.names().len(), 600);
    let ran = bash(&place, "$DPE push docs 2>&-; echo $?");
    assert_eq!(ran.stdout, "0\n", "{ran:?}");
}

#[test]
fn results_on_a_closed_stdout_are_74_and_on_the_null_device_they_are_none_the_less() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    for (command, code) in [
        ("push --json docs", 74),
        ("ls", 74),
        ("ls --json", 74),
        ("show dpe://docs/a.md", 74),
        ("push docs", 0),
    ] {
        let ran = bash(&place, &format!("$DPE {command} >&- 2>&-; echo $? >code"));
        let found = std::fs::read_to_string(place.path().join("code")).unwrap();
        assert_eq!(found.trim(), code.to_string(), "{command}: {ran:?}");
        let ran = bash(&place, &format!("$DPE {command} >/dev/null; echo $?"));
        assert_eq!(ran.stdout, "0\n", "{command}: {ran:?}");
    }
}

#[test]
fn with_json_the_report_of_each_round_is_an_object_with_its_type() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    let ran = place.dpe(&["push", "--json", "docs", "nowhere"]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{ran:?}");
    for line in lines {
        assert!(
            line.starts_with(r#"{"type":"report","report_version":1,"#),
            "{line}"
        );
    }
}
