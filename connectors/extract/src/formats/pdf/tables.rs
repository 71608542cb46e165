//! Tables as the parser of pages supposes them, and what of them is one.
//!
//! It sees tables in whatever stands in line or in boxes. Rows and columns that are blank throughout hold nothing, and
//! what then has a single row or column are paragraphs. How they are written is not known here.

use unpdf::{Paragraph, Table};

/// What a supposed table is.
#[derive(Debug)]
pub(super) enum Supposed {
    Table(Table),
    Paragraphs(Vec<Paragraph>),
}

/// Takes what is blank out of a table, and tells whether it still is one.
pub(super) fn settle(mut table: Table) -> Supposed {
    let header = usize::from(table.header_rows);
    for row in table.rows.iter_mut().take(header) {
        row.is_header = true;
    }
    table.header_rows = 0;
    // Cells over several rows or columns would have to shrink with them; they are drawn on purpose.
    if !table.has_merged_cells() {
        drop_blank(&mut table);
    }
    if table.rows.len() > 1 && table.column_count() > 1 {
        return Supposed::Table(table);
    }
    let cells = table.rows.into_iter().flat_map(|row| row.cells);
    Supposed::Paragraphs(cells.flat_map(|cell| cell.content).collect())
}

fn drop_blank(table: &mut Table) {
    table
        .rows
        .retain(|row| row.cells.iter().any(|cell| !cell.is_empty()));
    let mut has_text: Vec<bool> = Vec::new();
    for row in &table.rows {
        if has_text.len() < row.cells.len() {
            has_text.resize(row.cells.len(), false);
        }
        for (has_text, cell) in has_text.iter_mut().zip(&row.cells) {
            *has_text |= !cell.is_empty();
        }
    }
    for row in &mut table.rows {
        let mut columns = has_text.iter();
        row.cells
            .retain(|_| columns.next().is_some_and(|&has_text| has_text));
    }
}

#[cfg(test)]
mod tests {
    use unpdf::{Table, TableCell, TableRow};

    use super::{Supposed, settle};

    fn table(rows: &[&[&str]]) -> Table {
        let mut table = Table::new();
        for row in rows {
            let cells = row.iter().map(|&text| TableCell::text(text)).collect();
            table.rows.push(TableRow {
                cells,
                is_header: false,
            });
        }
        table
    }

    #[test]
    fn blank_rows_and_columns_are_left_out_and_the_header_stays_it() {
        let mut drawn = table(&[
            &["", "", "", ""],
            &["Name", " ", "Size", ""],
            &["", "", "", ""],
            &["a", "", "1", ""],
        ]);
        drawn.header_rows = 2;
        let Supposed::Table(settled) = settle(drawn) else {
            panic!("two rows of two columns are a table");
        };
        assert_eq!(settled.plain_text(), "Name\tSize\na\t1");
        let headers = settled.rows.iter().map(|row| row.is_header);
        assert_eq!(headers.collect::<Vec<_>>(), [true, false]);
    }

    #[test]
    fn single_row_or_column_is_no_table() {
        let one_column: &[&[&str]] = &[&["a", ""], &["b", ""]];
        let one_row: &[&[&str]] = &[&["a", "b"], &["", ""]];
        for rows in [one_column, one_row] {
            let Supposed::Paragraphs(paragraphs) = settle(table(rows)) else {
                panic!("no table: {rows:?}");
            };
            let texts = paragraphs.iter().map(|paragraph| paragraph.plain_text());
            let texts: Vec<_> = texts.filter(|text| !text.is_empty()).collect();
            assert_eq!(texts, ["a", "b"]);
        }
    }
}
