//! The pages of a history: months, in UTC, by the time of committing.
//!
//! A month with many commits is cut by a fixed rule, counted from its beginning, so that a new commit
//! changes the last page only.

use std::iter::Peekable;
use std::sync::Arc;

use dpe_connector::content::Page;
use gix::objs::{CommitRef, Kind};
use jiff::Timestamp;
use jiff::tz::Offset;

use super::commits::{Commits, Placed};
use super::message;
use crate::repository::{Repository, described};

/// A page ends after so many commits,
const PAGE_COMMITS: usize = 200;

/// or with the last one after which its texts have so many bytes.
const PAGE_BYTES: usize = 128 << 10;

/// One byte of a text has at most so many in JSON. In the encoding that a commit names, one byte may
/// become three, none of which is escaped.
const ESCAPED_BYTES: usize = 6;

/// About what the metadata of a commit adds to its message in JSON, in bytes.
pub(super) const METADATA_BYTES: usize = 512;

/// Returns the longest text a page of these commits may have in JSON, in bytes. Pages are not
/// made for that, so it is mostly far more than they have.
pub(crate) fn longest_page(commits: &Commits) -> usize {
    let metadata = ESCAPED_BYTES * commits.longest_head + METADATA_BYTES;
    let pieces = 1 + commits.longest_message / message::ELEMENT_BYTES;
    let texts = ESCAPED_BYTES * (PAGE_BYTES + commits.longest_message);
    texts + metadata * (PAGE_COMMITS + pieces)
}

/// The pages, made one after the other.
pub(crate) struct Pages<I: Iterator<Item = Placed>> {
    repository: Arc<Repository>,
    commits: Peekable<I>,
    month: String,
    /// Number of the last page of that month.
    part: usize,
}

impl<I: Iterator<Item = Placed>> Pages<I> {
    /// Returns the pages of these commits, which are in order.
    pub(crate) fn of(repository: Arc<Repository>, commits: I) -> Self {
        Self {
            repository,
            commits: commits.peekable(),
            month: String::new(),
            part: 0,
        }
    }

    /// Returns whether there is no page any more.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.commits.peek().is_none()
    }

    fn page(&mut self, first: Placed) -> Result<(Page, usize), String> {
        let month = month(first.time);
        self.part = if month == self.month {
            self.part + 1
        } else {
            1
        };
        self.month.clone_from(&month);
        let title = match self.part {
            1 => month.clone(),
            part => format!("{month} ({part})"),
        };
        let mut page = Page {
            title: Some(title),
            ..Page::default()
        };
        let mut bytes = self.tell(first, &mut page)?;
        let mut count = 1;
        while count < PAGE_COMMITS
            && bytes < PAGE_BYTES
            && let Some(next) = self.commits.next_if(|next| self::month(next.time) == month)
        {
            bytes += self.tell(next, &mut page)?;
            count += 1;
        }
        Ok((page, bytes))
    }

    /// Appends a commit to a page and returns the length of its text in bytes.
    fn tell(&self, commit: Placed, page: &mut Page) -> Result<usize, String> {
        let data = self.repository.object(commit.id, Kind::Commit);
        let data = data.map_err(|unread| unread.why)?;
        let read = CommitRef::from_bytes(&data, commit.id.kind()).map_err(|why| described(&why))?;
        let elements = message::elements(&commit.id.to_string(), &read);
        let texts = elements.iter().filter_map(|element| element.text.as_ref());
        let bytes = texts.map(String::len).sum();
        page.elements.extend(elements);
        Ok(bytes)
    }
}

impl<I: Iterator<Item = Placed>> Iterator for Pages<I> {
    /// A page, and the length of its texts in bytes.
    type Item = Result<(Page, usize), String>;

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.commits.next()?;
        Some(self.page(first))
    }
}

/// Returns the month of a time, as `2024-05`.
fn month(seconds: i64) -> String {
    let limit = if seconds < 0 {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    let time = Timestamp::from_second(seconds).unwrap_or(limit);
    Offset::UTC.to_datetime(time).strftime("%Y-%m").to_string()
}

#[cfg(test)]
mod tests {
    use super::month;

    #[test]
    fn months_begin_at_midnight_utc() {
        // date -u -d 2024-05-01 +%s
        assert_eq!(month(1_714_521_599), "2024-04");
        assert_eq!(month(1_714_521_600), "2024-05");
        assert_eq!(month(-1), "1969-12");
        assert_eq!(month(i64::MAX), "9999-12");
    }
}
