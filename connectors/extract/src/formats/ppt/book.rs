//! Where the slides of a presentation are: edits of it stand one after the other in the stream, each with a
//! directory of what it wrote ([MS-PPT] §2.1.2).

use std::collections::{BTreeMap, HashMap};

use crate::formats::escher::{self, Record, Records, kind};
use crate::little_endian::u32_at;

/// Kinds of records ([MS-PPT] §2.13.24).
pub(super) mod record {
    pub(crate) const DOCUMENT: u16 = 0x03E8;
    pub(crate) const SLIDE: u16 = 0x03EE;
    pub(crate) const SLIDE_ATOM: u16 = 0x03EF;
    pub(crate) const NOTES: u16 = 0x03F0;
    pub(crate) const SLIDE_PLACE: u16 = 0x03F3;
    pub(crate) const DRAWING: u16 = 0x040C;
    pub(crate) const PLACEHOLDER: u16 = 0x0BC3;
    pub(crate) const OUTLINE_REFERENCE: u16 = 0x0F9E;
    pub(crate) const TEXT_HEADER: u16 = 0x0F9F;
    pub(crate) const TEXT_WIDE: u16 = 0x0FA0;
    pub(crate) const TEXT_STYLE: u16 = 0x0FA1;
    pub(crate) const TEXT_NARROW: u16 = 0x0FA8;
    pub(crate) const STRING: u16 = 0x0FBA;
    pub(crate) const FURNITURE: u16 = 0x0FD9;
    pub(crate) const FURNITURE_FLAGS: u16 = 0x0FDA;
    pub(crate) const SLIDE_LIST: u16 = 0x0FF0;
    pub(crate) const EDIT: u16 = 0x0FF5;
    pub(crate) const DIRECTORY: u16 = 0x1772;
}

/// Edits that are followed back.
const MAX_EDITS: usize = 4096;

/// A presentation.
#[derive(Debug, Default)]
pub(super) struct Book<'b> {
    pub(super) slides: Vec<Listed<'b>>,
    /// Notes by the id that a slide names.
    notes: HashMap<u32, &'b [u8]>,
    /// Where pictures are in their stream, in the order of the store.
    pub(super) store: Vec<u32>,
    /// What is at the foot of slides that say nothing of it themselves.
    pub(super) furniture: Vec<String>,
    pub(super) is_encrypted: bool,
    pub(super) has_document: bool,
}

/// A slide as the presentation lists it.
#[derive(Debug, Default)]
pub(super) struct Listed<'b> {
    /// The slide; nothing if it is not where it should be.
    pub(super) data: &'b [u8],
    /// Texts that stand in the list rather than on the slide.
    pub(super) outline: Vec<Record<'b>>,
}

impl<'b> Book<'b> {
    pub(super) fn read(user: &[u8], stream: &'b [u8]) -> Self {
        let mut book = Self::default();
        let (places, document) = book.places(user, stream);
        let at = |place: u32| Records(stream.get(place as usize..).unwrap_or(&[])).next();
        let document = document
            .and_then(|id| places.get(&id))
            .and_then(|place| at(*place));
        let document = document.filter(|record| record.kind == record::DOCUMENT);
        let document = document.or_else(|| {
            let mut all = Records(stream).filter(|record| record.kind == record::DOCUMENT);
            all.next()
        });
        if let Some(document) = document {
            book.has_document = true;
            book.read_document(document.data, |id| {
                places.get(&id).and_then(|place| at(*place))
            });
        }
        if book
            .slides
            .iter()
            .all(|slide| slide.data.is_empty() && slide.outline.is_empty())
        {
            let slides = Records(stream).filter(|record| record.kind == record::SLIDE);
            book.slides = slides
                .map(|slide| Listed {
                    data: slide.data,
                    outline: Vec::new(),
                })
                .collect();
        }
        book
    }

