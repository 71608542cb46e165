//! Charts: their titles, and the values they show as a table, as they are cached in the chart's part.
//!
//! What a chart looks like is no content.

use std::collections::BTreeMap;

use dpe_connector::content::Category;
use roxmltree::Node;

use super::diagram::plain_paragraph;
use crate::flow::Flow;
use crate::grid::{Cell, Grid};
use crate::inline::Inline;
use crate::{numbers, xml};

/// A column of the table: a heading, and values by the number of their row.
#[derive(Debug, Default)]
struct Column {
    name: String,
    values: BTreeMap<u32, String>,
}

/// More columns than anybody looks at in a chart.
const MAX_COLUMNS: usize = 1000;

/// Adds what a chart (`c:chartSpace`, `cx:chartSpace`) shows.
pub(in crate::formats) fn read(chart: Node<'_, '_>, flow: &mut Flow) {
    for title in xml::outermost(chart, |node| xml::is(node, "title")) {
        let mut inline = Inline::default();
        for paragraph in xml::outermost(title, |node| xml::is(node, "p")) {
            inline.begin_line();
            plain_paragraph(paragraph, &mut inline);
        }
        if inline.is_blank() {
            let cached = title.descendants().filter(|node| xml::is(*node, "v"));
            cached.for_each(|value| inline.push(value.text().unwrap_or_default()));
        }
        if !inline.is_blank() {
            flow.text(Category::FigureCaption, inline.take());
        }
    }
    let columns = match chart.descendants().any(|node| xml::is(node, "ser")) {
        true => columns(chart),
        false => extended(chart),
    };
    if columns.iter().any(|column| !column.values.is_empty()) {
        flow.table(grid(&columns), Vec::new());
    }
}

/// A table with more room than this for each value is written without the room.
const MAX_SPARSENESS: usize = 64;

/// Columns of the charts of 2007: the categories, as often as they change, and each series.
fn columns(chart: Node<'_, '_>) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::new();
    let mut categories = BTreeMap::new();
    for series in xml::outermost(chart, |node| xml::is(node, "ser")) {
        let part = |names: &[&str]| {
            let mut children = series.children();
            children.find(|child| names.iter().any(|name| xml::is(*child, name)))
        };
        let own = part(&["cat", "xVal"]).map(values).unwrap_or_default();
        if !own.is_empty() && own != categories {
            categories = own;
            columns.push(Column {
                name: String::new(),
                values: categories.clone(),
            });
        }
        let name = part(&["tx"]).map(values).unwrap_or_default();
        let name: Vec<String> = name.into_values().collect();
        columns.push(Column {
            name: name.join(" "),
            values: part(&["val", "yVal"]).map(values).unwrap_or_default(),
        });
        if columns.len() > MAX_COLUMNS {
            break;
        }
    }
    columns
}

/// More levels of categories than any chart has.
const MAX_LEVELS: usize = 64;

/// Returns cached points (`c:pt`, with `c:v`), by their number. Several levels of categories are written one after
/// the other, the outermost first.
fn values(node: Node<'_, '_>) -> BTreeMap<u32, String> {
    let mut values: BTreeMap<u32, String> = BTreeMap::new();
    if let Some(direct) = node.children().find(|child| xml::is(*child, "v")) {
        values.insert(0, direct.text().unwrap_or_default().to_owned());
    }
    let mut levels: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for point in node.descendants().filter(|node| xml::is(*node, "pt")) {
        let number = xml::attribute(point, "idx").and_then(|number| number.parse().ok());
        let value = point.children().find(|child| xml::is(*child, "v"));
        if let (Some(number), Some(value)) = (number, value.and_then(|value| value.text())) {
            let known = levels.entry(number).or_default();
            if known.len() < MAX_LEVELS {
                known.push(match point.parent().is_some_and(holds_numbers) {
                    true => numbers::plain_text(value),
                    false => value.to_owned(),
                });
            }
        }
    }
    let joined = levels.into_iter().map(|(number, mut names)| {
        names.reverse();
        (number, names.join(" "))
    });
    values.extend(joined);
    values
}

