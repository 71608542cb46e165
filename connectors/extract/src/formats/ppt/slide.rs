//! One slide: its shapes in their order, and its notes.

use std::collections::HashSet;

use dpe_connector::content::{Category, Element, Metadata};

use super::book::{Book, furniture, record};
use super::table::{Table, refers_to_outline};
use super::text::{Text, texts};
use crate::flow::{Container, Flow, title};
use crate::formats::escher::{self, Known, Records, Shape, kind};
use crate::inline::Inline;
use crate::little_endian::u32_at;
use crate::reading::Reading;

/// Records of shapes that hold what PowerPoint says of them.
const TEXT_BOX: u16 = 0xF00D;
const CLIENT_DATA: u16 = 0xF011;

/// Placeholders on notes that show something else: the slide, dates, numbers, headers and footers.
const NOTES_BODY: [u8; 2] = [0x06, 0x0C];

/// The stream of pictures, and those that were read from it.
#[derive(Debug, Default)]
pub(super) struct Stored<'p> {
    pub(super) bytes: &'p [u8],
    pub(super) known: Known,
}

/// Returns the title and the elements of a slide.
pub(super) fn read(
    book: &Book<'_>,
    number: usize,
    stored: &mut Stored<'_>,
    reading: &mut Reading<'_>,
) -> (Option<String>, Vec<Element>) {
    let listed = &book.slides[number];
    let mut slide = Slide {
        flow: Flow::of(reading.made()),
        title: None,
        outline: texts(listed.outline.iter().copied()),
        is_written: vec![false; listed.outline.len()],
    };
    slide.drawing(book, listed.data, stored, reading);
    slide.rest_of_outline();
    slide.furniture(book, listed.data);
    if let Some(notes) = book.notes(listed.data) {
        slide.notes(notes);
    }
    (slide.title, slide.flow.finish().1.into_vec())
}

/// Returns the title and the elements of a slide that is its texts.
pub(super) fn of_texts(
    texts: &[Text],
    notes: &[Text],
    reading: &Reading<'_>,
) -> (Option<String>, Vec<Element>) {
    let mut slide = Slide {
        flow: Flow::of(reading.made()),
        title: None,
        outline: Vec::new(),
        is_written: Vec::new(),
    };
    texts.iter().for_each(|text| slide.text(text));
    slide.flow.open(notes_container());
    notes.iter().for_each(|text| slide.lines(text));
    slide.flow.close();
    (slide.title, slide.flow.finish().1.into_vec())
}

/// Returns what holds the speaker's notes.
fn notes_container() -> Container {
    let mut said = Metadata::new();
    said.insert("notes".to_owned(), true.into());
    Container::Aside(said)
}

struct Slide {
    flow: Flow,
    title: Option<String>,
    outline: Vec<Text>,
    /// Which texts of the outline were written where a shape refers to them.
    is_written: Vec<bool>,
}

impl Slide {
    fn drawing(
        &mut self,
        book: &Book<'_>,
        data: &[u8],
        stored: &mut Stored<'_>,
        reading: &mut Reading<'_>,
    ) {
        for drawing in Records(data).filter(|record| record.kind == record::DRAWING) {
            let mut in_tables = HashSet::new();
            escher::walk(drawing.data, &mut |record| match record.kind {
                kind::GROUP if !refers_to_outline(record.data) => {
                    if let Some(table) = Table::read(record.data) {
                        in_tables.extend(table.shapes.iter().map(|shape| shape.as_ptr()));
                        self.flow.table(table.grid(), Vec::new());
                    }
                }
                kind::SHAPE if !in_tables.contains(&record.data.as_ptr()) => {
                    self.shape(book, record.data, stored, reading);
                }
                _ => {}
            });
        }
    }

    fn shape(
        &mut self,
        book: &Book<'_>,
        data: &[u8],
        stored: &mut Stored<'_>,
        reading: &mut Reading<'_>,
    ) {
        let boxes = Records(data).filter(|record| record.kind == TEXT_BOX);
        for text_box in boxes {
            self.text_box(text_box.data);
        }
        let shape = Shape::read(data);
        let mut drawn = Inline::default();
        drawn.push(&shape.text);
        self.flow.paragraph(drawn.take());
        let picture = stored.known.picture(shape.picture, || {
            let place = *book.store.get(shape.picture.checked_sub(1)?)?;
            let record = Records(stored.bytes.get(place as usize..)?).next()?;
            escher::picture(&record, reading)
        });
        if let Some(mut picture) = picture {
            picture.alt = shape.description;
            let mut inline = Inline::default();
            inline.open_picture(picture);
            inline.close_picture();
            self.flow.paragraph(inline.take());
        }
    }

