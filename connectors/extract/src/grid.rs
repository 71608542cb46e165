//! Rows of cells to a `Table`, or to `TableChunk`s when a table is above the size budget.
//!
//! Knows no format. A chunk holds whole rows and begins with the header rows again, so that it can
//! be read alone; it has no HTML, which its category does not allow (hash contract §5.2).

use dpe_connector::content::{Category, Element, Metadata};

use crate::elements::{ELEMENT_BYTES, Elements, Link, NotedLinks};

/// A longer header is not repeated: it would crowd out the rows.
const REPEATED_HEADER_BYTES: usize = ELEMENT_BYTES / 16;

/// One cell of a row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell<'a> {
    pub(crate) text: &'a str,
    pub(crate) links: &'a [Link],
    /// Columns covered; 0 and 1 are the usual single one.
    pub(crate) columns: u32,
    /// Rows covered; 0 and 1 are the usual single one.
    pub(crate) rows: u32,
    /// Whether the cell names its row or column.
    pub(crate) names: bool,
}

/// A table under construction. Rows are written as they come; nothing of them is kept twice.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    chunks: Vec<Chunk>,
    header: String,
    text: String,
    links: NotedLinks,
    /// `None` once the table is too large for one element.
    html: Option<Html>,
    has_rows: bool,
}

#[derive(Debug)]
struct Chunk {
    text: String,
    links: NotedLinks,
}

#[derive(Debug, Default)]
struct Html {
    text: String,
    section: Option<&'static str>,
}

impl Grid {
    pub(crate) fn new() -> Self {
        Self {
            html: Some(Html::default()),
            ..Self::default()
        }
    }

    /// Adds a row. Header rows come first.
    pub(crate) fn row<'a>(&mut self, header: bool, cells: impl IntoIterator<Item = Cell<'a>>) {
        let mut line = String::new();
        let mut links = Vec::new();
        if let Some(html) = &mut self.html {
            html.begin_row(if header { "thead" } else { "tbody" });
        }
        for (index, cell) in cells.into_iter().enumerate() {
            if index > 0 {
                line.push('\t');
            }
            push_on_one_line(&mut line, cell.text);
            if !cell.links.is_empty() {
                links.push((cell.text, cell.links));
            }
            if let Some(html) = &mut self.html {
                html.cell(&cell, header || cell.names);
            }
            self.drop_large_html();
        }
        if let Some(html) = &mut self.html {
            html.text.push_str("</tr>");
        }
        self.add_line(header, &line);
        for (text, links) in links {
            self.links.note(text, links);
        }
    }

    /// Adds the elements of the finished table; a table without any text gives none.
    pub(crate) fn finish(mut self, elements: &mut Elements) {
        if let Some(html) = self.html.take()
            && self.chunks.is_empty()
        {
            if self.text.trim().is_empty() {
                return;
            }
            self.text.shrink_to_fit();
            elements.push(Element {
                text: Some(self.text),
                text_as_html: Some(html.finish()),
                metadata: linked(self.links),
                ..Element::empty(Category::Table)
            });
            return;
        }
        self.end_chunk();
        if self.chunks.iter().all(|chunk| chunk.text.trim().is_empty()) {
            return;
        }
        for chunk in self.chunks {
            let metadata = linked(chunk.links);
            elements.push_text(Category::TableChunk, &chunk.text, &metadata);
        }
    }

    /// A table whose HTML is above the budget has none; a single row may be enough for that.
    fn drop_large_html(&mut self) {
        let html = self.html.as_ref();
        if html.is_some_and(|html| html.text.len() + Html::END_BYTES > ELEMENT_BYTES) {
            self.html = None;
        }
    }

    fn add_line(&mut self, header: bool, line: &str) {
        self.drop_large_html();
        if self.has_rows && self.text.len() + 1 + line.len() > ELEMENT_BYTES {
            self.html = None;
            self.end_chunk();
            if self.header.len() <= REPEATED_HEADER_BYTES {
                self.text.push_str(&self.header);
                self.has_rows = !self.header.is_empty();
            }
        }
        if self.has_rows {
            self.text.push('\n');
        }
        if header && self.chunks.is_empty() {
            if !self.header.is_empty() {
                self.header.push('\n');
            }
            self.header.push_str(line);
        }
        self.text.push_str(line);
        self.has_rows = true;
    }

    fn end_chunk(&mut self) {
        self.chunks.push(Chunk {
            text: std::mem::take(&mut self.text),
            links: std::mem::take(&mut self.links),
        });
        self.has_rows = false;
    }
}

impl Html {
    /// Room for the tags that close a table.
    const END_BYTES: usize = 64;

    fn begin_row(&mut self, section: &'static str) {
        if self.text.is_empty() {
            self.text.push_str("<table>");
        }
        if self.section != Some(section) {
            self.end_section();
            self.push_tag(section);
            self.section = Some(section);
        }
        self.text.push_str("<tr>");
    }

