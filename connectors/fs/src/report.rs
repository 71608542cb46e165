//! What was passed over, in a few lines for people at the end of a scan.

use std::collections::BTreeMap;

use crate::listing::extension;

/// So many kinds or paths are named, the rest is counted.
const NAMED: usize = 8;

/// Everything that became no item.
#[derive(Debug, Default)]
pub(crate) struct Report {
    unsupported: BTreeMap<String, u64>,
    special: Group,
    links: Group,
    unreadable: Group,
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

    fn line(&self, one: &str, many: &str) -> Option<String> {
        let rest = self.count - self.first.len() as u64;
        let what = if self.count == 1 { one } else { many };
        let mut names = self.first.join(", ");
        if rest > 0 {
            names.push_str(&format!(" and {rest} more"));
        }
        (self.count > 0).then(|| format!("skipped {} {what}: {names}", self.count))
    }
}

impl Report {
    /// Counts a file of a format nobody here understands.
    pub(crate) fn unsupported(&mut self, path: &[u8]) {
        let kind = match extension(path) {
            Some(extension) => format!(".{}", shown(&extension.to_ascii_lowercase())),
            None => "without extension".to_owned(),
        };
        *self.unsupported.entry(kind).or_default() += 1;
    }

    /// Counts a socket, pipe or device.
    pub(crate) fn special(&mut self, path: &[u8]) {
        self.special.add(path);
    }

    /// Counts a link that was not followed.
    pub(crate) fn link(&mut self, path: &[u8]) {
        self.links.add(path);
    }

    /// Counts what could not be read and was to be skipped then.
    pub(crate) fn unreadable(&mut self, path: &[u8]) {
        self.unreadable.add(path);
    }

    /// Keeps a line of its own.
    pub(crate) fn note(&mut self, line: String) {
        self.notes.push(line);
    }

    /// Returns the lines.
    pub(crate) fn lines(mut self) -> Vec<String> {
        let mut lines = std::mem::take(&mut self.notes);
        lines.extend(self.unsupported_line());
        lines.extend(self.special.line("special file", "special files"));
        lines.extend(self.links.line("symbolic link", "symbolic links"));
        let (one, many) = ("unreadable file or folder", "unreadable files and folders");
        lines.extend(self.unreadable.line(one, many));
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
pub(crate) fn shown(path: &[u8]) -> String {
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
        report.special(b"a\x1b[31m\nb\xff");
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
