//! The cursor: a listing as text (connector contract §16).
//!
//! Self-contained, and usable only for the very same configuration. Any other text, damaged or
//! from another version, is no cursor; then everything is enumerated anew.

use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use dpe_connector_files::Owner;
use serde::{Deserialize, Serialize};

use crate::listing::{Content, Entry, Fingerprint};
use crate::stat::Stat;

/// Says which layout follows.
const PREFIX: &str = "fs1.";

/// Level 3 is zstd's own default; higher ones gain little on fingerprints.
const COMPRESSION_LEVEL: i32 = 3;

/// No listing is this large; what unpacks to more is damage.
const UNPACKED_LIMIT: u64 = 2 << 30;

/// The listing in columns, which compress far better than rows.
#[derive(Default, Serialize, Deserialize)]
struct Columns {
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
    /// 0 for no document, otherwise 1 + index into `format_names`.
    formats: Vec<u32>,
    format_names: Vec<String>,
    /// One after another, only of entries with a document.
    fingerprints: Vec<u8>,
}

/// Writes a listing, sorted by path, as a cursor.
pub(crate) fn encode(listing: &[Entry], owner: Owner) -> String {
    let mut columns = Columns::default();
    let mut before: Option<&Entry> = None;
    for entry in listing {
        columns.push(entry, before);
        before = Some(entry);
    }
    let plain = postcard::to_stdvec(&(owner, columns)).expect("a Vec takes every write");
    let packed = zstd::bulk::compress(&plain, COMPRESSION_LEVEL)
        .expect("compression into memory has nothing that could fail");
    let mut text = String::from(PREFIX);
    STANDARD_NO_PAD.encode_string(with_checksum(packed), &mut text);
    text
}

/// Reads a cursor of `owner`; `None` if it is not one.
pub(crate) fn decode(text: &str, owner: Owner) -> Option<Vec<Entry>> {
    let packed = STANDARD_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
    let packed = without_checksum(&packed)?;
    let mut plain = Vec::new();
    zstd::Decoder::new(packed)
        .ok()?
        .take(UNPACKED_LIMIT)
        .read_to_end(&mut plain)
        .ok()?;
    let (found, columns): (Owner, Columns) = postcard::from_bytes(&plain).ok()?;
    (found == owner).then(|| columns.entries())?
}

/// Damage must not pass as a listing that lacks files: those would look new, or worse, gone.
fn with_checksum(mut packed: Vec<u8>) -> Vec<u8> {
    let sum = Fingerprint::of(&packed).0;
    packed.extend_from_slice(&sum);
    packed
}

fn without_checksum(bytes: &[u8]) -> Option<&[u8]> {
    let (packed, sum) = bytes.split_last_chunk::<{ Fingerprint::BYTES }>()?;
    (Fingerprint::of(packed).0 == *sum).then_some(packed)
}

impl Columns {
    fn push(&mut self, entry: &Entry, before: Option<&Entry>) {
        let path_before: &[u8] = before.map_or(&[], |before| &before.path);
        let shared = common_prefix(&entry.path, path_before);
        self.shared.push(short(shared));
        self.rest_lengths.push(short(entry.path.len() - shared));
        self.rests.extend_from_slice(&entry.path[shared..]);
        self.sizes.push(entry.stat.size);
        let mtime_before = before.map_or(0, |before| before.stat.mtime);
        self.mtimes
            .push(entry.stat.mtime.wrapping_sub(mtime_before));
        self.ctimes
            .push(entry.stat.ctime.wrapping_sub(entry.stat.mtime));
        let inode_before = before.map_or(0, |before| before.stat.inode);
        self.inodes
            .push(entry.stat.inode.wrapping_sub(inode_before).cast_signed());
        self.trusted.push(entry.trusted);
        let format = entry.content.as_ref().map_or(0, |content| {
            self.fingerprints.extend_from_slice(&content.fingerprint.0);
            1 + self.format_index(&content.format)
        });
        self.formats.push(format);
    }

    fn format_index(&mut self, format: &str) -> u32 {
        let known = self.format_names.iter().position(|name| name == format);
        short(known.unwrap_or_else(|| {
            self.format_names.push(format.to_owned());
            self.format_names.len() - 1
        }))
    }

