//! Which names a pattern matches, compared with git itself.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use dpe_connector_files::{Case, Patterns};
use proptest::prelude::{Strategy, prop, prop_oneof};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// One git process judges all of them.
const PATTERNS: usize = 1500;

const PARTS: [&str; 52] = [
    "a",
    "b",
    "z",
    "A",
    "B",
    "Z",
    "_",
    "-",
    ".",
    "!",
    "^",
    "#",
    " ",
    "é",
    "/",
    "/",
    "/",
    "*",
    "*",
    "**",
    "**/",
    "/**/",
    "/**",
    "?",
    "\\",
    "\\a",
    "\\A",
    "\\*",
    "\\/",
    "\\]",
    "[",
    "]",
    "[z-a]",
    "[a-B]",
    "[A-z]",
    "[A-Z]",
    "[a-z]",
    "[A]",
    "[b]",
    "[!a]",
    "[^A]",
    "[!A-Z]",
    "[]a]",
    "[a-]",
    "[\\A-\\Z]",
    "[[:alpha:]]",
    "[[:upper:]]",
    "[![:lower:]]",
    "[[:punct:][:space:]]",
    "[[:x:]]",
    "[[:a]",
    "[[:",
];

const PATHS: [&str; 36] = [
    "a", "b", "A", "B", "z", "Z", "_", "-", "!", "^", "[", "]", "\\", " ", "#", "*", "é", "\u{b}",
    "\u{7f}", "aa", "aB", "ab", "a.", ".a", "a b", "b\\", "[z-a]", "a/b", "A/b", "b/a", "a/A",
    "a/b/z", "a/b/a", "/Z/a", "b/a/b/a", "a/_/B/b",
];

const MEMBERS: [&str; 24] = [
    "a",
    "z",
    "A",
    "Z",
    "B",
    "-",
    "-",
    "\\-",
    "\\]",
    "[",
    "[:",
    ":]",
    "[:alpha:]",
    "[:upper:]",
    "[:space:]",
    "[:cntrl:]",
    "!",
    "^",
    "]",
    "/",
    "_",
    "é",
    ":",
    "\\\\",
];

/// Members of a class, of every kind and in any order.
fn class() -> impl Strategy<Value = String> {
    let member = prop::sample::select(&MEMBERS[..]);
    prop::collection::vec(member, 1..6).prop_map(|members| format!("[{}]", members.concat()))
}

fn pattern() -> impl Strategy<Value = String> {
    let part = prop::sample::select(&PARTS[..]).prop_map(str::to_owned);
    let part = prop_oneof![4 => part, 1 => class()];
    let ends = prop::sample::select(vec!["", "", "", "/", " ", "\\ ", "\r", "  "]);
    let begins = prop::sample::select(vec!["", "", "", "!", "/", "\u{feff}"]);
    (begins, prop::collection::vec(part, 1..6), ends)
        .prop_map(|(begins, parts, ends)| format!("{begins}{}{ends}", parts.concat()))
}

/// Returns, for each of `paths`, whether git says that a pattern speaks of it.
fn by_git(top: &Path, ignores_case: bool, paths: &[String]) -> Vec<bool> {
    let setting = format!("core.ignoreCase={ignores_case}");
    let arguments = ["check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"];
    let mut git = Command::new("git")
        .current_dir(top)
        .args(["-c", &setting, "-c", "core.excludesFile="])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = git.stdin.take().unwrap();
    let text: String = paths.iter().map(|path| format!("{path}\0")).collect();
    let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()).unwrap());
    let output = git.wait_with_output().unwrap();
    writer.join().unwrap();
    let fields: Vec<&[u8]> = output.stdout.split(|&byte| byte == 0).collect();
    // Source, line, pattern, path.
    let said: Vec<bool> = fields
        .chunks_exact(4)
        .map(|one| !one[0].is_empty())
        .collect();
    assert_eq!(said.len(), paths.len());
    said
}

/// Returns whether a pattern speaks of a path or of a folder above it.
fn by_us(patterns: &Patterns, path: &str, case: Case) -> bool {
    let ends = path.match_indices('/').map(|(end, _)| end);
    let mut above = ends.map(|end| &path[..end]);
    above.any(|folder| patterns.verdict(folder.as_bytes(), true, case) == Some(true))
        || patterns.verdict(path.as_bytes(), false, case).is_some()
}

#[test]
fn every_wildcard_matches_what_git_matches_whether_case_counts_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path();
    let init = Command::new("git").args(["init", "-q"]).arg(top).status();
    assert!(init.unwrap().success());
    let mut runner = TestRunner::default();
    let texts: Vec<String> = (0..PATTERNS)
        .map(|_| pattern().new_tree(&mut runner).unwrap().current())
        .collect();
    let mut paths = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        fs::create_dir(top.join(number.to_string())).unwrap();
        fs::write(top.join(format!("{number}/.gitignore")), text).unwrap();
        let below = |path: &&str| format!("{number}/{}", path.trim_start_matches('/'));
        paths.extend(PATHS.iter().map(below));
    }
    let mut wrong = Vec::new();
    for (ignores_case, case) in [(false, Case::Sensitive), (true, Case::Fold)] {
        let said = by_git(top, ignores_case, &paths);
        for (path, git) in paths.iter().zip(said) {
            let (number, path) = path.split_once('/').unwrap();
            let text = &texts[number.parse::<usize>().unwrap()];
            let us = by_us(&Patterns::parse(text.as_bytes()), path, case);
            if us != git {
                wrong.push(format!("{text:?} {path:?} {case:?}: git says {git}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\n{}",
        wrong.len(),
        wrong[..wrong.len().min(30)].join("\n")
    );
}
