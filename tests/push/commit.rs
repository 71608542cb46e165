//! `dpe commit` as a script uses it.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;

use dpe::model::{BlobRef, FileUri};
use dpe::server::{OpenMode, Store};
use serde_json::{Value, json};

use super::place::{Place, Run, run};

const URI: &str = "dpe://d/a";

/// The document of hash contract §16, and its doc_hash there.
const DOCUMENT: &str = r#"{"file_type":"md","title":"Q3","doc_metadata":{"author":"ann"},"pages":[
    {"title":"One","elements":[
        {"category":"Title","text":"Q3 report"},
        {"category":"NarrativeText","text":"Revenue grew 4.50 %.",
         "metadata":{"lang":"en","score":1.0,"skip":null,"list":[null,{"k":null}]}}]},
    {"page_metadata":{"page_label":"i"},"elements":[
        {"category":"Image","mime_type":"image/png","blob":BLOB}]}]}"#;
const DOC_HASH: &str = "dpe1:14c895cb99ad0de20d9640c5267bbcc561b626ce39974eaa110354f8d369145f";
const HELLO: &str = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

fn place(blob: &str) -> Place {
    let place = Place::new();
    write(&place, blob);
    place
}

fn write(place: &Place, blob: &str) {
    place.write("a.json", DOCUMENT.replace("BLOB", blob));
}

fn commit(place: &Place, arguments: &[&str]) -> Run {
    place.dpe(&[&["commit", "--json", URI, "docs/a.json"], arguments].concat())
}

fn answer(run: &Run) -> Value {
    serde_json::from_str(run.stdout.trim_end()).unwrap_or_else(|why| panic!("{why}: {run:?}"))
}

