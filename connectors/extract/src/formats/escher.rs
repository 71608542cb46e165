//! Drawings in the binary office formats: records in records, pictures among them ([MS-ODRAW]).

use std::collections::HashMap;

use flate2::read::ZlibDecoder;

use super::rtf::with_file_header;
use crate::codepage;
use crate::inline::Picture;
use crate::little_endian::u32_at;
use crate::pictures::media_type;
use crate::reading::Reading;

/// Records of one level.
#[derive(Clone, Debug)]
pub(super) struct Records<'b>(pub(super) &'b [u8]);

/// A record.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'b> {
    pub(super) kind: u16,
    pub(super) instance: u16,
    pub(super) is_container: bool,
    pub(super) data: &'b [u8],
}

/// Kinds of records.
pub(super) mod kind {
    pub(crate) const STORE_ENTRY: u16 = 0xF007;
    pub(crate) const GROUP: u16 = 0xF003;
    pub(crate) const SHAPE: u16 = 0xF004;
    pub(crate) const SHAPE_ID: u16 = 0xF00A;
    pub(crate) const PROPERTIES: u16 = 0xF00B;
}

/// How deep records are followed into records.
const MAX_DEPTH: usize = 32;

/// Properties of shapes: a text that is drawn (WordArt), the picture, and the text that stands for it.
const DRAWN_TEXT: u16 = 0x00C0;
const PICTURE: u16 = 0x0104;
const DESCRIPTION: u16 = 0x0381;

impl<'b> Iterator for Records<'b> {
    type Item = Record<'b>;

    fn next(&mut self) -> Option<Record<'b>> {
        let header = self.0.first_chunk::<8>()?;
        let first = u16::from_le_bytes([header[0], header[1]]);
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let rest = &self.0[8..];
        let (data, rest) = rest.split_at(length.min(rest.len()));
        self.0 = rest;
        Some(Record {
            kind: u16::from_le_bytes([header[2], header[3]]),
            instance: first >> 4,
            is_container: first & 0xF == 0xF,
            data,
        })
    }
}

/// Gives every record to a function, those in containers after these.
pub(super) fn walk<'b>(bytes: &'b [u8], visit: &mut impl FnMut(&Record<'b>)) {
    let mut open = vec![Records(bytes)];
    while let Some(records) = open.last_mut() {
        let Some(record) = records.next() else {
            open.pop();
            continue;
        };
        visit(&record);
        if record.is_container && open.len() < MAX_DEPTH {
            open.push(Records(record.data));
        }
    }
}

/// What a shape says of the picture in it, and of the text that it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    pub(super) id: u32,
    /// Number of the picture in the store, from 1.
    pub(super) picture: usize,
    pub(super) description: String,
    /// A text that is drawn.
    pub(super) text: String,
}

impl Shape {
    /// Reads a shape (`OfficeArtSpContainer`).
    pub(super) fn read(data: &[u8]) -> Self {
        let mut shape = Self::default();
        for record in Records(data) {
            match record.kind {
                kind::SHAPE_ID => shape.id = u32_at(record.data, 0).unwrap_or(0),
                kind::PROPERTIES => shape.read_properties(&record),
                _ => {}
            }
        }
        shape
    }

    fn read_properties(&mut self, record: &Record<'_>) {
        let length = (6 * usize::from(record.instance)).min(record.data.len());
        let (properties, mut complex) = record.data.split_at(length);
        for property in properties.chunks_exact(6) {
            let number = u16::from_le_bytes([property[0], property[1]]);
            let value = u32_at(property, 2).unwrap_or(0) as usize;
            if number & 0x3FFF == PICTURE {
                self.picture = value;
            }
            if number & 0x8000 != 0 {
                let (data, rest) = complex.split_at(value.min(complex.len()));
                complex = rest;
                let into = match number & 0x3FFF {
                    DESCRIPTION => &mut self.description,
                    DRAWN_TEXT => &mut self.text,
                    _ => continue,
                };
                let text = codepage::decode(1200, data).replace('\r', "\n");
                *into = text.trim_end_matches('\0').trim().to_owned();
            }
        }
    }
}

/// Adds the shapes in a drawing by their ids; a group has the id of the first of its shapes, and its members.
pub(super) fn shapes(
    bytes: &[u8],
    found: &mut HashMap<u32, Shape>,
    groups: &mut HashMap<u32, Vec<u32>>,
) {
    walk(bytes, &mut |record| match record.kind {
        kind::SHAPE => {
            let shape = Shape::read(record.data);
            found.insert(shape.id, shape);
        }
        kind::GROUP => {
            let mut members = Vec::new();
            walk(record.data, &mut |inner| {
                if inner.kind == kind::SHAPE_ID {
                    members.extend(u32_at(inner.data, 0));
                }
            });
            if let Some(id) = members.first() {
                groups.insert(*id, members);
            }
        }
        _ => {}
    });
}

/// Pictures that were read, by where they are: many shapes may show the same.
#[derive(Debug, Default)]
pub(super) struct Known(HashMap<usize, Option<Picture>>);

impl Known {
    /// Returns the picture that is at a place, made at most once.
    pub(super) fn picture(
        &mut self,
        place: usize,
        make: impl FnOnce() -> Option<Picture>,
    ) -> Option<Picture> {
        self.0.entry(place).or_insert_with(make).clone()
    }
}

