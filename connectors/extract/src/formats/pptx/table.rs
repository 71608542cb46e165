//! Tables on slides (ECMA-376 part 1, 21.1.3).

use roxmltree::Node;

use super::text;
use crate::formats::ooxml::relations::Relations;
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline};
use crate::xml;

/// No cell covers more.
const MAX_SPAN: u32 = 1000;

/// Returns the rows of a table.
pub(super) fn read(table: Node<'_, '_>, relations: &Relations) -> Grid {
    let properties = xml::child(table, "tblPr");
    let first_row = properties.and_then(|node| xml::attribute(node, "firstRow"));
    let has_header = matches!(first_row, Some("1" | "true"));
    let mut grid = Grid::new();
    for (number, row) in xml::children(table, "tr").enumerate() {
        let cells = xml::children(row, "tc").filter(|cell| !is_covered(*cell));
        let cells: Vec<(Node<'_, '_>, Flat)> =
            cells.map(|cell| (cell, flat(cell, relations))).collect();
        grid.row(
            has_header && number == 0,
            cells.iter().map(|(cell, flat)| Cell {
                text: &flat.text,
                links: &flat.links,
                columns: span(*cell, "gridSpan"),
                rows: span(*cell, "rowSpan"),
                names: false,
            }),
        );
    }
    grid
}

/// Whether another cell goes on here.
fn is_covered(cell: Node<'_, '_>) -> bool {
    let mut merges = ["hMerge", "vMerge"].into_iter();
    merges.any(|merge| matches!(xml::attribute(cell, merge), Some("1" | "true")))
}

fn span(cell: Node<'_, '_>, name: &str) -> u32 {
    let span = xml::attribute(cell, name).and_then(|span| span.parse().ok());
    u32::min(span.unwrap_or(1), MAX_SPAN)
}

fn flat(cell: Node<'_, '_>, relations: &Relations) -> Flat {
    let mut inline = Inline::default();
    let body = cell.children().find(|child| xml::is(*child, "txBody"));
    for paragraph in body.into_iter().flat_map(text::paragraphs) {
        inline.begin_line();
        text::write(paragraph, relations, true, &mut inline);
    }
    inline.take()
}
