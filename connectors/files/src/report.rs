//! What was passed over, in a few lines for people at the end of a scan.

use std::collections::BTreeMap;

use dpe_extract::Reason;

use crate::names::extension;

/// So many kinds or paths are named, the rest is counted.
const NAMED: usize = 8;

/// So many notes of files are told.
const NOTES: usize = 20;

/// Why a path was passed over, as its lines call it: one of them, and several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub &'static str, pub &'static str);

/// Everything that became no item.
#[derive(Debug, Default)]
pub struct Report {
    unsupported: BTreeMap<String, u64>,
    groups: BTreeMap<Kind, Group>,
    notes: Vec<String>,
    of_files: Vec<String>,
    /// How many were noted beyond those.
    further: u64,
}

#[derive(Debug, Default)]
struct Group {
    count: u64,
    first: Vec<String>,
}

impl Group {
    fn add(&mut self, path: &[u8]) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(shown(path));
        }
    }

    fn line(&self, Kind(one, many): Kind) -> String {
        let rest = self.count - self.first.len() as u64;
        let what = if self.count == 1 { one } else { many };
        let mut names = self.first.join(", ");
        if rest > 0 {
            names.push_str(&format!(" and {rest} more"));
        }
        format!("skipped {} {what}: {names}", self.count)
    }
}

impl Report {
    /// Counts a file of a format nobody here understands.
    pub fn unsupported(&mut self, path: &[u8]) {
        let kind = match extension(path) {
            Some(extension) => format!(".{}", shown(&extension.to_ascii_lowercase())),
            None => "without extension".to_owned(),
        };
        *self.unsupported.entry(kind).or_default() += 1;
    }

    /// Counts a file of which no document was made for this reason.
    pub fn refused(&mut self, reason: Reason, path: &[u8]) {
        match kind_of(reason) {
            Some(kind) => self.skipped(kind, path),
            None => self.unsupported(path),
        }
    }

    /// Counts a path that was passed over.
    pub fn skipped(&mut self, kind: Kind, path: &[u8]) {
        self.groups.entry(kind).or_default().add(path);
    }

    /// Keeps what was noted of a file, as long as there are not too many of such lines.
    pub fn notes(&mut self, path: &[u8], notes: Vec<String>) {
        for note in notes {
            if self.of_files.len() < NOTES {
                let line = format!("note: {}: {}", shown(path), shown(note.as_bytes()));
                self.of_files.push(line);
            } else {
                self.further += 1;
            }
        }
    }

    /// Keeps a line of its own.
    pub fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Returns the lines.
    pub fn lines(mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.notes);
        lines.append(&mut self.of_files);
        if self.further > 0 {
            lines.push(format!("and {} more notes", self.further));
        }
        lines.extend(self.unsupported_line());
        lines.extend(self.groups.iter().map(|(kind, group)| group.line(*kind)));
        lines
    }

    fn unsupported_line(&self) -> Option<String> {
        let total: u64 = self.unsupported.values().sum();
        let mut kinds: Vec<(&String, &u64)> = self.unsupported.iter().collect();
        // Stable: kinds of equal number stay in the order of their names.
        kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let mut parts: Vec<String> = kinds
            .iter()
            .take(NAMED)
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let others: u64 = kinds.iter().skip(NAMED).map(|(_, count)| **count).sum();
        if others > 0 {
            parts.push(format!("{others} of other kinds"));
        }
        let (files, formats) = if total == 1 {
            ("file", "an unsupported format")
        } else {
            ("files", "unsupported formats")
        };
        (total > 0).then(|| format!("skipped {total} {files} of {formats}: {}", parts.join(", ")))
    }
}

/// Returns what files are called that were refused for a reason; those of unsupported formats are told by
/// their extensions.
fn kind_of(reason: Reason) -> Option<Kind> {
    Some(match reason {
        Reason::Encrypted => Kind("encrypted file", "encrypted files"),
        Reason::Damaged => Kind("damaged file", "damaged files"),
        Reason::UnsupportedVersion => Kind(
            "file of a version that is not read",
            "files of versions that are not read",
        ),
        Reason::TooLarge => Kind("file that is too large", "files that are too large"),
        Reason::Bomb => Kind(
            "file that unpacks to too much",
            "files that unpack to too much",
        ),
        Reason::Timeout => Kind("file that took too long", "files that took too long"),
        Reason::ParserFailed => Kind(
            "file on which a parser failed",
            "files on which parsers failed",
        ),
        Reason::UnsupportedFormat => return None,
    })
}

/// Returns a path as it may be shown on a terminal: no control characters, no line ends.
pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path)
        .chars()
        .flat_map(|character| {
            let escape = character.is_control();
            let escaped = escape.then(|| character.escape_default());
            let plain = (!escape).then_some(character);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_files_are_summed_up_in_one_line() {
        let mut report = Report::default();
        for (extension, count) in [("bin", 2), ("pdf", 4), ("PDF", 3), ("docx", 3)] {
            for number in 0..count {
                report.unsupported(format!("d/{number}.{extension}").as_bytes());
            }
        }
        assert_eq!(
            report.lines(),
            ["skipped 12 files of unsupported formats: 7 .pdf, 3 .docx, 2 .bin"]
        );
    }

    #[test]
    fn names_cannot_write_to_the_terminal_or_begin_a_line() {
        let mut report = Report::default();
        report.skipped(Kind("special file", "special files"), b"a\x1b[31m\nb\xff");
        assert_eq!(
            report.lines(),
            ["skipped 1 special file: a\\u{1b}[31m\\nb\u{fffd}"]
        );
    }

    #[test]
    fn notes_of_files_are_told_up_to_a_number() {
        let mut report = Report::default();
        for number in 0..23 {
            let path = format!("d/{number}.jpg");
            report.notes(path.as_bytes(), vec!["named as jpg\n".to_owned()]);
        }
        let lines = report.lines();
        assert_eq!(lines.len(), 21);
        assert_eq!(lines[0], "note: d/0.jpg: named as jpg\\n");
        assert_eq!(lines[20], "and 3 more notes");
    }

    #[test]
    fn nothing_skipped_is_nothing_said() {
        assert_eq!(Report::default().lines(), Vec::<String>::new());
    }
}
