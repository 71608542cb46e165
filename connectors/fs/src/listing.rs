//! What a round knows of the files, kept for the next one.

use std::collections::HashMap;
use std::sync::Arc;

use dpe_connector_files::Reason;
use sha2::{Digest, Sha256};

use crate::formats::Formats;
use crate::stat::Stat;
use crate::walk::Found;

/// One file of an earlier round. Paths are bytes relative to the root, with `/` between their
/// components.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Which file.
    pub(crate) path: Box<[u8]>,
    /// What was seen of it.
    pub(crate) seen: Seen,
}

impl Entry {
    /// Returns the entry of a file that could not be looked at, which has to be next time. The pictures that a text
    /// shows may have changed meanwhile, so that its own bytes alone do not tell any more what it was.
    pub(crate) fn doubted(mut self) -> Self {
        self.seen.trusted = false;
        if let Some(content) = self
            .seen
            .content
            .as_mut()
            .filter(|_| self.seen.shows_neighbours)
        {
            content.fingerprint = Fingerprint::default();
        }
        self
    }
}

/// What a look at a file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its state when it was read.
    pub(crate) stat: Stat,
    /// Whether an equal state next time proves equal content.
    pub(crate) trusted: bool,
    /// What its document was made of; `None` if there was no document.
    pub(crate) content: Option<Content>,
    /// Why there was none.
    pub(crate) refused: Option<Reason>,
    /// Whether the document speaks of pictures in files beside it, be they there or not.
    pub(crate) shows_neighbours: bool,
}

/// Enough to tell whether two files give the same document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Content {
    /// Of the bytes.
    pub(crate) fingerprint: Fingerprint,
    /// `file_type` of the document.
    pub(crate) format: Arc<str>,
}

impl Content {
    /// Returns the content with no more than the first bytes of its fingerprint, as a cursor may
    /// hold it.
    pub(crate) fn cut(&self, bytes: usize) -> Self {
        let mut cut = self.clone();
        cut.fingerprint.0[bytes..].fill(0);
        cut
    }
}

/// The first half of the SHA-256 of a file's bytes: short, since every byte of it travels in
/// the cursor, and still out of reach for an accidental or a made collision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Fingerprint(pub(crate) [u8; Self::BYTES]);

impl Fingerprint {
    pub(crate) const BYTES: usize = 16;

    /// Returns the fingerprint of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(bytes))
    }

    /// Returns the fingerprint of bytes that were hashed piece by piece.
    pub(crate) fn finish(hasher: Sha256) -> Self {
        let digest = hasher.finalize();
        let mut short = [0; Self::BYTES];
        short.copy_from_slice(&digest[..Self::BYTES]);
        Self(short)
    }
}

/// What is known of each file of a folder, in the order of their paths.
///
/// A row takes a fifth of what an [`Entry`] would: there may be millions.
#[derive(Debug)]
pub(crate) struct Listing {
    files: Arc<Vec<Found>>,
    rows: Vec<Row>,
    formats: Formats,
    /// Of files that had another state when they were read than the walk had seen.
    later: HashMap<usize, Stat>,
    /// Of files the walk could not look at.
    apart: Vec<Entry>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    fingerprint: Fingerprint,
    /// Nothing is known, or from [`REFUSED`] on the place of a reason in `Reason::ALL`, or from [`FORMATS`] on
    /// that of a format in `formats`.
    format: u32,
    trusted: bool,
    shows_neighbours: bool,
}

const UNKNOWN: u32 = 0;
const REFUSED: u32 = 1;
const FORMATS: u32 = REFUSED + Reason::ALL.len() as u32;

/// What a listing says where a file gave no document, and it does not say why.
const UNSAID: Reason = Reason::UnsupportedFormat;

/// Returns the number by which a row refers to a reason.
fn number_of(reason: Reason) -> u32 {
    let place = Reason::ALL
        .iter()
        .zip(REFUSED..)
        .find(|(known, _)| **known == reason);
    place.expect("it is one of them").1
}

/// Returns the reason behind the number of a row.
fn reason_of(number: u32) -> Option<Reason> {
    let place = number.checked_sub(REFUSED)?;
    Reason::ALL.get(place as usize).copied()
}

/// A line of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed<'l> {
    pub(crate) path: &'l [u8],
    pub(crate) stat: Stat,
    pub(crate) trusted: bool,
    /// Fingerprint and format.
    pub(crate) content: Option<(Fingerprint, &'l str)>,
    /// Why there is none.
    pub(crate) refused: Option<Reason>,
    /// Whether the document speaks of pictures beside it.
    pub(crate) shows_neighbours: bool,
}

impl Listing {
    /// Returns a listing in which nothing is known of `files`, sorted by path.
    pub(crate) fn of(files: Arc<Vec<Found>>) -> Self {
        Self {
            rows: vec![Row::default(); files.len()],
            files,
            formats: Formats::default(),
            later: HashMap::new(),
            apart: Vec::new(),
        }
    }

