//! Rounds with a cursor: exactly what changed, and in an order that can be applied.

use std::fs;

use dpe_connector_testing::{Remote, Scanned};
use proptest::prelude::{ProptestConfig, Strategy, prop, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use crate::plugin::{Folder, connector, connector_limited, enumerated};

/// Runs a full round, changes the folder, runs an incremental one with a new process.
fn changed(folder: &Folder, change: impl FnOnce(&Folder)) -> Scanned {
    let mut remote = Remote::new();
    let first = connector(folder.root(), json!({})).scan(None);
    first.land(&mut remote);
    change(folder);
    let second = connector(folder.root(), json!({})).scan(first.cursor.as_deref());
    assert!(second.incremental);
    second.land(&mut remote);
    assert_eq!(remote, enumerated(folder.root(), json!({})));
    second
}

#[test]
fn no_change_is_no_item() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b"), ("pic.bin", "\0\u{1}")]);
    assert_eq!(changed(&folder, |_| {}).lines(), Vec::<String>::new());
}

#[test]
fn added_edited_and_deleted_files_are_exactly_that() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b"), ("c.txt", "c")]);
    let scanned = changed(&folder, |folder| {
        folder.write("a.txt", "A");
        folder.remove("b.txt");
        folder.write("d/new.txt", "d");
    });
    assert_eq!(scanned.lines(), ["-b.txt", "+a.txt", "+d/new.txt"]);
}

#[test]
fn a_touched_or_rewritten_file_is_no_change() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let scanned = changed(&folder, |folder| {
        folder.touch("a.txt");
        folder.remove("b.txt");
        folder.write("b.txt", "b");
    });
    assert_eq!(scanned.lines(), Vec::<String>::new());
}

#[test]
fn an_edit_of_the_same_length_right_after_the_scan_is_seen() {
    let folder = Folder::with(&[("a.txt", "one")]);
    let mtime = fs::metadata(folder.path("a.txt"))
        .unwrap()
        .modified()
        .unwrap();
    let scanned = changed(&folder, |folder| {
        folder.write("a.txt", "two");
        let file = fs::File::options().write(true).open(folder.path("a.txt"));
        file.unwrap().set_modified(mtime).unwrap();
    });
    assert_eq!(scanned.lines(), ["+a.txt"]);
}

#[test]
fn a_renamed_file_is_a_move_and_its_document() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let scanned = changed(&folder, |folder| folder.rename("a.txt", "d/e/f.txt"));
    assert_eq!(scanned.lines(), ["a.txt>d/e/f.txt", "+d/e/f.txt"]);
}

#[test]
fn a_rename_to_another_name_of_the_same_format_is_a_move_and_to_another_format_is_not() {
    let folder = Folder::with(&[("a.txt", "# a"), ("b.txt", "b")]);
    let scanned = changed(&folder, |folder| {
        folder.rename("a.txt", "a.md");
        folder.rename("b.txt", "b.log");
    });
    assert_eq!(
        scanned.lines(),
        ["b.txt>b.log", "-a.txt", "+a.md", "+b.log"]
    );
}

#[test]
fn a_renamed_folder_is_one_move_for_each_file() {
    let folder = Folder::with(&[("d/a.txt", "same"), ("d/b.txt", "same"), ("d/c.txt", "c")]);
    let scanned = changed(&folder, |folder| folder.rename("d", "e"));
    let moves = ["d/a.txt>e/a.txt", "d/b.txt>e/b.txt", "d/c.txt>e/c.txt"];
    let documents = ["+e/a.txt", "+e/b.txt", "+e/c.txt"];
    assert_eq!(scanned.lines(), [moves, documents].concat());
}

#[test]
fn a_renamed_and_edited_file_is_new_and_the_old_one_gone() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let scanned = changed(&folder, |folder| {
        folder.rename("a.txt", "c.txt");
        folder.write("c.txt", "edited");
    });
    assert_eq!(scanned.lines(), ["-a.txt", "+c.txt"]);
}