    fn text_box(&mut self, data: &[u8]) {
        for text in texts(Records(data)) {
            self.text(&text);
        }
        for reference in Records(data).filter(|record| record.kind == record::OUTLINE_REFERENCE) {
            let index = u32_at(reference.data, 0).unwrap_or(u32::MAX) as usize;
            self.outline_text(index);
        }
    }

    fn outline_text(&mut self, index: usize) {
        let is_new = self.is_written.get_mut(index);
        let is_new = is_new.is_some_and(|is_written| !std::mem::replace(is_written, true));
        if is_new && index < self.outline.len() {
            let text = std::mem::take(&mut self.outline[index]);
            self.text(&text);
        }
    }

    /// Texts that no shape refers to: the slide was damaged, or is not there.
    fn rest_of_outline(&mut self) {
        for index in 0..self.outline.len() {
            self.outline_text(index);
        }
    }

    fn text(&mut self, text: &Text) {
        if text.is_title() {
            let mut inline = Inline::default();
            inline.push(&text.lines());
            let flat = inline.take();
            if self.title.is_some() {
                self.flow.heading(1, flat);
            } else {
                self.title = title(&flat.text);
                self.flow.page_heading(flat);
            }
            return;
        }
        for paragraph in text.paragraphs() {
            let mut inline = Inline::default();
            inline.push(&paragraph.words);
            // Subtitles are bodies without bullets; other bodies have one if nothing says they have none.
            let is_item = paragraph
                .has_bullet
                .unwrap_or(text.is_body() && text.kind != 5);
            if !is_item {
                self.flow.paragraph(inline.take());
                continue;
            }
            for _ in 0..=paragraph.depth {
                self.flow.open(Container::List { ordered: false });
            }
            self.flow.open(Container::Item);
            self.flow.paragraph(inline.take());
            for _ in 0..=paragraph.depth + 1 {
                self.flow.close();
            }
        }
    }

    fn furniture(&mut self, book: &Book<'_>, data: &[u8]) {
        let mut own = Records(data).filter(|record| record.kind == record::FURNITURE);
        let texts = own.next().map(|own| furniture(own.data));
        let texts = texts.unwrap_or_else(|| book.furniture.clone());
        self.flow.open(Container::Region(Category::Footer));
        for text in texts {
            let mut inline = Inline::default();
            inline.push(&text);
            self.flow.paragraph(inline.take());
        }
        self.flow.close();
    }

    /// Adds a text as one paragraph.
    fn lines(&mut self, text: &Text) {
        let mut inline = Inline::default();
        inline.push(&text.lines());
        self.flow.paragraph(inline.take());
    }

    fn notes(&mut self, data: &[u8]) {
        self.flow.open(notes_container());
        for drawing in Records(data).filter(|record| record.kind == record::DRAWING) {
            escher::walk(drawing.data, &mut |record| {
                if record.kind == kind::SHAPE && is_notes_text(record.data) {
                    let boxes = Records(record.data).filter(|inner| inner.kind == TEXT_BOX);
                    for text in boxes.flat_map(|text_box| texts(Records(text_box.data))) {
                        self.lines(&text);
                    }
                }
            });
        }
        self.flow.close();
    }
}

/// Whether a shape of a page of notes is one of text that was written for it.
fn is_notes_text(shape: &[u8]) -> bool {
    let mut client = Records(shape).filter(|record| record.kind == CLIENT_DATA);
    let mut placeholders = client
        .next()
        .into_iter()
        .flat_map(|client| Records(client.data))
        .filter(|record| record.kind == record::PLACEHOLDER);
    match placeholders.next() {
        Some(placeholder) => {
            let kind = placeholder.data.get(4).copied().unwrap_or(0);
            NOTES_BODY.contains(&kind)
        }
        None => true,
    }
}
