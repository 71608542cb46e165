//! How fast whole documents are judged and hashed, and how much memory that takes.
//!
//! `cargo bench --bench hash` makes two expanded documents of 100 MB, one of many small elements
//! and one of few large ones, and measures in one run: our `expanded_text`, our `expanded` over
//! parsed values, the published crate `dpe-hash` on the same, plain SHA-256 over the same
//! canonical bytes, and the `TreeBuilder` that makes objects ready for delivery. A child process measures the peak memory of the way `dpe hash-object` goes.
//!
//! The goals: at least 3 times `dpe-hash`, at least half of plain SHA-256 for large elements, less
//! than 2.5 times the input in memory.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    missing_docs,
    reason = "a measuring program, not part of the tool"
)]

use std::fmt::Write;
use std::fs;
use std::hint::black_box;
use std::process::Command;
use std::time::Instant;

use dpe::json::Text;
use dpe::model::{Contract, Tree, TreeBuilder, expanded, expanded_text};
use dpe::ops::hash_object::{Judge, Kind, Verdict};
use sha2::{Digest, Sha256};

const MEGABYTE: usize = 1_000_000;
const SIZE: usize = 100 * MEGABYTE;
const PEAK_MEMORY_OF: &str = "--peak-memory-of";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments
        .iter()
        .position(|argument| argument == PEAK_MEMORY_OF)
    {
        return hash_file(&arguments[at + 1]);
    }
    measure("many small elements", &small_elements());
    measure("few large elements", &large_elements());
}

fn measure(name: &str, text: &str) {
    println!("{name}: {} MB", text.len() / MEGABYTE);
    let canonical = canonical_bytes(text);
    let sha = best_of(7, || {
        black_box(Sha256::digest(&canonical));
    });
    row("plain SHA-256, canonical bytes", canonical.len(), sha, &[]);

    let parse = best_of(7, || drop(black_box(Text::parse(text.as_bytes()).unwrap())));
    row("our parser", text.len(), parse, &[]);
    let parsed = Text::parse(text.as_bytes()).unwrap();
    let ours = best_of(7, || hash(&parsed));
    let ours_text = best_of(7, || {
        drop(black_box(
            expanded_text(text.as_bytes(), Contract::Dpe1).unwrap(),
        ));
    });
    let tree = best_of(7, || drop(black_box(tree(&parsed))));
    drop(parsed);

    let value = dpe_hash::parse_ijson(text).unwrap();
    let theirs = best_of(3, || {
        drop(black_box(dpe_hash::document_hashes(&value, "dpe1")))
    });
    drop(value);
    let theirs_text = best_of(3, || {
        let value = dpe_hash::parse_ijson(text).unwrap();
        drop(black_box(dpe_hash::document_hashes(&value, "dpe1")));
    });

    row("dpe-hash, parsed value", text.len(), theirs, &[]);
    row("dpe-hash, text to hashes", text.len(), theirs_text, &[]);
    let against = [("dpe-hash", theirs), ("SHA-256", sha)];
    row("ours, parsed value", text.len(), ours, &against);
    let against = [("dpe-hash", theirs_text), ("SHA-256", sha)];
    row("ours, text to hashes", text.len(), ours_text, &against);
    let against = [("SHA-256", sha)];
    row("ours, parsed value to delivery", text.len(), tree, &against);
    report_peak_memory(text);
    println!();
}

fn row(what: &str, bytes: usize, seconds: f64, against: &[(&str, f64)]) {
    let rate = bytes as f64 / MEGABYTE as f64 / seconds;
    print!("  {what:<32} {:>8.1} ms {rate:>7.0} MB/s", seconds * 1000.0);
    for (other, theirs) in against {
        print!("   {:.2} x {other}", theirs / seconds);
    }
    println!();
}

fn hash(text: &Text<'_>) {
    drop(black_box(expanded(text.root(), Contract::Dpe1).unwrap()));
}

