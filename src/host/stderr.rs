//! A plugin's stderr: always drained, line by line, for whoever keeps the log (connector
//! contract §9, §27).

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::config::Mask;

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

/// Reads `stderr` to its end and hands every line to `forward`, without what `mask` hides.
pub(super) async fn drain(
    mut stderr: impl AsyncRead + Unpin,
    mask: &Mask,
    forward: impl Fn(StderrLine),
) {
    let mut lines = Lines {
        // A carriage return at the limit can be dropped, and a secret that begins before it is seen
        // as a whole.
        room: LINE_BYTES + mask.longest().max(1),
        mask,
        current: Vec::new(),
        overflowed: false,
    };
    let mut buffer = vec![0; 16 << 10];
    // An error of the pipe is its end: there is nothing to be done about it.
    while let Ok(length @ 1..) = stderr.read(&mut buffer).await {
        lines.push(&buffer[..length], &forward);
    }
    if !lines.current.is_empty() {
        lines.end(&forward);
    }
}

struct Lines<'m> {
    mask: &'m Mask,
    room: usize,
    current: Vec<u8>,
    overflowed: bool,
}

impl Lines<'_> {
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
        let room = self.room.saturating_sub(self.current.len());
        let taken = bytes.len().min(room);
        self.current.extend_from_slice(&bytes[..taken]);
        self.overflowed |= taken < bytes.len();
    }

    fn end(&mut self, forward: &impl Fn(StderrLine)) {
        let mut line = std::mem::take(&mut self.current);
        let overflowed = std::mem::take(&mut self.overflowed);
        if !overflowed && line.last() == Some(&b'\r') {
            line.pop();
        }
        // Before anything is cut or decoded (connector contract §7.3).
        let shown = self.mask.hide_in_line(&line, LINE_BYTES);
        forward(StderrLine {
            line: String::from_utf8_lossy(&shown).into_owned(),
            truncated: line.len() > LINE_BYTES,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::config::Secret;

    async fn drained(bytes: &[u8]) -> Vec<(String, bool)> {
        drained_with(bytes, &Mask::default()).await
    }

    async fn drained_with(bytes: &[u8], mask: &Mask) -> Vec<(String, bool)> {
        let lines = RefCell::new(Vec::new());
        drain(bytes, mask, |line| {
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
    async fn a_secret_across_the_limit_is_hidden_as_a_whole() {
        let secret = "s3cret-".repeat(20);
        let mask = Mask::of_instance([Secret::new(secret.clone())], None);
        for before in [LINE_BYTES - 1, LINE_BYTES - 70, LINE_BYTES - 139] {
            let text = "x".repeat(before) + &secret + &"y".repeat(2 * LINE_BYTES) + "\n";
            let expected = "x".repeat(before) + "[REDACTED]";
            let found = drained_with(text.as_bytes(), &mask).await;
            assert_eq!(found, [(expected, true)], "{before}");
        }
        let text = "x".repeat(LINE_BYTES) + &secret;
        let expected = "x".repeat(LINE_BYTES);
        let found = drained_with(text.as_bytes(), &mask).await;
        assert_eq!(found, [(expected, true)]);
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
