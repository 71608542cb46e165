//! What must never look like a deletion, and what must not end a round.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use dpe_connector_testing::{Plugin, initialize};
use serde_json::{Value, json};

use crate::plugin::{Folder, connector};

#[test]
fn a_missing_root_is_a_failure_of_the_source_and_says_what_to_do() {
    let folder = Folder::with(&[("docs/a.txt", "a")]);
    let mut plugin = connector(&folder.path("docs"), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    fs::remove_dir_all(folder.path("docs")).unwrap();
    for cursor in [None, Some(cursor.as_str())] {
        let error = plugin.failing_scan(cursor);
        assert_eq!((&error["code"], error.get("data")), (&json!(-32003), None));
        assert!(error["message"].as_str().unwrap().contains("mount it"));
    }
}

#[test]
fn a_root_that_is_a_file_is_a_clear_error() {
    let folder = Folder::with(&[("a.txt", "a")]);
    let error = connector(&folder.path("a.txt"), json!({})).failing_scan(None);
    assert_eq!(error["code"], -32003);
    assert!(error["message"].as_str().unwrap().contains("not a folder"));
}

#[test]
fn a_suddenly_empty_root_deletes_nothing() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    folder.remove("a.txt");
    folder.remove("b.txt");
    let error = plugin.failing_scan(Some(&cursor));
    assert_eq!(error["code"], -32003);
    assert!(error["message"].as_str().unwrap().contains("2 documents"));
    folder.write("c.txt", "c");
    let lines = plugin.scan(Some(&cursor)).lines();
    assert_eq!(lines, ["-a.txt", "-b.txt", "+c.txt"]);
}

#[test]
fn a_root_that_is_replaced_while_it_is_read_deletes_nothing() {
    let folder = Folder::new();
    let root = folder.path("docs");
    for number in 0..20 {
        folder.write(format!("docs/{number}.txt"), format!("{number}"));
    }
    let mut plugin = connector(&root, json!({}));
    let cursor = plugin.scan(None).cursor;
    for number in 0..20 {
        folder.write(format!("docs/{number}.txt"), format!("edited {number}"));
    }
    let mut params = json!({"cursor": cursor, "max_items": 1});
    let mut items: Vec<Value> = Vec::new();
    let error = loop {
        let answer = plugin.call("scan", params);
        let Some(batch) = answer["result"]["items"].as_array() else {
            break answer["error"].clone();
        };
        items.extend(batch.iter().cloned());
        if items.len() == 1 {
            folder.rename("docs", "elsewhere");
            fs::create_dir(&root).unwrap();
        }
        params = json!({"next": answer["result"]["next"], "max_items": 1});
    };
    assert_eq!(
        (&error["code"], &error["data"]["retryable"]),
        (&json!(-32003), &json!(true))
    );
    assert!(
        items.iter().all(|item| item["kind"] == "document"),
        "{items:?}"
    );
}

#[test]
fn configurations_that_cannot_be_used_are_refused_at_once() {
    for config in [
        json!({}),
        json!({"root": "relative"}),
        json!({"root": "/x", "colour": 1}),
        json!({"root": "/x", "unreadable": "ignore"}),
        json!({"root": "/x", "exclude": ["a[b"]}),
        json!({"root": "/x", "only": ["/etc/passwd"]}),
        json!({"root": "/x", "only": ["../y"]}),
    ] {
        let answer =
            Plugin::spawn(dpe_connector_fs::main).call("initialize", initialize(&config, 1 << 20));
        assert_eq!(answer["error"]["code"], -32005, "{config}");
    }
}

#[test]
fn content_that_is_not_what_its_format_says_is_an_error_item() {
    let folder = Folder::with(&[("a.json", "\0\u{1}"), ("c.txt", "fine")]);
    folder.write("b.ndjson", "\0\u{1}");
    let scanned = connector(folder.root(), json!({})).scan(None);
    let expected = [
        "!a.json content_invalid",
        "!b.ndjson content_invalid",
        "+c.txt",
    ];
    assert_eq!(scanned.lines(), expected);
    assert!(
        scanned.items[..2]
            .iter()
            .all(|item| item["retryable"] == false)
    );
}

#[test]
fn a_file_above_the_limit_is_an_error_item_that_says_how_to_go_on() {
    let folder = Folder::with(&[("a.txt", "12345"), ("b.txt", "123456")]);
    let scanned = connector(folder.root(), json!({"max_file_bytes": 5})).scan(None);
    assert_eq!(scanned.lines(), ["+a.txt", "!b.txt content_invalid"]);
    let message = scanned.items[1]["message"].as_str().unwrap();
    assert!(message.contains("max_file_bytes"), "{message}");
}

/// Enough work for a message to overtake it.
fn large_folder() -> Folder {
    let folder = Folder::new();
    for number in 0..4000 {
        folder.write(
            format!("{}/{number}.md", number % 50),
            "# Title\n\ntext\n".repeat(40),
        );
    }
    folder
}

#[test]
fn a_cancelled_scan_is_answered_and_the_next_one_starts_anew() {
    let folder = large_folder();
    let mut plugin = connector(folder.root(), json!({}));
    let id = plugin.send("scan", json!({"max_items": 1_000_000}));
    plugin.cancel(id);
    assert_eq!(plugin.receive(id)["error"]["code"], -32001);
    let scanned = plugin.scan(None);
    assert_eq!(scanned.items.len(), 4000);
    plugin.shut_down();
}

