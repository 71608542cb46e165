//! Pictures of a Word document: those in the line are in the data stream, the others in the drawing's
//! store ([MS-DOC] §2.9.192, §2.9.177).

use std::collections::{BTreeMap, HashMap};

use super::fib::{Fib, Table};
use crate::formats::escher::{self, Known, Records, Shape, kind};
use crate::inline::Picture;
use crate::little_endian::{u16_at, u32_at};
use crate::pictures::media_type;
use crate::reading::Reading;

/// Kinds of pictures in the line: a metafile itself, or a drawing with a name or without one.
const DRAWING: u16 = 0x64;
const NAMED_DRAWING: u16 = 0x66;

/// Reads a picture in the line.
pub(super) fn in_line(data: &[u8], at: u32, reading: &mut Reading<'_>) -> Option<Picture> {
    let data = data.get(at as usize..)?;
    let length = (u32_at(data, 0)? as usize).min(data.len());
    let header = usize::from(u16_at(data, 4)?);
    let content = data.get(header..length)?;
    let content = match u16_at(data, 6)? {
        NAMED_DRAWING => content.get(1 + usize::from(*content.first()?)..)?,
        DRAWING => content,
        // Form fields keep there what they are made of.
        _ => {
            let mime_type = media_type(content, "")?;
            let content = escher::copied(content, reading)?;
            let blob = reading.blob(content);
            return Some(Picture::of_bytes(blob, Some(mime_type)));
        }
    };
    let mut shape = Shape::default();
    let mut found = None;
    for record in Records(content) {
        match record.kind {
            kind::SHAPE => shape = Shape::read(record.data),
            _ if found.is_none() => found = escher::picture(&record, reading),
            _ => {}
        }
    }
    let mut picture = found?;
    picture.alt = shape.description;
    Some(picture)
}

/// Pictures and drawn texts that are anchored at characters.
#[derive(Debug, Default)]
pub(super) struct Anchored {
    shapes: HashMap<u32, Shape>,
    groups: HashMap<u32, Vec<u32>>,
    /// Where the store's pictures are in the document stream.
    store: Vec<u32>,
    anchors: BTreeMap<usize, u32>,
    known: Known,
}

impl Anchored {
    pub(super) fn read(fib: &Fib, tables: &[u8]) -> Self {
        let mut anchored = Self::default();
        if fib.is_old {
            return anchored;
        }
        let drawings = fib.table(Table::Drawings, tables);
        let mut records = Records(drawings);
        if let Some(group) = records.next() {
            escher::walk(group.data, &mut |record| {
                if record.kind == kind::STORE_ENTRY {
                    let place = u32_at(record.data, 28).unwrap_or(u32::MAX);
                    anchored.store.push(place);
                }
            });
        }
        // Before each drawing there is a byte that says whether it is of the body or of the headers.
        let mut rest = records.0;
        while let Some(drawing) = rest.get(1..).and_then(|rest| Records(rest).next()) {
            escher::shapes(drawing.data, &mut anchored.shapes, &mut anchored.groups);
            rest = rest.get(9 + drawing.data.len()..).unwrap_or(&[]);
        }
        let furniture = fib.lengths.body as usize + fib.lengths.footnotes as usize;
        anchored.read_anchors(fib.table(Table::Anchors, tables), 0);
        anchored.read_anchors(fib.table(Table::FurnitureAnchors, tables), furniture);
        anchored
    }

    /// Reads where shapes are anchored, in characters from some place on ([MS-DOC] §2.8.37).
    fn read_anchors(&mut self, anchors: &[u8], base: usize) {
        let count = anchors.len().saturating_sub(4) / 30;
        for index in 0..count {
            let shape = u32_at(anchors, 4 * (count + 1) + 26 * index);
            if let (Some(at), Some(shape)) = (u32_at(anchors, 4 * index), shape) {
                self.anchors.insert(base + at as usize, shape);
            }
        }
    }

    /// Returns the pictures that are anchored at a character, each with what says it, and the texts drawn there.
    pub(super) fn at(
        &mut self,
        character: usize,
        document: &[u8],
        reading: &mut Reading<'_>,
    ) -> (Vec<Picture>, Vec<String>) {
        let (mut pictures, mut texts) = (Vec::new(), Vec::new());
        let Some(anchored) = self.anchors.get(&character).copied() else {
            return (pictures, texts);
        };
        // Once a group or a text is read it is not there again: no program anchors a shape twice.
        let members = self.groups.remove(&anchored);
        for id in members.unwrap_or_else(|| vec![anchored]) {
            pictures.extend(self.picture(id, document, reading));
            let shape = self.shapes.get_mut(&id);
            let text = shape.map(|shape| std::mem::take(&mut shape.text));
            texts.extend(text.filter(|text| !text.is_empty()));
        }
        (pictures, texts)
    }

    fn picture(
        &mut self,
        shape: u32,
        document: &[u8],
        reading: &mut Reading<'_>,
    ) -> Option<Picture> {
        let shape = self.shapes.get_mut(&shape)?;
        let place = self.store.get(shape.picture.checked_sub(1)?)?;
        let mut picture = self.known.picture(*place as usize, || {
            let record = Records(document.get(*place as usize..)?).next()?;
            escher::picture(&record, reading)
        })?;
        picture.alt = std::mem::take(&mut shape.description);
        Some(picture)
    }
}

#[cfg(test)]
mod tests {
    use super::Anchored;
    use crate::Limits;
    use crate::formats::escher::Shape;
    use crate::reading::Reading;

    #[test]
    fn text_of_a_shape_is_written_once_however_many_anchors_name_it() {
        let mut anchored = Anchored::default();
        let shape = Shape {
            text: "drawn".to_owned(),
            ..Shape::default()
        };
        anchored.shapes.insert(7, shape);
        anchored.anchors.extend([(1, 7), (2, 7)]);
        let limits = Limits::default();
        let mut reading = Reading::new(&limits, 1);
        assert_eq!(anchored.at(1, b"", &mut reading).1, ["drawn"]);
        assert!(anchored.at(2, b"", &mut reading).1.is_empty());
    }
}
