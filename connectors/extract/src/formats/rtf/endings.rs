//! What is done when a group of RTF ends that was a story, a field, a picture or a value of a shape.

use dpe_connector::content::Category;

use super::group::{Destination, Kind};
use super::reader::Reader;
use crate::flow::Container;
use crate::formats::fields;
use crate::formats::story::{self, Block};
use crate::formats::typed;

impl Reader<'_, '_> {
    pub(super) fn end_story(&mut self, kind: Kind) {
        let paragraph = self.paragraph();
        self.resume_paragraph();
        let Some(story) = self.stories.pop() else {
            return;
        };
        self.furniture_stories -= usize::from(kind.is_furniture());
        let mut blocks = story.finish(paragraph);
        typed::make_items(&mut blocks);
        match kind {
            Kind::Box => self.story().anchor(None, blocks),
            Kind::Footnote => {
                self.footnotes += 1;
                let label = self.footnotes.to_string();
                let container = Container::Footnote { label };
                self.story().anchor(Some(container), blocks);
            }
            Kind::Comment => {
                let container = story::comment();
                self.story().anchor(Some(container), blocks);
            }
            Kind::Header | Kind::Footer => self.end_furniture(kind == Kind::Header, blocks),
        }
    }

    /// Some fields have no result: they show their instruction.
    pub(super) fn end_field(&mut self) {
        let Some(field) = self.fields.pop() else {
            return;
        };
        if fields::is_layout(&field.instruction) && self.is_in_furniture() {
            return self.leave_out_number(field.outer);
        }
        if field.has_result {
            if let Some(outer) = self.fields.last_mut() {
                outer.has_result = true;
            }
            return;
        }
        if let Some(text) = fields::shown(&field.instruction) {
            self.group.destination = field.outer;
            self.emit(&text);
        }
    }

    /// Leaves out the number of a page that would be text of a destination.
    pub(super) fn leave_out_number(&mut self, destination: Destination) {
        self.flush();
        if destination == Destination::Story && self.is_in_furniture() {
            self.story().inline().leave_out_number();
        }
    }

    /// Sections say the same header again and again; it is one.
    fn end_furniture(&mut self, is_header: bool, blocks: Vec<Block>) {
        let key = (is_header, format!("{blocks:?}"));
        if story::is_silent(&blocks) || !self.furniture.insert(key) {
            return;
        }
        let category = match is_header {
            true => Category::Header,
            false => Category::Footer,
        };
        let container = Container::Region(category);
        match is_header {
            true => self.story().place(container, blocks),
            false => self.footers.push(Block::Within(container, blocks)),
        }
    }

    pub(super) fn end_picture(&mut self) {
        let Some(data) = self.picture.take() else {
            return;
        };
        let Some(picture) = data.finish(self.reading) else {
            return;
        };
        let inline = self.story().inline();
        inline.open_picture(picture);
        inline.close_picture();
    }

    pub(super) fn end_shape_value(&mut self) {
        let value = std::mem::take(&mut self.shape_value);
        match self.shape_name.trim() {
            "wzDescription" if !value.trim().is_empty() => {
                self.story().inline().describe_last_picture(value.trim());
            }
            "gtextUNICODE" => {
                let blocks = vec![Block::text(value.trim())];
                self.story().anchor(None, blocks);
            }
            _ => {}
        }
    }
}