fn holds_numbers(points: Node<'_, '_>) -> bool {
    xml::is(points, "numCache") || xml::is(points, "numLit")
}

/// Columns of the charts of 2016 (`cx:`): their dimensions.
fn extended(chart: Node<'_, '_>) -> Vec<Column> {
    let is_dimension = |node| xml::is(node, "strDim") || xml::is(node, "numDim");
    let dimensions = xml::outermost(chart, is_dimension);
    let columns = dimensions.map(|dimension| {
        let points = dimension.descendants().filter(|node| xml::is(*node, "pt"));
        let values = points.filter_map(|point| {
            let number = xml::attribute(point, "idx")?.parse().ok()?;
            let text = point.text().unwrap_or_default();
            let text = match xml::is(dimension, "numDim") {
                true => numbers::plain_text(text),
                false => text.to_owned(),
            };
            Some((number, text))
        });
        Column {
            name: String::new(),
            values: values.collect(),
        }
    });
    columns.take(MAX_COLUMNS).collect()
}

fn grid(columns: &[Column]) -> Grid {
    let mut grid = Grid::new();
    if columns.iter().any(|column| !column.name.is_empty()) {
        grid.row(true, columns.iter().map(|column| cell(Some(&column.name))));
    }
    let rows: std::collections::BTreeSet<u32> = columns
        .iter()
        .flat_map(|column| column.values.keys().copied())
        .collect();
    let points: usize = columns.iter().map(|column| column.values.len()).sum();
    let is_sparse = rows.len() * columns.len() > MAX_SPARSENESS * points;
    for row in rows {
        let values = columns.iter().map(|column| column.values.get(&row));
        let values = values.filter(|value| !is_sparse || value.is_some());
        grid.row(false, values.map(cell));
    }
    grid
}

fn cell(text: Option<&String>) -> Cell<'_> {
    Cell {
        text: text.map(String::as_str).unwrap_or_default(),
        ..Cell::default()
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::flow::Flow;

    fn texts(source: &str) -> Vec<String> {
        let tree = roxmltree::Document::parse(source).unwrap();
        let mut flow = Flow::default();
        read(tree.root_element(), &mut flow);
        let elements = flow.finish().1.into_vec();
        elements
            .into_iter()
            .filter_map(|element| element.text)
            .collect()
    }

    #[test]
    fn titles_and_series_within_others_are_read_once() {
        let open = "<title>".repeat(100);
        let close = "</title>".repeat(100);
        let series = "<ser><val>".repeat(100);
        let end = "</val></ser>".repeat(100);
        let found = texts(&format!(
            "<chart>{open}<p><t>name</t></p>{close}{series}<pt idx='0'><v>5</v></pt>{end}</chart>"
        ));
        assert_eq!(found, ["name", "5"]);
    }

    #[test]
    fn levels_of_categories_are_joined_the_outermost_first() {
        let found = texts(
            "<chart><ser><cat><lvl><pt idx='0'><v>May</v></pt></lvl><lvl><pt idx='0'><v>2020</v></pt></lvl></cat>\
             <val><pt idx='0'><v>7</v></pt></val></ser></chart>",
        );
        assert_eq!(found, ["2020 May\t7"]);
    }

    #[test]
    fn cached_numbers_are_without_noise_and_texts_as_they_are() {
        let found = texts(
            "<chart><ser><cat><strCache><pt idx='0'><v>007</v></pt></strCache></cat>\
             <val><numCache><pt idx='0'><v>16.600000000000001</v></pt></numCache></val></ser></chart>",
        );
        assert_eq!(found, ["007\t16.6"]);
        let found = texts(
            "<chart><strDim><pt idx='0'>1.0</pt></strDim><numDim><pt idx='0'>0.60000000000000009</pt></numDim></chart>",
        );
        assert_eq!(found, ["1.0\t0.6"]);
    }

    #[test]
    fn a_place_that_is_named_without_end_keeps_some_of_its_values() {
        let many = "<pt idx='0'><v>word</v></pt>".repeat(200_000);
        let found = texts(&format!("<chart><ser><val>{many}</val></ser></chart>"));
        assert!(found.concat().len() < 1000);
    }
}
