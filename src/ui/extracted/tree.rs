//! A document as a tree for people: each element in a line or a few, on a terminal no wider than that. What is
//! piped into a file or a pager is whole.

use std::fmt::Write as _;
use std::io::{self, IsTerminal};

use rustix::termios::tcgetwinsize;
use serde_json::{Map, Value};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::ops::extract::{Element, Made, Page};
use crate::sync::printable::printable;
use crate::ui::{Color, text};

use super::{category, digest};

/// Width of a terminal that does not tell it.
const WIDTH: usize = 100;

/// Column in which texts begin: behind the longest name of a category.
const TEXT_COLUMN: usize = 22;

/// So many lines of a table or of code are shown on a terminal.
const LINES: usize = 6;

/// How a tree is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    colours: bool,
    /// Columns of the terminal, if it is one.
    width: Option<usize>,
}

impl Style {
    /// Returns the style for what stdout is: the width of a terminal, and colours where they are wanted.
    pub fn of_stdout(color: Color) -> Self {
        let stdout = io::stdout();
        let width = tcgetwinsize(&stdout)
            .ok()
            .map(|size| usize::from(size.ws_col));
        let width = width.filter(|width| *width > 40).unwrap_or(WIDTH);
        let is_terminal = stdout.is_terminal();
        Self {
            colours: color.is_on(is_terminal),
            width: is_terminal.then_some(width),
        }
    }
}

/// Returns the document of a file as a tree.
pub fn to_text(file: &str, made: &Made, style: Style) -> String {
    let mut tree = Tree {
        out: String::new(),
        style,
    };
    tree.document(file, made);
    tree.out.truncate(tree.out.trim_end().len());
    tree.out
}

struct Tree {
    out: String,
    style: Style,
}

impl Tree {
    fn document(&mut self, file: &str, made: &Made) {
        let extraction = &made.extraction;
        let pages = extraction.pages.len();
        let count = match pages {
            0 => "no pages".to_owned(),
            1 => "1 page".to_owned(),
            _ => format!("{pages} pages"),
        };
        let file_type = &extraction.head.file_type;
        self.whole_line("1", &format!("{file}  {file_type}, {count}"));
        if let Some(title) = &extraction.head.title {
            self.line(2, "", &format!("title: {}", one_line(title)));
        }
        self.metadata(2, &extraction.head.doc_metadata);
        for note in &extraction.notes {
            self.line(2, "33", &format!("note: {note}"));
        }
        for (number, page) in extraction.pages.iter().enumerate() {
            if pages > 1 || page.title.is_some() || !page.page_metadata.is_empty() {
                self.page(number + 1, page);
            }
            for element in &page.elements {
                self.element(element, made);
            }
        }
    }

    fn page(&mut self, number: usize, page: &Page) {
        let title = page
            .title
            .as_ref()
            .map(|title| format!(": {}", one_line(title)));
        let title = title.unwrap_or_default();
        self.line(2, "1", &format!("page {number}{title}"));
        self.metadata(4, &page.page_metadata);
    }

    fn element(&mut self, element: &Element, made: &Made) {
        let name = category(element).as_str().unwrap_or_default().to_owned();
        let blob = element.blob.as_ref().and_then(|blob| made.blob(blob));
        let mut lines = Vec::new();
        if let Some(bytes) = blob {
            let mime_type = element.mime_type.as_deref().unwrap_or("bytes");
            let size = text::bytes(bytes.len() as u64);
            lines.push(format!(
                "{mime_type}, {size}, sha256:{}…",
                &digest(bytes)[..12]
            ));
        }
        let most = self.style.width.map_or(usize::MAX, |_| LINES);
        lines.extend(shown(&name, element.text.as_deref(), most));
        let mut lines = lines.into_iter();
        self.named_line(&name, &lines.next().unwrap_or_default());
        for line in lines {
            self.line(TEXT_COLUMN, "", &line);
        }
        self.metadata(TEXT_COLUMN, &element.metadata);
    }

    fn metadata(&mut self, indent: usize, metadata: &Map<String, Value>) {
        for (name, value) in metadata {
            let value = match value {
                Value::String(text) => one_line(text),
                other => other.to_string(),
            };
            self.line(indent, "2", &format!("{name}: {value}"));
        }
    }