    /// Notes what was seen of a file, given by its number.
    pub(crate) fn note(&mut self, file: usize, seen: &Seen) {
        let content = seen.content.as_ref();
        self.rows[file] = Row {
            fingerprint: content.map_or_else(Fingerprint::default, |known| known.fingerprint),
            format: match content {
                Some(known) => FORMATS + self.formats.number_of(&known.format),
                None => number_of(seen.refused.unwrap_or(UNSAID)),
            },
            trusted: seen.trusted,
            shows_neighbours: seen.shows_neighbours,
        };
        if seen.stat != self.files[file].stat {
            self.later.insert(file, seen.stat);
        }
    }

    /// Takes out the files whose documents speak of pictures beside them, by number, for another look.
    pub(crate) fn take_showing(&mut self) -> Vec<(usize, Seen)> {
        let rows = self.rows.iter().enumerate();
        let showing = rows.filter(|(_, row)| row.shows_neighbours);
        let showing = showing.filter_map(|(file, _)| Some((file, self.line(file)?.seen())));
        let showing: Vec<_> = showing.collect();
        for (file, _) in &showing {
            self.rows[*file] = Row::default();
            self.later.remove(file);
        }
        showing
    }

    /// Keeps what was known of a file that could not be looked at.
    pub(crate) fn keep(&mut self, entry: Entry) {
        self.apart.push(entry);
    }

    /// Returns the files of which it is known that they give no document, and why.
    pub(crate) fn without_document(&self) -> impl Iterator<Item = (&[u8], Reason)> {
        let rows = self.rows.iter().zip(&*self.files);
        rows.filter_map(|(row, file)| Some((&*file.path, reason_of(row.format)?)))
    }

    /// Returns what is known, in the order of the paths.
    pub(crate) fn lines(&mut self) -> impl Iterator<Item = Listed<'_>> {
        self.apart.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut apart = self.apart.iter().map(Listed::of).peekable();
        let mut files = (0..self.rows.len())
            .filter_map(|file| self.line(file))
            .peekable();
        std::iter::from_fn(move || match (apart.peek(), files.peek()) {
            (Some(one), Some(other)) if one.path < other.path => apart.next(),
            (Some(_), None) => apart.next(),
            _ => files.next(),
        })
    }

    fn line(&self, file: usize) -> Option<Listed<'_>> {
        let (row, found) = (&self.rows[file], &self.files[file]);
        if row.format == UNKNOWN {
            return None;
        }
        let format = row.format.checked_sub(FORMATS);
        let content = format.map(|number| (row.fingerprint, self.formats.of_number(number)));
        Some(Listed {
            path: &found.path,
            stat: *self.later.get(&file).unwrap_or(&found.stat),
            trusted: row.trusted,
            content,
            refused: reason_of(row.format),
            shows_neighbours: row.shows_neighbours,
        })
    }
}

impl<'l> Listed<'l> {
    fn of(entry: &'l Entry) -> Self {
        let content = entry.seen.content.as_ref();
        Self {
            path: &entry.path,
            stat: entry.seen.stat,
            trusted: entry.seen.trusted,
            content: content.map(|known| (known.fingerprint, &*known.format)),
            refused: entry.seen.refused,
            shows_neighbours: entry.seen.shows_neighbours,
        }
    }

    fn seen(&self) -> Seen {
        Seen {
            stat: self.stat,
            trusted: self.trusted,
            content: self.content.map(|(fingerprint, format)| Content {
                fingerprint,
                format: format.into(),
            }),
            refused: self.refused,
            shows_neighbours: self.shows_neighbours,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_in_doubt_that_shows_pictures_is_as_before_no_more() {
        let entry = |shows_neighbours| Entry {
            path: b"a.md".as_slice().into(),
            seen: Seen {
                stat: Stat {
                    size: 1,
                    mtime: 0,
                    ctime: 0,
                    inode: 0,
                },
                trusted: true,
                content: Some(Content {
                    fingerprint: Fingerprint::of(b"x"),
                    format: "md".into(),
                }),
                refused: None,
                shows_neighbours,
            },
        };
        for shows_neighbours in [false, true] {
            let before = entry(shows_neighbours);
            let doubted = before.clone().doubted();
            assert!(!doubted.seen.trusted);
            let is_as_before = doubted.seen.content == before.seen.content;
            assert_eq!(is_as_before, !shows_neighbours);
        }
    }

    #[test]
    fn a_fingerprint_is_the_beginning_of_sha_256() {
        // sha256("abc"), FIPS 180-2 appendix B.1
        let expected = [
            0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae,
            0x22, 0x23,
        ];
        assert_eq!(Fingerprint::of(b"abc").0, expected);
    }
}
