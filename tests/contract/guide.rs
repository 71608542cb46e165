//! `docs/connectors.md` shows a conversation; here it is held.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dpe::config::Definition;
use dpe::host::read_manifest;
use serde_json::Value;
use tempfile::TempDir;

use super::rig::Rig;

const GUIDE: &str = include_str!("../../docs/connectors.md");
/// The folder of the guide; here it lies elsewhere.
const FOLDER: &str = "/home/ann/mail";
/// What the guide shows for every cursor.
const CURSOR: &str = "eJx…";
/// What comes between its two rounds.
const ARRIVED: &str = "From eve@example.org Wed Mar  4 09:15:00 2026\n\
                       From: Eve <eve@example.org>\n\
                       Subject: Where is it?\n\
                       Message-ID: <where@example.org>\n\n\
                       I cannot see it.\n";

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("connectors/examples/mbox")
}

/// The fenced blocks of the guide that are marked with `language`.
fn blocks(language: &str) -> Vec<&'static str> {
    let opening = format!("\n```{language}\n");
    let after = GUIDE.split(&opening).skip(1);
    after
        .map(|text| text.split("\n```\n").next().unwrap())
        .collect()
}

/// Holds a conversation with the example over the mailboxes in `folder`. `cursor` is the last one it
/// gave, before and after.
fn converse(conversation: &str, folder: &Path, cursor: &mut String) {
    let mut plugin = Command::new("python3")
        .arg(example().join("mbox_connector.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = plugin.stdin.take().unwrap();
    let mut said = BufReader::new(plugin.stdout.take().unwrap()).lines();
    for line in conversation.lines() {
        if let Some(sent) = line.strip_prefix("> ") {
            let sent = sent.replace(FOLDER, folder.to_str().unwrap());
            writeln!(stdin, "{}", sent.replace(CURSOR, cursor)).unwrap();
            continue;
        }
        let answer = said.next().unwrap().unwrap();
        let parsed: Value = serde_json::from_str(&answer).unwrap();
        let mut shown = answer.replace(folder.to_str().unwrap(), FOLDER);
        if let Some(given) = parsed["result"]["cursor"].as_str() {
            shown = shown.replace(given, CURSOR);
            given.clone_into(cursor);
        }
        assert_eq!(Some(&*shown), line.strip_prefix("< "));
    }
    assert!(plugin.wait().unwrap().success());
}

#[test]
fn conversations_of_the_guide_are_what_the_example_really_says() {
    let [first, second] = blocks("conversation")[..] else {
        panic!("the guide shows two rounds")
    };
    let folder = TempDir::new().unwrap();
    let sample = fs::read_to_string(example().join("sample.mbox")).unwrap();
    fs::write(folder.path().join("inbox.mbox"), &sample).unwrap();
    let mut cursor = String::new();
    converse(first, folder.path(), &mut cursor);

    let (kept, _) = sample.split_at(sample.find("From bob@").unwrap());
    fs::write(folder.path().join("inbox.mbox"), format!("{kept}{ARRIVED}")).unwrap();
    converse(second, folder.path(), &mut cursor);
}

#[test]
fn error_that_the_guide_shows_is_what_a_missing_folder_gives() {
    let conversation = blocks("conversation")[0];
    let hello: Vec<_> = conversation.lines().take(2).collect();
    let shown = GUIDE
        .lines()
        .find(|line| line.contains(r#""error":{"code":-32003"#))
        .unwrap();
    let scan = r#"> {"jsonrpc":"2.0","id":2,"method":"scan","params":{}}"#;
    let bye = r#"> {"jsonrpc":"2.0","id":3,"method":"shutdown","params":{}}"#;
    let conversation = [&*hello.join("\n"), scan, &format!("< {shown}"), bye].join("\n");
    let nowhere = Path::new("/nowhere/to/be/found");
    converse(&conversation, nowhere, &mut String::new());
}

#[test]
fn definition_of_the_guide_is_valid() {
    let shown = blocks("json")
        .into_iter()
        .find(|block| block.contains("definition_version"))
        .unwrap();
    let definition = Definition::parse(shown.as_bytes(), Path::new("/definitions")).unwrap();
    assert_eq!(definition.id, "ann-mail");
    definition.tuning().unwrap();
}

#[test]
fn manifests_of_the_guide_and_of_the_example_are_valid() {
    let shown = blocks("json")[0];
    assert_eq!(read_manifest(shown.as_bytes()).unwrap().name, "wiki");
    let manifest = fs::read(example().join("dpe-connector.json")).unwrap();
    assert_eq!(read_manifest(&manifest).unwrap().name, "mbox");
}

/// The members, codes or events in the first column of the table below `heading`.
fn first_column(heading: &str) -> Vec<&'static str> {
    let table = GUIDE.split(heading).nth(1).unwrap();
    let table = table.trim_start_matches(|character| character != '|');
    let rows = table.lines().take_while(|line| line.starts_with('|'));
    let cells = rows.skip(2).map(|row| row.split('|').nth(1).unwrap());
    let quoted = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
    quoted.collect()
}

#[test]
fn members_of_the_report_are_those_of_the_guide() {
    let report = Rig::new("error_item").run().report;
    let shown = first_column("\n### The report\n");
    let (truncated, shown) = shown.split_last().unwrap();
    assert_eq!(*truncated, "failures_truncated");
    let mut members: Vec<_> = report.as_object().unwrap().keys().collect();
    let mut shown = shown.to_vec();
    members.sort();
    shown.sort_unstable();
    assert_eq!(members, shown);
}

#[test]
fn codes_and_events_that_the_scenarios_lead_to_are_in_the_guide() {
    let table: Value = serde_json::from_str(include_str!("scenarios.json")).unwrap();
    let codes = first_column("\n### Failures\n");
    let events = first_column("\n### The log\n");
    let rows = ["contract", "hostile"]
        .into_iter()
        .flat_map(|part| table[part].as_array().unwrap());
    for round in rows.flat_map(|row| row["rounds"].as_array().unwrap()) {
        for failure in round["failures"].as_array().unwrap() {
            let code = failure[2].as_str().unwrap();
            assert!(codes.contains(&code), "{code}");
        }
        for event in round["events"].as_array().into_iter().flatten() {
            let (_, event) = event.as_str().unwrap().split_once(' ').unwrap();
            assert!(events.contains(&event), "{event}");
        }
    }
}
