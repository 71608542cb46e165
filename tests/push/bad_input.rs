//! Bad input gives a clear error, and what is on the remote stays.

use std::fs;

use super::place::{Place, run};
use super::repositories::git;

fn pushed_place() -> Place {
    let place = Place::new();
    place.write("a.md", "# One\n");
    place.write("b.json", "{}\n");
    place.pushed();
    place
}

#[test]
fn bytes_that_are_no_text_fail_their_document_only() {
    let place = pushed_place();
    let before = place.remote();
    place.write("a.md", b"# One\n\0\xff\xfe\xfa\n");
    place.write("new.md", "New.\n");
    let (report, run) = place.push();
    assert_eq!((report.outcome.as_str(), run.code), ("partial", Some(1)));
    assert_eq!(report.failures.len(), 1);
    let failure = &report.failures[0];
    assert_eq!(
        (&*failure.code, failure.file_uri.as_deref()),
        ("content_invalid", Some("dpe://docs/a.md"))
    );
    assert!(failure.message.starts_with("damaged: "), "{failure:?}");
    assert_eq!(place.remote()["a.md"], before["a.md"]);
    assert_eq!(report.counts.created, 1);
    assert!(report.cursor_persisted);
}

#[test]
fn broken_json_is_kept_and_its_place_is_told() {
    let place = pushed_place();
    place.write("b.json", "{\n  \"a\": 1,\n}\n");
    let (report, run) = place.push();
    assert_eq!((run.code, report.counts.updated), (Some(0), 1));
    let note = "note: b.json: not valid JSON: ";
    let line = run.stderr.lines().find(|line| line.contains(note));
    assert!(line.is_some_and(|line| line.contains("line 3")), "{run:?}");
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_utf8_is_delivered_under_its_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let place = pushed_place();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9 1.md");
    fs::write(place.docs().join(name), "Text.\n").unwrap();
    assert_eq!(place.pushed().created, 1);
    assert!(place.names().contains(&"caf%E9%201.md".to_owned()));
}

