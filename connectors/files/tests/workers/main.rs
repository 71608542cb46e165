//! Workers that die, loop, eat memory and say what they should not: each costs its file alone, and
//! nothing of them is left behind.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use dpe_connector_files::{ExtractError, Extractor, NoDocument, Program, Reason, Workers};

const MEMORY_BYTES: u64 = 64 << 20;

/// Whoever counts children counts all of this process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> std::sync::MutexGuard<'static, ()> {
    ALONE
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

fn extractor(time: Duration) -> Extractor {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/workers/worker.py");
    let program = Program {
        path: "/usr/bin/env".into(),
        args: ["python3".into(), script.into()].into(),
    };
    let workers = Workers::of(program, time, MEMORY_BYTES);
    Extractor::new(dpe_extract::Limits::default(), Some(workers))
}

/// Extracts a file of a format that has a parser.
fn extract(extractor: &Extractor, text: &str) -> Result<String, ExtractError> {
    match extractor.extract(b"a.rtf", text.as_bytes()) {
        Ok(extraction) => {
            let text = &extraction.pages[0].elements[0].text;
            Ok(text.clone().unwrap_or_default())
        }
        Err(NoDocument::Refused(error)) => Err(error),
        Err(NoDocument::Failed(failure)) => panic!("{}", failure.message),
    }
}

fn rtf(order: &str) -> String {
    format!("{order} {{\\rtf1 a\0}}")
}

fn reason(extractor: &Extractor, order: &str) -> (Reason, String) {
    let error = extract(extractor, &rtf(order)).unwrap_err();
    (error.reason, error.message)
}

/// Returns the process of the worker that answers, and how many files it has answered for before.
fn who(extractor: &Extractor) -> (String, u32) {
    let text = extract(extractor, &rtf("who")).unwrap();
    let (process, served) = text.split_once(' ').unwrap();
    (process.to_owned(), served.parse().unwrap())
}

/// Returns the processes that this one has started and not waited for, zombies included.
fn children() -> Vec<String> {
    let own = std::process::id().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let stat = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    let parent_is_own = |stat: &String| {
        let rest = stat.rsplit(')').next().unwrap_or_default();
        rest.split_whitespace().nth(1) == Some(&own)
    };
    stat.filter(parent_is_own).collect()
}

const LONG: Duration = Duration::from_secs(60);

#[test]
fn a_worker_serves_one_file_after_another() {
    let _alone = alone();
    let extractor = extractor(LONG);
    let (process, served) = who(&extractor);
    assert_eq!(served, 0);
    assert_eq!(who(&extractor), (process.clone(), 1));
    assert_eq!(reason(&extractor, "refuse").0, Reason::Encrypted);
    assert_eq!(extract(&extractor, &rtf("noise")).unwrap(), "quiet");
    assert_eq!(who(&extractor), (process, 4));
    assert_eq!(children().len(), 1);
}

#[test]
fn one_that_dies_costs_its_file_and_is_replaced() {
    let _alone = alone();
    let extractor = extractor(LONG);
    for (order, words) in [
        ("exit", "ended with code 7"),
        ("killed", "ended with signal 9"),
        ("memory", "needed more than 64 MiB of memory"),
        ("garbage", "no sensible answer"),
        ("rubbish", "no sensible answer"),
        ("half", "ended with code 0"),
        ("silent", "ended with signal 9"),
        ("flood", "ended with signal"),
        ("broken", "a defect"),
    ] {
        let (reason, message) = reason(&extractor, order);
        assert_eq!(reason, Reason::ParserFailed, "{order}");
        assert!(message.contains(words), "{order}: {message}");
        assert_eq!(who(&extractor).1, 0, "{order}");
    }
    drop(extractor);
    assert_eq!(children(), Vec::<String>::new());
}

/// The system kills whom it likes when memory is short.
#[test]
fn file_whose_worker_somebody_killed_is_tried_once_more() {
    let _alone = alone();
    let extractor = extractor(LONG);
    let folder = tempfile::tempdir().unwrap();
    let order = format!("once {}", folder.path().join("mark").display());
    assert_eq!(extract(&extractor, &rtf(&order)).unwrap(), "twice");
}

