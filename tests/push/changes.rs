//! What changed in a folder is what arrives, and nothing else.

use std::fs;

use super::place::{Place, counts};

fn three_documents() -> Place {
    let place = Place::new();
    place.write("a.md", "# One\n\nFirst.\n");
    place.write("sub/b.txt", "Second.\n");
    place.write("data.json", "{\"n\": 1.50}\n");
    place
}

#[test]
fn a_folder_arrives_and_a_second_push_writes_nothing() {
    let place = three_documents();
    assert_eq!(place.pushed(), counts(3, 0, 0, 0, 0));
    assert_eq!(place.names(), ["a.md", "data.json", "sub/b.txt"]);
    let store = place.store().join("remote.db");
    let before = fs::read(&store).unwrap();
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 3));
    assert_eq!(
        fs::read(&store).unwrap(),
        before,
        "the store was written to"
    );
}

#[test]
fn edits_deletes_renames_and_touches_are_told_apart() {
    let place = three_documents();
    place.write("keep.md", "Kept.\n");
    place.pushed();
    place.write("a.md", "# One\n\nFirst, changed.\n");
    place.remove("data.json");
    place.rename("sub/b.txt", "other/c.txt");
    place.write("new.csv", "x,y\n1,2\n");
    place.write("keep.md", "Kept.\n");
    assert_eq!(place.pushed(), counts(1, 1, 1, 1, 1));
    assert_eq!(place.names(), ["a.md", "keep.md", "new.csv", "other/c.txt"]);
    assert_eq!(place.remote(), place.fresh_remote());
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 4));
}