fn best_of(runs: usize, mut work: impl FnMut()) -> f64 {
    let times = (0..runs).map(|_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

/// The preimages of all objects in a row.
fn canonical_bytes(text: &str) -> Vec<u8> {
    let tree = tree(&Text::parse(text.as_bytes()).unwrap());
    assert_eq!(tree.elements.len() as u64, tree.element_count);
    let objects = tree.elements.iter().chain(&tree.pages);
    let texts = objects.map(|object| &*object.text).chain([&*tree.document]);
    texts.flat_map(str::bytes).collect()
}

/// What `dpe push` makes of a document that a connector delivered.
fn tree(document: &Text<'_>) -> Tree {
    let mut builder = TreeBuilder::new(Contract::Dpe1);
    builder
        .add_pages(document.root().member("pages").unwrap(), |_| Ok(None))
        .unwrap();
    let head = Text::parse(br#"{"file_type":"txt"}"#).unwrap();
    builder.finish(head.root()).unwrap()
}

fn report_peak_memory(text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("document.json");
    fs::write(&path, text).unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .arg(PEAK_MEMORY_OF)
        .arg(&path)
        .output()
        .unwrap();
    let peak = String::from_utf8(child.stdout).unwrap();
    match peak.trim().parse::<f64>() {
        Ok(kilobytes) => {
            let bytes = kilobytes * 1024.0;
            let ratio = bytes / text.len() as f64;
            println!(
                "  peak memory {:.0} MB, {ratio:.2} x input",
                bytes / MEGABYTE as f64
            );
        }
        Err(_) => println!("  peak memory unknown: no /proc/self/status here"),
    }
}

/// In the child: goes the way of `dpe hash-object --kind expanded FILE` and prints VmHWM in kB.
fn hash_file(path: &str) {
    let input = fs::read(path).unwrap();
    let verdict = Judge::new(Kind::Expanded, "dpe1").one(&input, &mut std::io::sink());
    assert_eq!(verdict.unwrap(), Verdict::Accepted);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    print!(
        "{}",
        line.unwrap_or_default().trim().trim_end_matches(" kB")
    );
}

/// Elements of 100 to 200 bytes, fifty a page, some with metadata.
fn small_elements() -> String {
    let mut text = String::with_capacity(SIZE + MEGABYTE);
    text.push_str(r#"{"file_type":"txt","pages":["#);
    let mut count = 0;
    while text.len() < SIZE {
        let comma = if count == 0 { "" } else { "," };
        write!(
            text,
            r#"{comma}{{"page_metadata":{{"page_label":"{count}"}},"elements":["#
        )
        .unwrap();
        for position in 0..50 {
            let comma = if position == 0 { "" } else { "," };
            text.push_str(comma);
            push_small_element(&mut text, count);
            count += 1;
        }
        text.push_str("]}");
    }
    text.push_str("]}");
    text
}

fn push_small_element(text: &mut String, count: usize) {
    let words = [
        "delivery",
        "über",
        "document",
        "\\\"page\\\"",
        "element",
        "文档",
        "hash",
    ];
    match count % 10 {
        0 => write!(text, r#"{{"category":"Title","text":"{count} "#).unwrap(),
        1 => write!(
            text,
            r#"{{"category":"ListItem","metadata":{{"level":2,"x":{}.25,"tag":null}},"text":"{count} "#,
            count % 977
        )
        .unwrap(),
        _ => write!(text, r#"{{"category":"NarrativeText","text":"{count} "#).unwrap(),
    }
    for word in 0..6 + count % 8 {
        text.push_str(words[(count + word * word) % words.len()]);
        text.push(' ');
    }
    text.push_str("\"}");
}

/// Elements of about 1 MiB of text: lines of 40 to 90 characters, some of them not ASCII.
fn large_elements() -> String {
    let mut text = String::with_capacity(SIZE + 2 * MEGABYTE);
    text.push_str(r#"{"file_type":"txt","pages":[{"elements":["#);
    let mut count = 0;
    while text.len() < SIZE {
        let comma = if count == 0 { "" } else { "," };
        write!(
            text,
            r#"{comma}{{"category":"CodeSnippet","text":"{count}\n"#
        )
        .unwrap();
        let end = text.len() + (1 << 20);
        let mut line = 0;
        while text.len() < end {
            let width = 40 + (line * 7 + count) % 50;
            match line % 12 {
                0 => text.push_str("an \\\"element\\\" of the text, größer als 1 MiB: 文档 "),
                _ => text.extend(std::iter::repeat_n("lorem ipsum ", width / 12)),
            }
            text.push_str("\\n");
            line += 1;
        }
        text.push_str("\"}");
        count += 1;
    }
    text.push_str("]}]}");
    text
}
