//! Texts of shapes and cells: paragraphs of DrawingML (ECMA-376 part 1, 21.1.2).

use roxmltree::Node;

use super::bullets::Levels;
use super::bullets::{Mark, mark};
use crate::formats::ooxml::relations::Relations;
use crate::formats::ooxml::{alternative, math};
use crate::inline::Inline;
use crate::xml;

/// Levels that PowerPoint knows.
const MAX_LEVEL: usize = 8;

/// Returns the paragraphs of a text body.
pub(super) fn paragraphs<'n, 't: 'n>(body: Node<'n, 't>) -> impl Iterator<Item = Node<'n, 't>> {
    xml::children(body, "p")
}

/// Returns the level of a paragraph, from 0, and the mark that it or its shape states.
pub(super) fn marked(paragraph: Node<'_, '_>, of_shape: &Levels) -> (usize, Option<Mark>) {
    let properties = xml::child(paragraph, "pPr");
    let level = properties.and_then(|node| xml::attribute(node, "lvl")?.parse().ok());
    let level = usize::min(level.unwrap_or(0), MAX_LEVEL);
    (
        level,
        properties.and_then(mark).or_else(|| of_shape.at(level)),
    )
}

/// Whether a paragraph is nothing but formulas.
pub(super) fn is_formula(paragraph: Node<'_, '_>) -> bool {
    let has = |name| {
        let mut nodes = paragraph.descendants();
        nodes.any(|node| xml::is(node, name))
    };
    let words = paragraph
        .children()
        .filter(|child| xml::is(*child, "r") || xml::is(*child, "fld"));
    has("oMath") && words.count() == 0
}

/// Adds the words of a paragraph. `fields` tells whether the program's own date stands there as a text.
pub(super) fn write(
    parent: Node<'_, '_>,
    relations: &Relations,
    fields: bool,
    inline: &mut Inline,
) {
    let mut open: Option<&str> = None;
    for node in parent.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "r" => {
                let link = link(node, relations);
                if link != open {
                    inline.close_link();
                    link.into_iter().for_each(|link| inline.open_link(link));
                    open = link;
                }
                run(node, inline);
            }
            "fld" => {
                let kind = xml::attribute(node, "type").unwrap_or_default();
                if kind == "slidenum" && !fields {
                    inline.leave_out_number();
                }
                if kind != "slidenum" && (fields || !kind.starts_with("datetime")) {
                    run(node, inline);
                }
            }
            "br" => inline.line_break(),
            "AlternateContent" => {
                if let Some(content) = alternative(node) {
                    write(content, relations, fields, inline);
                }
            }
            "m" => inline.push(&math::text(node)),
            _ => {}
        }
    }
    inline.close_link();
}

fn run(run: Node<'_, '_>, inline: &mut Inline) {
    for text in xml::children(run, "t") {
        let text = text.text().unwrap_or_default();
        // A vertical tab is a line end in the texts of older programs.
        for (number, line) in text.split(['\n', '\u{B}']).enumerate() {
            if number > 0 {
                inline.line_break();
            }
            inline.push(line);
        }
    }
}

fn link<'a>(run: Node<'_, '_>, relations: &'a Relations) -> Option<&'a str> {
    let properties = run.children().find(|child| xml::is(*child, "rPr"))?;
    let click = properties
        .children()
        .find(|child| xml::is(*child, "hlinkClick"))?;
    relations.address(xml::attribute(click, "id")?)
}
