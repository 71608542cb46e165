//! Tables. Their cells are flattened; a table that only frames one text is that text.

use roxmltree::Node;

use super::Reader;
use super::run::{Beside, Line};
use super::styles::{Style, value};
use crate::formats::ooxml::{alternative, is_on};
use crate::grid::{Cell, Grid};
use crate::inline::Flat;
use crate::{ExtractError, xml};

/// No cell covers more columns.
const MAX_SPAN: u32 = 1000;

/// A cell before its rows are counted.
struct Found {
    flat: Flat,
    /// The column of the grid it begins in.
    column: u32,
    columns: u32,
    /// Whether it goes on with the cell above.
    continues: bool,
    rows: u32,
}

impl Found {
    /// The room before the first cell of a row, so many columns wide.
    fn blank(columns: u32) -> Self {
        Self {
            flat: Flat::default(),
            column: 0,
            columns,
            continues: false,
            rows: 1,
        }
    }
}

struct Row {
    is_header: bool,
    cells: Vec<Found>,
}

impl Reader<'_, '_, '_, '_> {
    pub(super) fn table(&mut self, table: Node<'_, '_>) -> Result<(), ExtractError> {
        let mut rows = Vec::new();
        content(table, "tr", &mut rows);
        if let Some(cell) = only_cell(&rows) {
            return self.blocks(cell);
        }
        if self.frames_blocks(&rows) {
            for cell in rows.iter().flat_map(|row| cells(*row)) {
                self.blocks(cell)?;
            }
            return Ok(());
        }
        let in_body = std::mem::replace(&mut self.in_body, false);
        let mut beside = Vec::new();
        let mut found = Vec::new();
        for row in rows {
            found.push(self.row(row, &mut beside)?);
        }
        self.in_body = in_body;
        span_rows(&mut found);
        self.emit_table(found);
        self.beside(beside)
    }

    /// Whether a table has one column and a heading or another table in it, and so is there for the looks only.
    fn frames_blocks(&self, rows: &[Node<'_, '_>]) -> bool {
        let mut one_column = rows.iter().map(|row| cells(*row));
        one_column.all(|cells| cells.len() < 2)
            && rows.iter().any(|row| {
                let mut inner = row.descendants().filter(Node::is_element);
                inner.any(|node| match node.tag_name().name() {
                    "tbl" => true,
                    "pPr" => {
                        let style = value(node, "pStyle");
                        self.styles.heading(style, &Style::of(node)).is_some()
                    }
                    _ => false,
                })
            })
    }

    fn row<'n, 't>(
        &mut self,
        row: Node<'n, 't>,
        beside: &mut Vec<Beside<'n, 't>>,
    ) -> Result<Row, ExtractError> {
        let properties = row.children().find(|child| xml::is(*child, "trPr"));
        let header = properties.and_then(|node| xml::child(node, "tblHeader"));
        let before = properties.and_then(|node| number(node, "gridBefore"));
        let mut found = Row {
            is_header: header.is_some_and(is_on),
            cells: Vec::new(),
        };
        let mut column = before.unwrap_or(0).min(MAX_SPAN);
        if column > 0 {
            found.cells.push(Found::blank(column));
        }
        for cell in cells(row) {
            let properties = cell.children().find(|child| xml::is(*child, "tcPr"));
            let columns = properties.and_then(|node| number(node, "gridSpan"));
            let columns = columns.unwrap_or(1).clamp(1, MAX_SPAN);
            let merge = properties.and_then(|node| xml::child(node, "vMerge"));
            let mut line = Line::new(false);
            self.cell(cell, &mut line)?;
            let (mut flats, more) = line.finish();
            beside.extend(more);
            found.cells.push(Found {
                flat: flats.pop().unwrap_or_default(),
                column,
                columns,
                continues: merge
                    .is_some_and(|merge| xml::attribute(merge, "val") != Some("restart")),
                rows: 1,
            });
            column = column.saturating_add(columns);
        }
        Ok(found)
    }

