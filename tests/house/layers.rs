//! The rooms of `src/` import only downward, by the table of `docs/architecture.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// What each room may import besides itself.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("model", &["json"]),
    ("protocol", &["json", "model"]),
    ("sync", &["json", "model", "protocol"]),
    ("config", &["json", "model"]),
    ("state", &["model", "sync"]),
    ("host", &["json", "model", "sync", "config"]),
    ("server", &["json", "model", "protocol", "sync"]),
    ("transport", &["config", "protocol", "sync"]),
    ("runner", &["json", "model", "protocol", "sync", "state"]),
    (
        "ops",
        &[
            "json",
            "model",
            "protocol",
            "sync",
            "config",
            "state",
            "host",
            "server",
            "transport",
            "runner",
        ],
    ),
    ("ui", &["json", "model", "sync", "runner", "ops"]),
    (
        "cli",
        &[
            "json", "model", "sync", "config", "server", "ops", "ui", "error",
        ],
    ),
    // Transparent over the rooms that can end a command.
    ("error", &["sync", "config", "ops", "runner"]),
];

/// Crates that have a home: only these rooms may name them.
const HOMES: &[(&str, &[&str])] = &[
    ("axum", &["server"]),
    ("tower", &["server"]),
    ("hyper", &["server"]),
    ("hyper_util", &["server"]),
    ("rusqlite", &["server", "state"]),
    ("clap", &["cli"]),
    (
        "tokio",
        &["host", "server", "transport", "runner", "ops", "cli"],
    ),
    ("tokio_util", &["runner", "ops", "cli"]),
    ("reqwest", &["transport"]),
    ("rustls", &["transport"]),
    ("dpe_connector", &["host", "ops", "config"]),
];

#[test]
fn rooms_import_only_downward() {
    let allowed: BTreeMap<&str, &[&str]> = MAY_IMPORT.iter().copied().collect();
    let mut breaches = Vec::new();
    for (room, file) in source_files() {
        let Some(allowed) = allowed.get(room.as_str()) else {
            panic!("the room {room} is not in the table");
        };
        for import in paths_after(&code(&file), "crate::") {
            if import != room && !allowed.contains(&import.as_str()) {
                breaches.push(format!("{} imports {import}", file.display()));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn crates_with_a_home_stay_there() {
    let mut breaches = Vec::new();
    for (room, file) in source_files() {
        let code = code(&file);
        for (name, rooms) in HOMES {
            let named = code.contains(&format!("{name}::")) && !rooms.contains(&room.as_str());
            if named {
                breaches.push(format!("{} names {name}", file.display()));
            }
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn the_lower_rooms_read_no_clock_environment_disk_or_chance() {
    const OUTSIDE: &[&str] = &[
        "std::fs",
        "std::env",
        "std::net::Tcp",
        "std::net::Udp",
        "ToSocketAddrs",
        "std::process",
        "std::time::Instant",
        "std::time::SystemTime",
        "SystemTime::now",
        "Instant::now",
        "Timestamp::now",
        "File::open",
        "rand::",
    ];
    let mut breaches = Vec::new();
    for (room, file) in source_files() {
        if !["json", "model", "protocol", "sync"].contains(&room.as_str()) {
            continue;
        }
        let code = code(&file);
        for outside in OUTSIDE.iter().filter(|outside| code.contains(**outside)) {
            breaches.push(format!("{} uses {outside}", file.display()));
        }
    }
    assert!(breaches.is_empty(), "{}", breaches.join("\n"));
}

#[test]
fn every_room_is_in_the_table_and_every_row_is_a_room() {
    let rooms: BTreeSet<String> = source_files().into_iter().map(|(room, _)| room).collect();
    let rows: BTreeSet<String> = MAY_IMPORT
        .iter()
        .map(|(room, _)| (*room).to_owned())
        .collect();
    assert_eq!(rooms, rows);
}

/// Returns every source file below `src/` with its room; `lib.rs` and `main.rs` have none.
fn source_files() -> Vec<(String, PathBuf)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    for entry in fs::read_dir(&src).unwrap() {
        let path = entry.unwrap().path();
        let room = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            collect(&path, &room, &mut files);
        } else if is_rust(&path) && room != "lib" && room != "main" {
            files.push((room, path));
        }
    }
    assert!(files.len() > 20, "the sources are read");
    files
}

fn collect(directory: &Path, room: &str, files: &mut Vec<(String, PathBuf)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, room, files);
        } else if is_rust(&path) {
            files.push((room.to_owned(), path));
        }
    }
}

fn is_rust(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "rs")
}

/// Returns the code of a file without comments and without its unit tests, which may build what
/// they need from anywhere.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .unwrap_or_default();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns the names that directly follow `start`, taking `start{a, b::c}` apart.
fn paths_after(code: &str, start: &str) -> BTreeSet<String> {
    let name = |text: &str| {
        let end = text
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        text[..end].to_owned()
    };
    let mut names = BTreeSet::new();
    for (at, _) in code.match_indices(start) {
        let rest = &code[at + start.len()..];
        match rest.strip_prefix('{') {
            None => {
                names.insert(name(rest));
            }
            Some(group) => {
                let mut depth = 0;
                let mut part = String::new();
                for character in group.chars() {
                    match character {
                        '{' => depth += 1,
                        '}' if depth == 0 => break,
                        '}' => depth -= 1,
                        ',' if depth == 0 => {
                            names.insert(name(part.trim()));
                            part.clear();
                            continue;
                        }
                        _ => {}
                    }
                    part.push(character);
                }
                names.insert(name(part.trim()));
            }
        }
    }
    names.remove("");
    names
}
