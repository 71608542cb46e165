//! What becomes of a push when the state on this machine is damaged, lost, or has no room; and the ways out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::place::{Place, Run, counts, run};

/// Three documents that were pushed.
fn place() -> Place {
    let place = Place::new();
    for name in ["a.md", "b.md", "sub/c.md"] {
        place.write(name, format!("# {name}\n"));
    }
    assert_eq!(place.pushed(), counts(3, 0, 0, 0, 0));
    place
}

fn state_dir(place: &Place) -> PathBuf {
    place.path().join("home/.local/state/dpe")
}

/// The directory of the one instance.
fn instance(place: &Place) -> PathBuf {
    let mut instances = fs::read_dir(state_dir(place).join("instances")).unwrap();
    instances.next().unwrap().unwrap().path()
}

fn database(place: &Place) -> PathBuf {
    instance(place).join("state.db")
}

fn id(place: &Place) -> String {
    let name = instance(place);
    name.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Every file below a folder, and what is in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    all
}

/// One line without the breaks that fit a message into a terminal.
fn flat(run: &Run) -> String {
    run.stderr
        .split_whitespace()
        .filter(|word| *word != "│")
        .collect::<Vec<_>>()
        .join(" ")
}

/// What may be left of a database.
fn damages(whole: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut torn = whole.to_vec();
    // Pages of tables, behind the one with the header and the schema.
    for byte in &mut torn[4096..] {
        *byte = byte.wrapping_mul(31).wrapping_add(7);
    }
    vec![
        ("empty", Vec::new()),
        ("half", whole[..whole.len() / 2].to_vec()),
        ("cut within a page", whole[..5000].to_vec()),
        (
            "noise",
            (0..whole.len()).map(|at| (at * 7919 % 251) as u8).collect(),
        ),
        ("pages of noise", torn),
    ]
}

#[test]
fn damaged_state_is_told_left_untouched_and_set_aside_by_the_way_that_is_told() {
    let whole = place();
    let bytes = fs::read(database(&whole)).unwrap();
    for (what, damaged) in damages(&bytes) {
        let place = place();
        fs::write(database(&place), &damaged).unwrap();
        let remote = place.remote();
        for arguments in [
            &["push", "--json", "docs"][..],
            &["push", "-n", "--json", "docs"],
        ] {
            let ran = place.dpe(arguments);
            let report: serde_json::Value = serde_json::from_str(ran.stdout.trim_end()).unwrap();
            assert_eq!(ran.code, Some(2), "{what}: {ran:?}");
            assert_eq!(
                report["failures"][0]["code"], "state_unavailable",
                "{what}: {ran:?}"
            );
            assert_eq!(report["failures"][0]["retryable"], false, "{what}: {ran:?}");
            assert!(flat(&ran).contains("dpe state reset"), "{what}: {ran:?}");
        }
        assert!(fs::read(database(&place)).unwrap() == damaged, "{what}");
        assert_eq!(place.remote(), remote, "{what}");
        let reset = place.dpe(&["state", "reset", "docs", "--yes"]);
        assert_eq!(reset.code, Some(0), "{what}: {reset:?}");
        let aside: Vec<_> = files(&instance(&place)).into_iter().collect();
        let is_it = |(path, bytes): &(PathBuf, Vec<u8>)| {
            path.ends_with("state.db")
                && path.parent() != Some(&instance(&place))
                && *bytes == damaged
        };
        assert!(aside.iter().any(is_it), "{what}");
        assert_eq!(place.pushed(), counts(0, 0, 0, 0, 3), "{what}");
        assert_eq!(place.pushed(), counts(0, 0, 0, 0, 3), "{what}");
    }
}

#[test]
fn after_a_reset_nothing_is_written_twice_and_what_only_the_remote_has_is_named() {
    let place = place();
    place.remove("b.md");
    place.write("a.md", "# Changed\n");
    let reset = place.dpe(&["state", "reset", "--id", &id(&place), "-y"]);
    assert_eq!(reset.code, Some(0), "{reset:?}");
    let (report, run) = place.push();
    assert_eq!(
        (run.code, report.counts),
        (Some(0), counts(0, 1, 0, 0, 1)),
        "{run:?}"
    );
    assert!(flat(&run).contains("dpe://docs/b.md"), "{run:?}");
    assert_eq!(place.names(), ["a.md", "b.md", "sub/c.md"]);
    let (_, run) = place.push();
    assert!(!run.stderr.contains("b.md"), "{run:?}");
}

#[test]
fn a_database_that_is_gone_while_its_log_is_not_is_no_new_one() {
    let place = place();
    fs::remove_file(database(&place)).unwrap();
    fs::write(
        instance(&place).join("state.db-wal"),
        b"frames of another database",
    )
    .unwrap();
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(2), "state_unavailable"),
        "{run:?}"
    );
    assert!(!database(&place).exists());
    assert_eq!(place.dpe(&["state", "reset", "docs", "-y"]).code, Some(0));
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 3));
}

#[test]
fn a_newer_state_is_told_to_be_one_and_left_untouched() {
    let place = place();
    let connection = rusqlite::Connection::open(database(&place)).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    drop(connection);
    let before = fs::read(database(&place)).unwrap();
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(2), "state_unavailable"),
        "{run:?}"
    );
    assert!(
        flat(&run).contains("written by a newer version of dpe"),
        "{run:?}"
    );
    assert!(fs::read(database(&place)).unwrap() == before);
}