#[test]
fn one_that_takes_too_long_is_killed() {
    let _alone = alone();
    let extractor = extractor(Duration::from_secs(2));
    for order in ["loop", "sleep"] {
        let begun = Instant::now();
        let (reason, message) = reason(&extractor, order);
        assert_eq!(reason, Reason::Timeout, "{order}");
        assert!(message.ends_with("more than 2 seconds"), "{message}");
        assert!(begun.elapsed() < LONG);
        assert_eq!(children(), Vec::<String>::new());
    }
    assert_eq!(who(&extractor).1, 0);
}

/// A pipe holds much less than a file may have: nobody waits for a worker that does not read.
#[test]
fn one_that_does_not_read_is_killed() {
    let _alone = alone();
    let program = Program {
        path: "/bin/sleep".into(),
        args: Vec::new(),
    };
    let workers = Workers::of(program, Duration::from_secs(1), 3600);
    let extractor = Extractor::new(dpe_extract::Limits::default(), Some(workers));
    let text = rtf("who") + &"x".repeat(1 << 20);
    assert_eq!(
        extract(&extractor, &text).unwrap_err().reason,
        Reason::Timeout
    );
    assert_eq!(children(), Vec::<String>::new());
}

#[test]
fn leftovers_of_other_files_cost_nobody() {
    let _alone = alone();
    let extractor = extractor(LONG);
    let (process, _) = who(&extractor);
    let (other, served) = {
        let text = extract(&extractor, &rtf("tired")).unwrap();
        let (process, served) = text.split_once(' ').unwrap();
        (process.to_owned(), served.to_owned())
    };
    assert_ne!(other, process);
    assert_eq!(served, "0");
}

#[test]
fn as_many_workers_run_as_files_are_extracted_at_a_time() {
    let _alone = alone();
    let extractor = extractor(LONG);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| (0..20).for_each(|_| drop(who(&extractor))));
        }
    });
    assert!((1..=3).contains(&children().len()));
    drop(extractor);
    assert_eq!(children(), Vec::<String>::new());
}

#[test]
fn texts_and_pictures_need_no_worker_unless_they_are_long() {
    let _alone = alone();
    let extractor = extractor(LONG);
    for name in ["a.txt", "a.rs", "a.json", "a.csv"] {
        let made = extractor.extract(name.as_bytes(), b"[1]\n").unwrap();
        assert_eq!(made.pages.len(), 1, "{name}");
    }
    assert!(extractor.extract(b"a.rtf", b"").is_ok());
    assert!(extractor.extract(b"a.md", b"# A").is_ok());
    assert_eq!(children(), Vec::<String>::new());
    let long = "who ".repeat(2 << 20);
    assert!(extractor.extract(b"a.txt", long.as_bytes()).is_ok());
    assert_eq!(children().len(), 1);
}

/// Small files of it are extracted in the connector itself, on threads of common stacks.
#[test]
fn small_markdown_does_no_harm_however_it_is_nested() {
    let _alone = alone();
    let extractor = extractor(LONG);
    let begun = Instant::now();
    let patterns = [
        ">", "- ", "[", "![", "*a _b ", "`", "<div>", "<a><b>", "\\[", "|a\n|-\n", "1. ",
        "  - a\n", "$$", "~~", "[^a]: ", "&amp", "<!--", "---\n", "{", "((", "a\tb", "![](",
        "\u{0}", "\r",
    ];
    for pattern in patterns {
        let text = pattern.repeat((64 << 10) / pattern.len());
        let ways = [
            text.clone(),
            format!("---\n{text}\n---\n"),
            format!("+++\n{text}\n+++\n"),
        ];
        for text in ways
            .iter()
            .map(|text| &text.as_bytes()[..text.len().min(64 << 10)])
        {
            // A document or a reason.
            if let Err(NoDocument::Refused(error)) = extractor.extract(b"a.md", text) {
                assert_ne!(error.reason, Reason::ParserFailed, "{pattern}");
            }
        }
    }
    assert!(begun.elapsed() < LONG);
    assert_eq!(children(), Vec::<String>::new());
}

#[test]
fn a_program_that_is_not_there_is_no_fault_of_the_file() {
    let program = Program {
        path: "/nonexistent/program".into(),
        args: Vec::new(),
    };
    let workers = Workers::of(program, LONG, MEMORY_BYTES);
    let extractor = Extractor::new(dpe_extract::Limits::default(), Some(workers));
    let failed = extractor
        .extract(b"a.rtf", rtf("who").as_bytes())
        .unwrap_err();
    let NoDocument::Failed(failure) = failed else {
        panic!("expected a failure, found {failed:?}");
    };
    assert!(failure.retryable);
}
