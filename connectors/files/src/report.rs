//! What was passed over, in a few lines for people at the end of a scan.

use std::collections::BTreeMap;

use crate::names::extension;

/// So many kinds or paths are named, the rest is counted.
const NAMED: usize = 8;

/// Why a path was passed over, as its lines call it: one of them, and several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(pub &'static str, pub &'static str);

/// Everything that became no item.
#[derive(Debug, Default)]
pub struct Report {
    unsupported: BTreeMap<String, u64>,
    groups: BTreeMap<Kind, Group>,
    notes: Vec<String>,
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

    /// Counts a path that was passed over.
    pub fn skipped(&mut self, kind: Kind, path: &[u8]) {
        self.groups.entry(kind).or_default().add(path);
    }

    /// Keeps a line of its own.
    pub fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Returns the lines.
    pub fn lines(mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.notes);
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
    fn nothing_skipped_is_nothing_said() {
        assert_eq!(Report::default().lines(), Vec::<String>::new());
    }
}
