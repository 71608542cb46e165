//! What is hung up in paragraphs: pictures, text boxes, charts, diagrams, in DrawingML and in VML.

use roxmltree::Node;

use super::Reader;
use super::run::{Beside, Line};
use crate::formats::ooxml::{alternative, chart, diagram, with_part};
use crate::inline::{Inline, Picture};
use crate::{ExtractError, xml};

/// What a drawing says of itself.
#[derive(Clone, Debug, Default)]
struct Described {
    text: String,
    title: Option<String>,
    link: Option<String>,
}

impl Reader<'_, '_, '_, '_> {
    /// Adds the pictures of a drawing, and notes what else is in it.
    pub(super) fn graphic<'n, 't>(
        &mut self,
        node: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        self.drawn(node, &Described::default(), line)
    }

    fn drawn<'n, 't>(
        &mut self,
        parent: Node<'n, 't>,
        described: &Described,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        let own = self.description(parent);
        let described = own.as_ref().unwrap_or(described);
        for node in parent.children().filter(Node::is_element) {
            let id = |name| xml::attribute(node, name).unwrap_or_default();
            match node.tag_name().name() {
                "blip" => self.picture(id("embed"), id("link"), described, line)?,
                "imagedata" => self.picture(id("id"), id("href"), described, line)?,
                "txbxContent" => line.beside.push(Beside::Blocks(node)),
                "txBody" => line.beside.push(Beside::Drawn(node)),
                "textpath" => line.inline.push(id("string")),
                "chart" | "relIds" => {
                    let is_chart = xml::is(node, "chart");
                    let id = id(if is_chart { "id" } else { "dm" });
                    if let Some(part) = self.here.relations.part(id).map(str::to_owned) {
                        line.beside.push(match is_chart {
                            true => Beside::Chart(part),
                            false => Beside::Diagram(part),
                        });
                    }
                }
                "AlternateContent" => {
                    if let Some(content) = alternative(node) {
                        self.drawn(content, described, line)?;
                    }
                }
                _ => self.drawn(node, described, line)?,
            }
        }
        Ok(())
    }

    /// Returns how a node's content is described: beside it (`wp:docPr`, `pic:cNvPr`), or by itself in VML.
    fn description(&self, node: Node<'_, '_>) -> Option<Described> {
        let value = |node, name| {
            let value = xml::attribute(node, name).map(str::trim);
            value.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        if let Some(text) = value(node, "alt") {
            return Some(Described {
                text,
                ..Described::default()
            });
        }
        let properties = node
            .children()
            .find_map(|child| match child.tag_name().name() {
                "docPr" => Some(child),
                "nvPicPr" => child.children().find(|child| xml::is(*child, "cNvPr")),
                _ => None,
            })?;
        let click = properties
            .children()
            .find(|child| xml::is(*child, "hlinkClick"));
        let link =
            click.and_then(|click| self.here.relations.address(xml::attribute(click, "id")?));
        let described = Described {
            text: value(properties, "descr").unwrap_or_default(),
            title: value(properties, "title"),
            link: link.map(str::to_owned),
        };
        let says_nothing =
            described.text.is_empty() && described.title.is_none() && described.link.is_none();
        (!says_nothing).then_some(described)
    }

    fn picture(
        &mut self,
        embedded: &str,
        linked: &str,
        described: &Described,
        line: &mut Line<'_, '_>,
    ) -> Result<(), ExtractError> {
        let relations = &self.here.relations;
        let address = [embedded, linked]
            .into_iter()
            .find_map(|id| relations.address(id));
        let mut picture = Picture::at(address.unwrap_or_default());
        let part = [embedded, linked]
            .into_iter()
            .find_map(|id| relations.part(id));
        if let Some(part) = part.map(str::to_owned) {
            let read = self.pictures.of_part(&part, self.package, self.reading)?;
            picture = read.unwrap_or_default();
        }
        picture.alt.clone_from(&described.text);
        picture.title.clone_from(&described.title);
        picture.link.clone_from(&described.link);
        line.inline.picture(picture);
        Ok(())
    }

    /// Reads what was noted.
    pub(super) fn beside(&mut self, all: Vec<Beside<'_, '_>>) -> Result<(), ExtractError> {
        let open = self.here.fields.set_aside();
        let in_body = std::mem::replace(&mut self.in_body, false);
        for beside in all {
            self.one_beside(beside)?;
        }
        self.in_body = in_body;
        self.here.fields.resume(open);
        Ok(())
    }

    fn one_beside(&mut self, beside: Beside<'_, '_>) -> Result<(), ExtractError> {
        let flow = &mut self.flow;
        match beside {
            Beside::Blocks(node) => self.blocks(node)?,
            Beside::Drawn(body) => {
                for paragraph in body.children().filter(|child| xml::is(*child, "p")) {
                    let mut inline = Inline::default();
                    diagram::plain_paragraph(paragraph, &mut inline);
                    flow.paragraph(inline.take());
                }
            }
            Beside::Chart(part) => {
                with_part(&part, self.package, self.reading, |root, _, _| {
                    chart::read(root, flow);
                    Ok(())
                })?;
            }
            Beside::Diagram(part) => {
                with_part(&part, self.package, self.reading, |root, _, _| {
                    diagram::read(root, flow);
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}
