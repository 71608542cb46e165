//! `Content-Range` of a chunk (http-binding §3, §9.4).
//!
//! Offsets are bytes of the object before any coding; a chunk is never coded.

use std::fmt;

use crate::protocol::decimal;

/// Which bytes of an object a chunk carries: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentRange {
    /// Offset of the first byte.
    pub first: u64,
    /// Offset of the last byte.
    pub last: u64,
    /// Length of the whole object.
    pub total: u64,
}

impl ContentRange {
    /// Reads the value of the field. A range without bytes cannot be written.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(value).ok()?.strip_prefix("bytes ")?;
        let (range, total) = text.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let range = Self {
            first: decimal::parse(first)?,
            last: decimal::parse(last)?,
            total: decimal::parse(total)?,
        };
        (range.first <= range.last && range.last < range.total).then_some(range)
    }

    /// Returns the number of bytes in the range.
    pub fn length(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Returns the offset behind the last byte.
    pub fn end(&self) -> u64 {
        self.last + 1
    }
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes {}-{}/{}", self.first, self.last, self.total)
    }
}

#[cfg(test)]
mod tests {
    use super::ContentRange;

    #[test]
    fn ranges_of_at_least_one_byte_within_the_total_are_read() {
        for (value, range) in [
            ("bytes 0-0/1", Some((0, 0, 1))),
            ("bytes 007-8/10", Some((7, 8, 10))),
            (
                "bytes 0-1/9223372036854775807",
                Some((0, 1, 9_223_372_036_854_775_807)),
            ),
            ("bytes 0-1/9223372036854775808", None),
            ("bytes 3-2/4", None),
            ("bytes 0-4/4", None),
            ("bytes 4-4/4", None),
            ("bytes */4", None),
            ("bytes 0-1/*", None),
            ("bytes  0-1/4", None),
            ("Bytes 0-1/4", None),
            ("bytes 0-1/4 ", None),
            ("bytes +0-1/4", None),
            ("bytes 0-1", None),
            ("", None),
        ] {
            let expected = range.map(|(first, last, total)| ContentRange { first, last, total });
            assert_eq!(ContentRange::parse(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let range = ContentRange {
            first: 8,
            last: 15,
            total: 20,
        };
        assert_eq!(range.to_string(), "bytes 8-15/20");
        assert_eq!(
            ContentRange::parse(range.to_string().as_bytes()),
            Some(range)
        );
        assert_eq!((range.length(), range.end()), (8, 16));
    }
}
