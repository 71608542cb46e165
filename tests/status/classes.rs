//! What has happened to documents, on either side.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::push::place::{Place, Run};
use crate::push::repositories::git;

/// Returns what `dpe status --json` says of `docs`, without the counts: the change, the URIs without their
/// prefix, and what a push does.
pub(super) fn changes(place: &Place, arguments: &[&str]) -> Vec<String> {
    let run = place.dpe(&[&["status", "--json", "docs"], arguments].concat());
    assert_eq!(run.code, Some(0), "{run:?}");
    let lines = objects(&run);
    let (counts, changes) = lines.split_last().unwrap();
    assert_eq!(counts["type"], "counts");
    let total: u64 = counts["counts"]
        .as_object()
        .unwrap()
        .iter()
        .fold(0, |sum, (name, count)| match &**name {
            "unchanged" => sum,
            _ => sum + count.as_u64().unwrap(),
        });
    assert_eq!(total, changes.len() as u64, "{counts}");
    changes.iter().map(described).collect()
}

fn objects(run: &Run) -> Vec<Value> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn described(change: &Value) -> String {
    assert_eq!(change["type"], "change");
    let uri = |member: &str| {
        let uri = change[member].as_str()?;
        Some(uri.strip_prefix("dpe://docs/").unwrap_or(uri).to_owned())
    };
    let uris = ["file_uri", "from_uri", "to_uri"];
    let uris: Vec<String> = uris.into_iter().filter_map(uri).collect();
    let text = |member: &str| change[member].as_str().unwrap().to_owned();
    format!("{} {} {}", text("change"), uris.join(">"), text("push"))
}

fn pushed_place() -> Place {
    let place = Place::new();
    for name in ["a.md", "b.md", "c.md", "sub/d.md"] {
        place.write(name, format!("# {name}\n\nText.\n"));
    }
    place.pushed();
    place
}

#[test]
fn what_the_source_has_otherwise_is_added_modified_moved_or_deleted() {
    let place = pushed_place();
    assert_eq!(changes(&place, &[]), Vec::<String>::new());
    place.write("a.md", "# Other\n");
    place.rename("b.md", "moved/b.md");
    place.remove("c.md");
    place.write("new.md", "# New\n");
    let expected = [
        "added new.md write",
        "modified a.md write",
        "moved b.md>moved/b.md write",
        "deleted c.md write",
    ];
    assert_eq!(changes(&place, &[]), expected);
}

#[test]
fn before_the_first_push_everything_is_added_and_there_is_still_no_store() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    assert_eq!(changes(&place, &[]), ["added a.md write"]);
    assert!(!place.store().exists());
}

#[test]
fn what_somebody_else_wrote_is_a_conflict_whether_or_not_the_source_has_changed() {
    let place = pushed_place();
    for (uri, title) in [("dpe://docs/a.md", "x"), ("dpe://docs/b.md", "y")] {
        rewrite(&place, uri, title);
    }
    place.dpe(&["rm", "dpe://docs/c.md", "dpe://docs/sub/d.md"]);
    place.write("a.md", "# Mine\n");
    place.write("c.md", "# Mine\n");
    let expected = [
        "conflict a.md write",
        "conflict b.md none",
        "conflict c.md write",
        "conflict sub/d.md none",
    ];
    assert_eq!(changes(&place, &[]), expected);
    place.push();
    let expected = ["conflict b.md none", "conflict sub/d.md none"];
    assert_eq!(changes(&place, &[]), expected);
}

#[test]
fn a_delete_of_what_somebody_else_changed_is_a_conflict_that_a_push_reports() {
    let place = pushed_place();
    rewrite(&place, "dpe://docs/a.md", "x");
    place.remove("a.md");
    assert_eq!(changes(&place, &[]), ["conflict a.md fail"]);
}

#[test]
fn what_another_writer_put_below_the_prefix_is_only_on_the_remote() {
    let place = pushed_place();
    rewrite(&place, "dpe://docs/of-others.md", "x");
    assert_eq!(changes(&place, &[]), ["remote_only of-others.md none"]);
    // The source may have it already, in the same words or in others.
    place.dpe(&["mv", "dpe://docs/a.md", "dpe://docs/same.md"]);
    place.write("same.md", "# a.md\n\nText.\n");
    let expected = ["conflict a.md none", "remote_only of-others.md none"];
    assert_eq!(changes(&place, &[]), expected);
}

#[test]
fn what_is_passed_over_is_named_in_every_round_although_nothing_changed() {
    let place = pushed_place();
    place.write("x.bin", b"\0\x01");
    std::os::unix::fs::symlink("a.md", place.docs().join("link.md")).unwrap();
    place.pushed();
    let expected = ["unsupported link.md none", "unsupported x.bin none"];
    assert_eq!(changes(&place, &[]), expected);
    place.pushed();
    assert_eq!(changes(&place, &[]), expected);
}

#[test]
fn what_cannot_be_read_is_named_in_every_round_until_it_can_be() {
    let place = pushed_place();
    place.write("broken.json", "\0\u{1}");
    for _ in 0..2 {
        assert_eq!(place.push().1.code, Some(1));
        assert_eq!(changes(&place, &[]), ["unreadable broken.json fail"]);
    }
    if is_root() {
        return;
    }
    place.remove("broken.json");
    let secret = place.docs().join("sub");
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o000)).unwrap();
    let found = changes(&place, &[]);
    fs::set_permissions(&secret, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(found, ["unreadable sub/ fail"]);
}

#[test]
fn a_repository_is_looked_at_like_a_folder() {
    let place = Place::new();
    let commit = || {
        git(&place.docs(), &["add", "-A"]);
        git(&place.docs(), &["commit", "-q", "-m", "x"]);
    };
    git(&place.docs(), &["init", "-q"]);
    place.write("a.md", "# One\n");
    place.write("x.bin", "\0\u{1}");
    commit();
    let of_git = |arguments: &[&str]| {
        let run = place.dpe(&[&["status", "-s", "--connector", "git", "docs"], arguments].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        run.stdout
    };
    assert_eq!(of_git(&[]), "A dpe://docs/a.md\n! dpe://docs/x.bin\n");
    let pushed = place.dpe(&["push", "--connector", "git", "docs"]);
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    assert_eq!(of_git(&[]), "! dpe://docs/x.bin\n");
    place.write("a.md", "# Two\n");
    assert_eq!(of_git(&[]), "! dpe://docs/x.bin\n", "it is not committed");
    commit();
    assert_eq!(of_git(&[]), "M dpe://docs/a.md\n! dpe://docs/x.bin\n");
}

#[test]
fn named_files_are_looked_at_alone() {
    let place = pushed_place();
    place.write("a.md", "# Other\n");
    place.write("b.md", "# Other\n");
    let run = place.dpe(&["status", "-s", "docs/a.md", "docs/c.md"]);
    assert_eq!(run.stdout, "M dpe://docs/a.md\n", "{run:?}");
}

/// Has somebody else write a document.
pub(crate) fn rewrite(place: &Place, uri: &str, title: &str) {
    let file = place.path().join("other.json");
    let document =
        format!(r#"{{"file_type":"txt","title":"{title}","doc_metadata":{{}},"pages":[]}}"#);
    fs::write(&file, document).unwrap();
    place.dpe(&["rm", uri]);
    let run = place.dpe(&["commit", uri, "other.json"]);
    assert_eq!(run.code, Some(0), "{run:?}");
}

fn is_root() -> bool {
    fs::read_dir("/root").is_ok()
}
