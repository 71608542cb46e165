//! Presentations of PowerPoint 95: records as later ones have them, but with heads of sixteen bytes, and texts whose
//! runs are records of their own. The format was never described; this is how its files are made.
//!
//! Only texts are read, in the order of the shapes. Pictures, tables and headers are not looked for.

use super::text::{Level, Text};
use crate::codepage::{self, WESTERN};
use crate::little_endian::u32_at;

/// Kinds of records, the first few as in later versions.
mod kind {
    pub(super) const PRESENTATION: u32 = 0x0003;
    pub(super) const DOCUMENT: u32 = 0x03E8;
    pub(super) const SLIDE: u32 = 0x03EE;
    pub(super) const NOTES: u32 = 0x03F0;
    pub(super) const LIST: u32 = 0x07D0;
    pub(super) const TEXT: u32 = 0x0FA2;
    pub(super) const TEXT_ATOM: u32 = 0x0FA3;
    pub(super) const TEXT_RUNS: u32 = 0x0FE0;
    pub(super) const BYTES: u32 = 0x07EE;
    pub(super) const RUNS: u32 = 0x07EC;
}

/// Instances: the list of slides among the lists, characters and properties of paragraphs among the runs.
const SLIDES: u32 = 0x0A;
const CHARACTERS: u32 = 0x35;
const PARAGRAPHS: u32 = 0x30;

/// What says of a record that it holds others.
const CONTAINER: u32 = 0xFFFF;

/// How deep records are followed into records.
const MAX_DEPTH: usize = 32;

/// Texts of a slide, and of its notes.
#[derive(Debug, Default)]
pub(super) struct Slide {
    pub(super) texts: Vec<Text>,
    pub(super) notes: Vec<Text>,
}

