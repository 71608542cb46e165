//! Blocks: paragraphs, lists, sections and what stands between them (ODF 1.3 part 3, 5).

use roxmltree::Node;

use super::text::{Beside, Line};
use super::{Reader, meta};
use crate::flow::{Container, title};
use crate::formats::docx;
use crate::formats::role::Role;
use crate::inline::Flat;
use crate::{ExtractError, xml};

/// OpenDocument knows ten levels of headings.
const MAX_LEVEL: u64 = 10;

impl<'t> Reader<'_, '_, '_, 't> {
    /// Reads the blocks in a node.
    pub(super) fn blocks(&mut self, parent: Node<'t, 't>) -> Result<(), ExtractError> {
        for child in parent.children().filter(Node::is_element) {
            self.block(child)?;
        }
        Ok(())
    }

    pub(super) fn block(&mut self, node: Node<'t, 't>) -> Result<(), ExtractError> {
        match node.tag_name().name() {
            "p" | "h" => {
                self.paragraph(node)?;
                self.notes_of_block()
            }
            "list" => self.list(node, "", 1),
            "table" => {
                self.table(node)?;
                self.notes_of_block()
            }
            "annotation" => {
                self.comments.push(node);
                Ok(())
            }
            // Where things come from, and not what they are.
            "tracked-changes" | "forms" | "scripts" | "title" | "desc" => Ok(()),
            name if name.ends_with("-source") || name.ends_with("-decls") => Ok(()),
            _ if is_drawn(node) => {
                let mut line = Line::default();
                self.shape(node, None, &mut line)?;
                self.emit_line(line)
            }
            _ => self.blocks(node),
        }
    }

    /// Adds what was found where no paragraph is.
    fn emit_line(&mut self, mut line: Line<'t>) -> Result<(), ExtractError> {
        let flat = line.inline.take();
        self.flow.paragraph(flat);
        self.beside(line.beside)
    }

    fn paragraph(&mut self, node: Node<'t, 't>) -> Result<(), ExtractError> {
        let style = xml::attribute(node, "style-name").unwrap_or_default();
        let (before, after) = self.styles.breaks("paragraph", style);
        if before && self.in_body {
            self.turn_page();
        }
        let level = xml::is(node, "h").then(|| {
            let level = xml::attribute(node, "outline-level");
            let level = level.and_then(|level| level.parse().ok()).unwrap_or(1);
            u64::clamp(level, 1, MAX_LEVEL)
        });
        let mut line = Line::default();
        self.inline(node, &mut line)?;
        let role = self.styles.role(style);
        let flat = match role {
            role if role.is_code() && self.is_text => line.inline.take_code(),
            _ => line.inline.take(),
        };
        self.emit(level, role, flat);
        self.beside(line.beside)?;
        if after && self.in_body {
            self.turn_page();
        }
        Ok(())
    }

    fn emit(&mut self, level: Option<u64>, role: Role, flat: Flat) {
        if !self.is_text {
            return self.flow.paragraph(flat);
        }
        if let Some(level) = level {
            return self.flow.heading(level, flat);
        }
        if role == Role::Title && self.title.is_none() {
            self.title = title(&flat.text);
        }
        role.write(flat, &mut self.flow);
    }

    /// Reads a list; one within another has its style unless it names one.
    fn list(&mut self, list: Node<'t, 't>, outer: &str, level: u32) -> Result<(), ExtractError> {
        let style = xml::attribute(list, "style-name").unwrap_or(outer);
        let ordered = self.styles.is_ordered(style, level);
        self.flow.open(Container::List { ordered });
        for item in list.children().filter(Node::is_element) {
            let is_item = xml::is(item, "list-item");
            if is_item {
                self.flow.open(Container::Item);
            }
            for child in item.children().filter(Node::is_element) {
                match child.tag_name().name() {
                    "list" => self.list(child, style, level + 1)?,
                    _ => self.block(child)?,
                }
            }
            if is_item {
                self.flow.close();
            }
        }
        self.flow.close();
        Ok(())
    }

    /// Reads what was noted in a paragraph.
    pub(super) fn beside(&mut self, all: Vec<Beside<'t>>) -> Result<(), ExtractError> {
        let in_body = std::mem::replace(&mut self.in_body, false);
        for beside in all {
            match beside {
                Beside::Blocks(node) => self.blocks(node)?,
                Beside::Object(frame, link) => self.object(frame, link)?,
            }
        }
        self.in_body = in_body;
        Ok(())
    }

    pub(super) fn comment(&mut self, node: Node<'t, 't>) -> Result<(), ExtractError> {
        let (author, created) = meta::author_and_date(node);
        let said = docx::comment(author, created);
        self.flow.open(Container::Aside(said));
        self.apart(|reader| {
            let texts = node.children().filter(|child| {
                xml::is(*child, "p") || xml::is(*child, "list") || xml::is(*child, "h")
            });
            for text in texts {
                reader.block(text)?;
            }
            Ok(())
        })?;
        self.flow.close();
        Ok(())
    }
}

/// Whether a node is a shape or a frame.
pub(super) fn is_drawn(node: Node<'_, '_>) -> bool {
    let namespace = node.tag_name().namespace().unwrap_or_default();
    (namespace.contains("drawing") || namespace.contains("dr3d"))
        && !xml::is(node, "text-box")
        && !xml::is(node, "page")
}