#[test]
fn a_chain_of_renames_is_said_from_its_end() {
    let folder = Folder::with(&[("a.txt", "1"), ("b.txt", "2"), ("c.txt", "3")]);
    let scanned = changed(&folder, |folder| {
        folder.rename("c.txt", "d.txt");
        folder.rename("b.txt", "c.txt");
        folder.rename("a.txt", "b.txt");
    });
    assert_eq!(
        scanned.lines(),
        [
            "c.txt>d.txt",
            "b.txt>c.txt",
            "a.txt>b.txt",
            "+b.txt",
            "+c.txt",
            "+d.txt"
        ]
    );
}

#[test]
fn swapped_files_are_two_changed_documents() {
    let folder = Folder::with(&[("a.txt", "1"), ("b.txt", "2")]);
    let scanned = changed(&folder, |folder| {
        folder.rename("a.txt", "t");
        folder.rename("b.txt", "a.txt");
        folder.rename("t", "b.txt");
    });
    assert_eq!(scanned.lines(), ["+a.txt", "+b.txt"]);
}

#[test]
fn a_file_renamed_over_another_changes_that_one() {
    let folder = Folder::with(&[("a.txt", "1"), ("b.txt", "2")]);
    let scanned = changed(&folder, |folder| folder.rename("a.txt", "b.txt"));
    assert_eq!(scanned.lines(), ["-a.txt", "+b.txt"]);
}

#[test]
fn an_empty_file_moves_with_its_inode_only() {
    let folder = Folder::with(&[("a.txt", ""), ("b.txt", ""), ("keep.txt", "k")]);
    let scanned = changed(&folder, |folder| {
        folder.rename("a.txt", "c.txt");
        folder.write("d.txt", "");
        folder.remove("b.txt");
    });
    assert_eq!(
        scanned.lines(),
        ["a.txt>c.txt", "-b.txt", "+c.txt", "+d.txt"]
    );
}

#[test]
fn a_file_whose_format_is_lost_loses_its_document() {
    let folder = Folder::with(&[("a", "text"), ("b.txt", "b")]);
    let scanned = changed(&folder, |folder| folder.write("a", b"\0\x01\x02\x03"));
    assert_eq!(scanned.lines(), ["-a"]);
}

#[test]
fn files_an_ignore_rule_takes_away_are_deleted() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let scanned = changed(&folder, |folder| folder.write(".gitignore", "b.txt\n"));
    assert_eq!(scanned.lines(), ["-b.txt"]);
}

#[test]
fn an_old_file_is_not_read_again() {
    let folder = Folder::with(&[("a.txt", "a")]);
    let mut plugin = connector(folder.root(), json!({}));
    // The ctime cannot be set, so the file has to grow old.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let cursor = plugin.scan(None).cursor.unwrap();
    let accessed = || {
        fs::metadata(folder.path("a.txt"))
            .unwrap()
            .accessed()
            .unwrap()
    };
    let before = accessed();
    let second = plugin.scan(Some(&cursor));
    assert_eq!(second.lines(), Vec::<String>::new());
    assert_eq!(accessed(), before);
    assert_eq!(second.cursor.as_deref(), Some(cursor.as_str()));
}

#[test]
fn cursors_that_cannot_be_used_lead_to_a_full_round() {
    let folder = Folder::with(&[("a.txt", "a")]);
    let cursor = connector(folder.root(), json!({}))
        .scan(None)
        .cursor
        .unwrap();
    let other = Folder::with(&[("a.txt", "a")]);
    let of_other = connector(other.root(), json!({}))
        .scan(None)
        .cursor
        .unwrap();
    let cut = &cursor[..cursor.len() - 5];
    let mut plugin = connector(folder.root(), json!({}));
    for text in ["", "r-118", cut, &of_other] {
        let scanned = plugin.scan(Some(text));
        assert_eq!(
            (scanned.lines(), scanned.incremental),
            (vec!["+a.txt".into()], false)
        );
    }
    let hidden = json!({"hidden": true});
    assert!(
        !connector(folder.root(), hidden)
            .scan(Some(&cursor))
            .incremental
    );
    assert!(plugin.scan(Some(&cursor)).incremental);
}

