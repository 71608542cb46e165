//! Files of which no document can be made: what the configuration says of them, and parsers that fail on them.

use std::io::{PipeReader, PipeWriter};
use std::path::Path;

use dpe_connector_files::Program;
use dpe_connector_testing::{Plugin, Scanned, Stderr};
use serde_json::{Value, json};

use crate::plugin::{Folder, connector};

fn message<'s>(scanned: &'s Scanned, name: &str) -> &'s str {
    let uri = format!("dpe://t/{name}");
    let item = scanned.items.iter().find(|item| item["file_uri"] == *uri);
    item.unwrap()["message"].as_str().unwrap()
}

#[test]
fn a_refusal_names_its_reason() {
    let folder = Folder::with(&[
        ("a.json", "\0\u{1}"),
        ("b.txt", "a\n\nb"),
        ("c.md", "12345678"),
    ]);
    let config = json!({"limits": {"elements": 1}, "max_file_bytes": 7});
    let scanned = connector(folder.root(), config).scan(None);
    let codes = ["!a.json", "!b.txt", "!c.md"].map(|name| format!("{name} content_invalid"));
    assert_eq!(scanned.lines(), codes);
    assert!(message(&scanned, "a.json").starts_with("damaged: "));
    let expected = "too_large: more than 1 elements";
    assert_eq!(message(&scanned, "b.txt"), expected);
    assert!(message(&scanned, "c.md").starts_with("too_large: the file has 8 bytes"));
}

#[test]
fn what_is_to_be_skipped_is_counted_by_reason_in_every_round() {
    let folder = Folder::with(&[
        ("a.json", "[1]"),
        ("b.json", "\0\u{1}"),
        ("c.txt", "123456789"),
    ]);
    folder.touch("b.json");
    let skip = json!({"damaged": "skip", "too_large": "skip"});
    let config = json!({"on_refused": skip, "max_file_bytes": 8});
    let mut plugin = connector(folder.root(), config.clone());
    let scanned = plugin.scan(None);
    assert_eq!(scanned.lines(), ["+a.json"]);
    let skipped = "skipped 1 damaged file: b.json\nskipped 1 file that is too large: c.txt\n";
    assert_eq!(plugin.stderr(), skipped);
    // What had a document loses it.
    folder.write("a.json", "\0\u{1}");
    let scanned = plugin.scan(scanned.cursor.as_deref());
    assert_eq!(scanned.lines(), ["-a.json"]);
    assert!(scanned.incremental);
    let mut plugin = connector(folder.root(), config);
    let again = plugin.scan(scanned.cursor.as_deref());
    assert_eq!(again.lines(), Vec::<String>::new());
    assert!(
        plugin
            .stderr()
            .starts_with("skipped 2 damaged files: a.json, b.json\n"),
        "{}",
        plugin.stderr()
    );
}

#[test]
fn a_file_that_is_named_is_never_skipped() {
    let folder = Folder::with(&[("b.json", "\0\u{1}")]);
    let config = json!({"on_refused": {"damaged": "skip"}, "only": ["b.json"]});
    let scanned = connector(folder.root(), config).scan(None);
    assert_eq!(scanned.lines(), ["!b.json content_invalid"]);
}

#[test]
fn what_is_noted_of_a_file_is_told() {
    let folder = Folder::with(&[("a.png", "GIF89a\x01\0\x01\0\0\0\0")]);
    let mut plugin = connector(folder.root(), json!({}));
    assert_eq!(plugin.scan(None).lines(), ["+a.png"]);
    let noted = "note: a.png: named as png, but its content is gif\n";
    assert_eq!(plugin.stderr(), noted);
}

/// The connector with workers that do what the files say.
fn with_hostile_workers(stdin: PipeReader, stdout: PipeWriter, stderr: Stderr) -> u8 {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../files/tests/workers/worker.py");
    let program = Program {
        path: "/usr/bin/env".into(),
        args: ["python3".into(), tests.into()].into(),
    };
    dpe_connector_fs::main_with(program, stdin, stdout, stderr)
}

#[test]
fn a_round_goes_on_over_parsers_that_die_loop_and_lie() {
    let folder = Folder::new();
    let orders = [
        "exit", "fine", "garbage", "half", "killed", "loop", "memory", "who",
    ];
    for order in orders {
        // With a byte that makes it no text, whatever it is called.
        folder.write(format!("{order}.rtf"), format!("{order} {{\\rtf1 a\0}}"));
    }
    folder.write("z.txt", "z");
    let config: Value = json!({"root": folder.root(), "limits": {"seconds": 3}});
    let mut plugin = Plugin::start(with_hostile_workers, &config);
    let scanned = plugin.scan(None);
    let line = |order: &str| match order {
        "fine" | "who" => format!("+{order}.rtf"),
        _ => format!("!{order}.rtf content_invalid"),
    };
    let mut expected: Vec<String> = orders.iter().map(|order| line(order)).collect();
    expected.push("+z.txt".to_owned());
    assert_eq!(scanned.lines(), expected);
    assert!(message(&scanned, "loop.rtf").starts_with("timeout: "));
    assert!(message(&scanned, "killed.rtf").starts_with("parser_failed: "));
    plugin.shut_down();
}
