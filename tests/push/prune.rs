//! `push --prune`: what only the remote has goes, and nothing else.

use std::fs;

use super::place::Place;
use crate::status::classes::rewrite;

/// Two documents of the source, and one that somebody else put below its prefix.
fn place_with_others() -> Place {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place.write("b.md", "# Two\n");
    place.pushed();
    rewrite(&place, "dpe://docs/of-others.md", "x");
    place
}

#[test]
fn what_only_the_remote_has_is_listed_and_deleted_and_a_push_without_it_leaves_it() {
    let place = place_with_others();
    place.write("a.md", "# Other\n");
    place.pushed();
    assert_eq!(place.names(), ["a.md", "b.md", "of-others.md"]);
    let (report, run) = place.push_with(&["--prune", "--yes"]);
    assert_eq!((run.code, report.counts.deleted), (Some(0), 1), "{run:?}");
    assert!(
        run.stderr
            .contains("only on the remote: dpe://docs/of-others.md")
    );
    assert_eq!(place.names(), ["a.md", "b.md"]);
    assert_eq!(place.pushed_with(&["--prune", "--yes"]).deleted, 0);
}

#[test]
fn without_a_terminal_and_without_yes_nothing_is_written_at_all() {
    let place = place_with_others();
    place.write("a.md", "# Other\n");
    let before = place.remote();
    let run = place.dpe(&["push", "--prune", "docs"]);
    assert_eq!(run.code, Some(64), "{run:?}");
    assert!(run.stderr.contains("--yes"), "{run:?}");
    assert_eq!(place.remote(), before);
}

#[test]
fn a_dry_run_lists_what_would_go_and_counts_it() {
    let place = place_with_others();
    let before = place.remote();
    let (report, run) = place.push_with(&["-n", "--prune"]);
    assert_eq!((run.code, report.counts.deleted), (Some(0), 1), "{run:?}");
    assert!(
        run.stderr.contains("deleted  dpe://docs/of-others.md"),
        "{run:?}"
    );
    assert_eq!(place.remote(), before);
}

#[test]
fn while_anything_cannot_be_read_nothing_is_pruned_and_that_is_said() {
    let place = place_with_others();
    place.write("broken.json", "\0\u{1}");
    let (report, run) = place.push_with(&["--prune", "--yes"]);
    assert_eq!((run.code, report.counts.deleted), (Some(1), 0), "{run:?}");
    assert!(run.stderr.contains("nothing was pruned"), "{run:?}");
    assert!(place.names().contains(&"of-others.md".to_owned()));
}

#[test]
fn after_a_lost_state_what_the_source_has_is_none_of_the_others() {
    let place = place_with_others();
    fs::remove_dir_all(place.path().join("home/.local/state")).unwrap();
    let (report, run) = place.push_with(&["--prune", "--yes"]);
    assert_eq!((run.code, report.counts.deleted), (Some(0), 1), "{run:?}");
    assert_eq!(place.names(), ["a.md", "b.md"]);
}

#[test]
fn the_guard_counts_what_would_be_pruned_before_anything_is_written() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    for number in 0..30 {
        place.write(&format!("other/{number}.md"), "x\n");
    }
    place.pushed();
    fs::remove_dir_all(place.path().join("home/.local/state")).unwrap();
    fs::remove_dir_all(place.docs().join("other")).unwrap();
    place.write("new.md", "# New\n");
    let before = place.remote();
    let (report, run) = place.push_with(&["--prune", "--yes"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(report.failures[0].code, "mass_delete");
    assert_eq!(place.remote(), before);
    let limited = &["--prune", "--yes", "--max-delete", "30"];
    assert_eq!(place.pushed_with(limited).deleted, 30);
    assert_eq!(place.names(), ["a.md", "new.md"]);
}

#[test]
fn named_files_are_not_pruned_around() {
    let place = place_with_others();
    let run = place.dpe(&["push", "--prune", "--yes", "docs/a.md"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(place.names().len(), 3);
}
