//! Whether the remote holds what was pushed.

use std::fs;

use super::classes::rewrite;
use crate::push::place::Place;

fn pushed_place() -> Place {
    let place = Place::new();
    for name in ["a.md", "b.md", "c.md"] {
        place.write(name, format!("# {name}\n"));
    }
    place.pushed();
    place
}

/// Returns exit code and stdout.
fn checked(place: &Place, arguments: &[&str]) -> (Option<i32>, String) {
    let run = place.dpe(&[&["check", "docs"], arguments].concat());
    (run.code, run.stdout)
}

#[test]
fn a_remote_that_holds_everything_is_well_and_nothing_is_on_stdout() {
    let place = pushed_place();
    for arguments in [&[][..], &["--deep"]] {
        assert_eq!(checked(&place, arguments), (Some(0), String::new()));
    }
    let run = place.dpe(&["check", "docs"]);
    let expected = "checked docs: 3 documents were pushed, and the remote holds all of it\n";
    assert_eq!(run.stderr, expected);
}

#[test]
fn missing_and_different_documents_are_named_and_a_named_file_is_delivered_anew() {
    let place = pushed_place();
    place.dpe(&["rm", "dpe://docs/a.md"]);
    rewrite(&place, "dpe://docs/b.md", "x");
    let expected = "missing    dpe://docs/a.md\ndifferent  dpe://docs/b.md\n";
    for arguments in [&[][..], &["--deep"]] {
        assert_eq!(checked(&place, arguments), (Some(1), expected.to_owned()));
    }
    // What is said of the next push is true.
    place.pushed();
    assert_eq!(checked(&place, &[]), (Some(1), expected.to_owned()));
    let run = place.dpe(&["push", "docs/a.md", "docs/b.md"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(checked(&place, &[]), (Some(0), String::new()));
}

#[test]
fn a_remote_that_was_reset_is_told_to_be_filled_again_by_the_next_push() {
    let place = pushed_place();
    fs::remove_dir_all(place.store()).unwrap();
    let run = place.dpe(&["check", "docs"]);
    assert_eq!(
        (run.code, run.stdout.lines().count()),
        (Some(1), 3),
        "{run:?}"
    );
    assert!(run.stderr.contains("pushes everything again"), "{run:?}");
    assert!(!place.store().exists());
    assert_eq!(place.pushed().created, 3);
    assert_eq!(checked(&place, &[]), (Some(0), String::new()));
}

#[test]
fn deeply_what_the_source_gives_now_counts() {
    let place = pushed_place();
    place.write("a.md", "# Other\n");
    place.remove("b.md");
    place.write("new.md", "# New\n");
    assert_eq!(checked(&place, &[]), (Some(0), String::new()));
    let expected =
        "missing    dpe://docs/new.md\ndifferent  dpe://docs/a.md\nextra      dpe://docs/b.md\n";
    assert_eq!(checked(&place, &["--deep"]), (Some(1), expected.to_owned()));
}

#[test]
fn for_programs_there_is_an_object_for_each_document_and_one_at_the_end() {
    let place = pushed_place();
    place.dpe(&["rm", "dpe://docs/a.md"]);
    let expected = concat!(
        r#"{"type":"missing","file_uri":"dpe://docs/a.md"}"#,
        "\n",
        r#"{"type":"checked","source":"docs","compared":3,"missing":1,"different":0,"denied":0,"#,
        r#""extra":0,"unreadable":0}"#,
        "\n"
    );
    assert_eq!(checked(&place, &["--json"]), (Some(1), expected.to_owned()));
}
