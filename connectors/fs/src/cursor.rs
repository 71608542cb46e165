//! The cursor: a listing as text (connector contract §16).
//!
//! Self-contained, and usable only for the very same configuration. Any other text, damaged or
//! from another version, is no cursor; then everything is enumerated anew. It is written and read
//! in blocks, so that a listing of a million files is never in memory as a whole a second time;
//! what a block looks like is [`crate::block`]'s.

use std::io::{self, Read, Write};

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use base64::write::EncoderStringWriter;
use dpe_connector_files::Owner;
use sha2::{Digest, Sha256};

use crate::block::{Block, Neighbour};
use crate::ground::Ground;
use crate::listing::{Entry, Fingerprint, Listed};

/// Says which layout follows.
const PREFIX: &str = "fs4.";

/// Level 3 is zstd's own default; higher ones gain little on fingerprints.
const COMPRESSION_LEVEL: i32 = 3;

/// No listing is this large; what unpacks to more is damage.
const UNPACKED_LIMIT: u64 = 4 << 30;

/// Entries of a block. Columns of so many compress nearly as well as whole ones.
const BLOCK_ENTRIES: usize = 8192;

/// Longest block, in bytes: its entries with the longest paths there can be.
const BLOCK_BYTES: usize = BLOCK_ENTRIES * (4096 + 256);

/// Writes lines, sorted by path, as a cursor of at most `limit` bytes; nothing if it would be
/// longer. Of every fingerprint the first `precision` bytes are kept.
pub(crate) fn encode<'l>(
    lines: impl Iterator<Item = Listed<'l>>,
    owner: Owner,
    ground: &Ground,
    precision: usize,
    limit: usize,
) -> Option<String> {
    // The only error of all these writers is that of the limit.
    write(lines, owner, ground, precision, limit).ok()
}

fn write<'l>(
    lines: impl Iterator<Item = Listed<'l>>,
    owner: Owner,
    ground: &Ground,
    precision: usize,
    limit: usize,
) -> io::Result<String> {
    let mut writer = zstd::Encoder::new(Sealed::new(limit), COMPRESSION_LEVEL)?;
    let precision_byte = u8::try_from(precision).map_err(io::Error::other)?;
    write_part(&mut writer, &(owner, precision_byte, ground))?;
    let mut before = Neighbour::default();
    let mut block = Block::of(precision);
    for line in lines {
        block.push(&line, &mut before);
        if block.len() == BLOCK_ENTRIES || block.path_bytes() > BLOCK_BYTES / 2 {
            write_part(&mut writer, &block)?;
            block = Block::of(precision);
        }
    }
    write_part(&mut writer, &block)?;
    writer.finish()?.seal(limit)
}

fn write_part(writer: &mut impl Write, part: &impl serde::Serialize) -> io::Result<()> {
    let bytes = postcard::to_stdvec(part).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    writer.write_all(&length.to_le_bytes())?;
    writer.write_all(&bytes)
}

/// Turns bytes into text with a checksum at its end: damage must not pass as a listing that lacks
/// files, for those would look new, or worse, gone.
struct Sealed {
    text: EncoderStringWriter<'static, GeneralPurpose, String>,
    sum: Sha256,
    room: usize,
}

impl Sealed {
    fn new(limit: usize) -> Self {
        Self {
            text: EncoderStringWriter::from_consumer(PREFIX.to_owned(), &STANDARD_NO_PAD),
            sum: Sha256::new(),
            room: limit / 4 * 3,
        }
    }

    fn seal(mut self, limit: usize) -> io::Result<String> {
        let sum = Fingerprint::finish(self.sum);
        self.text.write_all(&sum.0)?;
        let text = self.text.into_inner();
        match text.len() <= limit {
            true => Ok(text),
            false => Err(io::ErrorKind::FileTooLarge.into()),
        }
    }
}

impl Write for Sealed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.room.checked_sub(bytes.len());
        self.room = room.ok_or(io::ErrorKind::FileTooLarge)?;
        self.sum.update(bytes);
        self.text.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A cursor that was handed back.
pub(crate) struct Previous {
    packed: Vec<u8>,
    precision: usize,
    ground: Ground,
}

/// A part of a cursor is not what it should be. Only somebody else can have written it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Reads a cursor of `owner`; `None` if it is not one.
pub(crate) fn decode(text: &str, owner: Owner) -> Option<Previous> {
    let mut packed = STANDARD_NO_PAD.decode(text.strip_prefix(PREFIX)?).ok()?;
    let (content, sum) = packed.split_last_chunk::<{ Fingerprint::BYTES }>()?;
    if Fingerprint::of(content).0 != *sum {
        return None;
    }
    packed.truncate(packed.len() - Fingerprint::BYTES);
    let mut previous = Previous {
        packed,
        precision: 0,
        ground: Ground::default(),
    };
    let header = previous.parts()?.next()?.ok()?;
    let (found, precision, ground): (Owner, u8, Ground) = postcard::from_bytes(&header).ok()?;
    previous.precision = usize::from(precision);
    previous.ground = ground;
    (found == owner && previous.precision <= Fingerprint::BYTES).then_some(previous)
}

impl Previous {
    /// Returns how many bytes of each fingerprint there are.
    pub(crate) fn precision(&self) -> usize {
        self.precision
    }

    /// Returns the file systems that the files were on.
    pub(crate) fn ground(&self) -> &Ground {
        &self.ground
    }

