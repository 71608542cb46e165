//! The cells of a sheet as a table.
//!
//! Whole rows and columns without a cell stay where they are between others, as long as that does not
//! make much out of little: a table is never far larger than what it holds.

use super::{Merged, Place, Sheet};
use crate::elements::Link;
use crate::grid::{Cell, Grid};

/// So many places a table may have whatever is in it.
const FREE_PLACES: u64 = 256;

/// Places for one used cell.
const PLACES_PER_CELL: u64 = 16;

/// Rows that merged cells may cover, together: each cell of a row is compared with those over it.
const MAX_COVERED_ROWS: usize = 1 << 16;

/// Returns the table of a sheet's cells, if there are any.
pub(super) fn grid(sheet: &mut Sheet) -> Option<Grid> {
    let cells = used(&mut sheet.cells);
    let (first, last) = bounds(&cells)?;
    let columns = columns(&cells, first, last);
    let is_dense = fits(last.0 - first.0 + 1, columns.len(), cells.len());
    let mut table = Table {
        grid: Grid::new(),
        columns,
        is_leading: true,
        spans: Spans::new(&sheet.merged, &cells, is_dense),
        sheet,
    };
    let mut next_row = first.0;
    for row in cells.chunk_by(|one, other| one.0.0 == other.0.0) {
        let number = row[0].0.0;
        if is_dense {
            for blank in next_row..number {
                table.row(blank, &[]);
            }
        }
        next_row = number + 1;
        table.row(number, row);
    }
    Some(table.grid)
}

type Used = (Place, String);

/// Sorts the cells, without those that show nothing.
fn used(cells: &mut Vec<Used>) -> Vec<Used> {
    let mut cells = std::mem::take(cells);
    cells.retain(|(_, text)| !text.trim().is_empty());
    // The sort is stable: what was written later comes later, and counts.
    cells.sort_by_key(|(place, _)| *place);
    cells.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            std::mem::swap(later, earlier);
        }
        is_same
    });
    cells
}

fn bounds(cells: &[Used]) -> Option<(Place, Place)> {
    let (first, last) = (cells.first()?.0.0, cells.last()?.0.0);
    let columns = || cells.iter().map(|((_, column), _)| *column);
    Some(((first, columns().min()?), (last, columns().max()?)))
}

fn fits(rows: u32, columns: usize, cells: usize) -> bool {
    let places = u64::from(rows) * columns as u64;
    places <= FREE_PLACES.max(PLACES_PER_CELL * cells as u64)
}

/// Returns the columns of the table: all between the first and the last; those with a cell if these are
/// too many; none if even so the table would be nearly empty, and rows are only their cells.
fn columns(cells: &[Used], first: Place, last: Place) -> Vec<u32> {
    let used_rows = cells.chunk_by(|one, other| one.0.0 == other.0.0).count() as u32;
    let width = (last.1 - first.1 + 1) as usize;
    if fits(used_rows, width, cells.len()) {
        return (first.1..=last.1).collect();
    }
    let mut columns: Vec<u32> = cells.iter().map(|((_, column), _)| *column).collect();
    columns.sort_unstable();
    columns.dedup();
    match fits(used_rows, columns.len(), cells.len()) {
        true => columns,
        false => Vec::new(),
    }
}

struct Table<'s> {
    grid: Grid,
    columns: Vec<u32>,
    /// Whether all rows so far were of headers. Those of tables further down name their columns, but they are no
    /// header of all.
    is_leading: bool,
    spans: Spans,
    sheet: &'s Sheet,
}

impl Table<'_> {
    fn row(&mut self, number: u32, cells: &[Used]) {
        let names = self.sheet.header_rows.contains(&number);
        self.is_leading &= names;
        if self.columns.is_empty() {
            return self.row_of_cells(cells, names);
        }
        self.spans.enter(number);
        if cells.is_empty() && self.spans.open.is_empty() {
            self.grid.row(false, []);
            return;
        }
        let mut rest = cells.iter().peekable();
        let mut row = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            let place = (number, *column);
            let cell = rest.next_if(|(at, _)| *at == place);
            if cell.is_none() && self.spans.covers(place) {
                continue;
            }
            let (rows, width) = self.spans.of(place, &self.columns);
            let links = cell.map(|cell| self.links(cell)).unwrap_or_default();
            let text = cell.map_or("", |(_, text)| text.as_str());
            row.push((text, links, rows, width));
        }
        let row = row.iter().map(|(text, links, rows, columns)| Cell {
            text,
            links,
            columns: *columns,
            rows: *rows,
            names,
        });
        self.grid.row(self.is_leading, row);
    }

    /// Writes a row that is only its cells.
    fn row_of_cells(&mut self, cells: &[Used], names: bool) {
        let links: Vec<_> = cells.iter().map(|cell| self.links(cell)).collect();
        let cells = cells.iter().zip(&links);
        let cells = cells.map(|((_, text), links)| Cell {
            text,
            links,
            names,
            ..Cell::default()
        });
        self.grid.row(self.is_leading, cells);
    }

    fn links(&self, (place, text): &Used) -> Vec<Link> {
        let link = self.sheet.links.get(place).map(|url| Link {
            start: 0,
            end: text.len(),
            url: url.clone(),
        });
        link.into_iter().collect()
    }
}

