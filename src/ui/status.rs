//! What a push would do, for people and for programs.

use std::fmt::Write as _;

use crate::json::Writer;
use crate::ops::status::{Change, Effect, Kind, SourceStatus};
use crate::sync::failure::Subject;
use crate::sync::printable::printable;

/// So many changes of a kind are shown on a terminal, unless somebody asks for all.
pub const SHOWN: usize = 40;

/// Returns the status as text: what would be done, in groups, and what to type next.
pub fn to_text(status: &SourceStatus, shown: usize) -> String {
    let mut text = String::new();
    let (source, remote) = (printable(&status.source), printable(&status.remote));
    let prefix = &status.uri_prefix;
    line(&mut text, format_args!("{source} as {prefix} on {remote}"));
    for kind in Kind::ALL {
        let changes = status.changes.iter().filter(|change| change.kind == kind);
        let changes: Vec<&Change> = changes.collect();
        if changes.is_empty() {
            continue;
        }
        let count = changes.len();
        line(&mut text, format_args!("\n{}: {count}", heading(kind)));
        for change in changes.iter().take(shown) {
            line(
                &mut text,
                format_args!("  {}", described(change, status, kind)),
            );
        }
        if count > shown {
            let more = count - shown;
            line(
                &mut text,
                format_args!("  and {more} more (--all shows them)"),
            );
        }
    }
    let space = if status.changes.is_empty() { "" } else { "\n" };
    line(&mut text, format_args!("{space}{}", closing(status)));
    text
}

/// Returns what a group is, and what can be done about it.
fn heading(kind: Kind) -> &'static str {
    match kind {
        Kind::Added => "Added, a push creates them",
        Kind::Modified => "Modified, a push updates them",
        Kind::Moved => "Moved, a push renames them",
        Kind::Deleted => "Deleted, a push deletes them",
        Kind::Conflict => "Conflicts, somebody else wrote them on the remote",
        Kind::RemoteOnly => {
            "Only on the remote, not from this source (`dpe push --prune` offers to delete them)"
        }
        Kind::Unreadable => {
            "Unreadable, a push leaves what is on the remote (mend them, or leave them out with .dpeignore)"
        }
        Kind::Unsupported => "Unsupported, they become no documents",
    }
}

fn described(change: &Change, status: &SourceStatus, kind: Kind) -> String {
    let name = uris(change, status);
    match &change.reason {
        Some(reason) if kind == Kind::Conflict && change.effect == Effect::Fail => {
            format!("{name}: {}; a push reports that", printable(reason))
        }
        Some(reason) => format!("{name}: {}", printable(reason)),
        None => name,
    }
}

/// Returns what a change is about; if that is not known, the whole source.
fn uris(change: &Change, status: &SourceStatus) -> String {
    match &change.subject {
        Subject::Unknown => status.uri_prefix.clone(),
        Subject::Document(uri) => printable(uri).into_owned(),
        Subject::Move { from_uri, to_uri } => {
            format!("{} -> {}", printable(from_uri), printable(to_uri))
        }
    }
}

/// Returns the last line: whether there is anything to be done, and how.
fn closing(status: &SourceStatus) -> String {
    if let Some(why) = &status.refused {
        return why.clone();
    }
    let count = |effect| {
        let of = status.changes.iter();
        of.filter(|change| change.effect == effect).count()
    };
    let unchanged = match status.unchanged {
        1 => "1 document is unchanged".to_owned(),
        count => format!("{count} documents are unchanged"),
    };
    match (count(Effect::Write), count(Effect::Fail)) {
        (0, 0) => format!("nothing to push, {unchanged}"),
        (0, failing) => format!(
            "nothing to push, {unchanged}; but {failing} cannot be pushed, and a push ends with exit code 1"
        ),
        (writes, 0) => format!("{writes} to push, {unchanged}: use `dpe push`"),
        (writes, failing) => {
            format!("{writes} to push, {failing} cannot be pushed, {unchanged}: use `dpe push`")
        }
    }
}

/// Returns the letter of a kind in short forms.
fn letter(kind: Kind) -> char {
    match kind {
        Kind::Added => 'A',
        Kind::Modified => 'M',
        Kind::Moved => 'R',
        Kind::Deleted => 'D',
        Kind::Conflict => 'U',
        Kind::RemoteOnly => '?',
        Kind::Unreadable => 'E',
        Kind::Unsupported => '!',
    }
}

/// Returns one line for each change: a letter, a space, the URI. A control character in a URI that is none is
/// written as an escape.
pub fn to_short(status: &SourceStatus) -> String {
    let mut text = String::new();
    for change in &status.changes {
        let letter = letter(change.kind);
        line(&mut text, format_args!("{letter} {}", uris(change, status)));
    }
    text
}

/// Returns the short form for programs that take any name: every URI ends with NUL and is written as it is,
/// the new one of a move first, then the old one.
pub fn to_terminated(status: &SourceStatus) -> String {
    let mut text = String::new();
    for change in &status.changes {
        let letter = letter(change.kind);
        let (first, second) = match &change.subject {
            Subject::Unknown => (&status.uri_prefix, None),
            Subject::Document(uri) => (uri, None),
            Subject::Move { from_uri, to_uri } => (to_uri, Some(from_uri)),
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "{letter} {first}\0");
        if let Some(second) = second {
            let _ = write!(text, "{second}\0");
        }
    }
    text
}

/// Returns one JSON object for each change, each on its line.
pub fn to_json_lines(status: &SourceStatus) -> String {
    let mut text = String::new();
    for change in &status.changes {
        line(&mut text, format_args!("{}", to_json(change)));
    }
    text
}

fn to_json(change: &Change) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("change");
    json.name("change").string(change.kind.name());
    match &change.subject {
        Subject::Unknown => {}
        Subject::Document(uri) => {
            json.name("file_uri").string(uri);
        }
        Subject::Move { from_uri, to_uri } => {
            json.name("from_uri").string(from_uri);
            json.name("to_uri").string(to_uri);
        }
    }
    json.name("push").string(change.effect.name());
    if let Some(reason) = &change.reason {
        json.name("reason").string(reason);
    }
    json.end_object();
    json.into_string()
}

/// Returns the last object: how many changes of each kind there are, and how many documents have none.
pub fn counts_to_json(all: &[SourceStatus]) -> String {
    let changes = || all.iter().flat_map(|status| &status.changes);
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("counts");
    json.name("counts").begin_object();
    for kind in Kind::ALL {
        let count = changes().filter(|change| change.kind == kind).count();
        json.name(kind.name()).integer(count as u64);
    }
    let unchanged: u64 = all.iter().map(|status| status.unchanged).sum();
    json.name("unchanged").integer(unchanged);
    json.end_object();
    json.end_object();
    json.into_string()
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}
