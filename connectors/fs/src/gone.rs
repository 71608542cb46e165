//! Documents whose files are gone: all of a folder that was renamed, so they are kept small.
//!
//! Knows of each what a move is found by, and whether it has been found.

use crate::formats::Formats;
use crate::listing::{Entry, Fingerprint};

/// Entries with a document whose file is gone, by number in the order of their paths.
#[derive(Debug, Default)]
pub(crate) struct Gone {
    paths: Vec<u8>,
    rows: Vec<Row>,
    formats: Formats,
    /// So many of them are not asked for any more by [`Gone::next_deletion`].
    said: usize,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    fingerprint: Fingerprint,
    inode: u64,
    size: u64,
    /// Where the path ends; it begins where the one before ends.
    end: u64,
    format: u32,
    has_moved: bool,
}

impl Gone {
    /// Appends an entry, if it had a document.
    pub(crate) fn push(&mut self, entry: &Entry) {
        let Some(content) = &entry.seen.content else {
            return;
        };
        self.paths.extend_from_slice(&entry.path);
        self.rows.push(Row {
            fingerprint: content.fingerprint,
            inode: entry.seen.stat.inode,
            size: entry.seen.stat.size,
            end: self.paths.len() as u64,
            format: self.formats.number_of(&content.format),
            has_moved: false,
        });
    }

    /// Returns how many there are, those that have moved among them.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the path it was at.
    pub(crate) fn path(&self, number: usize) -> &[u8] {
        let end = |number: usize| usize::try_from(self.rows[number].end).unwrap_or(usize::MAX);
        let start = number.checked_sub(1).map_or(0, end);
        &self.paths[start..end(number)]
    }

    /// Returns what its document was made of.
    pub(crate) fn content(&self, number: usize) -> (Fingerprint, &str) {
        let row = &self.rows[number];
        (row.fingerprint, self.formats.of_number(row.format))
    }

    /// Returns the number of its inode.
    pub(crate) fn inode(&self, number: usize) -> u64 {
        self.rows[number].inode
    }

    /// Returns how long it was, in bytes.
    pub(crate) fn size(&self, number: usize) -> u64 {
        self.rows[number].size
    }

    /// Notes that it is only somewhere else.
    pub(crate) fn moved(&mut self, number: usize) {
        self.rows[number].has_moved = true;
    }

    /// Returns the paths of those that have not moved.
    pub(crate) fn deletions(&self) -> impl Iterator<Item = &[u8]> {
        let rows = self.rows.iter().enumerate();
        let left = rows.filter(|(_, row)| !row.has_moved);
        left.map(|(number, _)| self.path(number))
    }

    /// Returns the path of the next one that has not moved.
    pub(crate) fn next_deletion(&mut self) -> Option<&[u8]> {
        // Each row is looked at once, whether or not it is the last that is asked for.
        while let Some(row) = self.rows.get(self.said) {
            self.said += 1;
            if !row.has_moved {
                return Some(self.path(self.said - 1));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::listing::{Content, Seen};
    use crate::stat::Stat;

    fn gone(count: u64) -> Gone {
        let mut gone = Gone::default();
        for number in 0..count {
            gone.push(&Entry {
                path: format!("{number:06}").into_bytes().into(),
                seen: Seen {
                    stat: Stat {
                        size: 1,
                        mtime: 0,
                        ctime: 0,
                        inode: number,
                    },
                    trusted: true,
                    shows_neighbours: false,
                    content: Some(Content {
                        fingerprint: Fingerprint::default(),
                        format: "txt".into(),
                    }),
                    refused: None,
                },
            });
        }
        gone
    }

    #[test]
    fn what_has_moved_is_no_deletion() {
        let mut gone = gone(4);
        gone.moved(0);
        gone.moved(2);
        assert_eq!(gone.next_deletion(), Some(&b"000001"[..]));
        assert_eq!(gone.next_deletion(), Some(&b"000003"[..]));
        assert_eq!(gone.next_deletion(), None);
    }

    #[test]
    fn asking_for_more_after_the_last_costs_nothing() {
        let mut gone = gone(100_000);
        (0..gone.len()).for_each(|number| gone.moved(number));
        let start = Instant::now();
        for _ in 0..100_000 {
            assert_eq!(gone.next_deletion(), None);
        }
        // Ten thousand million looks would take far longer on any machine.
        assert!(start.elapsed() < Duration::from_secs(2));
    }
}
