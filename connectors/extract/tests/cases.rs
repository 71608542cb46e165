//! The cases under `tests/cases`: files and the documents they have to give.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use dpe_connector::content::Page;
use dpe_extract::{Extraction, Input, Limits, Reason, extract};
use serde_json::{Value, json};

#[test]
fn every_case_gives_the_document_written_beside_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut failures = Vec::new();
    let mut count = 0;
    for expected_path in expectations(&root) {
        count += 1;
        let path = expected_path.with_extension("");
        let expected: Value = serde_json::from_slice(&fs::read(&expected_path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", expected_path.display()));
        let found = found(&path, &expected);
        if found != expected {
            failures.push(format!(
                "{}\n  expected {expected}\n  found    {found}",
                path.display()
            ));
        }
    }
    assert!(count >= 50, "only {count} cases were found");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Returns the case's outcome, in the words of its expectation.
fn found(path: &Path, expected: &Value) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let name = path.file_name().unwrap().as_encoded_bytes();
    let input = Input {
        name,
        bytes: &bytes,
    };
    match extract(&input, &Limits::default()) {
        Ok(extraction) => document(&extraction),
        Err(error) if error.reason == Reason::UnsupportedFormat => json!({"unsupported": true}),
        Err(error) => {
            let part = expected[error.reason.name()].as_str();
            let part = part.filter(|part| error.message.contains(part));
            json!({error.reason.name(): part.unwrap_or(&error.message)})
        }
    }
}

/// Pages of a format without pages are given as their elements; blobs by their sizes in bytes.
fn document(extraction: &Extraction) -> Value {
    let mut document = serde_json::to_value(&extraction.head).unwrap();
    let is_declared = |page: &Page| page.title.is_some() || !page.page_metadata.is_empty();
    match &*extraction.pages {
        [] => document["elements"] = json!([]),
        [page] if !is_declared(page) => document["elements"] = json!(page.elements),
        pages => document["pages"] = json!(pages),
    }
    let sizes: Vec<_> = extraction.blobs.iter().map(Vec::len).collect();
    if !sizes.is_empty() {
        document["blobs"] = json!(sizes);
    }
    if !extraction.notes.is_empty() {
        document["notes"] = json!(extraction.notes);
    }
    document
}

fn expectations(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        if path.is_dir() {
            found.extend(expectations(&path));
        } else if path.extension().is_some_and(|end| end == "json")
            && path.with_extension("").exists()
        {
            found.push(path);
        }
    }
    found
}