/// Returns the slides of a presentation, in its order; `None` if it is none of this version.
pub(super) fn slides(stream: &[u8]) -> Option<Vec<Slide>> {
    let presentation = Records(stream).next()?;
    if presentation.kind != kind::PRESENTATION || !presentation.is_container {
        return None;
    }
    let inside =
        |data, wanted| Records(data).filter(move |record: &Record<'_>| record.kind == wanted);
    let document = inside(presentation.data, kind::DOCUMENT).next()?;
    let lists = inside(document.data, kind::LIST).filter(|list| list.instance == SLIDES);
    let slides = lists.flat_map(|list| inside(list.data, kind::SLIDE));
    Some(slides.map(|slide| read(slide.data)).collect())
}

fn read(data: &[u8]) -> Slide {
    let mut slide = Slide::default();
    let mut open = vec![(Records(data), false)];
    while let Some((records, in_notes)) = open.last_mut() {
        let in_notes = *in_notes;
        let Some(record) = records.next() else {
            open.pop();
            continue;
        };
        if record.kind == kind::TEXT {
            let texts = match in_notes {
                true => &mut slide.notes,
                false => &mut slide.texts,
            };
            texts.extend(text(record.data));
        } else if record.is_container && open.len() < MAX_DEPTH {
            open.push((Records(record.data), in_notes || record.kind == kind::NOTES));
        }
    }
    slide
}

/// Reads a text; `None` if it is blank.
fn text(data: &[u8]) -> Option<Text> {
    let mut kind = 4;
    let (mut words, mut levels) = (String::new(), Vec::new());
    for record in Records(data) {
        match record.kind {
            kind::TEXT_ATOM => kind = u32_at(record.data, 0).unwrap_or(kind),
            kind::TEXT_RUNS => {
                for part in Records(record.data) {
                    match (part.kind, part.instance) {
                        (kind::BYTES, CHARACTERS) => words = codepage::decode(WESTERN, part.data),
                        (kind::RUNS, PARAGRAPHS) => levels = self::levels(part.data),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    (!words.trim().is_empty()).then(|| Text::of(kind, words, levels))
}

/// Reads the runs of paragraphs: how many characters, a kind, nothing, a length and an instance, then the
/// properties.
fn levels(runs: &[u8]) -> Vec<Level> {
    const HEAD: usize = 20;
    const DEPTH: usize = 24;
    let mut levels = Vec::new();
    let mut rest = Records(runs).next().map_or(&[][..], |runs| runs.data);
    while let (Some(characters), Some(length)) = (u32_at(rest, 0), u32_at(rest, 12)) {
        let properties = rest.get(HEAD..).unwrap_or(&[]);
        let length = (length as usize).min(properties.len());
        let (properties, after) = properties.split_at(length);
        levels.push(Level {
            characters: characters as usize,
            depth: u32_at(properties, DEPTH).unwrap_or(0).min(8) as u16,
            has_bullet: properties.first().map(|flags| flags & 1 == 1),
        });
        rest = after;
    }
    levels
}

/// Records of one level.
#[derive(Clone, Debug)]
struct Records<'b>(&'b [u8]);

#[derive(Clone, Copy, Debug)]
struct Record<'b> {
    kind: u32,
    instance: u32,
    is_container: bool,
    data: &'b [u8],
}

impl<'b> Iterator for Records<'b> {
    type Item = Record<'b>;

    fn next(&mut self) -> Option<Record<'b>> {
        const HEAD: usize = 16;
        let (head, rest) = self.0.split_at_checked(HEAD)?;
        let number = |at| u32_at(head, at).unwrap_or(0);
        let (data, rest) = rest.split_at((number(8) as usize).min(rest.len()));
        self.0 = rest;
        Some(Record {
            kind: number(0),
            instance: number(12),
            is_container: number(4) & CONTAINER == CONTAINER,
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CHARACTERS, CONTAINER, PARAGRAPHS, kind, slides};

    fn record(kind: u32, mark: u32, instance: u32, parts: &[Vec<u8>]) -> Vec<u8> {
        let data = parts.concat();
        let head = [kind, mark, data.len() as u32, instance];
        let head = head.iter().flat_map(|number| number.to_le_bytes());
        head.chain(data).collect()
    }

    fn holder(kind: u32, instance: u32, parts: &[Vec<u8>]) -> Vec<u8> {
        record(kind, CONTAINER, instance, parts)
    }

    fn text(kind: u32, words: &[u8], depths: &[(u32, u8)]) -> Vec<u8> {
        let mut runs = Vec::new();
        for (characters, depth) in depths {
            for number in [*characters, 0xFE3, 0, 52, 0x30] {
                runs.extend(number.to_le_bytes());
            }
            let mut properties = [0; 52];
            properties[0] = 0x15;
            properties[24] = *depth;
            runs.extend(properties);
        }
        let words = record(kind::BYTES, 0, CHARACTERS, &[words.to_vec()]);
        let runs = holder(
            kind::RUNS,
            PARAGRAPHS,
            &[record(kind::BYTES, 0, PARAGRAPHS, &[runs])],
        );
        let atom = record(kind::TEXT_ATOM, 0, 0, &[kind.to_le_bytes().to_vec()]);
        holder(
            kind::TEXT,
            0,
            &[atom, holder(kind::TEXT_RUNS, 0, &[words, runs])],
        )
    }

    fn presentation() -> Vec<u8> {
        let notes = holder(kind::NOTES, 0x25, &[text(2, b"Said", &[])]);
        let body = text(1, b"one\rtwo\x85", &[(4, 0), (5, 1)]);
        let group = holder(0xBB9, 0, &[body, text(4, b" ", &[])]);
        let slide = holder(kind::SLIDE, 0x10, &[notes, text(0, b"Title", &[]), group]);
        let master = holder(kind::SLIDE, 0x10, &[text(0, b"Click here", &[])]);
        let lists = [
            holder(kind::LIST, 0x0A, &[slide]),
            holder(kind::LIST, 0x0B, &[master]),
        ];
        holder(kind::PRESENTATION, 0, &[holder(kind::DOCUMENT, 0, &lists)])
    }

    #[test]
    fn texts_of_slides_and_notes_are_found() {
        let found = slides(&presentation()).unwrap();
        assert_eq!(found.len(), 1);
        let words = |texts: &[super::Text]| -> Vec<String> {
            texts.iter().map(super::Text::lines).collect()
        };
        assert_eq!(words(&found[0].texts), ["Title", "one\ntwo\u{2026}"]);
        assert_eq!(words(&found[0].notes), ["Said"]);
        assert!(found[0].texts[0].is_title());
        let paragraphs = found[0].texts[1].paragraphs();
        let depths: Vec<_> = paragraphs.iter().map(|paragraph| paragraph.depth).collect();
        assert_eq!(depths, [0, 1]);
        assert!(
            paragraphs
                .iter()
                .all(|paragraph| paragraph.has_bullet == Some(true))
        );
    }

    #[test]
    fn what_is_cut_short_gives_what_there_is() {
        let whole = presentation();
        for length in 0..whole.len() {
            let found = slides(&whole[..length]).unwrap_or_default();
            assert!(found.len() <= 1);
        }
        assert!(slides(b"\x0F\0\xE8\x03").is_none());
    }
}
