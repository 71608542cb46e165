//! Blocks: paragraphs and what stands between them.

use std::collections::HashMap;

use roxmltree::Node;

use super::Reader;
use super::numbering::Mark;
use super::run::Line;
use super::styles::{Style, value};
use crate::flow::{Container, title};
use crate::formats::ooxml::{alternative, math};
use crate::formats::role::Role;
use crate::inline::Flat;
use crate::{ExtractError, xml};

/// What a paragraph is.
#[derive(Clone, Copy, Debug)]
struct Kind {
    heading: Option<u64>,
    role: Role,
    list: Option<(u32, Mark)>,
}

impl Reader<'_, '_, '_, '_> {
    /// Reads the body, with its sections.
    pub(super) fn body(
        &mut self,
        body: Node<'_, '_>,
        sections: &[Node<'_, '_>],
    ) -> Result<(), ExtractError> {
        let begins_page = |section: &Node<'_, '_>| {
            !matches!(value(*section, "type"), Some("continuous" | "nextColumn"))
        };
        let numbers = sections.iter().enumerate();
        let numbers: HashMap<_, _> = numbers.map(|(number, node)| (node.id(), number)).collect();
        for child in body.children().filter(Node::is_element) {
            self.block(child)?;
            let properties = xml::child(child, "pPr");
            let section = properties.and_then(|properties| xml::child(properties, "sectPr"));
            let next = section.and_then(|section| {
                let number = numbers.get(&section.id())?;
                sections.get(number + 1)
            });
            if next.is_some_and(begins_page) {
                self.turn_page();
            }
        }
        Ok(())
    }

    /// Reads the blocks in a node.
    pub(super) fn blocks(&mut self, parent: Node<'_, '_>) -> Result<(), ExtractError> {
        for child in parent.children().filter(Node::is_element) {
            self.block(child)?;
        }
        Ok(())
    }

    fn block(&mut self, node: Node<'_, '_>) -> Result<(), ExtractError> {
        match node.tag_name().name() {
            "p" => {
                self.paragraph(node)?;
                self.notes_of_block()
            }
            "tbl" => {
                self.table(node)?;
                self.notes_of_block()
            }
            "sdt" => match xml::child(node, "sdtContent") {
                Some(content) => self.blocks(content),
                None => Ok(()),
            },
            "AlternateContent" => match alternative(node) {
                Some(content) => self.blocks(content),
                None => Ok(()),
            },
            "altChunk" => self.chunk(node),
            "oMathPara" | "oMath" => {
                self.flow.formula(&math::text(node));
                Ok(())
            }
            "customXml" | "ins" | "moveTo" | "smartTag" | "txbxContent" => self.blocks(node),
            _ => Ok(()),
        }
    }

    fn paragraph(&mut self, node: Node<'_, '_>) -> Result<(), ExtractError> {
        let properties = xml::child(node, "pPr");
        let style = properties.and_then(|properties| value(properties, "pStyle"));
        let own = properties.map(Style::of).unwrap_or_default();
        if self.in_body && self.styles.breaks_page(style, &own) {
            self.turn_page();
        }
        let kind = Kind {
            heading: self.styles.heading(style, &own),
            role: self.styles.role(style),
            list: self.numbering.place(&self.styles, style, &own),
        };
        let mut line = Line::new(self.in_body);
        self.inline(node, &mut line)?;
        let is_formula = line.is_formula();
        let (parts, beside) = match kind.role {
            role if role.is_code() && self.is_text => line.finish_code(),
            _ => line.finish(),
        };
        let last = parts.len().saturating_sub(1);
        for (number, part) in parts.into_iter().enumerate() {
            if is_formula {
                self.flow.formula(&part.text);
            } else {
                self.emit(kind, part);
            }
            if number < last {
                self.turn_page();
            }
        }
        self.beside(beside)
    }

    fn emit(&mut self, kind: Kind, flat: Flat) {
        if !self.is_text {
            return self.emit_beside(kind, flat);
        }
        match (kind.heading, kind.role) {
            (Some(level), _) => self.flow.heading(level, flat),
            (None, Role::Text | Role::Quote) => self.emit_beside(kind, flat),
            (None, role) => {
                if role == Role::Title && self.title.is_none() {
                    self.title = title(&flat.text);
                }
                role.write(flat, &mut self.flow);
            }
        }
    }

    /// Adds a paragraph that is neither heading nor caption: notes and headers have none.
    fn emit_beside(&mut self, kind: Kind, flat: Flat) {
        let mut opened = 0;
        if let Some((level, mark)) = kind.list {
            let ordered = mark == Mark::Number;
            for _ in 0..=level {
                self.flow.open(Container::List { ordered });
            }
            self.flow.open(Container::Item);
            opened = level + 2;
        } else if kind.role == Role::Quote {
            self.flow.open(Container::Quote { alert: None });
            opened = 1;
        }
        self.flow.paragraph(flat);
        for _ in 0..opened {
            self.flow.close();
        }
    }

    /// Reads a document of another format that was put in whole (`w:altChunk`).
    fn chunk(&mut self, node: Node<'_, '_>) -> Result<(), ExtractError> {
        let id = xml::attribute(node, "id").unwrap_or_default();
        let Some(part) = self.here.relations.part(id).map(str::to_owned) else {
            return Ok(());
        };
        let bytes = self.package.needed(&part, self.reading);
        let Some(bytes) = self.reading.tolerated(&part, bytes)? else {
            return Ok(());
        };
        let nested = self.reading.nested(part.as_bytes(), &bytes);
        if let Some(document) = self.reading.tolerated(&part, nested)? {
            self.flow.append(document.pages);
        }
        Ok(())
    }
}
