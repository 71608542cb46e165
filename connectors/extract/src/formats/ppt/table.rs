//! Tables on slides: groups of shapes that say they are one, a shape for each cell
//! ([MS-ODRAW] §2.3.4.37).

use super::book::record;
use super::text::texts;
use crate::formats::escher::{Record, Records, kind};
use crate::grid::{Cell, Grid};
use crate::little_endian::u32_at;

/// Records of shapes: where one is in its group, the text on it, and further properties.
const CHILD_ANCHOR: u16 = 0xF00F;
const TEXT_BOX: u16 = 0xF00D;
const FURTHER_PROPERTIES: [u16; 2] = [0xF121, 0xF122];

/// The property of a group that is a table.
const IS_TABLE: u16 = 0x039F;

/// A table has no more cells than this.
const MAX_CELLS: usize = 10_000;

/// A table while it is read.
#[derive(Debug, Default)]
pub(super) struct Table<'b> {
    cells: Vec<Placed>,
    /// The shapes that are its cells.
    pub(super) shapes: Vec<&'b [u8]>,
}

#[derive(Debug)]
struct Placed {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
    text: String,
}

impl<'b> Table<'b> {
    /// Reads a group of shapes; `None` if it is no table.
    pub(super) fn read(group: &'b [u8]) -> Option<Self> {
        let mut shapes = Records(group).filter(|record| record.kind == kind::SHAPE);
        let is_table = Records(shapes.next()?.data).any(|record| says_table(&record));
        if !is_table {
            return None;
        }
        let mut table = Self::default();
        for shape in shapes {
            table.cells.extend(placed(shape.data));
            table.shapes.push(shape.data);
        }
        (1..=MAX_CELLS)
            .contains(&table.cells.len())
            .then_some(table)
    }

    /// Returns the rows, by where the cells are.
    pub(super) fn grid(mut self) -> Grid {
        self.cells.sort_by_key(|cell| (cell.top, cell.left));
        let columns = edges(self.cells.iter().map(|cell| cell.left));
        let rows = edges(self.cells.iter().map(|cell| cell.top));
        let mut grid = Grid::new();
        for row in self.cells.chunk_by(|one, other| one.top == other.top) {
            let cells = row.iter().map(|cell| Cell {
                text: &cell.text,
                columns: covered(&columns, cell.left, cell.right),
                rows: covered(&rows, cell.top, cell.bottom),
                ..Cell::default()
            });
            grid.row(false, cells);
        }
        grid
    }
}

fn says_table(record: &Record<'_>) -> bool {
    let is_further = FURTHER_PROPERTIES.contains(&record.kind) || record.kind == kind::PROPERTIES;
    let count = usize::from(record.instance);
    let mut properties = record.data.chunks_exact(6).take(count);
    is_further
        && properties.any(|property| {
            let number = u16::from_le_bytes([property[0], property[1]]);
            number & 0x3FFF == IS_TABLE && property[2] & 1 == 1
        })
}

/// Reads a cell; lines between cells have no text.
fn placed(shape: &[u8]) -> Option<Placed> {
    let inside = |kind: u16| Records(shape).find(|record| record.kind == kind);
    let anchor = inside(CHILD_ANCHOR)?.data;
    let edge = |at: usize| u32_at(anchor, at).map(|edge| edge as i32);
    let text_box = inside(TEXT_BOX)?;
    let lines: Vec<String> = texts(Records(text_box.data))
        .iter()
        .map(|text| text.lines())
        .collect();
    Some(Placed {
        left: edge(0)?,
        top: edge(4)?,
        right: edge(8)?,
        bottom: edge(12)?,
        text: lines.join("\n"),
    })
}

fn edges(edges: impl Iterator<Item = i32>) -> Vec<i32> {
    let mut edges: Vec<i32> = edges.collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Returns how many edges there are from one to before another.
fn covered(edges: &[i32], from: i32, to: i32) -> u32 {
    let first = edges.partition_point(|edge| *edge < from);
    let last = edges.partition_point(|edge| *edge < to);
    last.saturating_sub(first).max(1) as u32
}

/// Whether a group has texts that stand in the outline, so that it cannot be read by itself.
pub(super) fn refers_to_outline(group: &[u8]) -> bool {
    let mut found = false;
    crate::formats::escher::walk(group, &mut |inner| {
        found |= inner.kind == record::OUTLINE_REFERENCE;
    });
    found
}
