//! Documents of another kind within a text or a slide: formulas, charts with their values, small sheets.
//!
//! They are read plainly: tables as tables, other texts as paragraphs.

use roxmltree::Node;

use super::table::{cells, rows};
use super::{Reader, mathml};
use crate::flow::Flow;
use crate::formats::ooxml::properties::text_of;
use crate::formats::ooxml::relations::join;
use crate::grid::{Cell, Grid};
use crate::inline::Inline;
use crate::{ExtractError, xml};

/// No object on a page has larger tables.
const MAX_CELLS: usize = 1000;

impl Reader<'_, '_, '_, '_> {
    /// Reads the object in a folder of the package. `false` if there is nothing to read.
    pub(super) fn object_part(&mut self, folder: &str) -> Result<bool, ExtractError> {
        // The package itself is no object in it.
        if folder.is_empty() {
            return Ok(false);
        }
        let part = join(folder, "content.xml");
        let bytes = self.package.part(&part, self.reading);
        let Some(bytes) = self.reading.tolerated(&part, bytes)?.flatten() else {
            return Ok(false);
        };
        let text = xml::text(&bytes);
        let Some(text) = self.reading.tolerated(&part, text)? else {
            return Ok(false);
        };
        let tree = xml::parse(&text, self.reading);
        let tree = self.reading.tolerated(&part, tree)?;
        Ok(tree.is_some_and(|tree| read(tree.root(), &mut self.flow)))
    }
}

/// Adds what an object holds. `false` if there is nothing to read.
pub(super) fn read<'t>(object: Node<'t, 't>, flow: &mut Flow) -> bool {
    if let Some(formula) = object.descendants().find(|node| xml::is(*node, "math")) {
        let text = mathml::text(formula);
        flow.formula(&text);
        return !text.trim().is_empty();
    }
    let body = object.descendants().find(|node| xml::is(*node, "body"));
    body.is_some_and(|body| plain(body, flow))
}

fn plain<'t>(parent: Node<'t, 't>, flow: &mut Flow) -> bool {
    let mut found = false;
    for node in parent.children().filter(Node::is_element) {
        match node.tag_name().name() {
            "table" => {
                table(node, flow);
                found = true;
            }
            "p" | "h" => {
                let mut inline = Inline::default();
                inline.push_collapsed(&text_of(node));
                found |= !inline.is_blank();
                flow.paragraph(inline.take());
            }
            "forms" | "annotation" | "tracked-changes" => {}
            _ => found |= plain(node, flow),
        }
    }
    found
}

fn table<'t>(table: Node<'t, 't>, flow: &mut Flow) {
    let mut grid = Grid::new();
    let mut all = Vec::new();
    rows(table, false, &mut all);
    for (row, is_header) in all.into_iter().take(MAX_CELLS) {
        let mut texts: Vec<String> = cells(row).take(MAX_CELLS).map(cell).collect();
        while texts.last().is_some_and(String::is_empty) {
            texts.pop();
        }
        if texts.is_empty() {
            continue;
        }
        let cells = texts.iter().map(|text| Cell {
            text,
            ..Cell::default()
        });
        grid.row(is_header, cells);
    }
    flow.table(grid, Vec::new());
}

fn cell(cell: Node<'_, '_>) -> String {
    let mut inline = Inline::default();
    // Lists in cells of charts say what the paragraph before them says, level by level.
    let blocks = xml::outermost(cell, |node| xml::is(node, "p") || xml::is(node, "list"));
    for paragraph in blocks.filter(|node| xml::is(*node, "p")) {
        inline.begin_line();
        inline.push_collapsed(&text_of(paragraph));
    }
    inline.take().text
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::flow::Flow;

    #[test]
    fn levels_of_categories_are_no_second_words() {
        let source = "<d><body><table><table-row><table-cell><p>A In0</p><list><list-item><p>A</p></list-item>\
            <list-item><p>In0</p></list-item></list></table-cell><table-cell><p>1</p></table-cell></table-row></table></body></d>";
        let tree = roxmltree::Document::parse(source).unwrap();
        let mut flow = Flow::default();
        assert!(read(tree.root(), &mut flow));
        let elements = flow.finish().1.into_vec();
        assert_eq!(elements[0].text.as_deref(), Some("A In0\t1"));
    }
}