    /// Returns where parts are by their ids, and the id of the document.
    fn places(&mut self, user: &[u8], stream: &[u8]) -> (BTreeMap<u32, u32>, Option<u32>) {
        let mut places = BTreeMap::new();
        let mut document = None;
        let mut next = u32_at(user, 16).filter(|place| *place != 0);
        for _ in 0..MAX_EDITS {
            let Some(place) = next else {
                break;
            };
            let edit = Records(stream.get(place as usize..).unwrap_or(&[])).next();
            let Some(edit) = edit.filter(|edit| edit.kind == record::EDIT) else {
                break;
            };
            self.is_encrypted |= edit.data.len() >= 32;
            document = document.or_else(|| u32_at(edit.data, 16));
            let directory = u32_at(edit.data, 12).unwrap_or(u32::MAX) as usize;
            let directory = Records(stream.get(directory..).unwrap_or(&[])).next();
            if let Some(directory) = directory.filter(|found| found.kind == record::DIRECTORY) {
                read_directory(directory.data, &mut places);
            }
            // Edits lead back only.
            next = u32_at(edit.data, 8).filter(|earlier| *earlier != 0 && *earlier < place);
        }
        (places, document)
    }

    fn read_document(&mut self, data: &'b [u8], part: impl Fn(u32) -> Option<Record<'b>>) {
        for record in Records(data) {
            match record.kind {
                record::SLIDE_LIST if record.instance == 0 => {
                    self.slides = slides(record.data, &part);
                }
                record::SLIDE_LIST if record.instance == 2 => {
                    let listed = Records(record.data);
                    for place in listed.filter(|record| record.kind == record::SLIDE_PLACE) {
                        let ids = (u32_at(place.data, 0), u32_at(place.data, 12));
                        if let (Some(id), Some(notes)) = ids
                            && let Some(found) =
                                part(id).filter(|found| found.kind == record::NOTES)
                        {
                            self.notes.insert(notes, found.data);
                        }
                    }
                }
                record::FURNITURE if record.instance == 3 => {
                    self.furniture = furniture(record.data);
                }
                _ => {}
            }
        }
        escher::walk(data, &mut |record| {
            if record.kind == kind::STORE_ENTRY {
                self.store.push(u32_at(record.data, 28).unwrap_or(u32::MAX));
            }
        });
    }

    /// Returns the notes of a slide.
    pub(super) fn notes(&self, slide: &[u8]) -> Option<&'b [u8]> {
        let mut atoms = Records(slide).filter(|record| record.kind == record::SLIDE_ATOM);
        let id = u32_at(atoms.next()?.data, 16)?;
        self.notes.get(&id).copied()
    }
}

fn read_directory(data: &[u8], places: &mut BTreeMap<u32, u32>) {
    let (numbers, _) = data.as_chunks::<4>();
    let mut numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
    while let Some(first) = numbers.next() {
        let (id, count) = (first & 0xF_FFFF, first >> 20);
        for step in 0..count {
            let Some(place) = numbers.next() else {
                return;
            };
            // What was read before is of a later edit.
            places.entry(id + step).or_insert(place);
        }
    }
}

fn slides<'b>(list: &'b [u8], part: &impl Fn(u32) -> Option<Record<'b>>) -> Vec<Listed<'b>> {
    let mut found: Vec<Listed<'b>> = Vec::new();
    for record in Records(list) {
        if record.kind == record::SLIDE_PLACE {
            let slide = u32_at(record.data, 0).and_then(part);
            let slide = slide.filter(|slide| slide.kind == record::SLIDE);
            found.push(Listed {
                data: slide.map_or(&[][..], |slide| slide.data),
                outline: Vec::new(),
            });
        } else if let Some(last) = found.last_mut() {
            last.outline.push(record);
        }
    }
    found
}

/// Returns the texts that are shown at the head and the foot of slides ([MS-PPT] §2.4.15.1).
pub(super) fn furniture(data: &[u8]) -> Vec<String> {
    let mut flags = 0;
    let mut texts = Vec::new();
    for record in Records(data) {
        match record.kind {
            record::FURNITURE_FLAGS => flags = u32_at(record.data, 0).unwrap_or(0) >> 16,
            record::STRING => {
                let flag = match record.instance {
                    0 => 0x04,
                    1 => 0x10,
                    2 => 0x20,
                    _ => 0,
                };
                let text = crate::codepage::decode(1200, record.data);
                if flags & flag != 0 && !text.trim().is_empty() {
                    texts.push(text.trim().to_owned());
                }
            }
            _ => {}
        }
    }
    texts
}