    /// Flattens the blocks of a cell; each begins a line.
    fn cell<'n, 't>(
        &mut self,
        parent: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        for node in parent.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "p" => {
                    line.inline.begin_line();
                    self.inline(node, line)?;
                }
                "tbl" => self.inner_table(node, line)?,
                "AlternateContent" => {
                    if let Some(content) = alternative(node) {
                        self.cell(content, line)?;
                    }
                }
                "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" | "smartTag" => {
                    self.cell(node, line)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Flattens a table in a cell: its rows are lines, its cells stand between tabs.
    fn inner_table<'n, 't>(
        &mut self,
        table: Node<'n, 't>,
        line: &mut Line<'n, 't>,
    ) -> Result<(), ExtractError> {
        let mut rows = Vec::new();
        content(table, "tr", &mut rows);
        for row in rows {
            line.inline.begin_line();
            for (number, cell) in cells(row).into_iter().enumerate() {
                if number > 0 {
                    line.inline.push("\t");
                }
                let mut inner = Line::new(false);
                self.cell(cell, &mut inner)?;
                let (flats, beside) = inner.finish();
                line.beside.extend(beside);
                for flat in flats {
                    line.inline.push(&flat.text.replace('\n', " "));
                    for picture in flat.pictures {
                        line.inline.picture(picture);
                    }
                }
            }
        }
        Ok(())
    }

    fn emit_table(&mut self, rows: Vec<Row>) {
        let mut grid = Grid::new();
        let mut pictures = Vec::new();
        let mut is_leading = true;
        for mut row in rows {
            is_leading &= row.is_header;
            let cells = row.cells.iter().filter(|cell| !cell.continues);
            grid.row(
                is_leading,
                cells.map(|cell| Cell {
                    text: &cell.flat.text,
                    links: &cell.flat.links,
                    columns: cell.columns,
                    rows: cell.rows,
                    names: false,
                }),
            );
            let flats = row.cells.iter_mut().map(|cell| &mut cell.flat);
            pictures.extend(flats.flat_map(|flat| flat.pictures.drain(..)));
        }
        self.flow.table(grid, pictures);
    }
}

/// Counts the rows of cells that go on below, by the columns they begin in. One that goes on with nothing, or has
/// words of its own, is a cell.
fn span_rows(rows: &mut [Row]) {
    // For each column, the row and place of the cell that may go on.
    let mut open: std::collections::HashMap<u32, (usize, usize)> = std::collections::HashMap::new();
    for number in 0..rows.len() {
        let mut next = std::collections::HashMap::new();
        for place in 0..rows[number].cells.len() {
            let cell = &mut rows[number].cells[place];
            let above = open.get(&cell.column).copied();
            cell.continues &= above.is_some() && cell.flat.text.is_empty();
            let (column, continues) = (cell.column, cell.continues);
            match above.filter(|_| continues) {
                Some((row, at)) => {
                    rows[row].cells[at].rows += 1;
                    next.insert(column, (row, at));
                }
                None => {
                    next.insert(column, (number, place));
                }
            }
        }
        open = next;
    }
}

/// Returns the cell of a table that has no other.
fn only_cell<'n, 't>(rows: &[Node<'n, 't>]) -> Option<Node<'n, 't>> {
    let [row] = rows else { return None };
    let [cell] = cells(*row)[..] else { return None };
    Some(cell)
}

fn cells<'n, 't>(row: Node<'n, 't>) -> Vec<Node<'n, 't>> {
    let mut cells = Vec::new();
    content(row, "tc", &mut cells);
    cells
}

/// Collects the children of a name, those in content controls and under review included.
fn content<'n, 't>(parent: Node<'n, 't>, name: &str, found: &mut Vec<Node<'n, 't>>) {
    for child in parent.children().filter(Node::is_element) {
        match child.tag_name().name() {
            known if known == name => found.push(child),
            "sdt" | "sdtContent" | "customXml" | "ins" | "moveTo" => content(child, name, found),
            "AlternateContent" => {
                if let Some(chosen) = alternative(child) {
                    content(chosen, name, found);
                }
            }
            _ => {}
        }
    }
}

fn number(parent: Node<'_, '_>, name: &str) -> Option<u32> {
    let child = parent.children().find(|child| xml::is(*child, name))?;
    xml::attribute(child, "val")?.parse().ok()
}