    fn cell(&mut self, cell: &Cell<'_>, names: bool) {
        let tag = if names { "th" } else { "td" };
        self.text.push('<');
        self.text.push_str(tag);
        for (name, span) in [("colspan", cell.columns), ("rowspan", cell.rows)] {
            if span > 1 {
                self.text.push_str(&format!(" {name}=\"{span}\""));
            }
        }
        self.text.push('>');
        push_escaped(&mut self.text, cell.text);
        self.text.push_str("</");
        self.text.push_str(tag);
        self.text.push('>');
    }

    fn push_tag(&mut self, name: &str) {
        self.text.push('<');
        self.text.push_str(name);
        self.text.push('>');
    }

    fn end_section(&mut self) {
        if let Some(section) = self.section.take() {
            self.text.push_str("</");
            self.text.push_str(section);
            self.text.push('>');
        }
    }

    fn finish(mut self) -> String {
        self.end_section();
        self.text.push_str("</table>");
        self.text.shrink_to_fit();
        self.text
    }
}

fn linked(links: NotedLinks) -> Metadata {
    let mut metadata = Metadata::new();
    links.write(&mut metadata);
    metadata
}

/// Line ends and tabs inside a cell would look like rows and columns.
fn push_on_one_line(line: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\t', rest.as_bytes()) {
        line.push_str(&rest[..at]);
        line.push(' ');
        rest = &rest[at + 1..];
    }
    line.push_str(rest);
}

fn push_escaped(html: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find(['&', '<', '>', '\n']) {
        html.push_str(&rest[..at]);
        html.push_str(match rest.as_bytes()[at] {
            b'&' => "&amp;",
            b'<' => "&lt;",
            b'>' => "&gt;",
            _ => "<br>",
        });
        rest = &rest[at + 1..];
    }
    html.push_str(rest);
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::Category;

    use super::{Cell, Grid};
    use crate::elements::{ELEMENT_BYTES, Elements};

    fn cells<'a>(texts: &'a [&'a str]) -> impl Iterator<Item = Cell<'a>> {
        texts.iter().map(|text| Cell {
            text,
            ..Cell::default()
        })
    }

    #[test]
    fn table_has_rows_as_lines_and_as_html() {
        let mut grid = Grid::new();
        grid.row(true, cells(&["a", "b<c"]));
        grid.row(false, cells(&["1\n2", "&"]));
        let mut elements = Elements::default();
        grid.finish(&mut elements);
        let table = elements.into_vec().remove(0);
        assert_eq!(table.category, Category::Table);
        assert_eq!(table.text.unwrap(), "a\tb<c\n1 2\t&");
        assert_eq!(
            table.text_as_html.unwrap(),
            "<table><thead><tr><th>a</th><th>b&lt;c</th></tr></thead>\
             <tbody><tr><td>1<br>2</td><td>&amp;</td></tr></tbody></table>"
        );
    }

    #[test]
    fn large_table_becomes_chunks_of_whole_rows_under_the_header() {
        let wide = "x".repeat(ELEMENT_BYTES / 3);
        let mut grid = Grid::new();
        grid.row(true, cells(&["name"]));
        for _ in 0..4 {
            grid.row(false, cells(&[&wide]));
        }
        let mut elements = Elements::default();
        grid.finish(&mut elements);
        let texts: Vec<_> = elements
            .into_vec()
            .into_iter()
            .map(|element| {
                assert_eq!(element.category, Category::TableChunk);
                assert_eq!(element.text_as_html, None);
                element.text.unwrap()
            })
            .collect();
        let chunk = format!("name\n{wide}\n{wide}");
        assert_eq!(texts, [chunk.clone(), chunk]);
    }

    #[test]
    fn table_whose_html_alone_is_too_large_becomes_a_chunk() {
        let mut grid = Grid::new();
        let row = vec![""; 1000];
        for _ in 0..200 {
            grid.row(false, cells(&row));
        }
        grid.row(false, cells(&["end"]));
        let mut elements = Elements::default();
        grid.finish(&mut elements);
        let elements = elements.into_vec();
        assert_eq!(elements.len(), 1);
        assert_eq!(elements[0].category, Category::TableChunk);
    }

    #[test]
    fn table_without_words_is_none_however_large_it_is() {
        let mut grid = Grid::new();
        for _ in 0..3 {
            grid.row(false, cells(&vec![""; ELEMENT_BYTES / 2]));
        }
        let mut elements = Elements::default();
        grid.finish(&mut elements);
        assert!(elements.is_empty());
    }

    #[test]
    fn row_that_alone_is_too_large_for_html_is_not_written_as_html() {
        let mut grid = Grid::new();
        grid.row(false, cells(&vec!["a"; 200_000]));
        assert!(grid.html.is_none());
        let mut elements = Elements::default();
        grid.finish(&mut elements);
        let element = &elements.into_vec()[0];
        assert_eq!(element.category, Category::TableChunk);
        assert_eq!(element.text.as_deref().map(str::len), Some(399_999));
    }
}
