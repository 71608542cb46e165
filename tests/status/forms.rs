//! The forms in which changes are told, and the exit codes.

use super::classes::rewrite;
use crate::push::place::Place;

/// One change of most kinds.
fn changed_place() -> Place {
    let place = Place::new();
    for name in ["a.md", "b.md", "c.md", "d.md"] {
        place.write(name, format!("# {name}\n"));
    }
    place.pushed();
    place.write("a.md", "# Other\n");
    place.rename("b.md", "e.md");
    place.remove("c.md");
    place.write("new.md", "# New\n");
    place.write("x.bin", b"\0");
    rewrite(&place, "dpe://docs/of-others.md", "x");
    place
}

const SHORT: &str = "\
A dpe://docs/new.md
M dpe://docs/a.md
R dpe://docs/b.md -> dpe://docs/e.md
D dpe://docs/c.md
? dpe://docs/of-others.md
! dpe://docs/x.bin
";

#[test]
fn the_short_form_and_the_one_for_programs_have_a_letter_and_the_uri() {
    let place = changed_place();
    for flag in ["-s", "--short", "--porcelain", "--porcelain=v1"] {
        let run = place.dpe(&["status", flag, "docs"]);
        assert_eq!(
            (run.code, &*run.stdout),
            (Some(0), SHORT),
            "{flag}: {run:?}"
        );
        assert_eq!(run.stderr, "", "{flag}");
    }
    let run = place.dpe(&["status", "--porcelain=v2", "docs"]);
    assert_eq!(run.code, Some(64), "{run:?}");
}

#[test]
fn with_z_every_uri_ends_with_nul_and_a_move_names_the_new_one_first() {
    let place = changed_place();
    let run = place.dpe(&["status", "-z", "docs"]);
    let expected = SHORT.replace("b.md -> dpe://docs/e.md", "e.md\0dpe://docs/b.md");
    assert_eq!(run.stdout, expected.replace('\n', "\0"));
}

#[test]
fn the_long_form_has_a_heading_for_each_kind_and_says_what_to_type() {
    let place = changed_place();
    let run = place.dpe(&["status", "docs"]);
    for part in [
        "Added, a push creates them: 1\n  dpe://docs/new.md\n",
        "  dpe://docs/b.md -> dpe://docs/e.md\n",
        "  dpe://docs/x.bin: unsupported format\n",
        "4 to push, 1 document is unchanged: use `dpe push`\n",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn in_a_pipe_no_list_is_cut() {
    let place = Place::new();
    for number in 0..100 {
        place.write(&format!("{number}.md"), "x\n");
    }
    let run = place.dpe(&["status", "docs"]);
    assert_eq!(run.stdout.matches("  dpe://docs/").count(), 100);
}

#[test]
fn the_exit_code_says_whether_a_push_would_write_or_not_end_well_if_somebody_asks() {
    let place = changed_place();
    let code = |arguments: &[&str]| place.dpe(&[&["status", "docs"], arguments].concat()).code;
    assert_eq!((code(&[]), code(&["--exit-code"])), (Some(0), Some(1)));
    place.pushed();
    // What only the remote has, and what is passed over, is nothing that a push changes.
    assert_eq!(code(&["--exit-code"]), Some(0));
    place.write("broken.json", "\0\u{1}");
    assert_eq!((code(&[]), code(&["--exit-code"])), (Some(0), Some(1)));
}

#[test]
fn quietly_nothing_is_said_when_there_is_nothing_to_push() {
    let place = changed_place();
    let quiet = || {
        let run = place.dpe(&["status", "-q", "docs"]);
        run.stdout + &run.stderr
    };
    assert!(quiet().contains("4 to push"));
    place.pushed();
    assert_eq!(quiet(), "");
}

#[test]
fn what_cannot_be_looked_at_is_told_and_the_others_are_shown() {
    let place = changed_place();
    let run = place.dpe(&["status", "-s", "none", "docs"]);
    assert_eq!((run.code, &*run.stdout), (Some(3), SHORT), "{run:?}");
    assert!(run.stderr.contains("none"), "{run:?}");
    let run = place.dpe(&["status", "--json", "none", "docs"]);
    let lines: Vec<serde_json::Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["error"]["code"], "dpe::push::source", "{run:?}");
    assert_eq!(lines.last().unwrap()["counts"]["added"], 1);
}

#[test]
fn what_the_guard_would_refuse_is_shown_with_the_way_out() {
    let place = Place::new();
    for number in 0..30 {
        place.write(&format!("{number}.md"), "x\n");
    }
    place.write("kept.md", "x\n");
    place.pushed();
    for number in 0..30 {
        place.remove(&format!("{number}.md"));
    }
    let run = place.dpe(&["status", "--exit-code", "docs"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert!(
        run.stdout
            .contains("a push would delete 30 of 31 documents, and is refused")
    );
    assert!(run.stdout.contains("--max-delete 30"), "{run:?}");
    assert_eq!(place.push().1.code, Some(3));
    assert_eq!(place.pushed_with(&["--max-delete", "30"]).deleted, 30);
}
