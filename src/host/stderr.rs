//! A plugin's stderr: always drained, line by line, for whoever keeps the log (connector
//! contract §9, §27).

use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest part of a line that is passed on, in bytes.
const LINE_BYTES: usize = 8 << 10;

/// One line a plugin wrote for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StderrLine {
    /// The text; what was no UTF-8 is U+FFFD.
    pub line: String,
    /// Whether the line was longer.
    pub truncated: bool,
}

/// Reads `stderr` to its end and hands every line to `forward`.
pub(super) async fn drain(mut stderr: impl AsyncRead + Unpin, forward: impl Fn(StderrLine)) {
    let mut lines = Lines::default();
    let mut buffer = vec![0; 16 << 10];
    // An error of the pipe is its end: there is nothing to be done about it.
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        lines.push(&buffer[..length], &forward);
    }
    if !lines.current.is_empty() {
        lines.end(&forward);
    }
}

#[derive(Default)]
struct Lines {
    current: Vec<u8>,
    truncated: bool,
}

impl Lines {
    fn push(&mut self, bytes: &[u8], forward: &impl Fn(StderrLine)) {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(b'\n', rest) {
            self.append(&rest[..at]);
            self.end(forward);
            rest = &rest[at + 1..];
        }
        self.append(rest);
    }

    fn append(&mut self, bytes: &[u8]) {
        // One byte more than is shown, so that a carriage return at the limit can be dropped.
        let room = (LINE_BYTES + 1).saturating_sub(self.current.len());
        let taken = bytes.len().min(room);
        self.current.extend_from_slice(&bytes[..taken]);
        self.truncated |= taken < bytes.len();
    }

    fn end(&mut self, forward: &impl Fn(StderrLine)) {
        let mut line = std::mem::take(&mut self.current);
        let mut truncated = std::mem::take(&mut self.truncated);
        if !truncated && line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.len() > LINE_BYTES {
            line.truncate(LINE_BYTES);
            truncated = true;
        }
        forward(StderrLine {
            line: String::from_utf8_lossy(&line).into_owned(),
            truncated,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    async fn drained(bytes: &[u8]) -> Vec<(String, bool)> {
        let lines = RefCell::new(Vec::new());
        drain(bytes, |line| {
            lines.borrow_mut().push((line.line, line.truncated));
        })
        .await;
        lines.into_inner()
    }

    fn lines(expected: &[(&str, bool)]) -> Vec<(String, bool)> {
        let owned = |&(text, cut): &(&str, bool)| (text.to_owned(), cut);
        expected.iter().map(owned).collect()
    }

    #[tokio::test]
    async fn lines_end_at_line_feeds_and_the_last_one_at_the_end() {
        let expected = lines(&[("a", false), ("", false), ("b\rc", false), ("end", false)]);
        assert_eq!(drained(b"a\r\n\nb\rc\nend").await, expected);
    }

    #[tokio::test]
    async fn bytes_that_are_no_utf_8_are_replaced() {
        assert_eq!(drained(b"a\xffb\n").await, lines(&[("a\u{fffd}b", false)]));
    }

    #[tokio::test]
    async fn long_lines_are_cut_and_say_so() {
        let limit = "x".repeat(LINE_BYTES);
        for (line, truncated) in [
            (limit.clone() + "\n", false),
            (limit.clone() + "\r\n", false),
            (limit.clone() + "y\n", true),
            (limit.repeat(9) + "\n", true),
        ] {
            assert_eq!(
                drained(line.as_bytes()).await,
                lines(&[(&limit, truncated)])
            );
        }
    }
}
