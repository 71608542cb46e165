//! Other writers on the same remote, and the other commands.

use super::place::{Place, counts, run};

fn pushed_place() -> Place {
    let place = Place::new();
    place.write("a.md", "# One\n\nFirst.\n");
    place.write("b.md", "# Two\n\nSecond.\n");
    place.pushed();
    place
}

#[test]
fn a_document_that_somebody_deleted_comes_back_when_it_changes() {
    let place = pushed_place();
    assert_eq!(place.dpe(&["rm", "dpe://docs/a.md"]).code, Some(0));
    assert_eq!(place.names(), ["b.md"]);
    place.write("a.md", "# One\n\nChanged.\n");
    assert_eq!(place.pushed().created, 1);
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_delete_of_a_document_that_somebody_renamed_is_achieved() {
    let place = pushed_place();
    let moved = place.dpe(&["mv", "dpe://docs/a.md", "dpe://docs/elsewhere.md"]);
    assert_eq!(moved.code, Some(0), "{moved:?}");
    place.remove("a.md");
    assert_eq!(place.pushed(), counts(0, 0, 0, 1, 1));
    assert_eq!(place.names(), ["b.md", "elsewhere.md"]);
}

#[test]
fn a_move_onto_an_occupied_document_fails_and_touches_neither() {
    let place = pushed_place();
    place.dpe(&["mv", "dpe://docs/b.md", "dpe://docs/taken.md"]);
    let before = place.remote();
    place.rename("a.md", "taken.md");
    let (report, run) = place.push();
    assert_eq!(
        (report.outcome.as_str(), run.code),
        ("partial", Some(1)),
        "{run:?}"
    );
    assert_eq!(report.failures[0].code, "DPE_ALREADY_EXISTS");
    assert_eq!(place.remote(), before);
}

#[test]
fn rm_of_what_is_not_there_succeeds_and_mv_of_it_does_not() {
    let place = pushed_place();
    assert_eq!(place.dpe(&["rm", "dpe://docs/none.md"]).code, Some(0));
    assert_eq!(
        place
            .dpe(&["mv", "dpe://docs/none.md", "dpe://docs/x.md"])
            .code,
        Some(1)
    );
    assert_eq!(
        place
            .dpe(&["mv", "dpe://docs/a.md", "dpe://docs/b.md"])
            .code,
        Some(1)
    );
    assert_eq!(place.dpe(&["show", "dpe://docs/none.md"]).code, Some(1));
}

#[test]
fn a_base_that_is_not_what_is_there_is_refused() {
    let place = pushed_place();
    let remote = place.remote();
    let other = remote["b.md"].as_str();
    assert_eq!(
        place.dpe(&["rm", "dpe://docs/a.md", "--base", other]).code,
        Some(1)
    );
    assert_eq!(place.remote(), remote);
    let own = remote["a.md"].as_str();
    assert_eq!(
        place.dpe(&["rm", "dpe://docs/a.md", "--base", own]).code,
        Some(0)
    );
}

#[test]
fn recursive_rm_wants_a_yes_where_nobody_can_be_asked() {
    let place = pushed_place();
    let run = place.dpe(&["rm", "-r", "dpe://docs/"]);
    assert_eq!(run.code, Some(64), "{run:?}");
    assert_eq!(place.names().len(), 2);
    let run = place.dpe(&["rm", "-r", "-n", "dpe://docs/"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    assert_eq!(place.names().len(), 2);
    assert_eq!(
        place.dpe(&["rm", "-r", "--yes", "dpe://docs/"]).code,
        Some(0)
    );
    assert!(place.names().is_empty());
}

#[test]
fn rm_of_what_only_has_documents_below_says_how_to_delete_those() {
    let place = pushed_place();
    for folder in ["dpe://docs/", "dpe://docs"] {
        let run = place.dpe(&["rm", folder]);
        assert_eq!(run.code, Some(1), "{run:?}");
        assert!(run.stderr.contains("dpe rm -r"), "{run:?}");
    }
    assert_eq!(place.names().len(), 2);
}

#[test]
fn recursive_rm_closes_with_how_many_there_were() {
    let place = pushed_place();
    let last = |arguments: &[&str]| {
        let run = place.dpe(&[&["rm", "-r"], arguments].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stderr.lines().last().unwrap_or_default().to_owned()
    };
    assert_eq!(last(&["-n", "dpe://docs/"]), "would delete 2 documents");
    assert_eq!(last(&["--yes", "dpe://docs/a"]), "deleted 1 document");
    assert_eq!(
        last(&["--yes", "dpe://docs/a"]),
        "there is nothing to delete"
    );
}

#[test]
fn ls_of_another_spelling_says_how_uris_are_written() {
    let place = pushed_place();
    let run = place.dpe(&["ls", "DPE://Docs/"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), ""), "{run:?}");
    assert!(run.stderr.contains("dpe://docs/"), "{run:?}");
    assert_eq!(place.dpe(&["ls", "dpe://none/"]).stderr, "");
}

/// Two machines push folders of the same name.
#[test]
fn a_document_that_somebody_else_changed_is_told_though_nothing_is_to_be_pushed() {
    let place = pushed_place();
    let own = place.remote();
    let elsewhere = place.path().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("docs")).unwrap();
    std::fs::write(elsewhere.join("docs/a.md"), "# Other\n").unwrap();
    let other =
        run(place
            .command()
            .current_dir(&elsewhere)
            .args(["push", "--state-dir", "state", "docs"]));
    assert_eq!(other.code, Some(0), "{other:?}");
    let (report, run) = place.push();
    assert_eq!((report.counts.unchanged, run.code), (2, Some(0)), "{run:?}");
    let said = "somebody else has changed or deleted";
    assert!(run.stderr.contains(said), "{run:?}");
    assert!(run.stderr.contains("dpe://docs/a.md"), "{run:?}");
    let named = place.dpe(&["push", "docs/a.md"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert_eq!(place.remote(), own);
    assert!(!place.dpe(&["push", "docs"]).stderr.contains(said));
}

#[test]
fn show_gives_the_members_that_were_promised() {
    let place = pushed_place();
    let run = place.dpe(&["show", "--json", "dpe://docs/a.md"]);
    let shown: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(shown["file_uri"], "dpe://docs/a.md");
    assert_eq!(shown["doc_hash"], place.remote()["a.md"].as_str());
    assert_eq!(shown["document"]["title"], "One");
    let content_hash = shown["pages"][0]["elements"][1].as_str().unwrap();
    assert_eq!(shown["elements"][content_hash]["text"], "First.");
    let run = place.dpe(&["show", "dpe://docs/a.md"]);
    assert!(run.stdout.contains("First."), "{run:?}");
}

#[test]
fn ls_takes_a_literal_prefix() {
    let place = pushed_place();
    assert_eq!(
        place.dpe(&["ls", "dpe://docs/a"]).stdout,
        "dpe://docs/a.md\n"
    );
    assert_eq!(place.dpe(&["ls", "dpe://nothing"]).stdout, "");
}

#[test]
fn rm_and_mv_answer_programs_with_objects() {
    let place = pushed_place();
    let hash = place.remote()["a.md"].clone();
    let run = place.dpe(&["mv", "--json", "dpe://docs/a.md", "dpe://docs/c.md"]);
    let expected = format!(
        r#"{{"type":"moved","from_uri":"dpe://docs/a.md","to_uri":"dpe://docs/c.md","doc_hash":"{hash}"}}"#
    );
    assert_eq!(run.stdout.trim_end(), expected);
    let run = place.dpe(&["rm", "--json", "dpe://docs/c.md", "dpe://docs/none.md"]);
    assert_eq!(
        run.stdout,
        concat!(
            r#"{"type":"deleted","file_uri":"dpe://docs/c.md"}"#,
            "\n",
            r#"{"type":"absent","file_uri":"dpe://docs/none.md"}"#,
            "\n"
        )
    );
}

#[test]
fn the_only_document_that_somebody_deleted_is_a_reset_and_one_of_two_is_not() {
    let place = pushed_place();
    place.dpe(&["rm", "dpe://docs/a.md"]);
    place.dpe(&["mv", "dpe://docs/b.md", "dpe://docs/c.md"]);
    let (report, run) = place.push();
    assert_eq!(report.counts.created, 0, "{run:?}");
    assert_eq!(place.names(), ["c.md"]);
}
