//! Lines from a pipe with a limit, for reads that may be given up halfway.
//!
//! What has arrived of a line stays here when a caller stops waiting, so that a timeout loses
//! nothing.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt};

const READ_BYTES: usize = 64 << 10;

/// Reads lines of at most `limit` bytes, the line feed included.
#[derive(Debug)]
pub(super) struct LineReader<R> {
    reader: R,
    limit: u64,
    /// What has been read and not given out.
    buffer: Vec<u8>,
    /// So many bytes of the buffer are known to hold no line feed.
    searched: usize,
}

/// What comes next in a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextLine {
    /// A line without its line feed.
    Whole(Vec<u8>),
    /// More bytes than the limit, and no line feed among them.
    TooLong,
    /// The stream ended.
    End,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(super) fn new(reader: R, limit: u64) -> Self {
        Self {
            reader,
            limit,
            buffer: Vec::new(),
            searched: 0,
        }
    }

    /// Waits for the next line. Cancel safe.
    pub(super) async fn next(&mut self) -> io::Result<NextLine> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(line);
            }
            self.buffer.reserve(READ_BYTES);
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(NextLine::End);
            }
        }
    }

    /// Returns how many bytes are here of a line whose line feed is missing, after a wait for the next
    /// line was given up.
    pub(super) fn unfinished(&self) -> usize {
        self.buffer.len()
    }

    fn buffered(&mut self) -> Option<NextLine> {
        let Some(at) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
            self.searched = self.buffer.len();
            // The line feed that is still missing makes one more byte.
            return (self.searched as u64 >= self.limit).then_some(NextLine::TooLong);
        };
        let end = self.searched + at;
        if end as u64 >= self.limit {
            return Some(NextLine::TooLong);
        }
        let rest = self.buffer.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        line.pop();
        Some(NextLine::Whole(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], limit: u64) -> Vec<NextLine> {
        let mut reader = LineReader::new(bytes, limit);
        let mut lines = Vec::new();
        loop {
            let line = reader.next().await.unwrap();
            let is_last = !matches!(line, NextLine::Whole(_));
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    fn whole(text: &str) -> NextLine {
        NextLine::Whole(text.as_bytes().to_vec())
    }

    #[tokio::test]
    async fn the_line_feed_counts_towards_the_limit() {
        assert_eq!(
            all(b"abc\nx\nabcd\n", 4).await,
            [whole("abc"), whole("x"), NextLine::TooLong]
        );
        assert_eq!(all(b"abcd", 4).await, [NextLine::TooLong]);
        assert_eq!(all(b"abc", 4).await, [NextLine::End]);
    }

    #[tokio::test]
    async fn a_line_given_up_halfway_is_complete_later() {
        let (mut to, from) = tokio::io::duplex(64);
        let mut reader = LineReader::new(from, 100);
        tokio::io::AsyncWriteExt::write_all(&mut to, b"first ha")
            .await
            .unwrap();
        let wait = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(wait, reader.next()).await.is_err());
        assert_eq!(reader.unfinished(), 8);
        tokio::io::AsyncWriteExt::write_all(&mut to, b"lf\n\n")
            .await
            .unwrap();
        assert_eq!(reader.next().await.unwrap(), whole("first half"));
        assert_eq!(reader.next().await.unwrap(), whole(""));
    }
}