    /// Returns the entries, sorted by path; after an error no more.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Result<Entry, Damaged>> {
        let precision = self.precision;
        let blocks = self.parts().into_iter().flatten().skip(1);
        let mut before = Neighbour::default();
        blocks.flat_map(move |part| {
            let block = part.and_then(|part| postcard::from_bytes(&part).map_err(|_| Damaged));
            match block.and_then(|block: Block| block.entries(precision, &mut before)) {
                Ok(entries) => entries.into_iter().map(Ok).collect(),
                Err(damaged) => vec![Err(damaged)],
            }
        })
    }

    /// Returns how many documents there were.
    pub(crate) fn documents(&self) -> usize {
        let entries = self.entries().flatten();
        entries.filter(|entry| entry.seen.content.is_some()).count()
    }

    fn parts(&self) -> Option<impl Iterator<Item = Result<Vec<u8>, Damaged>>> {
        let unpacking = zstd::Decoder::new(&*self.packed).ok()?;
        let mut reader = unpacking.take(UNPACKED_LIMIT);
        Some(std::iter::from_fn(move || {
            let mut length = [0; 4];
            match reader.read(&mut length[..1]) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(_) => return Some(Err(Damaged)),
            }
            Some(part(&mut reader, length).map_err(|_| Damaged))
        }))
    }
}

/// Reads a part of whose length one byte is there.
fn part(reader: &mut impl Read, mut length: [u8; 4]) -> io::Result<Vec<u8>> {
    reader.read_exact(&mut length[1..])?;
    let length = u32::from_le_bytes(length) as usize;
    if length > BLOCK_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dpe_connector_files::Reason;
    use proptest::prelude::{Strategy, any, prop, prop_assert_eq, proptest};

    use super::*;
    use crate::listing::{Content, Listing, Seen};
    use crate::stat::Stat;

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
                        seen: Seen {
                            stat: Stat {
                                size,
                                mtime,
                                ctime,
                                inode,
                            },
                            trusted,
                            refused: content.is_none().then(|| Reason::ALL[usize::from(trusted)]),
                            shows_neighbours: content.is_some() && size % 2 == 0,
                            content: content.map(|(bytes, format)| Content {
                                fingerprint: Fingerprint(bytes),
                                format: format.into(),
                            }),
                        },
                    },
                )
                .collect()
        })
    }

    fn listing(entries: &[Entry]) -> Listing {
        let mut listing = Listing::of(Arc::default());
        entries
            .iter()
            .cloned()
            .for_each(|entry| listing.keep(entry));
        listing
    }

    fn text(entries: &[Entry], owner: Owner, precision: usize) -> String {
        encode(
            listing(entries).lines(),
            owner,
            &Ground::default(),
            precision,
            usize::MAX,
        )
        .unwrap()
    }

    fn entries(text: &str, owner: Owner) -> Option<Vec<Entry>> {
        let previous = decode(text, owner)?;
        previous.entries().collect::<Result<_, _>>().ok()
    }

    proptest! {
        #[test]
        fn a_listing_comes_back_for_its_owner_and_for_nobody_else(
            listing in listings(),
            precision in 0_usize..=16,
        ) {
            let owner = Owner::of(&["1", "dpe://h/", "{}"]);
            let text = text(&listing, owner, precision);
            let mut expected = listing;
            for content in expected.iter_mut().filter_map(|entry| entry.seen.content.as_mut()) {
                *content = content.cut(precision);
            }
            prop_assert_eq!(decode(&text, owner).map(|found| found.precision()), Some(precision));
            prop_assert_eq!(entries(&text, owner), Some(expected));
            prop_assert_eq!(entries(&text, Owner::of(&["1", "dpe://h", "/{}"])), None);
        }

        #[test]
        fn a_damaged_cursor_is_no_cursor(listing in listings(), at in any::<prop::sample::Index>()) {
            let owner = Owner::of(&["x"]);
            let mut bytes = text(&listing, owner, 16).into_bytes();
            let at = at.index(bytes.len());
            bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
            let damaged = String::from_utf8(bytes).unwrap();
            prop_assert_eq!(entries(&damaged, owner), None);
            prop_assert_eq!(entries(&damaged[..at], owner), None);
        }
    }

    #[test]
    fn a_listing_of_many_blocks_comes_back_and_keeps_the_limit() {
        let entry = |number: usize| Entry {
            path: format!("{}/file-{number:07}.txt", number / 1000)
                .as_bytes()
                .into(),
            seen: Seen {
                stat: Stat {
                    size: number as u64,
                    mtime: 1_000_000_007 * number as i64,
                    ctime: 1_000_000_007 * number as i64 + 5,
                    inode: number as u64 * 3,
                },
                trusted: number.is_multiple_of(2),
                shows_neighbours: number % 7 == 1,
                refused: number
                    .is_multiple_of(3)
                    .then(|| Reason::ALL[number % Reason::ALL.len()]),
                content: (!number.is_multiple_of(3)).then(|| Content {
                    fingerprint: Fingerprint::of(&number.to_le_bytes()),
                    format: ["md", "txt", "json"][number % 5 % 3].into(),
                }),
            },
        };
        let mut all: Vec<Entry> = (0..BLOCK_ENTRIES * 2 + 77).map(entry).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        let owner = Owner::of(&["x"]);
        let whole = text(&all, owner, 16);
        assert_eq!(entries(&whole, owner), Some(all.clone()));
        let limited = |limit| encode(listing(&all).lines(), owner, &Ground::default(), 16, limit);
        assert_eq!(limited(whole.len()).as_deref(), Some(&*whole));
        assert_eq!(limited(whole.len() - 1), None);
        assert_eq!(limited(1000), None);
    }

    #[test]
    fn texts_of_others_are_no_cursors() {
        let owner = Owner::of(&["x"]);
        for text in ["", "fs1.", "fs3.", "fs4.", "fs4.!!!!", "fs5.AAAA", "r-118"] {
            assert_eq!(entries(text, owner), None, "{text}");
        }
    }
}
