//! Some thousand lines of a listing in columns, which compress far better than rows.
//!
//! Paths, times and inodes are told as differences to the line before, also across blocks. Knows
//! neither compression nor text.

use std::sync::Arc;

use dpe_connector_files::Reason;
use serde::{Deserialize, Serialize};

use crate::cursor::Damaged;
use crate::listing::{Content, Entry, Fingerprint, Listed, Seen};
use crate::stat::Stat;

/// Marks the name of a reason among those of formats, which have no such character.
const REFUSED: char = '!';

/// Lines of a listing.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Block {
    /// Bytes each path has in common with the one before.
    shared: Vec<u32>,
    /// Length of the rest of each path, and all these rests.
    rest_lengths: Vec<u32>,
    rests: Vec<u8>,
    sizes: Vec<u64>,
    /// Differences to the entry before.
    mtimes: Vec<i64>,
    /// Differences to the mtime, mostly 0.
    ctimes: Vec<i64>,
    /// Differences to the entry before.
    inodes: Vec<i64>,
    trusted: Vec<bool>,
    shows_neighbours: Vec<bool>,
    /// 1 + index into `format_names`, which also has the reasons why there is no document, marked as such.
    formats: Vec<u32>,
    format_names: Vec<String>,
    /// One after another, only of entries with a document.
    fingerprints: Vec<u8>,
    /// Bytes of each of them.
    #[serde(skip)]
    precision: usize,
}

/// What the line before had.
#[derive(Default)]
pub(crate) struct Neighbour {
    path: Vec<u8>,
    mtime: i64,
    inode: u64,
}

impl Neighbour {
    fn is(&mut self, path: &[u8], stat: Stat) {
        self.path.clear();
        self.path.extend_from_slice(path);
        self.mtime = stat.mtime;
        self.inode = stat.inode;
    }
}

impl Block {
    /// Returns an empty block whose fingerprints will have so many bytes.
    pub(crate) fn of(precision: usize) -> Self {
        Self {
            precision,
            ..Self::default()
        }
    }

    /// Returns how many lines it has.
    pub(crate) fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Returns how many bytes of paths it has.
    pub(crate) fn path_bytes(&self) -> usize {
        self.rests.len()
    }

    /// Appends a line.
    pub(crate) fn push(&mut self, line: &Listed<'_>, before: &mut Neighbour) {
        let shared = common_prefix(line.path, &before.path);
        self.shared.push(short(shared));
        self.rest_lengths.push(short(line.path.len() - shared));
        self.rests.extend_from_slice(&line.path[shared..]);
        let stat = line.stat;
        self.sizes.push(stat.size);
        self.mtimes.push(stat.mtime.wrapping_sub(before.mtime));
        self.ctimes.push(stat.ctime.wrapping_sub(stat.mtime));
        self.inodes
            .push(stat.inode.wrapping_sub(before.inode).cast_signed());
        self.trusted.push(line.trusted);
        self.shows_neighbours.push(line.shows_neighbours);
        let format = match (line.content, line.refused) {
            (Some((fingerprint, format)), _) => {
                let known = &fingerprint.0[..self.precision];
                self.fingerprints.extend_from_slice(known);
                1 + self.format_index(format)
            }
            (None, Some(reason)) => 1 + self.format_index(&format!("{REFUSED}{reason}")),
            (None, None) => 0,
        };
        self.formats.push(format);
        before.is(line.path, stat);
    }

    fn format_index(&mut self, format: &str) -> u32 {
        let known = self.format_names.iter().position(|name| name == format);
        short(known.unwrap_or_else(|| {
            self.format_names.push(format.to_owned());
            self.format_names.len() - 1
        }))
    }

    /// Returns the lines, whose fingerprints have `precision` bytes.
    ///
    /// # Errors
    ///
    /// When the columns contradict each other, or the paths are not in order.
    pub(crate) fn entries(
        &self,
        precision: usize,
        before: &mut Neighbour,
    ) -> Result<Vec<Entry>, Damaged> {
        let names = self.format_names.iter();
        let mut rest = Rest {
            paths: &self.rests,
            fingerprints: &self.fingerprints,
            precision,
            formats: names.map(|name| name.as_str().into()).collect(),
        };
        let mut entries = Vec::with_capacity(self.len());
        for at in 0..self.len() {
            let entry = self.entry(at, before, &mut rest).ok_or(Damaged)?;
            if *entry.path <= *before.path {
                return Err(Damaged);
            }
            before.is(&entry.path, entry.seen.stat);
            entries.push(entry);
        }
        Ok(entries)
    }

    fn entry(&self, at: usize, before: &Neighbour, rest: &mut Rest<'_>) -> Option<Entry> {
        let shared = *self.shared.get(at)? as usize;
        let own = rest.path(*self.rest_lengths.get(at)? as usize)?;
        let mtime = self.mtimes.get(at)?.wrapping_add(before.mtime);
        let (content, refused) = match self.formats.get(at)?.checked_sub(1) {
            None => (None, None),
            Some(index) => rest.content(index as usize)?,
        };
        Some(Entry {
            path: [before.path.get(..shared)?, own].concat().into(),
            seen: Seen {
                stat: Stat {
                    size: *self.sizes.get(at)?,
                    mtime,
                    ctime: self.ctimes.get(at)?.wrapping_add(mtime),
                    inode: before.inode.wrapping_add_signed(*self.inodes.get(at)?),
                },
                trusted: *self.trusted.get(at)?,
                content,
                refused,
                shows_neighbours: *self.shows_neighbours.get(at)?,
            },
        })
    }
}

/// What has not been read yet of the columns without fixed widths.
struct Rest<'c> {
    paths: &'c [u8],
    fingerprints: &'c [u8],
    precision: usize,
    formats: Vec<Arc<str>>,
}

impl<'c> Rest<'c> {
    fn path(&mut self, length: usize) -> Option<&'c [u8]> {
        let (path, after) = self.paths.split_at_checked(length)?;
        self.paths = after;
        Some(path)
    }

    /// Reads what is known of a document, or why there is none.
    fn content(&mut self, format: usize) -> Option<(Option<Content>, Option<Reason>)> {
        let format = self.formats.get(format)?;
        if let Some(name) = format.strip_prefix(REFUSED) {
            let reason = Reason::ALL.into_iter().find(|reason| reason.name() == name);
            return Some((None, Some(reason?)));
        }
        let (known, after) = self.fingerprints.split_at_checked(self.precision)?;
        self.fingerprints = after;
        let mut fingerprint = Fingerprint::default();
        fingerprint.0[..known.len()].copy_from_slice(known);
        let format = Arc::clone(format);
        let content = Content {
            fingerprint,
            format,
        };
        Some((Some(content), None))
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn short(length: usize) -> u32 {
    u32::try_from(length).expect("a path is far below 4 GiB")
}