/// Runs a full round and one after a touch and a rename, with messages of at most so many bytes.
fn touched_and_renamed(folder: &Folder, max_message_bytes: u64) -> (Scanned, String) {
    let start = || connector_limited(folder.root(), json!({}), max_message_bytes);
    let mut remote = Remote::new();
    let mut plugin = start();
    let first = plugin.scan_by(None, 20);
    first.land(&mut remote);
    folder.touch("000.txt");
    folder.rename("001.txt", "zzz.txt");
    let second = start().scan_by(first.cursor.as_deref(), 20);
    folder.rename("zzz.txt", "001.txt");
    if second.incremental {
        second.land(&mut remote);
        assert_eq!(remote.len(), 300);
    }
    (second, plugin.stderr())
}

#[test]
fn a_cursor_that_does_not_fit_a_message_says_less_before_it_is_given_up() {
    let folder = Folder::new();
    for number in 0..300 {
        folder.write(format!("{number:03}.txt"), format!("text {number}"));
    }
    let whole = connector(folder.root(), json!({})).scan(None).cursor;
    // Base64 of half a fingerprint for each file, and what is no cursor in a message.
    let (whole, half, rest) = (whole.unwrap().len() as u64, 300 * 8 * 4 / 3, 1024);
    let with = |bytes: u64| touched_and_renamed(&folder, bytes + rest);
    let moved = ["001.txt>zzz.txt", "+zzz.txt"];
    for bytes in [whole + half / 2, whole - half / 2] {
        let (scanned, stderr) = with(bytes);
        assert_eq!(
            (&scanned.lines()[..], &*stderr),
            (&moved.map(str::to_owned)[..], "")
        );
    }
    let (scanned, stderr) = with(whole - half - half / 2);
    let said: Vec<String> = scanned
        .lines()
        .into_iter()
        .filter(|line| !line.starts_with('+'))
        .collect();
    assert_eq!(said, ["-001.txt"]);
    for document in ["+000.txt", "+zzz.txt"] {
        assert!(scanned.lines().contains(&document.to_owned()));
    }
    assert!(stderr.contains("without fingerprints"), "{stderr}");
    let (scanned, stderr) = with((whole - 2 * half) / 2);
    assert!(!scanned.incremental);
    assert!(stderr.contains("reads everything again"), "{stderr}");
}

#[derive(Clone, Debug)]
enum Change {
    Write(&'static str, &'static str),
    Rename(&'static str, &'static str),
    Remove(&'static str),
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let path = || {
        prop::sample::select(vec![
            "a.txt", "b.txt", "c.md", "d/a.txt", "d/e.md", "f.md", "d/p.png", "p.png",
        ])
    };
    let text = prop::sample::select(vec![
        "",
        "one",
        "# three",
        "![x](p.png)",
        "![x](../p.png)",
        "GIF89a one",
        "GIF89a two",
    ]);
    let change = prop_oneof![
        3 => (path(), text).prop_map(|(path, text)| Change::Write(path, text)),
        3 => (path(), path()).prop_map(|(from, to)| Change::Rename(from, to)),
        1 => path().prop_map(Change::Remove),
    ];
    prop::collection::vec(change, 1..6)
}

fn apply(folder: &Folder, change: &Change) {
    match change {
        Change::Write(path, text) => folder.write(path, text),
        Change::Rename(from, to) if folder.path(from).exists() => folder.rename(from, to),
        Change::Remove(path) if folder.path(path).exists() => folder.remove(path),
        Change::Rename(..) | Change::Remove(_) => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Convergence (connector contract §31, criterion 3).
    #[test]
    fn rounds_after_any_changes_converge(rounds in prop::collection::vec(changes(), 1..4)) {
        let folder = Folder::with(&[("keep.txt", "kept")]);
        let mut plugin = connector(folder.root(), json!({}));
        let (mut remote, mut cursor) = (Remote::new(), None);
        for changes in &rounds {
            let scanned = plugin.scan(cursor.as_deref());
            scanned.land(&mut remote);
            cursor = scanned.cursor;
            changes.iter().for_each(|change| apply(&folder, change));
        }
        plugin.scan(cursor.as_deref()).land(&mut remote);
        let expected: Remote = enumerated(folder.root(), Value::Object(serde_json::Map::new()));
        prop_assert_eq!(remote, expected);
    }
}
