//! One slide: its shapes, in the order of their tree, and what belongs to it beside them.

use std::rc::Rc;

use dpe_connector::content::{Category, Element};
use roxmltree::Node;

use super::bullets::{Bullets, Levels, Mark, Placeholder};
use super::{Reader, table, text};
use crate::flow::{Container, Flow, title};
use crate::formats::ooxml::relations::Relations;
use crate::formats::ooxml::{alternative, chart, diagram, with_part};
use crate::inline::{Flat, Inline, Picture};
use crate::{ExtractError, xml};

/// A slide that was read.
#[derive(Debug, Default)]
pub(super) struct Slide {
    pub(super) title: Option<String>,
    pub(super) elements: Vec<Element>,
}

/// A slide under way.
pub(super) struct Surface {
    pub(super) flow: Flow,
    pub(super) relations: Relations,
    bullets: Rc<Bullets>,
    title: Option<String>,
}

impl Reader<'_, '_, '_> {
    pub(super) fn slide(&mut self, part: &str) -> Result<Slide, ExtractError> {
        let relations = Relations::of(part, self.package, self.reading)?;
        let bullets = self.bullets(&relations)?;
        let mut surface = Surface {
            flow: Flow::of(self.reading.made()),
            relations,
            bullets,
            title: None,
        };
        self.in_part(part, |reader, root| {
            let trees = root.descendants().filter(|node| xml::is(*node, "spTree"));
            trees
                .take(1)
                .try_for_each(|tree| reader.shapes(tree, &mut surface))
        })?;
        self.notes(&mut surface)?;
        self.comments(&mut surface)?;
        let (_, elements) = surface.flow.finish();
        Ok(Slide {
            title: surface.title,
            elements: elements.into_vec(),
        })
    }

    /// Reads a part; one that cannot be read is noted.
    pub(super) fn in_part(
        &mut self,
        part: &str,
        read: impl FnOnce(&mut Self, Node<'_, '_>) -> Result<(), ExtractError>,
    ) -> Result<(), ExtractError> {
        let bytes = self.package.needed(part, self.reading);
        let text = bytes.and_then(|bytes| xml::text(&bytes));
        let Some(text) = self.reading.tolerated(part, text)? else {
            return Ok(());
        };
        let tree = xml::parse(&text, self.reading);
        match self.reading.tolerated(part, tree)? {
            Some(tree) => read(self, tree.root_element()),
            None => Ok(()),
        }
    }

    /// Returns what a slide takes over from its layout and that one's master.
    fn bullets(&mut self, slide: &Relations) -> Result<Rc<Bullets>, ExtractError> {
        let layout = slide.of_kind("slideLayout").next().unwrap_or_default();
        if let Some(known) = self.bullets.get(layout) {
            return Ok(Rc::clone(known));
        }
        let mut bullets = Bullets::default();
        with_part(layout, self.package, self.reading, |root, _, _| {
            bullets.read_layout(root);
            Ok(())
        })?;
        let of_layout = Relations::of(layout, self.package, self.reading)?;
        if let Some(master) = of_layout.of_kind("slideMaster").next() {
            with_part(master, self.package, self.reading, |root, _, _| {
                bullets.read_master(root);
                Ok(())
            })?;
        }
        let bullets = Rc::new(bullets);
        self.bullets.insert(layout.to_owned(), Rc::clone(&bullets));
        Ok(bullets)
    }

    pub(super) fn shapes(
        &mut self,
        parent: Node<'_, '_>,
        surface: &mut Surface,
    ) -> Result<(), ExtractError> {
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "sp" | "cxnSp" => surface.shape(node),
                "grpSp" => self.shapes(node, surface)?,
                "pic" => self.picture(node, surface)?,
                "graphicFrame" => self.frame(node, surface)?,
                "AlternateContent" => {
                    if let Some(content) = alternative(node) {
                        self.shapes(content, surface)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn picture(&mut self, node: Node<'_, '_>, surface: &mut Surface) -> Result<(), ExtractError> {
        let fill = node.children().find(|child| xml::is(*child, "blipFill"));
        let blip = fill.and_then(|fill| xml::child(fill, "blip"));
        let Some(blip) = blip else { return Ok(()) };
        // Some drawings have no second form for programs that cannot draw them.
        let drawing = blip.descendants().find(|node| xml::is(*node, "svgBlip"));
        let ids = [Some(blip), drawing]
            .into_iter()
            .flatten()
            .flat_map(|node| {
                ["embed", "link"].map(|name| xml::attribute(node, name).unwrap_or_default())
            });
        let ids: Vec<&str> = ids.collect();
        let relations = &surface.relations;
        let address = ids.iter().find_map(|id| relations.address(id));
        let mut picture = Picture::at(address.unwrap_or_default());
        let part = ids.iter().find_map(|id| relations.part(id));
        if let Some(part) = part {
            let read = self.pictures.of_part(part, self.package, self.reading)?;
            picture = read.unwrap_or_default();
        }
        describe(node, relations, &mut picture);
        surface.flow.paragraph(Flat::of_picture(Some(picture)));
        Ok(())
    }

    /// Reads a frame around a table, a chart, a diagram or a document of another program.
    fn frame(&mut self, parent: Node<'_, '_>, surface: &mut Surface) -> Result<(), ExtractError> {
        for node in parent.children().filter(Node::is_element) {
            let part = |name| {
                let id = xml::attribute(node, name).unwrap_or_default();
                surface.relations.part(id).map(str::to_owned)
            };
            match node.tag_name().name() {
                "tbl" => {
                    let grid = table::read(node, &surface.relations);
                    surface.flow.table(grid, Vec::new());
                }
                "chart" => {
                    let part = part("id").unwrap_or_default();
                    with_part(&part, self.package, self.reading, |root, _, _| {
                        chart::read(root, &mut surface.flow);
                        Ok(())
                    })?;
                }
                "relIds" => {
                    let part = part("dm").unwrap_or_default();
                    with_part(&part, self.package, self.reading, |root, _, _| {
                        diagram::read(root, &mut surface.flow);
                        Ok(())
                    })?;
                }
                "pic" => self.picture(node, surface)?,
                "sp" => surface.shape(node),
                "grpSp" => self.shapes(node, surface)?,
                "AlternateContent" => {
                    if let Some(content) = alternative(node) {
                        self.frame(content, surface)?;
                    }
                }
                _ => self.frame(node, surface)?,
            }
        }
        Ok(())
    }
}

impl Surface {
    /// Reads a shape with a text.
    fn shape(&mut self, shape: Node<'_, '_>) {
        let placeholder = Placeholder::of(shape);
        let Some(body) = shape.children().find(|child| xml::is(*child, "txBody")) else {
            return;
        };
        match placeholder {
            Some(placeholder) if placeholder.is_title() => self.heading(body),
            Some(placeholder) if placeholder.is_furniture() => {
                let region = if placeholder.kind == "hdr" {
                    Category::Header
                } else {
                    Category::Footer
                };
                self.flow.open(Container::Region(region));
                self.paragraphs(body, None, false);
                self.flow.close();
            }
            placeholder => self.paragraphs(body, placeholder.as_ref(), true),
        }
    }

    fn heading(&mut self, body: Node<'_, '_>) {
        let mut inline = Inline::default();
        for paragraph in text::paragraphs(body) {
            inline.begin_line();
            text::write(paragraph, &self.relations, true, &mut inline);
        }
        let flat = inline.take();
        if self.title.is_some() {
            return self.flow.heading(1, flat);
        }
        self.title = title(&flat.text);
        self.flow.page_heading(flat);
    }

    /// Adds the paragraphs of a text.
    pub(super) fn paragraphs(
        &mut self,
        body: Node<'_, '_>,
        placeholder: Option<&Placeholder>,
        fields: bool,
    ) {
        let of_shape = Levels::of(xml::child(body, "lstStyle"));
        for paragraph in text::paragraphs(body) {
            let (level, mark) = text::marked(paragraph, &of_shape);
            let inherited = || self.bullets.inherited(placeholder?, level);
            let mark = mark.or_else(inherited).unwrap_or(Mark::None);
            let mut inline = Inline::default();
            text::write(paragraph, &self.relations, fields, &mut inline);
            let flat = inline.take();
            if text::is_formula(paragraph) {
                self.flow.formula(&flat.text);
            } else {
                self.paragraph(flat, level, mark);
            }
        }
    }

    fn paragraph(&mut self, flat: Flat, level: usize, mark: Mark) {
        let ordered = mark == Mark::Number;
        let lists = if mark == Mark::None { 0 } else { level + 1 };
        for _ in 0..lists {
            self.flow.open(Container::List { ordered });
        }
        if lists > 0 {
            self.flow.open(Container::Item);
        }
        self.flow.paragraph(flat);
        for _ in 0..lists + usize::from(lists > 0) {
            self.flow.close();
        }
    }
}

/// Writes what a picture says of itself.
fn describe(node: Node<'_, '_>, relations: &Relations, picture: &mut Picture) {
    let properties = node.descendants().find(|node| xml::is(*node, "cNvPr"));
    let Some(properties) = properties else { return };
    let value = |name| {
        let value = xml::attribute(properties, name).map(str::trim);
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    picture.alt = value("descr").unwrap_or_default();
    picture.title = value("title");
    let click = properties
        .children()
        .find(|child| xml::is(*child, "hlinkClick"));
    let link = click.and_then(|click| relations.address(xml::attribute(click, "id")?));
    picture.link = link.map(str::to_owned);
}
