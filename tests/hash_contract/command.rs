//! `dpe hash-object` as a program: what it writes where, and how it ends.

use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

const TITLE: &[u8] = br#"{"category":"Title"}"#;
/// Hash contract §16.
const TITLE_HASH: &str = "dpe1:b9951fa5f4a46fe7739e70aa614a7201b24ab9a5dd083a7d17a518672c8fcc45";
const REJECTED: &str = "{\"error\":{\"code\":\"DPE_CATEGORY_UNKNOWN\",\"path\":\"/category\"}}\n";

fn start(arguments: &[&str], stdout: Stdio) -> Child {
    Command::new(env!("CARGO_BIN_EXE_dpe"))
        .env_clear()
        .arg("hash-object")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn give(mut child: Child, input: &[u8]) -> Output {
    // Whoever refuses its command line reads nothing.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

fn hash_object(arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let output = give(start(arguments, Stdio::piped()), input);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_rejected_input_is_the_answer_no_except_line_by_line() {
    let accepted = format!("{{\"hash\":\"{TITLE_HASH}\"}}\n");
    let element = ["--kind", "element"];
    assert_eq!(
        hash_object(&element, TITLE),
        (Some(0), accepted.clone(), String::new())
    );
    let unknown = br#"{"category":"Nope"}"#;
    assert_eq!(
        hash_object(&element, unknown),
        (Some(1), REJECTED.to_owned(), String::new())
    );
    let lines = [&unknown[..], TITLE].join(&b'\n');
    assert_eq!(
        hash_object(&["--kind", "element", "--ndjson"], &lines),
        (Some(0), format!("{REJECTED}{accepted}"), String::new())
    );
}

#[test]
fn kinds_are_named_by_the_help_and_others_refused() {
    let (code, help, _) = hash_object(&["--help"], b"");
    assert_eq!(code, Some(0));
    assert!(help.contains("element, page, document, expanded, uri, file-type, jcs"));
    let (code, stdout, stderr) = hash_object(&["--kind", "blob"], b"");
    assert_eq!((code, &*stdout), (Some(64), ""));
    assert!(stderr.contains("file-type"), "{stderr}");
}

#[test]
fn what_cannot_be_read_is_named() {
    let (code, stdout, stderr) = hash_object(&["--kind", "jcs", "no/such/file"], b"");
    assert_eq!((code, &*stdout), (Some(3), ""));
    assert!(stderr.contains("no/such/file"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_hash_that_cannot_be_written_is_74() {
    for arguments in [
        &["--kind", "element"][..],
        &["--kind", "element", "--ndjson"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full");
        let output = give(start(arguments, Stdio::from(full.unwrap())), TITLE);
        assert_eq!(output.status.code(), Some(74), "{arguments:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn a_reader_that_went_away_is_no_failure_of_hashing() {
    for arguments in [
        &["--kind", "element"][..],
        &["--kind", "element", "--ndjson"],
    ] {
        let mut child = start(arguments, Stdio::piped());
        drop(child.stdout.take());
        let output = give(child, TITLE);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert_eq!(output.stderr, b"", "{arguments:?}");
    }
}
