//! Tables drawn in characters.

use crate::formats::markup::writer::Writer;

/// Reads a table and returns how many lines it has; `None` if none begins here.
pub(super) fn read(lines: &[&str], writer: &mut Writer) -> Option<usize> {
    let first = lines[0].trim_end();
    if first.starts_with('+') && first.ends_with('+') && is_rule(first) {
        return grid(lines, writer);
    }
    let is_simple = first.starts_with("==")
        && first.contains(' ')
        && first.bytes().all(|byte| b"= ".contains(&byte));
    is_simple.then(|| simple(lines, writer)).flatten()
}

fn is_rule(line: &str) -> bool {
    line.len() > 2 && line.bytes().all(|byte| b"+-=".contains(&byte))
}

/// Reads a grid: cells lie between bars, and rows between lines of dashes. A cell over several rows stands in the
/// first.
fn grid(lines: &[&str], writer: &mut Writer) -> Option<usize> {
    let is_part = |line: &&&str| line.starts_with(['+', '|']);
    let count = lines.iter().take_while(is_part).count();
    if count < 3 {
        return None;
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row: Vec<String> = Vec::new();
    let mut headers = 0;
    for line in &lines[1..count] {
        let line = line.trim_end();
        if is_rule(line) {
            rows.push(std::mem::take(&mut row));
            if line.contains('=') {
                headers = rows.len();
            }
            continue;
        }
        // A line that is a rule in some columns only goes on with the cells of the others.
        let text = line
            .trim_start_matches(['|', '+'])
            .trim_end_matches(['|', '+']);
        let pieces = text.split('|').map(|piece| {
            let piece = piece.trim().trim_matches('+');
            if is_rule(piece) { "" } else { piece }
        });
        add_line(&mut row, pieces);
    }
    rows.push(row);
    rows.retain(|row| !row.is_empty());
    writer.table(&rows, headers);
    Some(count)
}

/// Reads a simple table: its columns are where the lines of equal signs are, in characters.
fn simple(lines: &[&str], writer: &mut Writer) -> Option<usize> {
    let columns = columns(lines[0]);
    let borders = borders(lines);
    let (header_end, end) = match borders[..] {
        [_, end] => (0, end),
        [_, header, end] => (header, end),
        _ => return None,
    };
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut headers = 0;
    for (at, line) in lines.iter().enumerate().take(end).skip(1) {
        if at == header_end {
            headers = rows.len();
            continue;
        }
        let line = line.trim_end();
        if line.is_empty() || line.bytes().all(|byte| b"- ".contains(&byte)) && line.len() > 2 {
            continue;
        }
        let cells = cells(line, &columns);
        // A row without its first cell goes on with the one before.
        match rows
            .last_mut()
            .filter(|_| cells[0].is_empty() && at != header_end + 1)
        {
            Some(row) => add_line(row, cells.iter().map(String::as_str)),
            None => rows.push(cells),
        }
    }
    writer.table(&rows, headers);
    Some(end + 1)
}

/// Adds a line to the cells of a row, which may be its first.
fn add_line<'t>(row: &mut Vec<String>, pieces: impl Iterator<Item = &'t str>) {
    for (index, piece) in pieces.enumerate() {
        match row.get_mut(index) {
            Some(cell) => {
                if !cell.is_empty() && !piece.is_empty() {
                    cell.push('\n');
                }
                cell.push_str(piece);
            }
            None => row.push(piece.to_owned()),
        }
    }
}

/// Returns where the borders of a simple table are: a blank line after one ends it.
fn borders(lines: &[&str]) -> Vec<usize> {
    let is_border =
        |line: &str| line.starts_with("==") && line.bytes().all(|byte| b"= ".contains(&byte));
    (0..lines.len())
        .take_while(|at| {
            *at < 2 || !lines[*at].trim().is_empty() || !is_border(lines[at - 1].trim_end())
        })
        .filter(|at| is_border(lines[*at].trim_end()))
        .take(3)
        .collect()
}

/// Returns where the columns begin.
fn columns(border: &str) -> Vec<usize> {
    let bytes = border.as_bytes();
    (0..bytes.len())
        .filter(|at| bytes[*at] == b'=' && (*at == 0 || bytes[at - 1] == b' '))
        .collect()
}

fn cells(line: &str, columns: &[usize]) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    let cell = |index: usize| {
        let start = columns[index].min(characters.len());
        let end = columns
            .get(index + 1)
            .map_or(characters.len(), |end| (*end).min(characters.len()));
        let cell: String = characters[start..end].iter().collect();
        cell.trim().to_owned()
    };
    (0..columns.len()).map(cell).collect()
}
