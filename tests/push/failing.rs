//! A document that fails for ever costs itself and nothing else: every push names it and exits 1,
//! and is as incremental, as exact and as careful as any other.

use std::fs;
use std::path::Path;

use rustix::fs::inotify;

use super::place::{Counts, Place, Report, Run, counts};

/// No text, whatever its name says.
const BROKEN: &[u8] = b"# One\n\0\xff\xfe\xfa\n";

/// A folder with an ignore file that is longer than what is read of one is left alone as a whole.
const TOO_LONG: u64 = 101 << 20;

/// A folder of `count` documents, and one that fails.
fn place(count: usize) -> Place {
    let place = Place::new();
    for number in 0..count {
        place.write(&format!("{number:02}.md"), format!("# Text {number}\n"));
    }
    place.write("broken.md", BROKEN);
    let (report, run) = place.push();
    assert_partial(&report, &run);
    assert_eq!(report.counts, failing(counts(count as u64, 0, 0, 0, 0)));
    place
}

fn assert_partial(report: &Report, run: &Run) {
    assert_eq!(
        (&*report.outcome, run.code),
        ("partial", Some(1)),
        "{run:?}"
    );
    assert!(report.cursor_persisted, "{run:?}");
    let named: Vec<_> = report
        .failures
        .iter()
        .map(|failure| failure.file_uri.as_deref())
        .collect();
    assert_eq!(named, [Some("dpe://docs/broken.md")]);
}

fn failing(counts: Counts) -> Counts {
    Counts {
        failed: 1,
        ..counts
    }
}

/// Pushes, which has to end with the one failure, and returns the counts.
fn pushed(place: &Place) -> Counts {
    let (report, run) = place.push();
    assert_partial(&report, &run);
    report.counts
}

/// Makes files older than what the connector takes for too young to be believed.
fn age(place: &Place) {
    std::thread::sleep(std::time::Duration::from_millis(2100));
    assert_eq!(pushed(place).updated, 0);
}

/// Returns the names of the files in `folder` that are opened while `run` runs.
fn opened(folder: &Path, run: impl FnOnce()) -> Vec<String> {
    let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
    inotify::add_watch(&watch, folder, inotify::WatchFlags::OPEN).unwrap();
    run();
    let mut buffer = [std::mem::MaybeUninit::uninit(); 1 << 16];
    let mut events = inotify::Reader::new(watch, &mut buffer);
    let mut names = Vec::new();
    while let Ok(event) = events.next() {
        let name = event
            .file_name()
            .map(|name| name.to_str().unwrap().to_owned());
        names.extend(name);
    }
    names.sort();
    names.dedup();
    names
}

#[test]
fn beside_a_file_that_fails_no_other_is_opened_that_did_not_change() {
    let place = place(30);
    age(&place);
    let names = opened(&place.docs(), || {
        assert_eq!(pushed(&place), failing(counts(0, 0, 0, 0, 30)));
    });
    assert_eq!(names, ["broken.md"]);
    place.write("07.md", "# Another text\n");
    let names = opened(&place.docs(), || {
        assert_eq!(pushed(&place), failing(counts(0, 1, 0, 0, 29)));
    });
    assert_eq!(names, ["07.md", "broken.md"]);
    assert_eq!(place.names().len(), 30);
}

#[test]
fn beside_a_file_that_fails_a_rename_is_a_move_and_a_deletion_is_one() {
    let place = place(3);
    place.rename("00.md", "sub/zero.md");
    place.remove("01.md");
    assert_eq!(pushed(&place), failing(counts(0, 0, 1, 1, 1)));
    assert_eq!(pushed(&place), failing(counts(0, 0, 0, 0, 2)));
    assert_eq!(place.names(), ["02.md", "sub/zero.md"]);
}

#[test]
fn beside_a_file_that_fails_the_guard_speaks() {
    let place = place(30);
    let before = place.remote();
    for number in 0..25 {
        place.remove(&format!("{number:02}.md"));
    }
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures.last().unwrap().code),
        (Some(3), "mass_delete"),
        "{run:?}"
    );
    assert_eq!(place.remote(), before);
    let (report, run) = place.push_with(&["--max-delete", "25"]);
    assert_partial(&report, &run);
    assert_eq!(report.counts.deleted, 25);
}

