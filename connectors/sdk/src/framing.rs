//! Lines of JSON over blocking pipes, with a limit (connector contract §9).
//!
//! A line above the limit is never held: it is thrown away while it arrives. Knows bytes and line
//! feeds, no JSON.

use std::io::{self, BufRead, Write};

/// How much of a thrown-away line is kept, so that its sender can be answered.
const KEPT_OF_OVERSIZED: usize = 256;

/// What a reader finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its line feed.
    Whole(Vec<u8>),
    /// A line whose bytes, the line feed included, exceeded the limit; only its beginning.
    TooLong(Vec<u8>),
    /// The stream ended. Bytes after the last line feed are no message and are dropped.
    End,
}

/// Reads one line of at most `limit()` bytes, the line feed included. The limit is asked for when
/// bytes have arrived, not while waiting for them, since `initialize` sets it in between.
///
/// # Errors
///
/// As the reader's.
pub fn read_line(reader: &mut impl BufRead, limit: impl Fn() -> u64) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut length: u64 = 0;
    loop {
        let available = match reader.fill_buf() {
            Ok(available) => available,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if available.is_empty() {
            return Ok(Line::End);
        }
        let end = available.iter().position(|&byte| byte == b'\n');
        let taken = end.map_or(available.len(), |at| at + 1);
        length = length.saturating_add(taken as u64);
        let limit = limit();
        if length <= limit {
            line.extend_from_slice(&available[..taken]);
        } else {
            keep_beginning(&mut line, available);
        }
        reader.consume(taken);
        if end.is_some() {
            return Ok(finished(line, length > limit));
        }
    }
}

fn keep_beginning(line: &mut Vec<u8>, available: &[u8]) {
    if line.len() < KEPT_OF_OVERSIZED {
        let missing = KEPT_OF_OVERSIZED - line.len();
        line.extend_from_slice(&available[..missing.min(available.len())]);
    } else {
        line.truncate(KEPT_OF_OVERSIZED);
        line.shrink_to_fit();
    }
}

fn finished(mut line: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        line.truncate(KEPT_OF_OVERSIZED);
        return Line::TooLong(line);
    }
    line.pop();
    Line::Whole(line)
}

/// Writes one line and flushes it.
///
/// # Errors
///
/// As the writer's.
pub fn write_line(writer: &mut impl Write, text: &[u8]) -> io::Result<()> {
    writer.write_all(text)?;
    writer.write_all(b"\n")?;
    writer.flush()
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn lines(bytes: &[u8], limit: u64, buffer: usize) -> Vec<Line> {
        let mut reader = BufReader::with_capacity(buffer, bytes);
        let mut lines = Vec::new();
        loop {
            let line = read_line(&mut reader, || limit).unwrap();
            if line == Line::End {
                return lines;
            }
            lines.push(line);
        }
    }

    #[test]
    fn the_line_feed_counts_towards_the_limit() {
        for buffer in [1, 2, 3, 64] {
            let found = lines(b"abc\nabcd\nx\n", 4, buffer);
            assert_eq!(found.len(), 3, "buffer of {buffer}");
            assert_eq!(found[0], Line::Whole(b"abc".to_vec()));
            assert!(matches!(found[1], Line::TooLong(_)));
            assert_eq!(found[2], Line::Whole(b"x".to_vec()));
        }
    }

    #[test]
    fn an_oversized_line_is_not_held() {
        let mut bytes = vec![b'x'; 1_000_000];
        bytes.push(b'\n');
        let found = lines(&bytes, 1000, 512);
        let [Line::TooLong(kept)] = &found[..] else {
            panic!("expected one oversized line");
        };
        assert_eq!(kept.len(), KEPT_OF_OVERSIZED);
    }

    #[test]
    fn bytes_without_a_line_feed_at_the_end_are_no_message() {
        assert_eq!(lines(b"a\nrest", 10, 8), [Line::Whole(b"a".to_vec())]);
    }
}