    fn entries(self) -> Option<Vec<Entry>> {
        let names = self.format_names.iter();
        let mut rest = Rest {
            paths: &self.rests,
            fingerprints: &self.fingerprints,
            formats: names.map(|name| name.as_str().into()).collect(),
        };
        let mut entries: Vec<Entry> = Vec::with_capacity(self.sizes.len());
        for at in 0..self.sizes.len() {
            let entry = self.entry(at, entries.last(), &mut rest)?;
            entries.push(entry);
        }
        entries
            .is_sorted_by(|a, b| a.path < b.path)
            .then_some(entries)
    }

    fn entry(&self, at: usize, before: Option<&Entry>, rest: &mut Rest<'_>) -> Option<Entry> {
        let path_before: &[u8] = before.map_or(&[], |before| &before.path);
        let shared = *self.shared.get(at)? as usize;
        let own = rest.path(*self.rest_lengths.get(at)? as usize)?;
        let stat_before = before.map_or((0, 0), |before| (before.stat.mtime, before.stat.inode));
        let mtime = self.mtimes.get(at)?.wrapping_add(stat_before.0);
        Some(Entry {
            path: [path_before.get(..shared)?, own].concat().into(),
            stat: Stat {
                size: *self.sizes.get(at)?,
                mtime,
                ctime: self.ctimes.get(at)?.wrapping_add(mtime),
                inode: stat_before.1.wrapping_add_signed(*self.inodes.get(at)?),
            },
            trusted: *self.trusted.get(at)?,
            content: match self.formats.get(at)?.checked_sub(1) {
                None => None,
                Some(index) => Some(rest.content(index as usize)?),
            },
        })
    }
}

/// What has not been read yet of the columns without fixed widths.
struct Rest<'c> {
    paths: &'c [u8],
    fingerprints: &'c [u8],
    formats: Vec<Arc<str>>,
}

impl<'c> Rest<'c> {
    fn path(&mut self, length: usize) -> Option<&'c [u8]> {
        let (path, after) = self.paths.split_at_checked(length)?;
        self.paths = after;
        Some(path)
    }

    fn content(&mut self, format: usize) -> Option<Content> {
        let (fingerprint, after) = self.fingerprints.split_first_chunk()?;
        self.fingerprints = after;
        Some(Content {
            fingerprint: Fingerprint(*fingerprint),
            format: Arc::clone(self.formats.get(format)?),
        })
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn short(length: usize) -> u32 {
    u32::try_from(length).expect("a path is far below 4 GiB")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};

    use super::*;

    fn listings() -> impl Strategy<Value = Vec<Entry>> {
        let content =
            prop::option::of((any::<[u8; 16]>(), prop::sample::select(vec!["md", "txt"])));
        let stat = (any::<u64>(), any::<i64>(), any::<i64>(), any::<u64>());
        let path = prop::collection::vec(any::<u8>(), 1..12);
        prop::collection::btree_map(path, (stat, any::<bool>(), content), 0..20).prop_map(|map| {
            map.into_iter()
                .map(
                    |(path, ((size, mtime, ctime, inode), trusted, content))| Entry {
                        path: path.into(),
                        stat: Stat {
                            size,
                            mtime,
                            ctime,
                            inode,
                        },
                        trusted,
                        content: content.map(|(bytes, format)| Content {
                            fingerprint: Fingerprint(bytes),
                            format: format.into(),
                        }),
                    },
                )
                .collect()
        })
    }

    proptest! {
        #[test]
        fn a_listing_comes_back_for_its_owner_and_for_nobody_else(listing in listings()) {
            let owner = Owner::of(&["1", "dpe://h/", "{}"]);
            let text = encode(&listing, owner);
            prop_assert_eq!(decode(&text, owner), Some(listing));
            prop_assert_eq!(decode(&text, Owner::of(&["1", "dpe://h", "/{}"])), None);
        }

        #[test]
        fn a_damaged_cursor_is_no_cursor(listing in listings(), at in any::<prop::sample::Index>()) {
            let owner = Owner::of(&["x"]);
            let mut bytes = encode(&listing, owner).into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(decode(&damaged, owner), None);
            prop_assert_eq!(decode(&damaged[..at], owner), None);
        }
    }

    #[test]
    fn texts_of_others_are_no_cursors() {
        let owner = Owner::of(&["x"]);
        for text in ["", "fs1.", "fs1.!!!!", "fs2.AAAA", "r-118"] {
            assert_eq!(decode(text, owner), None, "{text}");
        }
    }
}