#[test]
fn closing_stdin_ends_the_connector_in_the_middle_of_a_scan() {
    let folder = large_folder();
    let mut plugin = connector(folder.root(), json!({}));
    plugin.send("scan", json!({"max_items": 1_000_000}));
    let began = Instant::now();
    plugin.hang_up();
    assert!(began.elapsed() < Duration::from_secs(3));
}

fn lock(folder: &Folder, path: &str, mode: u32) {
    fs::set_permissions(folder.path(path), fs::Permissions::from_mode(mode)).unwrap();
}

/// Permission bits do not bind root; then there is nothing to be seen here.
fn permissions_bind(folder: &Folder, path: &str) -> bool {
    fs::read_dir(folder.path(path)).is_err()
}

#[test]
fn an_unreadable_folder_protects_everything_below_it() {
    let folder = Folder::with(&[("a.txt", "a"), ("d/b.txt", "b"), ("d/e/c.txt", "c")]);
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    lock(&folder, "d", 0o000);
    if permissions_bind(&folder, "d") {
        let scanned = plugin.scan(Some(&cursor));
        assert_eq!(scanned.lines(), ["!d/ source_unavailable"]);
        assert_eq!(scanned.items[0]["retryable"], true);
        let later = plugin.scan(scanned.cursor.as_deref());
        assert_eq!(later.lines(), ["!d/ source_unavailable"]);
        let mut lenient = connector(folder.root(), json!({"unreadable": "skip"}));
        assert_eq!(lenient.scan(None).lines(), ["+a.txt"]);
        assert!(lenient.stderr().contains("unreadable"));
    }
    lock(&folder, "d", 0o755);
    let scanned = plugin.scan(Some(&cursor));
    assert_eq!(scanned.lines(), Vec::<String>::new());
}

#[test]
fn a_text_that_could_not_be_read_shows_the_pictures_of_now_when_it_can() {
    let folder = Folder::with(&[("d/a.md", "![x](../a.png)"), ("a.png", "GIF89a one")]);
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    lock(&folder, "d", 0o000);
    if permissions_bind(&folder, "d") {
        folder.write("a.png", "GIF89a two");
        let scanned = plugin.scan(Some(&cursor));
        assert_eq!(scanned.lines(), ["!d/ source_unavailable", "+a.png"]);
        lock(&folder, "d", 0o755);
        let scanned = plugin.scan(scanned.cursor.as_deref());
        assert!(scanned.lines().contains(&"+d/a.md".to_owned()));
    }
    lock(&folder, "d", 0o755);
}

#[test]
fn an_unreadable_file_is_an_error_item_and_keeps_its_document() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    lock(&folder, "b.txt", 0o000);
    if fs::read(folder.path("b.txt")).is_err() {
        let scanned = plugin.scan(Some(&cursor));
        assert_eq!(scanned.lines(), ["!b.txt source_unavailable"]);
        assert_eq!(scanned.items[0]["retryable"], Value::Bool(true));
    }
}

#[test]
fn a_folder_whose_ignore_rules_cannot_be_read_is_left_alone() {
    let folder = Folder::with(&[
        ("a.txt", "a"),
        ("d/.gitignore", "b.txt\n"),
        ("d/b.txt", "b"),
    ]);
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    folder.write("d/c.txt", "c");
    lock(&folder, "d/.gitignore", 0o000);
    if fs::read(folder.path("d/.gitignore")).is_err() {
        let scanned = plugin.scan(Some(&cursor));
        assert_eq!(scanned.lines(), ["!d/ source_unavailable"]);
    }
    lock(&folder, "d/.gitignore", 0o644);
    assert_eq!(plugin.scan(Some(&cursor)).lines(), ["+d/c.txt"]);
}

#[test]
fn an_ignore_file_that_is_a_link_to_nowhere_or_a_pipe_hides_its_folder_and_keeps_its_documents() {
    let folder = Folder::with(&[("d/b.txt", "b"), ("a.txt", "a"), (".rules", "secret.txt\n")]);
    folder.write("d/secret.txt", "s");
    symlink(folder.path(".rules"), folder.path("d/.dpeignore")).unwrap();
    let mut plugin = connector(folder.root(), json!({}));
    let first = plugin.scan(None);
    assert_eq!(first.lines(), ["+a.txt", "+d/b.txt"]);
    let cursor = first.cursor.unwrap();
    folder.remove(".rules");
    let broken = plugin.scan(Some(&cursor));
    assert_eq!(broken.lines(), ["!d/ source_unavailable"], "{broken:?}");
    folder.remove("d/.dpeignore");
    let fifo = folder.path("d/.dpeignore");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(
        plugin.scan(Some(&cursor)).lines(),
        ["!d/ source_unavailable"]
    );
}

#[test]
fn deletions_of_files_that_a_new_rule_leaves_out_are_told() {
    let folder = Folder::with(&[("d/a.txt", "a"), ("d/b.txt", "b"), ("c.txt", "c")]);
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    folder.write(".dpeignore", "d/\n");
    folder.remove("d/b.txt");
    let left_out = plugin.scan(Some(&cursor));
    assert_eq!(left_out.lines(), ["-d/a.txt", "-d/b.txt"]);
    let told = plugin.stderr();
    assert!(
        told.contains("left out by a rule now: 1, such as d/a.txt"),
        "{told}"
    );
}