    fn named_line(&mut self, name: &str, text: &str) {
        let name = format!("{name:<width$}", width = TEXT_COLUMN - 4);
        let (name, text) = (self.coloured("36", &name), self.fitted(TEXT_COLUMN, text));
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{}", format!("    {name}{text}").trim_end());
    }

    fn line(&mut self, indent: usize, colour: &str, text: &str) {
        let text = self.coloured(colour, &self.fitted(indent, text));
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    /// Writes a line whose end matters most.
    fn whole_line(&mut self, colour: &str, text: &str) {
        let text = self.coloured(colour, &printable(text));
        let _ = writeln!(self.out, "{text}");
    }

    /// Returns as much of a text as there is room for from a column on.
    fn fitted(&self, column: usize, text: &str) -> String {
        let text = printable(text);
        match self.style.width {
            Some(width) => cut(&text, width.saturating_sub(column)),
            None => text.to_string(),
        }
    }

    fn coloured(&self, colour: &str, text: &str) -> String {
        if self.style.colours && !colour.is_empty() {
            return format!("\u{1b}[{colour}m{text}\u{1b}[0m");
        }
        text.to_owned()
    }
}

/// Returns the lines that show the text of an element of this category: of a table or of code at most so many.
fn shown(category: &str, text: Option<&str>, most: usize) -> Vec<String> {
    let Some(text) = text else { return Vec::new() };
    let is_table = category.starts_with("Table");
    if !is_table && category != "CodeSnippet" {
        return vec![one_line(text)];
    }
    let mut lines: Vec<String> = Vec::new();
    if is_table {
        let columns = text.lines().map(|row| row.split('\t').count()).max();
        let rows = text.lines().count();
        lines.push(format!("{rows} × {}", columns.unwrap_or_default()));
    }
    let all = text.lines().count();
    // The line that says how many are left could be one of them.
    let most = if all <= most.saturating_add(1) {
        all
    } else {
        most
    };
    let rows = text.lines().take(most);
    lines.extend(rows.map(|row| match is_table {
        true => row.replace('\t', " │ "),
        false => row.replace('\t', "    "),
    }));
    if all > most {
        lines.push(format!("… {} more lines", all - most));
    }
    lines
}

/// Returns a text with its line ends shown.
fn one_line(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.join(" ⏎ ").replace('\t', " ")
}

/// Cuts a text to so many columns of a terminal: characters of Chinese, Japanese and Korean take two.
fn cut(text: &str, width: usize) -> String {
    // Most lines are short, and a character takes two columns at most.
    if text.len() <= width / 2 || text.width() <= width {
        return text.to_owned();
    }
    let mut columns = 0;
    let end = text.char_indices().find(|(_, character)| {
        columns += character.width().unwrap_or_default();
        columns >= width
    });
    let end = end.map_or(text.len(), |(end, _)| end);
    format!("{}…", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{cut, shown};

    #[test]
    fn what_is_too_wide_ends_in_dots() {
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("äöüß", 3), "äö…");
        assert_eq!(cut("", 0), "");
        assert_eq!(cut("文書", 4), "文書");
        assert_eq!(cut("文書の", 5), "文書…");
        assert_eq!(cut("文書の", 4), "文…");
    }

    #[test]
    fn tables_are_shown_as_rows_and_texts_in_a_line() {
        let rows = ["a\tb", "1\t2", "", "", "", "", "", "c"].join("\n");
        let lines = shown("Table", Some(&rows), 6);
        assert_eq!(lines[0], "8 × 2");
        assert_eq!(lines[1], "a │ b");
        assert_eq!(lines[7], "… 2 more lines");
        assert_eq!(shown("Table", Some(&rows), 7).len(), 9);
        assert_eq!(shown("Table", Some(&rows), usize::MAX).len(), 9);
        assert_eq!(shown("NarrativeText", Some("a\nb\tc"), 6), ["a ⏎ b c"]);
        assert_eq!(shown("PageBreak", None, 6), Vec::<String>::new());
    }
}