#[test]
fn a_damaged_registry_is_told_with_its_own_way_out() {
    let place = place();
    fs::write(
        state_dir(&place).join("registry.db"),
        "no database at all, but some text",
    )
    .unwrap();
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(2), "state_unavailable"),
        "{run:?}"
    );
    assert!(flat(&run).contains("dpe state reset --registry"), "{run:?}");
    let listed = place.dpe(&["state", "list"]);
    assert_eq!(listed.code, Some(1), "{listed:?}");
    assert_eq!(
        place.dpe(&["state", "reset", "--registry", "-y"]).code,
        Some(0)
    );
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 3));
}

#[test]
fn the_list_of_what_is_kept_says_whose_it_is_how_much_and_whether_it_can_be_read() {
    let place = place();
    let line =
        |run: &Run| -> serde_json::Value { serde_json::from_str(run.stdout.trim_end()).unwrap() };
    let listed = place.dpe(&["state", "list", "--json"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    let whole = line(&listed);
    assert_eq!(whole["type"], "state");
    assert_eq!(whole["id"], id(&place));
    assert_eq!(
        whole["origin"],
        place.docs().canonicalize().unwrap().to_str().unwrap()
    );
    assert_eq!(whole["uri_prefix"], "dpe://docs/");
    assert_eq!(whole["documents"], 3);
    assert_eq!(whole["error"], serde_json::Value::Null);
    let before = files(&state_dir(&place));
    fs::write(database(&place), "").unwrap();
    let listed = place.dpe(&["state", "list", "--json"]);
    assert_eq!(
        (listed.code, &line(&listed)["error"]),
        (Some(1), &"dpe::state::damaged".into())
    );
    assert_eq!(files(&state_dir(&place)).len(), before.len());
    let nothing = place.dpe(&["state", "list", "--state-dir", "nowhere"]);
    assert_eq!(
        (nothing.code, &*nothing.stdout),
        (Some(0), ""),
        "{nothing:?}"
    );
    assert!(!place.path().join("nowhere").exists());
}

#[test]
fn a_reset_asks_first_and_knows_only_what_was_pushed() {
    let place = place();
    let before = files(&state_dir(&place));
    let unasked = run(place
        .command()
        .args(["state", "reset", "docs"])
        .stdin(Stdio::null()));
    assert_eq!(unasked.code, Some(64), "{unasked:?}");
    assert!(unasked.stderr.contains("--yes"), "{unasked:?}");
    for unknown in [
        &["elsewhere"][..],
        &["--id", "push-0"],
        &["--id", "../instances"],
        &["--id", ""],
    ] {
        let ran = place.dpe(&[&["state", "reset", "--yes"], unknown].concat());
        assert_eq!(ran.code, Some(3), "{unknown:?}: {ran:?}");
    }
    assert!(files(&state_dir(&place)) == before);
    let by_prefix = place.dpe(&["state", "reset", "--yes", "dpe://docs/"]);
    assert_eq!(by_prefix.code, Some(0), "{by_prefix:?}");
}

/// A push whose files cannot become longer than `blocks` of 512 bytes, as on a full disk.
fn push_limited(place: &Place, blocks: usize) -> Run {
    let mut limited = place.command();
    let script = format!("trap '' XFSZ; ulimit -c 0; ulimit -f {blocks}; exec \"$@\"");
    let program = limited.get_program().to_owned();
    let mut shell = std::process::Command::new("sh");
    shell
        .arg("-c")
        .arg(script)
        .arg("sh")
        .arg(program)
        .args(["push", "docs"]);
    for (name, value) in limited.current_dir(place.path()).get_envs() {
        shell.env(name, value.unwrap_or_default());
    }
    run(shell.current_dir(place.path()))
}

#[test]
fn a_full_disk_ends_a_push_as_one_to_be_tried_again_and_the_next_one_completes_it() {
    let mut failed = 0;
    for blocks in (0..400).step_by(40) {
        let place = Place::new();
        for number in 0..40 {
            place.write(
                &format!("{number}.md"),
                format!("# {number}\n\n{}\n", "text ".repeat(400)),
            );
        }
        place.write("picture.png", picture(200_000));
        let ran = push_limited(&place, blocks);
        assert!(matches!(ran.code, Some(0..=2)), "{blocks}: {ran:?}");
        failed += usize::from(ran.code == Some(2));
        place.pushed();
        assert_eq!(place.remote(), place.fresh_remote(), "{blocks}");
    }
    assert!(failed > 3, "{failed}");
}

/// A PNG as far as its header goes.
fn picture(length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0".to_vec();
    bytes.resize(length, 7);
    bytes
}

#[test]
fn a_state_directory_that_cannot_be_written_is_told_and_nothing_is_pushed() {
    let place = Place::new();
    place.write("a.md", "# A\n");
    fs::write(place.path().join("file"), "").unwrap();
    let ran = place.dpe(&["push", "docs", "--state-dir", "file/below"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(flat(&ran).contains("file/below"), "{ran:?}");
    assert!(!place.store().exists());
}
