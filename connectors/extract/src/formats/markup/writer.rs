//! The blocks of a text on their way to the flow: what the three notations share.

use std::collections::BTreeMap;

use dpe_connector::content::{Category, DocumentHead};

use super::inline::{Notation, Targets, flat};
use crate::Document;
use crate::elements::VALUE_BYTES;
use crate::flow::{Container, Flow, title};
use crate::grid::{Cell, Grid};
use crate::inline::{Flat, Inline, Picture};
use crate::made::Made;

/// Lists and quotes nested deeper stay on the level above.
const MAX_DEPTH: usize = 32;

/// Writes blocks in one notation.
pub(super) struct Writer {
    pub(super) flow: Flow,
    notation: &'static Notation,
    targets: Targets,
    /// Lines of the paragraph that is not finished.
    lines: Vec<String>,
    /// How far the markers of the open lists are indented, and whether they are ordered.
    lists: Vec<(usize, bool)>,
    /// Where lines that could end a block come last, by their text in lowercase, and how many lines there are.
    ends: (BTreeMap<String, usize>, usize),
    head: DocumentHead,
}

impl Writer {
    pub(super) fn new(
        notation: &'static Notation,
        head: DocumentHead,
        lines: &[&str],
        made: &Made,
    ) -> Self {
        Self {
            flow: Flow::of(made),
            notation,
            targets: Targets::new(),
            lines: Vec::new(),
            lists: Vec::new(),
            ends: (last_ends(lines), lines.len()),
            head,
        }
    }

    /// Says where the targets lead that links of the text name.
    pub(super) fn with_targets(self, targets: Targets) -> Self {
        Self { targets, ..self }
    }

    /// Reads a part of the text, in which blocks end that begin in it. Lists around it go on after it.
    pub(super) fn within(&mut self, lines: &[&str], read: impl FnOnce(&mut Writer)) {
        let mut part = Self::new(
            self.notation,
            DocumentHead::default(),
            lines,
            self.flow.made(),
        );
        std::mem::swap(&mut part.flow, &mut self.flow);
        read(&mut part);
        part.end_lists();
        std::mem::swap(&mut part.flow, &mut self.flow);
    }

    /// Returns where the line is that ends a block, if it comes in the lines that are left.
    pub(super) fn end_of(&self, end: &str, lines: &[&str]) -> Option<usize> {
        let (last, count) = &self.ends;
        let here = count - lines.len().min(*count);
        last.get(&end.to_ascii_lowercase())
            .filter(|last| **last >= here)?;
        let is_end = |line: &&str| line.trim().eq_ignore_ascii_case(end);
        lines.iter().position(is_end)
    }

    /// Adds a line to the paragraph.
    pub(super) fn line(&mut self, line: &str) {
        self.lines.push(line.trim().to_owned());
    }

    /// Ends the paragraph.
    pub(super) fn flush(&mut self) {
        if !self.lines.is_empty() {
            let text = std::mem::take(&mut self.lines).join("\n");
            self.paragraph(&text);
        }
    }

    /// Adds a paragraph whose lines begin as they are written.
    pub(super) fn paragraph(&mut self, text: &str) {
        let text = self.flat(text);
        self.flow.paragraph(text);
    }

    fn flat(&self, text: &str) -> Flat {
        flat(text, self.notation, &self.targets)
    }

    /// Whether a paragraph is under way.
    pub(super) fn has_lines(&self) -> bool {
        !self.lines.is_empty()
    }

    /// Begins an item of a list whose marker is indented so far.
    pub(super) fn item(&mut self, indent: usize, ordered: bool) {
        self.flush();
        while let Some((open, kind)) = self.lists.last().copied() {
            if open < indent || (open == indent && kind == ordered) {
                break;
            }
            self.close_list();
        }
        match self.lists.last() {
            Some((open, _)) if *open == indent || self.lists.len() >= MAX_DEPTH => {
                self.flow.close();
            }
            _ => {
                self.flow.open(Container::List { ordered });
                self.lists.push((indent, ordered));
            }
        }
        self.flow.open(Container::Item);
    }

    /// Ends the lists whose items do not reach to text indented so far.
    pub(super) fn outdent(&mut self, indent: usize) {
        while self.lists.last().is_some_and(|(open, _)| *open >= indent) {
            self.flush();
            self.close_list();
        }
    }

    pub(super) fn in_list(&self) -> bool {
        !self.lists.is_empty()
    }

    /// Ends the paragraph and all lists.
    pub(super) fn end_lists(&mut self) {
        self.flush();
        while !self.lists.is_empty() {
            self.close_list();
        }
    }

    fn close_list(&mut self) {
        self.lists.pop();
        self.flow.close();
        self.flow.close();
    }

