//! Enumerations without a cursor.

use std::process::Command;

use serde_json::json;

use crate::plugin::{Folder, connector, connector_limited, enumerated};

#[test]
fn every_file_is_a_document_in_the_order_of_the_paths() {
    let folder = Folder::with(&[
        ("b.md", "# B"),
        ("a/x.txt", "x"),
        ("a.txt", "a"),
        ("c", "c"),
    ]);
    let mut plugin = connector(folder.root(), json!({}));
    let scanned = plugin.scan(None);
    assert_eq!(scanned.lines(), ["+a.txt", "+a/x.txt", "+b.md", "+c"]);
    assert!(!scanned.incremental);
    assert!(scanned.cursor.is_some());
    assert_eq!(scanned.items[2]["document"]["title"], "B");
    plugin.shut_down();
}

#[test]
fn an_empty_folder_is_an_empty_round() {
    let folder = Folder::new();
    let scanned = connector(folder.root(), json!({})).scan(None);
    assert_eq!((scanned.lines().len(), scanned.incremental), (0, false));
}

#[test]
fn two_enumerations_of_the_same_state_are_the_same_whatever_the_batches() {
    let folder = Folder::new();
    for number in 0..150 {
        folder.write(
            format!("d{}/{number}.txt", number % 7),
            format!("text {number}"),
        );
    }
    let at_once = connector(folder.root(), json!({})).scan(None);
    let mut plugin = connector(folder.root(), json!({}));
    for max_items in [1, 7, 150] {
        let scanned = plugin.scan_by(None, max_items);
        assert_eq!(scanned.items, at_once.items);
        assert_eq!(scanned.cursor, at_once.cursor);
        assert!(scanned.batches >= 150 / max_items as usize);
    }
}

#[test]
fn names_that_are_no_utf_8_become_percent_encoded_uris() {
    let folder = Folder::new();
    folder.write(b"caf\xe9 \xff.txt", "x");
    folder.write("grün/100%.txt", "y");
    let scanned = connector(folder.root(), json!({})).scan(None);
    assert_eq!(
        scanned.lines(),
        ["+caf%E9%20%FF.txt", "+gr%C3%BCn/100%25.txt"]
    );
}

#[test]
fn nothing_of_the_file_system_enters_the_content() {
    let one = Folder::with(&[("a.md", "text\n"), ("deep/b.txt", "other\n")]);
    let two = Folder::with(&[("a.md", "text\n"), ("deep/b.txt", "other\n")]);
    two.touch("a.md");
    assert_eq!(
        enumerated(one.root(), json!({})),
        enumerated(two.root(), json!({}))
    );
    let moved = Folder::with(&[("z/q.md", "text\n")]);
    let here = enumerated(one.root(), json!({}));
    let there = enumerated(moved.root(), json!({}));
    assert_eq!(here["dpe://t/a.md"], there["dpe://t/z/q.md"]);
}

#[test]
fn no_message_exceeds_the_limit() {
    let folder = Folder::new();
    for number in 0..40 {
        folder.write(format!("{number}.txt"), "word ".repeat(100 * number));
    }
    // The harness would fail on an answer above the limit, since serve refuses to write it.
    let mut plugin = connector_limited(folder.root(), json!({}), 40_000);
    let scanned = plugin.scan(None);
    assert_eq!(scanned.items.len(), 40);
    assert!(scanned.batches > 10);
    assert!(scanned.lines().iter().all(|line| line.starts_with('+')));
    let mut narrow = connector_limited(folder.root(), json!({}), 10_000);
    let lines = narrow.scan(None).lines();
    assert!(lines.contains(&"+5.txt".to_owned()));
    assert!(lines.contains(&"!39.txt content_invalid".to_owned()));
}

#[test]
fn an_unknown_continuation_is_refused_and_voids_nothing_else() {
    let folder = Folder::with(&[("a.txt", "a"), ("b.txt", "b"), ("c.txt", "c")]);
    let mut plugin = connector(folder.root(), json!({}));
    let first = plugin.call("scan", json!({"max_items": 1}));
    let next = first["result"]["next"].clone();
    let wrong = plugin.call("scan", json!({"next": "b77"}));
    assert_eq!(wrong["error"]["code"], -32602);
    let second = plugin.call("scan", json!({"next": next, "max_items": 1}));
    assert_eq!(second["result"]["items"][0]["file_uri"], "dpe://t/b.txt");
    let again = plugin.call("scan", json!({"next": next}));
    assert_eq!(again["error"]["code"], -32602);
}

/// No path of so many bytes can be handed to the system; such folders are made step by step.
#[test]
#[cfg(target_os = "linux")]
fn files_at_paths_longer_than_a_path_may_be_are_documents_like_others() {
    let folder = Folder::with(&[("a.txt", "a")]);
    let part = "d".repeat(200);
    let script = format!(
        "import os\nfor i in range(30): os.mkdir('{part}'); os.chdir('{part}')\n\
         for name, text in [('b.txt', 'b'), ('c.txt', 'c'), ('.gitignore', 'c.txt')]:\n    \
         open(name, 'w').write(text)\n"
    );
    let mut python = Command::new("python3");
    let made = python
        .args(["-c", &script])
        .current_dir(folder.root())
        .status();
    assert!(made.unwrap().success());
    let deep = vec![part; 30].join("/");
    let mut plugin = connector(folder.root(), json!({}));
    let scanned = plugin.scan(None);
    assert_eq!(
        scanned.lines(),
        ["+a.txt".to_owned(), format!("+{deep}/b.txt")]
    );
    let again = plugin.scan(scanned.cursor.as_deref());
    assert_eq!(again.lines(), Vec::<String>::new());
    folder.remove("a.txt");
    assert_eq!(plugin.scan(scanned.cursor.as_deref()).lines(), ["-a.txt"]);
}
