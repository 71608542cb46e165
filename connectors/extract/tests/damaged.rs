//! Every case, cut short and with bytes changed: a document or a reason, the same each time, and never a
//! panic.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

use dpe_extract::{Input, Limits, extract};

/// Larger files are tried in fewer variants.
const SMALL_BYTES: usize = 64 * 1024;

#[test]
fn case_that_is_cut_short_gives_a_document_or_a_reason() {
    for path in cases() {
        let bytes = fs::read(&path).unwrap();
        for sixteenth in 0..16 {
            try_it(&path, &bytes[..bytes.len() * sixteenth / 16]);
        }
    }
}

#[test]
fn case_with_changed_bytes_gives_a_document_or_a_reason() {
    for path in cases() {
        let bytes = fs::read(&path).unwrap();
        let variants = if bytes.len() <= SMALL_BYTES { 40 } else { 6 };
        // A fixed sequence, so that what fails fails again.
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut next = |most: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state >> 33).unwrap() % most.max(1)
        };
        for _ in 0..variants {
            let mut changed = bytes.clone();
            for _ in 0..=next(8) {
                if changed.is_empty() {
                    continue;
                }
                let at = next(changed.len());
                let value = [0, 1, 0x7F, 0x80, 0xFF, b'{', b'<', next(256) as u8][next(8)];
                changed[at] = value;
                if next(4) == 0 {
                    let end = (at + 8).min(changed.len());
                    changed[at..end].fill(value);
                }
            }
            try_it(&path, &changed);
        }
    }
}

fn try_it(path: &Path, bytes: &[u8]) {
    let name = path.file_name().unwrap().as_encoded_bytes();
    let input = Input { name, bytes };
    let limits = Limits::default();
    let extraction = extract(&input, &limits);
    assert_eq!(extraction, extract(&input, &limits), "{}", path.display());
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end != "json") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
