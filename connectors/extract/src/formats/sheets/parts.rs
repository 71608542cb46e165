//! What stands beside the cells in the sheets of Office Open XML: comments, shapes, pictures, charts.

use roxmltree::Node;

use super::Sheet;
use crate::ExtractError;
use crate::flow::Flow;
use crate::formats::ooxml::relations::Relations;
use crate::formats::ooxml::{alternative, chart, diagram, with_part};
use crate::inline::Inline;
use crate::package::Package;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::xml;

/// What the parts of a workbook have in common while they are read.
pub(super) struct Surroundings<'p, 'b, 'r, 'l> {
    pub(super) package: &'p mut Package<'b>,
    pub(super) reading: &'r mut Reading<'l>,
    pub(super) pictures: Pictures,
}

impl Surroundings<'_, '_, '_, '_> {
    /// Reads the comments and the drawings of a sheet.
    pub(super) fn add(
        &mut self,
        of_sheet: &Relations,
        sheet: &mut Sheet,
    ) -> Result<(), ExtractError> {
        for part in of_sheet.of_kind("comments") {
            self.comments(part, sheet)?;
        }
        for part in of_sheet.of_kind("drawing") {
            self.drawing(part, sheet)?;
        }
        Ok(())
    }

    fn comments(&mut self, part: &str, sheet: &mut Sheet) -> Result<(), ExtractError> {
        // Those of XLSB are binary; who reads them says so.
        if part.ends_with(".bin") {
            return Ok(());
        }
        with_part(part, self.package, self.reading, |root, _, _| {
            for comment in xml::outermost(root, |node| xml::is(node, "comment")) {
                let text: String = comment
                    .descendants()
                    .filter(|node| xml::is(*node, "t") && !is_phonetic(*node))
                    .filter_map(|node| node.text())
                    .collect();
                sheet.comments.push(text);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn drawing(&mut self, part: &str, sheet: &mut Sheet) -> Result<(), ExtractError> {
        let relations = Relations::of(part, self.package, self.reading)?;
        let mut found = Found::default();
        with_part(part, self.package, self.reading, |root, _, _| {
            found.walk(root);
            Ok(())
        })?;
        sheet.texts.append(&mut found.texts);
        for (id, alt) in found.pictures {
            let Some(name) = relations.part(&id) else {
                continue;
            };
            let picture = self.pictures.of_part(name, self.package, self.reading)?;
            if let Some(mut picture) = picture {
                picture.alt = alt;
                sheet.pictures.push(picture);
            }
        }
        for part in ["chart", "chartEx"]
            .iter()
            .flat_map(|kind| relations.of_kind(kind))
        {
            with_part(part, self.package, self.reading, |root, _, reading| {
                chart::read(root, sheet.beside(reading));
                Ok(())
            })?;
        }
        for part in relations.of_kind("diagramData") {
            with_part(part, self.package, self.reading, |root, _, reading| {
                diagram::read(root, sheet.beside(reading));
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Whether a text says how another is spoken.
fn is_phonetic(text: Node<'_, '_>) -> bool {
    text.parent().is_some_and(|parent| xml::is(parent, "rPh"))
}

/// What a drawing shows itself, and what it refers to.
#[derive(Debug, Default)]
struct Found {
    texts: Vec<String>,
    /// Relations of pictures, and what stands for them.
    pictures: Vec<(String, String)>,
}

impl Found {
    /// Walks through a drawing; how deep it nests is bounded where it was parsed.
    fn walk(&mut self, node: Node<'_, '_>) {
        match node.tag_name().name() {
            "AlternateContent" => {
                if let Some(chosen) = alternative(node) {
                    self.walk(chosen);
                }
                return;
            }
            "pic" => {
                self.picture(node);
                return;
            }
            "txBody" => {
                self.text(node);
                return;
            }
            _ => {}
        }
        node.children()
            .filter(Node::is_element)
            .for_each(|child| self.walk(child));
    }

    fn picture(&mut self, picture: Node<'_, '_>) {
        let mut inside = picture.descendants();
        let blip = inside.find(|node| xml::is(*node, "blip"));
        let id = blip.and_then(|blip| xml::attribute(blip, "embed"));
        let properties = picture.descendants().find(|node| xml::is(*node, "cNvPr"));
        let alt = properties.and_then(|node| xml::attribute(node, "descr"));
        if let Some(id) = id {
            self.pictures
                .push((id.to_owned(), alt.unwrap_or_default().to_owned()));
        }
    }

    fn text(&mut self, body: Node<'_, '_>) {
        let mut inline = Inline::default();
        for paragraph in xml::outermost(body, |node| xml::is(node, "p")) {
            inline.begin_line();
            diagram::plain_paragraph(paragraph, &mut inline);
        }
        if !inline.is_blank() {
            self.texts.push(inline.take().text);
        }
    }
}

/// Makes sure that what a drawing showed is written in the flow of its page.
pub(super) fn append(flow: &mut Flow, beside: Flow) {
    let elements = beside.finish().1.into_vec();
    flow.append(crate::pages::of(elements));
}