    pub(super) fn heading(&mut self, level: usize, text: &str) {
        self.end_lists();
        let level = level.clamp(1, 6) as u64;
        let text = self.flat(text);
        self.flow.heading(level, text);
    }

    pub(super) fn caption(&mut self, text: &str) {
        self.flush();
        let text = self.flat(text);
        self.flow.text(Category::FigureCaption, text);
    }

    pub(super) fn code(&mut self, text: &str, language: Option<&str>) {
        self.flush();
        self.flow.code(text.trim_end_matches('\n'), language);
    }

    /// Adds what is no text to read as it is written.
    pub(super) fn raw(&mut self, text: &str) {
        self.flush();
        self.flow.text(Category::UncategorizedText, verbatim(text));
    }

    /// Adds a declaration that has no other place.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.flush();
        let text = format!("{name}: {value}");
        self.flow.text(
            Category::FormKeysValues,
            verbatim(text.trim_end_matches(": ")),
        );
    }

    /// Adds a picture.
    pub(super) fn picture(&mut self, url: &str, alt: &str, link: &str) {
        self.flush();
        let mut inline = Inline::default();
        inline.open_link(link);
        inline.open_picture(Picture::at(url));
        inline.push(alt);
        inline.close_picture();
        self.flow.paragraph(inline.take());
    }

    /// Adds a table whose first rows, so many, name the columns.
    pub(super) fn table(&mut self, rows: &[Vec<String>], headers: usize) {
        self.flush();
        let mut grid = Grid::new();
        for (index, row) in rows.iter().enumerate() {
            let cells: Vec<Flat> = row.iter().map(|cell| self.flat(cell)).collect();
            grid.row(
                index < headers,
                cells.iter().map(|cell| Cell {
                    text: &cell.text,
                    links: &cell.links,
                    ..Cell::default()
                }),
            );
        }
        self.flow.table(grid, Vec::new());
    }

    /// Notes what the text declares of itself, by the name that metadata has for it.
    pub(super) fn declare(&mut self, name: &str, value: &str) {
        let value = value.trim();
        if (1..=VALUE_BYTES).contains(&value.len()) && !self.head.doc_metadata.contains_key(name) {
            self.head.doc_metadata.insert(name.to_owned(), value.into());
        }
    }

    pub(super) fn declare_title(&mut self, text: &str) {
        let words = self.flat(text).text;
        self.head.title = self.head.title.take().or_else(|| title(&words));
    }

    pub(super) fn finish(mut self) -> Document {
        self.end_lists();
        let (leading_title, elements) = self.flow.finish();
        self.head.title = self.head.title.or(leading_title);
        Document::of_elements(self.head, elements)
    }
}

/// No line that ends a block is longer, or begins otherwise.
fn last_ends(lines: &[&str]) -> BTreeMap<String, usize> {
    const LONGEST: usize = 200;
    let ends = lines.iter().enumerate().filter_map(|(at, line)| {
        let line = line.trim();
        let is_end = line.len() <= LONGEST
            && line.starts_with([
                '#', ':', '-', '.', '=', '*', '_', '+', '/', '`', '|', '!', ',',
            ]);
        is_end.then(|| (line.to_ascii_lowercase(), at))
    });
    ends.collect()
}

fn verbatim(text: &str) -> Flat {
    let mut inline = Inline::default();
    inline.push(text);
    inline.take()
}

/// Returns how far a line is indented; a tab reaches to the next column that eight divides.
pub(super) fn indent(line: &str) -> usize {
    let mut columns = 0;
    for character in line.chars() {
        match character {
            ' ' => columns += 1,
            '\t' => columns = (columns / 8 + 1) * 8,
            _ => break,
        }
    }
    columns
}

/// Returns the rest of a line that begins like an ordered item: a number or a letter, and a dot or a parenthesis.
pub(super) fn after_number(line: &str) -> Option<&str> {
    let line = line.strip_prefix('(').unwrap_or(line);
    let end = line.find(|character: char| !character.is_ascii_digit())?;
    let rest = match end {
        0 => line.strip_prefix('#')?,
        1..=4 => &line[end..],
        _ => return None,
    };
    let rest = rest.strip_prefix(['.', ')'])?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::{after_number, indent};

    #[test]
    fn ordered_items_begin_with_a_number_and_a_mark() {
        assert_eq!(after_number("1. one"), Some(" one"));
        assert_eq!(after_number("(12) twelve"), Some(" twelve"));
        assert_eq!(after_number("#. any"), Some(" any"));
        for text in ["1.5 litres", "2024", "1", "a. b", "", "12345. long"] {
            assert_eq!(after_number(text), None, "{text}");
        }
    }

    #[test]
    fn tabs_reach_to_columns() {
        assert_eq!(indent("  \ta"), 8);
        assert_eq!(indent("   a"), 3);
    }
}
