//! What belongs to a slide and is not on it: the speaker's notes and comments.

use dpe_connector::content::Metadata;
use roxmltree::Node;

use super::Reader;
use super::bullets::Placeholder;
use super::slide::Surface;
use crate::flow::Container;
use crate::formats::docx;
use crate::formats::ooxml::diagram::plain_paragraph;
use crate::formats::ooxml::relations::Relations;
use crate::formats::ooxml::with_part;
use crate::inline::Inline;
use crate::{ExtractError, times, xml};

impl Reader<'_, '_, '_> {
    /// Reads the notes of a slide.
    pub(super) fn notes(&mut self, surface: &mut Surface) -> Result<(), ExtractError> {
        let part = surface.relations.of_kind("notesSlide").next();
        let Some(part) = part.map(str::to_owned) else {
            return Ok(());
        };
        let there = Relations::of(&part, self.package, self.reading)?;
        let here = std::mem::replace(&mut surface.relations, there);
        let mut said = Metadata::new();
        said.insert("notes".to_owned(), true.into());
        surface.flow.open(Container::Aside(said));
        self.in_part(&part, |_, root| {
            for shape in xml::outermost(root, |node| xml::is(node, "sp")) {
                let is_notes = Placeholder::of(shape)
                    .is_none_or(|placeholder| matches!(&*placeholder.kind, "body" | ""));
                let body = shape.children().find(|child| xml::is(*child, "txBody"));
                if let Some(body) = body.filter(|_| is_notes) {
                    surface.paragraphs(body, None, true);
                }
            }
            Ok(())
        })?;
        surface.flow.close();
        surface.relations = here;
        Ok(())
    }

    /// Reads the comments on a slide, those of 2007 and the threads of 2018.
    pub(super) fn comments(&mut self, surface: &mut Surface) -> Result<(), ExtractError> {
        let parts: Vec<String> = surface
            .relations
            .of_kind("comments")
            .map(str::to_owned)
            .collect();
        for part in parts {
            self.in_part(&part, |reader, root| {
                let is_words = |node| xml::is(node, "text") || xml::is(node, "txBody");
                for comment in xml::outermost(root, |node| xml::is(node, "cm")) {
                    reader.comment(comment, surface);
                    let inside = |node| xml::is(node, "reply") || is_words(node);
                    let replies = xml::outermost(comment, inside);
                    for reply in replies.filter(|node| xml::is(*node, "reply")) {
                        reader.comment(reply, surface);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    fn comment(&mut self, comment: Node<'_, '_>, surface: &mut Surface) {
        let author = xml::attribute(comment, "authorId");
        let author = author.and_then(|id| self.authors.get(id)).cloned();
        let created = ["dt", "created"];
        let created = created
            .into_iter()
            .find_map(|name| xml::attribute(comment, name));
        let said = docx::comment(author, created.and_then(times::rfc3339));
        surface.flow.open(Container::Aside(said));
        for node in comment.children().filter(Node::is_element) {
            let mut inline = Inline::default();
            match node.tag_name().name() {
                "text" => inline.push(node.text().unwrap_or_default()),
                "txBody" => {
                    for paragraph in node.children().filter(|child| xml::is(*child, "p")) {
                        inline.begin_line();
                        plain_paragraph(paragraph, &mut inline);
                    }
                }
                _ => continue,
            }
            surface.flow.paragraph(inline.take());
        }
        surface.flow.close();
    }

    /// Looks up who comments.
    pub(super) fn find_authors(&mut self) -> Result<(), ExtractError> {
        let kinds = ["commentAuthors", "authors"].into_iter();
        let parts = kinds.flat_map(|kind| self.relations.of_kind(kind));
        let parts: Vec<String> = parts.map(str::to_owned).collect();
        let authors = &mut self.authors;
        for part in parts {
            with_part(&part, self.package, self.reading, |root, _, _| {
                for author in root.children().filter(Node::is_element) {
                    let value = |name| xml::attribute(author, name).map(str::to_owned);
                    if let (Some(id), Some(name)) = (value("id"), value("name")) {
                        authors.insert(id, name);
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}