/// Returns a picture that is in a record of its own, or in one of the store.
pub(super) fn picture(record: &Record<'_>, reading: &mut Reading<'_>) -> Option<Picture> {
    if record.kind == kind::STORE_ENTRY {
        let name = usize::from(*record.data.get(33)?);
        let inner = Records(record.data.get(36 + name..)?).next()?;
        return (inner.kind != kind::STORE_ENTRY)
            .then(|| picture(&inner, reading))
            .flatten();
    }
    let ids = if record.instance & 1 == 1 { 32 } else { 16 };
    let data = record.data.get(ids..)?;
    let bytes = match record.kind {
        0xF01A..=0xF01C => metafile(data, reading)?,
        0xF01F => with_file_header(copied(data.get(1..)?, reading)?),
        0xF01D | 0xF01E | 0xF029 | 0xF02A => copied(data.get(1..)?, reading)?,
        _ => return None,
    };
    if bytes.is_empty() {
        return None;
    }
    let declared = match record.kind {
        0xF01A => "a.emf",
        0xF01B => "a.wmf",
        0xF01C => "a.pict",
        0xF01D | 0xF02A => "a.jpg",
        0xF01E => "a.png",
        0xF01F => "a.bmp",
        _ => "a.tif",
    };
    let mime_type = media_type(&bytes, declared);
    Some(Picture::of_bytes(reading.blob(bytes), mime_type))
}

/// Returns the bytes of a picture. They count as if they came out of something packed: records may overlap.
pub(super) fn copied(bytes: &[u8], reading: &mut Reading<'_>) -> Option<Vec<u8>> {
    match reading.unpacked(bytes.len() as u64) {
        Ok(()) => Some(bytes.to_vec()),
        Err(error) => {
            reading.note(format!("left out: a picture: {error}"));
            None
        }
    }
}

/// Returns a metafile, unpacked.
fn metafile(data: &[u8], reading: &mut Reading<'_>) -> Option<Vec<u8>> {
    let packed = data.get(34..)?;
    match data[32] {
        0 => {
            let unpacked = reading.unpack(ZlibDecoder::new(packed));
            match unpacked {
                Ok(bytes) => Some(bytes),
                Err(error) => {
                    reading.note(format!("left out: a picture: {error}"));
                    None
                }
            }
        }
        _ => copied(packed, reading),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{Record, Shape, picture, shapes};
    use crate::Limits;
    use crate::reading::Reading;

    /// Returns a record; containers have version 15.
    fn record(version_and_instance: u16, kind: u16, data: &[u8]) -> Vec<u8> {
        let length = data.len() as u32;
        let head = [version_and_instance.to_le_bytes(), kind.to_le_bytes()].concat();
        [&head, &length.to_le_bytes()[..], data].concat()
    }

    fn shape(id: u32, properties: &[u8]) -> Vec<u8> {
        let id = record(2, 0xF00A, &[&id.to_le_bytes()[..], &[0; 4]].concat());
        record(15, 0xF004, &[&id[..], properties].concat())
    }

    #[test]
    fn drawn_texts_and_descriptions_are_those_of_their_properties() {
        let words = |text: &str| -> Vec<u8> {
            let units = text.encode_utf16().chain([0]);
            units.flat_map(u16::to_le_bytes).collect()
        };
        let (drawn, described) = (words("Sale\r!"), words("A sign"));
        let mut properties = Vec::new();
        for (number, value) in [
            (0xC0C0_u16, drawn.len()),
            (0x0104, 3),
            (0xC381, described.len()),
        ] {
            properties.extend(number.to_le_bytes());
            properties.extend((value as u32).to_le_bytes());
        }
        properties.extend(drawn);
        properties.extend(described);
        let shape = shape(9, &record(3 << 4 | 3, 0xF00B, &properties));
        let read = Shape::read(&shape[8..]);
        assert_eq!((read.id, read.picture), (9, 3));
        assert_eq!((&*read.text, &*read.description), ("Sale\n!", "A sign"));
    }

    #[test]
    fn groups_have_the_number_of_their_first_shape() {
        let inner = record(15, 0xF003, &[shape(5, b""), shape(6, b"")].concat());
        let outer = [shape(1, b""), inner, shape(7, b"")].concat();
        let (mut found, mut groups) = (HashMap::new(), HashMap::new());
        shapes(&record(15, 0xF003, &outer), &mut found, &mut groups);
        assert_eq!(found.len(), 4);
        assert_eq!(groups[&1], [1, 5, 6, 7]);
        assert_eq!(groups[&5], [5, 6]);
    }

    #[test]
    fn pictures_that_overlap_are_kept_within_bounds() {
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 1);
        let bytes: Vec<u8> = (0..2 << 20).map(|at: u32| (at % 251) as u8).collect();
        let mut kept = 0;
        for from in 0..100 {
            let record = Record {
                kind: 0xF01E,
                instance: 0,
                is_container: false,
                data: &bytes[from..],
            };
            kept += usize::from(picture(&record, &mut reading).is_some());
        }
        assert!((10..20).contains(&kept), "{kept}");
        let (blobs, notes) = reading.finish();
        assert_eq!((blobs.len(), notes.len()), (kept, 1));
    }
}