/// Merged cells, as far as they matter here.
struct Spans {
    /// By the first row, and then the first column.
    merged: Vec<(Merged, u32)>,
    next: usize,
    open: Vec<(Merged, u32)>,
}

impl Spans {
    /// Keeps the merged cells whose first cell is one of those that are shown, with how many of the
    /// table's rows they cover.
    fn new(merged: &[Merged], cells: &[Used], is_dense: bool) -> Self {
        let mut rows: Vec<u32> = cells.iter().map(|((row, _), _)| *row).collect();
        rows.dedup();
        let end = rows.last().copied().unwrap_or(0);
        let mut sorted: Vec<Merged> = merged.to_vec();
        sorted.sort_by_key(|merged| (merged.first, merged.last));
        sorted.dedup_by_key(|merged| merged.first);
        let mut covered = 0;
        let mut kept = Vec::new();
        for merged in sorted {
            let (first, last) = (merged.first, merged.last);
            let is_shown = cells
                .binary_search_by_key(&first, |(place, _)| *place)
                .is_ok();
            let height = match is_dense {
                true => (last.0.min(end).saturating_sub(first.0) + 1) as usize,
                false => {
                    let from = rows.partition_point(|row| *row < first.0);
                    rows.partition_point(|row| *row <= last.0)
                        .saturating_sub(from)
                }
            };
            covered += height;
            if is_shown && covered <= MAX_COVERED_ROWS && first <= last && first.1 <= last.1 {
                kept.push((merged, height as u32));
            }
        }
        Self {
            merged: kept,
            next: 0,
            open: Vec::new(),
        }
    }

    fn enter(&mut self, row: u32) {
        self.open.retain(|(merged, _)| merged.last.0 >= row);
        while let Some(next) = self.merged.get(self.next)
            && next.0.first.0 <= row
        {
            self.open.push(*next);
            self.next += 1;
        }
    }

    fn covers(&self, place: Place) -> bool {
        self.open.iter().any(|(merged, _)| {
            let columns = merged.first.1..=merged.last.1;
            merged.first != place && merged.first.0 <= place.0 && columns.contains(&place.1)
        })
    }

    /// Returns how many rows and columns of the table the cell at a place covers.
    fn of(&self, place: Place, columns: &[u32]) -> (u32, u32) {
        let merged = self.open.iter().find(|(merged, _)| merged.first == place);
        let Some((merged, height)) = merged else {
            return (1, 1);
        };
        let from = columns.partition_point(|column| *column < merged.first.1);
        let to = columns.partition_point(|column| *column <= merged.last.1);
        (*height, (to - from) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::{Merged, Sheet, grid};
    use crate::elements::Elements;

    fn texts(sheet: &mut Sheet) -> (String, String) {
        let mut elements = Elements::default();
        grid(sheet).unwrap().finish(&mut elements);
        let table = elements.into_vec().remove(0);
        (table.text.unwrap(), table.text_as_html.unwrap())
    }

    fn sheet(cells: &[(u32, u32, &str)]) -> Sheet {
        let cells = cells
            .iter()
            .map(|(row, column, text)| ((*row, *column), (*text).to_owned()));
        Sheet {
            cells: cells.collect(),
            ..Sheet::default()
        }
    }

    #[test]
    fn gaps_between_cells_stay_and_those_around_them_do_not() {
        let mut sheet = sheet(&[(9, 4, "b"), (5, 3, "old"), (5, 3, "a"), (7, 9, " ")]);
        assert_eq!(texts(&mut sheet).0, "a\t\n\n\n\n\tb");
    }

    #[test]
    fn cell_at_the_far_end_does_not_stretch_the_table() {
        let mut sheet = sheet(&[(0, 0, "a"), (1_048_575, 16_383, "z")]);
        assert_eq!(texts(&mut sheet).0, "a\t\n\tz");
    }

    #[test]
    fn cells_along_a_diagonal_are_rows_of_one() {
        let names: Vec<String> = (0..5000).map(|number: u32| number.to_string()).collect();
        let cells: Vec<_> = (0..5000)
            .map(|at| (at, at, names[at as usize].as_str()))
            .collect();
        assert_eq!(texts(&mut sheet(&cells)).0, names.join("\n"));
    }

    #[test]
    fn header_below_other_rows_names_its_columns_where_it_stands() {
        let mut sheet = sheet(&[(0, 0, "title"), (1, 0, "name"), (2, 0, "a")]);
        sheet.header_rows.insert(1);
        assert_eq!(
            texts(&mut sheet).1,
            "<table><tbody><tr><td>title</td></tr><tr><th>name</th></tr><tr><td>a</td></tr></tbody></table>"
        );
    }

    #[test]
    fn merged_cells_span_what_they_cover() {
        let mut sheet = sheet(&[(0, 0, "a"), (0, 2, "b"), (1, 2, "c"), (2, 0, "d")]);
        let merged = |first, last| Merged { first, last };
        sheet.merged = vec![
            merged((0, 0), (1, 1)),
            merged((2, 0), (900, 2)),
            merged((0, 9), (1, 9)),
        ];
        assert_eq!(
            texts(&mut sheet).1,
            "<table><tbody><tr><td colspan=\"2\" rowspan=\"2\">a</td><td>b</td></tr>\
             <tr><td>c</td></tr><tr><td colspan=\"3\">d</td></tr></tbody></table>"
        );
    }
}
