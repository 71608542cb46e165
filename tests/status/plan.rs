//! The plan of a dry run is what the real run does, in the same words.

use super::classes::rewrite;
use crate::push::place::{Place, Run};

/// Returns the lines that tell of documents, failures and refusals, without what differs of itself: the first
/// line and the closing one, where it says what was done, and how fast.
fn plan(run: &Run) -> Vec<String> {
    let mut lines: Vec<String> = run.stderr.lines().map(str::to_owned).collect();
    assert!(lines.len() >= 2, "{run:?}");
    lines.remove(0);
    let closing = lines.pop().unwrap();
    let (what, _) = closing.split_once(" (").unwrap_or((&closing, ""));
    let what = what.replace("would push", "pushed");
    lines.push(what);
    lines
}

/// Runs a push of `docs` as a dry run and for real; both have to tell the same, and to end alike.
fn told_alike(place: &Place, arguments: &[&str]) -> Vec<String> {
    let planned = place.dpe(&[&["push", "-n", "docs"], arguments].concat());
    let done = place.dpe(&[&["push", "-v", "docs"], arguments].concat());
    assert_eq!(plan(&planned), plan(&done));
    assert_eq!(planned.code, done.code);
    plan(&done)
}

fn pushed_place() -> Place {
    let place = Place::new();
    for name in ["a.md", "b.md", "c.md", "d.md", "e.md", "f.md"] {
        place.write(name, format!("# {name}\n"));
    }
    place.pushed();
    place
}

#[test]
fn changes_conflicts_and_failures_are_told_alike() {
    let place = pushed_place();
    for name in ["dpe://docs/d.md", "dpe://docs/e.md"] {
        rewrite(&place, name, "other");
    }
    place.dpe(&["rm", "dpe://docs/f.md"]);
    place.write("a.md", "# Updated\n");
    place.rename("b.md", "moved.md");
    place.remove("c.md");
    place.write("d.md", "# Replaces\n");
    place.remove("e.md");
    place.write("f.md", "# Comes back\n");
    place.write("new.md", "# New\n");
    place.write("broken.json", "\0\u{1}");
    place.write("x.bin", "\0\u{1}");
    let told = told_alike(&place, &[]).join("\n");
    for part in [
        "updated  dpe://docs/a.md",
        "moved    dpe://docs/b.md -> dpe://docs/moved.md",
        "deleted  dpe://docs/c.md",
        "dpe://docs/d.md held something that this source had not pushed",
        "failed: dpe://docs/e.md: somebody else changed this document on the remote",
        "dpe://docs/f.md was deleted by somebody else",
        "created  dpe://docs/new.md",
        "failed: dpe://docs/broken.json",
        "skipped 1 file of an unsupported format: 1 .bin",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_move_onto_what_somebody_else_has_is_told_alike() {
    let place = pushed_place();
    rewrite(&place, "dpe://docs/taken.md", "other");
    place.rename("a.md", "taken.md");
    let told = told_alike(&place, &[]).join("\n");
    assert!(
        told.contains("the target of the move holds another document"),
        "{told}"
    );
}

#[test]
fn what_the_guard_refuses_is_refused_alike() {
    let place = pushed_place();
    place.remove("a.md");
    place.remove("b.md");
    let told = told_alike(&place, &["--max-delete", "1"]).join("\n");
    assert!(
        told.contains("would delete 2 or more of 6 documents"),
        "{told}"
    );
    assert_eq!(place.names().len(), 6);
}

#[test]
fn after_a_partial_round_what_is_gone_is_told_alike() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place.write("b.md", "# Two\n");
    place.write("broken.json", "\0\u{1}");
    assert_eq!(place.push().1.code, Some(1));
    place.remove("a.md");
    let told = told_alike(&place, &[]).join("\n");
    assert!(told.contains("deleted  dpe://docs/a.md"), "{told}");
}
