//! Tables. Their cells are flattened; a table that only frames one text is that text. What the file says to repeat is
//! repeated within bounds.

use roxmltree::Node;

use super::Reader;
use super::text::Line;
use crate::grid::{Cell, Grid};
use crate::inline::Flat;
use crate::{ExtractError, xml};

/// No cell covers more.
const MAX_SPAN: u32 = 1000;
/// A cell or row is repeated at most so often.
const MAX_REPEATS: usize = 256;
/// All repetitions of a document have at most so many bytes.
pub(super) const MAX_REPEATED_BYTES: usize = 1 << 20;
/// What an empty cell costs.
const CELL_BYTES: usize = 16;

/// A cell that was read, and how often it is there.
struct Found<'t> {
    node: Node<'t, 't>,
    flat: Flat,
    count: usize,
}

impl<'t> Reader<'_, '_, '_, 't> {
    pub(super) fn table(&mut self, table: Node<'t, 't>) -> Result<(), ExtractError> {
        let style = xml::attribute(table, "style-name").unwrap_or_default();
        let (before, after) = self.styles.breaks("table", style);
        if before && self.in_body {
            self.turn_page();
        }
        let mut all = Vec::new();
        rows(table, false, &mut all);
        // Tables on slides have no rows of their own for the header.
        if xml::attribute(table, "use-first-row-styles") == Some("true")
            && let Some((_, is_header)) = all.first_mut()
        {
            *is_header = true;
        }
        if frames_blocks(&all) {
            for cell in all.iter().flat_map(|(row, _)| cells(*row)) {
                self.blocks(cell)?;
            }
        } else {
            self.data(all)?;
        }
        if after && self.in_body {
            self.turn_page();
        }
        Ok(())
    }

    fn data(&mut self, rows: Vec<(Node<'t, 't>, bool)>) -> Result<(), ExtractError> {
        let mut grid = Grid::new();
        let mut pictures = Vec::new();
        let mut beside = Vec::new();
        let mut is_leading = true;
        for (row, is_header) in rows {
            is_leading &= is_header;
            let mut found = Vec::new();
            for node in cells(row) {
                let mut line = Line::default();
                self.cell(node, &mut line)?;
                beside.append(&mut line.beside);
                let flat = line.inline.take();
                let count = self.repeats(node, "number-columns-repeated", flat.text.len());
                found.push(Found { node, flat, count });
            }
            let bytes = found
                .iter()
                .map(|cell| (cell.flat.text.len() + CELL_BYTES) * cell.count);
            for _ in 0..self.repeats(row, "number-rows-repeated", bytes.sum()) {
                let cells = found
                    .iter()
                    .flat_map(|cell| std::iter::repeat_n(cell, cell.count));
                grid.row(is_leading, cells.map(Found::cell));
            }
            let flats = found.iter_mut().map(|cell| &mut cell.flat);
            pictures.extend(flats.flat_map(|flat| flat.pictures.drain(..)));
        }
        self.flow.table(grid, pictures);
        self.beside(beside)
    }

    /// Returns how often a cell or row is there, as far as it may be.
    fn repeats(&mut self, node: Node<'_, '_>, name: &str, bytes: usize) -> usize {
        let declared = xml::attribute(node, name).and_then(|count| count.parse().ok());
        let wanted = usize::clamp(declared.unwrap_or(1), 1, MAX_REPEATS) - 1;
        let cost = bytes + CELL_BYTES;
        let more = wanted.min(self.repeats / cost);
        self.repeats -= more * cost;
        1 + more
    }

    /// Flattens the blocks of a cell; each begins a line.
    fn cell(&mut self, parent: Node<'t, 't>, line: &mut Line<'t>) -> Result<(), ExtractError> {
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "p" | "h" => {
                    line.inline.begin_line();
                    self.inline(node, line)?;
                }
                "table" => self.inner_table(node, line)?,
                "annotation" => self.comments.push(node),
                _ if super::block::is_drawn(node) => self.shape(node, None, line)?,
                name if name.ends_with("-source") => {}
                _ => self.cell(node, line)?,
            }
        }
        Ok(())
    }

    /// Flattens a table in a cell: its rows are lines, its cells stand between tabs.
    fn inner_table(
        &mut self,
        table: Node<'t, 't>,
        line: &mut Line<'t>,
    ) -> Result<(), ExtractError> {
        let mut all = Vec::new();
        rows(table, false, &mut all);
        for (row, _) in all {
            line.inline.begin_line();
            for (number, cell) in cells(row).enumerate() {
                if number > 0 {
                    line.inline.push("\t");
                }
                let mut inner = Line::default();
                self.cell(cell, &mut inner)?;
                line.beside.append(&mut inner.beside);
                let flat = inner.inline.take();
                line.inline.push(&flat.text.replace('\n', " "));
                for picture in flat.pictures {
                    line.inline.picture(picture);
                }
            }
        }
        Ok(())
    }
}

impl Found<'_> {
    fn cell(&self) -> Cell<'_> {
        let span = |name| {
            let span = xml::attribute(self.node, name).and_then(|span| span.parse().ok());
            u32::min(span.unwrap_or(1), MAX_SPAN)
        };
        Cell {
            text: &self.flat.text,
            links: &self.flat.links,
            columns: span("number-columns-spanned"),
            rows: span("number-rows-spanned"),
            names: false,
        }
    }
}

/// Whether a table is there for the looks only: a single cell, or one column with a heading or a table in it.
fn frames_blocks(rows: &[(Node<'_, '_>, bool)]) -> bool {
    let is_narrow = rows.iter().all(|(row, _)| cells(*row).nth(1).is_none());
    let has_blocks = || {
        let mut inner = rows.iter().flat_map(|(row, _)| row.descendants());
        inner.any(|node| xml::is(node, "h") || xml::is(node, "table"))
    };
    is_narrow && (rows.len() == 1 || has_blocks())
}

/// Collects the rows of a table, and whether they are of its header.
pub(super) fn rows<'t>(
    parent: Node<'t, 't>,
    is_header: bool,
    found: &mut Vec<(Node<'t, 't>, bool)>,
) {
    for child in parent.children().filter(Node::is_element) {
        match child.tag_name().name() {
            "table-row" => found.push((child, is_header)),
            "table-header-rows" => rows(child, true, found),
            "table-rows" | "table-row-group" => rows(child, is_header, found),
            _ => {}
        }
    }
}

/// Returns the cells of a row; what another one covers is none.
pub(super) fn cells<'t>(row: Node<'t, 't>) -> impl Iterator<Item = Node<'t, 't>> {
    row.children().filter(|child| xml::is(*child, "table-cell"))
}
