//! Slides: a page for each, with the speaker's notes behind what is on it.

use dpe_connector::content::{Metadata, Page};
use roxmltree::Node;

use super::Reader;
use super::text::Line;
use crate::flow::{Container, title};
use crate::{ExtractError, pages, xml};

impl<'t> Reader<'_, '_, '_, 't> {
    pub(super) fn slides(&mut self, body: Node<'t, 't>) -> Result<Vec<Page>, ExtractError> {
        let mut all = Vec::new();
        let slides = body.children().filter(Node::is_element);
        let slides = slides.flat_map(|presentation| presentation.children());
        self.in_body = false;
        for slide in slides.filter(|child| xml::is(*child, "page")) {
            self.reading.page()?;
            let title = self.slide(slide)?;
            self.notes_of_block()?;
            let elements = self.flow.turn_page();
            all.extend(pages::declared(title, Metadata::new(), elements));
        }
        Ok(all)
    }

    fn slide(&mut self, slide: Node<'t, 't>) -> Result<Option<String>, ExtractError> {
        let mut found = None;
        for shape in slide.children().filter(Node::is_element) {
            match shape.tag_name().name() {
                "notes" => self.notes_of_slide(shape)?,
                "frame" if xml::attribute(shape, "class") == Some("title") => {
                    let mut line = Line::default();
                    for paragraph in xml::outermost(shape, |node| xml::is(node, "p")) {
                        line.inline.begin_line();
                        self.inline(paragraph, &mut line)?;
                    }
                    let flat = line.inline.take();
                    match found {
                        Some(_) => self.flow.heading(1, flat),
                        None => {
                            found = title(&flat.text);
                            self.flow.page_heading(flat);
                        }
                    }
                    self.beside(line.beside)?;
                }
                _ => self.block(shape)?,
            }
        }
        Ok(found)
    }

    fn notes_of_slide(&mut self, notes: Node<'t, 't>) -> Result<(), ExtractError> {
        let mut said = Metadata::new();
        said.insert("notes".to_owned(), true.into());
        self.flow.open(Container::Aside(said));
        let result = self.apart(|reader| {
            for shape in notes.children().filter(Node::is_element) {
                let class = xml::attribute(shape, "class").unwrap_or_default();
                if !matches!(class, "page-number" | "date-time" | "header" | "footer") {
                    reader.block(shape)?;
                }
            }
            Ok(())
        });
        self.flow.close();
        result
    }
}