#[test]
fn a_missing_source_is_refused_and_nothing_is_deleted() {
    let place = pushed_place();
    let before = place.remote();
    fs::rename(place.docs(), place.path().join("elsewhere")).unwrap();
    let run = place.dpe(&["push", "docs"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("docs"), "{run:?}");
    assert_eq!(place.remote(), before);
}

#[test]
fn a_suddenly_empty_source_is_refused_and_nothing_is_deleted() {
    let place = pushed_place();
    let before = place.remote();
    place.remove("a.md");
    place.remove("b.json");
    let (report, run) = place.push();
    assert_eq!(
        (report.outcome.as_str(), run.code),
        ("failed", Some(3)),
        "{run:?}"
    );
    assert_eq!(place.remote(), before);
}

#[test]
fn a_round_that_would_delete_most_stops_before_the_first_write() {
    let place = Place::new();
    for number in 0..40 {
        place.write(&format!("{number}.md"), format!("Text {number}.\n"));
    }
    place.pushed();
    let before = place.remote();
    for number in 0..25 {
        place.remove(&format!("{number}.md"));
    }
    place.write("39.md", "Changed too.\n");
    place.write("new.md", "New too.\n");
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(3), "mass_delete"),
        "{run:?}"
    );
    assert_eq!(report.failures[0].level, "instance");
    assert!(run.stderr.contains("--max-delete"), "{run:?}");
    assert_eq!(place.remote(), before);
    let (report, _) = place.push_with(&["--max-delete", "25"]);
    assert_eq!((report.counts.deleted, report.counts.updated), (25, 1));
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn deletes_that_were_made_already_do_not_trip_the_guard() {
    let place = Place::new();
    for number in 0..60 {
        place.write(&format!("{number}.md"), format!("Text {number}.\n"));
    }
    place.pushed();
    for number in 0..25 {
        place.remove(&format!("{number}.md"));
    }
    place.write("bad.json", "\0\u{1}");
    let (report, _) = place.push();
    assert_eq!((report.counts.deleted, report.counts.failed), (25, 1));
    let (report, run) = place.push();
    assert_eq!((run.code, report.counts.deleted), (Some(1), 0), "{run:?}");
    place.remove("bad.json");
    assert_eq!(place.pushed().unchanged, 35);
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_left_untouched() {
    let place = pushed_place();
    let file = place.store().join("remote.db");
    set_user_version(&file, 99);
    let before = fs::read(&file).unwrap();
    place.write("new.md", "New.\n");
    let run = place.dpe(&["push", "docs"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("version"), "{run:?}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn an_emptied_store_is_refused_as_damaged_and_left_untouched() {
    let place = pushed_place();
    let file = place.store().join("remote.db");
    fs::write(&file, "").unwrap();
    for args in [&["push", "docs"][..], &["ls"]] {
        let run = place.dpe(args);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains("damaged"), "{run:?}");
        assert_eq!(fs::metadata(&file).unwrap().len(), 0);
    }
}

#[test]
fn a_directory_that_is_no_store_is_refused_and_left_untouched() {
    let place = pushed_place();
    fs::create_dir(place.path().join("photos")).unwrap();
    fs::write(place.path().join("photos/cat.jpg"), "meow").unwrap();
    let run = place.dpe(&["push", "docs", "--remote", "photos"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert_eq!(
        fs::read_dir(place.path().join("photos")).unwrap().count(),
        1
    );
}

#[test]
fn state_of_a_newer_version_is_refused_and_left_untouched() {
    let place = pushed_place();
    let instances = place.path().join("home/.local/state/dpe/instances");
    let instance = fs::read_dir(instances).unwrap().next().unwrap().unwrap();
    let file = instance.path().join("state.db");
    set_user_version(&file, 99);
    let before = fs::read(&file).unwrap();
    let (report, run) = place.push();
    assert_eq!(
        (run.code, &*report.failures[0].code),
        (Some(2), "state_unavailable"),
        "{run:?}"
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn two_folders_of_one_name_do_not_overwrite_each_other() {
    let place = pushed_place();
    let before = place.remote();
    fs::create_dir_all(place.path().join("other/docs")).unwrap();
    fs::write(place.path().join("other/docs/a.md"), "Another.\n").unwrap();
    let run = place.dpe(&["push", "other/docs"]);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("--prefix"), "{run:?}");
    assert_eq!(place.remote(), before);
    let run = place.dpe(&["push", "other/docs", "--prefix", "dpe://other/"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

#[test]
fn without_a_home_the_places_may_be_given() {
    let place = pushed_place();
    let given = run(place.command().env_remove("HOME").args([
        "push",
        "docs",
        "--remote",
        "./store",
        "--state-dir",
        "state",
    ]));
    assert_eq!(given.code, Some(0), "{given:?}");
    assert!(given.stderr.contains("2 created"), "{given:?}");
}

#[test]
fn a_folder_that_was_moved_may_take_its_documents_along() {
    let place = pushed_place();
    let before = place.remote();
    fs::create_dir(place.path().join("new")).unwrap();
    fs::rename(place.docs(), place.path().join("new/docs")).unwrap();
    let refused = place.dpe(&["push", "new/docs"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("--adopt"), "{refused:?}");
    let adopted = place.dpe(&["push", "new/docs", "--adopt"]);
    assert_eq!(adopted.code, Some(0), "{adopted:?}");
    assert!(adopted.stderr.contains("2 unchanged"), "{adopted:?}");
    assert_eq!(place.remote(), before);
    assert_eq!(place.dpe(&["push", "new/docs"]).code, Some(0));
}

#[test]
fn the_store_and_the_state_are_not_pushed_even_if_they_lie_in_the_folder() {
    let place = pushed_place();
    let arguments = [
        "push",
        "docs",
        "--remote",
        "docs/store",
        "--state-dir",
        "docs/state",
    ];
    for expected in ["2 created", "2 unchanged"] {
        let run = place.dpe(&arguments);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.stderr.contains(expected), "{run:?}");
    }
    let listed = place.dpe(&["ls", "--remote", "docs/store"]);
    assert_eq!(listed.stdout, "dpe://docs/a.md\ndpe://docs/b.json\n");
}

#[test]
fn a_dry_run_leaves_every_file_as_it_is() {
    let place = pushed_place();
    place.write("a.md", "changed\n");
    let all = || {
        let mut files = std::collections::BTreeMap::new();
        let mut folders = vec![place.path().join("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let bytes = fs::read(&path).unwrap();
                    files.insert(path, bytes);
                }
            }
        }
        files
    };
    let before = all();
    let (report, run) = place.push_with(&["-n"]);
    assert_eq!(report.counts.updated, 1, "{run:?}");
    assert!(all() == before, "a dry run wrote something");
}

/// Writes the version number where SQLite keeps it: four bytes at offset 60 of the file header.
fn set_user_version(file: &std::path::Path, version: u32) {
    let mut bytes = fs::read(file).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_bare_repository_is_no_folder_of_files() {
    let place = Place::new();
    git(place.path(), &["init", "-q", "--bare", "docs/project.git"]);
    let refused = place.dpe(&["push", "docs/project.git"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("--connector git"), "{refused:?}");
}