#[test]
fn a_renamed_folder_is_moved_document_by_document() {
    let place = three_documents();
    place.write("sub/deep/c.md", "Third.\n");
    place.pushed();
    fs::rename(place.docs().join("sub"), place.docs().join("renamed")).unwrap();
    assert_eq!(place.pushed(), counts(0, 0, 2, 0, 2));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn two_files_that_swap_names_end_swapped() {
    let place = three_documents();
    place.write("x.md", "Ex.\n");
    place.write("y.md", "Why.\n");
    place.pushed();
    place.rename("x.md", "z.md");
    place.rename("y.md", "x.md");
    place.rename("z.md", "y.md");
    let (report, run) = place.push();
    assert_eq!(report.outcome, "succeeded", "{run:?}");
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_dry_run_says_what_the_real_run_does_and_writes_nothing() {
    let place = three_documents();
    let (planned, run) = place.push_with(&["-n"]);
    assert_eq!(planned.counts, counts(3, 0, 0, 0, 0), "{run:?}");
    assert!(!place.store().exists());
    assert!(!place.path().join("home/.local/state").exists());
    place.pushed();
    place.write("a.md", "changed\n");
    place.rename("sub/b.txt", "c.txt");
    place.remove("data.json");
    let before = place.remote();
    let (planned, _) = place.push_with(&["-n"]);
    assert_eq!(place.remote(), before);
    assert_eq!(planned.counts, counts(0, 1, 1, 1, 0));
    assert_eq!(place.pushed(), planned.counts);
}

#[test]
fn a_named_file_is_pushed_even_when_ignored_and_the_folder_knows_of_it() {
    let place = three_documents();
    place.write(".gitignore", "secret.md\n");
    place.write("secret.md", "Ignored.\n");
    let named = place.dpe(&["push", "docs/secret.md"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert_eq!(place.names(), ["secret.md"]);
    let named = place.dpe(&["push", "docs/a.md"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    let (report, run) = place.push();
    assert_eq!(report.counts, counts(2, 0, 0, 0, 1), "{run:?}");
    assert_eq!(
        place.names(),
        ["a.md", "data.json", "secret.md", "sub/b.txt"]
    );
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 4));
}

#[test]
fn what_a_partial_round_delivered_and_the_source_lost_is_deleted_by_the_next() {
    let place = three_documents();
    place.write("broken.json", "\0\u{1}");
    let (report, run) = place.push();
    assert_eq!((report.outcome.as_str(), run.code), ("partial", Some(1)));
    assert_eq!(report.counts.created, 3);
    place.remove("a.md");
    let (report, _) = place.push();
    assert_eq!(
        (report.outcome.as_str(), report.counts.deleted),
        ("partial", 1)
    );
    place.write("broken.json", "{\"a\": 1}\n");
    assert_eq!(place.pushed().deleted, 0);
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_remote_that_was_reset_is_noticed_and_filled_again() {
    let place = three_documents();
    place.pushed();
    let before = place.remote();
    fs::remove_dir_all(place.store()).unwrap();
    let (report, run) = place.push();
    assert_eq!(report.counts.created, 3, "{run:?}");
    assert!(run.stderr.contains("everything is pushed again"), "{run:?}");
    assert_eq!(place.remote(), before);
}

#[test]
fn content_is_the_same_whatever_the_place_and_the_time_of_the_files() {
    let place = three_documents();
    place.pushed();
    let other = Place::new();
    other.write("renamed.md", "# One\n\nFirst.\n");
    other.pushed();
    assert_eq!(place.remote()["a.md"], other.remote()["renamed.md"]);
}

#[test]
fn many_documents_arrive_exactly() {
    let place = Place::new();
    for number in 0..1234 {
        place.write(
            &format!("{}/{number}.txt", number % 7),
            format!("Text {number}.\n"),
        );
    }
    assert_eq!(place.pushed(), counts(1234, 0, 0, 0, 0));
    assert_eq!(place.names().len(), 1234);
    place.remove("0/7.txt");
    place.write("1/1.txt", "Changed.\n");
    assert_eq!(place.pushed(), counts(0, 1, 0, 1, 1232));
}

#[test]
fn renames_after_a_round_that_did_not_end_well_arrive_all_the_same() {
    let place = three_documents();
    place.pushed();
    place.rename("a.md", "b.md");
    place.write("bad.json", "\0\u{1}");
    assert_eq!(place.push().0.outcome, "partial");
    place.remove("bad.json");
    place.rename("b.md", "c.md");
    place.pushed();
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_copy_whose_original_goes_after_a_round_that_did_not_end_well() {
    let place = three_documents();
    place.pushed();
    place.write("copy.md", "# One\n\nFirst.\n");
    place.write("a.md", "Something else.\n");
    place.write("bad.json", "\0\u{1}");
    assert_eq!(place.push().0.outcome, "partial");
    place.remove("bad.json");
    place.remove("a.md");
    place.pushed();
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn files_pushed_by_name_go_with_the_folder_when_they_are_gone() {
    let place = three_documents();
    place.write(".gitignore", "log.txt\n");
    place.write("log.txt", "Ignored.\n");
    place.pushed();
    place.write("n.md", "New.\n");
    place.write("m.md", "Newer.\n");
    for name in ["docs/n.md", "docs/m.md", "docs/log.txt"] {
        assert_eq!(place.dpe(&["push", name]).code, Some(0));
    }
    place.remove("n.md");
    place.rename("m.md", "m2.md");
    place.pushed();
    assert_eq!(
        place.names(),
        ["a.md", "data.json", "log.txt", "m2.md", "sub/b.txt"]
    );
    place.remove("log.txt");
    assert_eq!(place.pushed(), counts(0, 0, 0, 1, 4));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn what_the_connector_says_is_said_once_even_if_it_enumerates_twice() {
    let place = three_documents();
    place.write("data.bin", b"\0\x01\x02");
    place.pushed();
    place.write("a.md", "Changed.\n");
    place.write("bad.json", "\0\u{1}");
    place.push();
    place.write("a.md", "# One\n\nFirst.\n");
    let (report, run) = place.push();
    assert_eq!(report.counts.updated, 1, "{run:?}");
    assert_eq!(run.stderr.matches("skipped 1 file").count(), 1, "{run:?}");
}
