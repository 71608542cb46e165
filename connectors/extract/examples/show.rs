//! Prints what files become: one JSON line per file, or with `--check` only what fails and a count.
//!
//! For people who wonder about the mapping, and for trying it on folders:
//! `find DIR -type f -print0 | xargs -0 cargo run -p dpe-extract --example show -- --check`

use std::io::{self, Write};
use std::path::Path;

use dpe_extract::{Extraction, Input, Limits, Reason, extract};

fn main() -> io::Result<()> {
    let mut paths: Vec<_> = std::env::args_os().skip(1).collect();
    let only_check = paths.first().is_some_and(|first| first == "--check");
    if only_check {
        paths.remove(0);
    }
    let mut out = io::stdout().lock();
    let (mut read, mut unsupported, mut invalid) = (0, 0, 0);
    for path in &paths {
        let path = Path::new(path);
        let bytes = std::fs::read(path)?;
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        let input = Input {
            name,
            bytes: &bytes,
        };
        match extract(&input, &Limits::default()) {
            Ok(extraction) => {
                read += 1;
                if !only_check {
                    writeln!(out, "{}", line(&extraction)?)?;
                }
            }
            Err(error) if error.reason == Reason::UnsupportedFormat => unsupported += 1,
            Err(error) => {
                invalid += 1;
                writeln!(out, "{}: {}: {error}", path.display(), error.reason)?;
            }
        }
    }
    writeln!(
        io::stderr(),
        "{read} read, {unsupported} unsupported, {invalid} invalid"
    )
}

fn line(extraction: &Extraction) -> serde_json::Result<String> {
    let mut document = serde_json::to_value(&extraction.head)?;
    document["pages"] = serde_json::to_value(&extraction.pages)?;
    serde_json::to_string(&document)
}