fn stored(place: &Place, blob: BlobRef) -> Option<Vec<u8>> {
    let store = Store::open(&place.store(), OpenMode::ReadOnly).unwrap();
    let mut blob = store.blob(&FileUri::parse(URI).unwrap(), blob).unwrap()?;
    let mut bytes = Vec::new();
    blob.read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

#[test]
fn a_document_is_created_with_its_bytes_then_unchanged_then_updated() {
    let place = place(r#"{"inline":"aGVsbG8="}"#);
    let created = commit(&place, &[]);
    assert_eq!(created.code, Some(0), "{created:?}");
    let expected = json!({"type": "committed", "file_uri": URI, "status": "created",
        "doc_hash": DOC_HASH, "delta": {"added": 3, "removed": 0, "retained": 0}});
    assert_eq!(answer(&created), expected);
    let hello = BlobRef::parse(HELLO).unwrap();
    assert_eq!(stored(&place, hello).as_deref(), Some(&b"hello"[..]));
    // The remote has the blob now, so that its reference is enough.
    write(&place, &format!("{HELLO:?}"));
    assert_eq!(answer(&commit(&place, &[]))["status"], "unchanged");
    let text = DOCUMENT.replace("BLOB", &format!("{HELLO:?}"));
    place.write("a.json", text.replace("Q3 report", "Q4 report"));
    let updated = answer(&commit(&place, &[]));
    assert_eq!(updated["status"], "updated");
    let delta = json!({"added": 1, "removed": 1, "retained": 2});
    assert_eq!(updated["delta"], delta);
    assert_eq!(stored(&place, hello).as_deref(), Some(&b"hello"[..]));
}

#[test]
fn bytes_come_from_files_beside_the_document_or_from_the_command_line() {
    let bytes = vec![7; 9 << 20];
    let blob = BlobRef::of(&bytes);
    for (form, arguments) in [
        (r#"{"file":"sub/large"}"#.to_owned(), &[][..]),
        (format!("\"{blob}\""), &["--blob", "docs/sub/large"][..]),
    ] {
        let place = place(&form);
        place.write("sub/large", &bytes);
        let created = commit(&place, arguments);
        assert_eq!(created.code, Some(0), "{created:?}");
        assert!(stored(&place, blob).is_some_and(|stored| stored == bytes));
    }
}

#[test]
fn a_blob_that_nobody_has_is_a_failure_that_names_it() {
    let place = place(&format!("{HELLO:?}"));
    let refused = commit(&place, &[]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains(HELLO), "{refused:?}");
    place.write("unused", "x");
    write(&place, r#"{"inline":"aGVsbG8="}"#);
    let warned = commit(&place, &["--blob", "docs/unused"]);
    assert_eq!(warned.code, Some(0));
    assert!(warned.stderr.contains("docs/unused"), "{warned:?}");
}

#[test]
fn a_condition_that_does_not_hold_ends_with_1_and_writes_nothing() {
    let place = place("null");
    let other = format!("dpe1:{}", "0".repeat(64));
    let missing = commit(&place, &["--base", &other]);
    assert_eq!(
        (missing.code, &answer(&missing)["code"]),
        (Some(1), &json!("DPE_NOT_FOUND"))
    );
    let created = commit(&place, &["--if-absent"]);
    let doc_hash = answer(&created)["doc_hash"].as_str().unwrap().to_owned();
    place.write(
        "a.json",
        DOCUMENT.replace("BLOB", "null").replace("Q3", "Q4"),
    );
    for (arguments, code) in [
        (&["--if-absent"][..], "DPE_ALREADY_EXISTS"),
        (&["--base", &other], "DPE_PRECONDITION_FAILED"),
        (&["--base", &other, "-n"], "DPE_PRECONDITION_FAILED"),
    ] {
        let refused = commit(&place, arguments);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        let expected = json!({"type": "refused", "file_uri": URI, "code": code});
        assert_eq!(answer(&refused), expected);
    }
    let heads = place.dpe(&["ls", "--json"]);
    assert!(heads.stdout.contains(&doc_hash), "{heads:?}");
    assert_eq!(
        answer(&commit(&place, &["--base", &doc_hash]))["status"],
        "updated"
    );
    place.write("a.json", DOCUMENT.replace("BLOB", "null"));
    assert_eq!(answer(&commit(&place, &["--force"]))["status"], "updated");
    let both = commit(&place, &["--force", "--if-absent"]);
    assert_eq!(both.code, Some(64));
}

#[test]
fn a_dry_run_says_what_would_be_and_creates_no_store() {
    let place = place(r#"{"inline":"aGVsbG8="}"#);
    let imagined = commit(&place, &["-n"]);
    assert_eq!(imagined.code, Some(0), "{imagined:?}");
    let expected = json!({"type": "committed", "file_uri": URI, "status": "created",
        "doc_hash": DOC_HASH});
    assert_eq!(answer(&imagined), expected);
    assert!(!place.store().exists());
}

#[test]
fn an_invalid_document_ends_with_1_and_the_words_of_hash_object() {
    let place = place(r#""sha256:xyz""#);
    let rejected = commit(&place, &[]);
    assert_eq!(rejected.code, Some(1));
    let path = "/pages/1/elements/0/blob";
    let expected = json!({"error": {"code": "DPE_VALIDATION", "path": path}});
    assert_eq!(answer(&rejected), expected);
    assert!(rejected.stderr.contains(path), "{rejected:?}");
    let judged = place.dpe(&["hash-object", "--kind", "expanded", "docs/a.json"]);
    assert_eq!(answer(&judged), expected);
    assert!(!place.store().exists());
}

#[test]
fn what_cannot_be_read_ends_with_3() {
    let place = place(r#"{"file":"missing"}"#);
    assert_eq!(commit(&place, &[]).code, Some(3));
    write(&place, "null");
    assert_eq!(commit(&place, &["--blob", "docs/missing"]).code, Some(3));
    place.remove("a.json");
    assert_eq!(commit(&place, &[]).code, Some(3));
}

#[test]
fn a_document_comes_from_standard_input_too() {
    let place = place(r#"{"file":"docs/hello"}"#);
    place.write("hello", "hello");
    let text = fs::read(place.docs().join("a.json")).unwrap();
    let mut child = place
        .command()
        .args(["commit", URI, "-", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&text).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["doc_hash"], DOC_HASH);
    let shown = run(place.command().args(["show", URI, "--json"]));
    assert_eq!(shown.code, Some(0), "{shown:?}");
}