#[test]
fn a_file_that_is_mended_is_pushed_and_all_is_well() {
    let place = place(2);
    pushed(&place);
    place.write("broken.md", "# Whole\n");
    assert_eq!(place.pushed(), counts(1, 0, 0, 0, 2));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_document_whose_file_broke_stays_until_the_file_is_gone() {
    let place = place(2);
    place.write("broken.md", "# Whole\n");
    place.pushed();
    let whole = place.remote();
    place.write("broken.md", BROKEN);
    for _ in 0..2 {
        assert_eq!(pushed(&place), failing(counts(0, 0, 0, 0, 2)));
        assert_eq!(place.remote(), whole);
    }
    place.remove("broken.md");
    assert_eq!(place.pushed(), counts(0, 0, 0, 1, 2));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_file_that_broke_after_it_was_renamed_is_not_lost_sight_of() {
    let place = place(2);
    place.write("sub/x.md", "# Text of x\n");
    pushed(&place);
    place.rename("sub/x.md", "sub/y.md");
    place.write("sub/y.md", BROKEN);
    let (report, _) = place.push();
    assert_eq!((report.counts.deleted, report.counts.failed), (1, 2));
    place.remove("sub/y.md");
    assert_eq!(pushed(&place), failing(counts(0, 0, 0, 0, 2)));
    assert_eq!(place.names(), ["00.md", "01.md"]);
}

/// Makes `sub` a folder that cannot be enumerated, or one that can.
fn set_closed(place: &Place, is_closed: bool) {
    let rules = place.docs().join("sub/.gitignore");
    match is_closed {
        true => fs::File::create(rules).unwrap().set_len(TOO_LONG).unwrap(),
        false => fs::remove_file(rules).unwrap(),
    }
}

#[test]
fn a_folder_that_fails_keeps_its_documents_and_the_others_go_on() {
    let place = Place::new();
    for name in ["sub/a.md", "sub/b.md", "c.md", "d.md"] {
        place.write(name, format!("# {name}\n"));
    }
    place.pushed();
    set_closed(&place, true);
    place.remove("sub/a.md");
    place.remove("c.md");
    place.rename("d.md", "e.md");
    let (report, run) = place.push();
    assert_eq!((run.code, report.cursor_persisted), (Some(1), true));
    assert_eq!((report.counts.moved, report.counts.deleted), (1, 1));
    assert_eq!(
        report.failures[0].file_uri.as_deref(),
        Some("dpe://docs/sub/")
    );
    assert_eq!(place.names(), ["e.md", "sub/a.md", "sub/b.md"]);
    let (again, _) = place.push();
    assert_eq!(
        (
            again.counts.moved,
            again.counts.deleted,
            again.counts.failed
        ),
        (0, 0, 1)
    );
    set_closed(&place, false);
    assert_eq!(place.pushed(), counts(0, 0, 0, 1, 2));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn what_vanished_in_a_folder_that_failed_in_a_full_round_is_deleted_when_the_folder_is_back() {
    let place = Place::new();
    for name in ["sub/a.md", "sub/b.md", "c.md"] {
        place.write(name, format!("# {name}\n"));
    }
    place.pushed();
    place.forget_cursor();
    set_closed(&place, true);
    place.remove("sub/a.md");
    for _ in 0..2 {
        let (report, run) = place.push();
        assert_eq!((run.code, report.cursor_persisted), (Some(1), true));
        assert_eq!(report.counts.deleted, 0);
    }
    set_closed(&place, false);
    assert_eq!(place.pushed().deleted, 1);
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn of_a_folder_that_is_passed_over_for_not_being_readable_nothing_is_deleted() {
    let place = Place::new();
    for name in ["sub/a.md", "b.md", "c.md"] {
        place.write(name, format!("# {name}\n"));
    }
    let source = "[source.docs]\nconfig = { root = \"docs\", unreadable = \"skip\" }\nprefix = \"dpe://docs/\"\n";
    fs::write(place.path().join("dpe.toml"), source).unwrap();
    place.pushed();
    place.forget_cursor();
    set_closed(&place, true);
    for _ in 0..2 {
        assert_eq!(place.pushed().deleted, 0);
    }
    assert_eq!(place.names(), ["b.md", "c.md", "sub/a.md"]);
}

#[test]
fn a_file_of_a_repository_that_fails_leaves_every_push_incremental() {
    let place = place_of_repository();
    let pushed = |place: &Place| {
        let (report, run) = place.push_with(&["--connector", "git"]);
        assert_partial(&report, &run);
        report.counts
    };
    assert_eq!(pushed(&place), failing(counts(2, 0, 0, 0, 0)));
    assert_eq!(pushed(&place), failing(counts(0, 0, 0, 0, 2)));
    place.rename("a.md", "c.md");
    place.remove("b.md");
    commit(&place);
    assert_eq!(pushed(&place), failing(counts(0, 0, 1, 1, 0)));
    place.rename("broken.md", "other.md");
    commit(&place);
    let (report, run) = place.push_with(&["--connector", "git"]);
    assert_eq!(
        (run.code, report.cursor_persisted),
        (Some(1), true),
        "{run:?}"
    );
    assert_eq!(report.counts, failing(counts(0, 0, 0, 0, 1)));
    assert_eq!(
        report.failures[0].file_uri.as_deref(),
        Some("dpe://docs/other.md")
    );
    place.write("other.md", "# Whole\n");
    commit(&place);
    let (report, run) = place.push_with(&["--connector", "git"]);
    assert_eq!(
        (run.code, report.counts),
        (Some(0), counts(1, 0, 0, 0, 1)),
        "{run:?}"
    );
    assert_eq!(place.names(), ["c.md", "other.md"]);
}

#[test]
fn a_document_of_a_repository_whose_file_broke_goes_with_the_file() {
    let place = place_of_repository();
    place.write("broken.md", "# Whole\n");
    commit(&place);
    let push = |place: &Place| {
        let (report, run) = place.push_with(&["--connector", "git"]);
        (run.code, report.counts)
    };
    assert_eq!(push(&place), (Some(0), counts(3, 0, 0, 0, 0)));
    place.write("broken.md", BROKEN);
    commit(&place);
    for _ in 0..2 {
        assert_eq!(push(&place), (Some(1), failing(counts(0, 0, 0, 0, 2))));
    }
    place.remove("broken.md");
    commit(&place);
    assert_eq!(push(&place), (Some(0), counts(0, 0, 0, 1, 2)));
    assert_eq!(place.names(), ["a.md", "b.md"]);
}

fn place_of_repository() -> Place {
    let place = Place::new();
    super::repositories::git(&place.docs(), &["init", "-q", "-b", "main"]);
    place.write("a.md", "# A\n");
    place.write("b.md", "# B\n");
    place.write("broken.md", BROKEN);
    commit(&place);
    place
}

fn commit(place: &Place) {
    let git = |arguments: &[&str]| super::repositories::git(&place.docs(), arguments);
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "x"]);
}

#[test]
fn what_is_gone_when_nothing_is_known_of_the_last_round_is_deleted_all_the_same() {
    let place = Place::new();
    for name in ["a.md", "b.md", "c.md"] {
        place.write(name, format!("# {name}\n"));
    }
    place.pushed();
    place.forget_cursor();
    place.remove("b.md");
    assert_eq!(place.pushed(), counts(0, 0, 0, 1, 2));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_folder_that_names_nothing_any_more_loses_nothing_unless_that_is_allowed() {
    let place = Place::new();
    place.write("a.md", "# A\n");
    place.write("b.md", "# B\n");
    place.pushed();
    place.forget_cursor();
    place.remove("a.md");
    place.remove("b.md");
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(3), "mass_delete"),
        "{run:?}"
    );
    assert_eq!(place.names(), ["a.md", "b.md"]);
    let (report, run) = place.push_with(&["--max-delete", "2"]);
    assert_eq!((run.code, report.counts.deleted), (Some(0), 2), "{run:?}");
}
