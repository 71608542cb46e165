//! reStructuredText: blocks by their lines and indentation.

mod directive;
mod reference;
mod table;

use super::inline::Notation;
use super::writer::{Writer, after_number, indent};
use crate::flow::Container;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

const RESTRUCTURED: Notation = Notation {
    marks: &["``", "**", "*", "`"],
    link: reference::link,
    reference: reference::word,
    literal: Some("``"),
};

/// Blocks indented deeper are code.
const MAX_DEPTH: usize = 24;

/// Reads a text. Fields before everything else but the title, such as the author, are metadata.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let lines: Vec<&str> = text.lines().collect();
    let writer = Writer::new(&RESTRUCTURED, head(format), &[], reading.made());
    let mut reader = Reader {
        writer: writer.with_targets(reference::targets(&lines)),
        adornments: Vec::new(),
    };
    reader.blocks(&lines, 0);
    Ok(reader.writer.finish())
}

struct Reader {
    writer: Writer,
    /// Characters under and over headings, in the order in which they were met: each is a level.
    adornments: Vec<(char, bool)>,
}

impl Reader {
    fn blocks(&mut self, lines: &[&str], depth: usize) {
        let mut at = 0;
        while at < lines.len() {
            at += self.block(&lines[at..], depth);
        }
        self.writer.end_lists();
    }

    /// Reads what the first line begins and returns how many lines that was.
    fn block(&mut self, lines: &[&str], depth: usize) -> usize {
        let line = lines[0];
        let text = line.trim();
        if text.is_empty() {
            self.writer.flush();
            return 1;
        }
        if self.writer.has_lines() {
            return self.paragraph_line(lines);
        }
        if depth >= MAX_DEPTH {
            self.writer.code(&lines.join("\n"), None);
            return lines.len();
        }
        if indent(line) > 0 {
            return self.quote(lines, depth);
        }
        if let Some(length) = self.heading(lines) {
            return length;
        }
        if text == ".." || text.starts_with(".. ") || text == "__" || text.starts_with("__ ") {
            return self.explicit(lines, depth);
        }
        if let Some(length) = table::read(lines, &mut self.writer) {
            return length;
        }
        if text.starts_with(">>> ") {
            let count = lines
                .iter()
                .take_while(|line| !line.trim().is_empty())
                .count();
            self.writer.code(&lines[..count].join("\n"), Some("python"));
            return count;
        }
        let block = self.line_block(lines).or_else(|| self.field(lines));
        let block = block.or_else(|| self.item(lines, depth));
        block.unwrap_or_else(|| self.paragraph_line(lines))
    }

    /// Reads a heading or a line across the page.
    fn heading(&mut self, lines: &[&str]) -> Option<usize> {
        let line_at = |at: usize| {
            lines
                .get(at)
                .map(|line| line.trim_end())
                .unwrap_or_default()
        };
        let over = adornment(line_at(0));
        if let Some(mark) = over {
            let title = line_at(1).trim();
            if !title.is_empty() && adornment(line_at(2)) == Some(mark) {
                self.title(title, (mark, true));
                return Some(3);
            }
            if line_at(0).len() >= 4 && title.is_empty() {
                self.writer.end_lists();
                self.writer.flow.page_break();
                return Some(1);
            }
            return None;
        }
        let mark = adornment(line_at(1))?;
        let width = line_at(0).chars().count();
        let is_wide_enough = line_at(1).len() >= width.min(4) && !line_at(0).starts_with("..");
        is_wide_enough.then(|| {
            self.title(line_at(0), (mark, false));
            2
        })
    }

    fn title(&mut self, text: &str, adornment: (char, bool)) {
        let known = self.adornments.iter().position(|known| *known == adornment);
        let level = known.unwrap_or_else(|| {
            self.adornments.push(adornment);
            self.adornments.len() - 1
        });
        self.writer.heading(level + 1, text);
    }

    /// Reads an indented block: a quotation.
    fn quote(&mut self, lines: &[&str], depth: usize) -> usize {
        let (body, length) = indented(lines);
        self.writer.end_lists();
        self.writer.flow.open(Container::Quote { alert: None });
        self.blocks(&body, depth + 1);
        self.writer.flow.close();
        length
    }

    /// Reads an item of a list and what belongs to it.
    fn item(&mut self, lines: &[&str], depth: usize) -> Option<usize> {
        let line = lines[0];
        let bullet = line.strip_prefix(['-', '*', '+', '\u{2022}']);
        let bullet = bullet.filter(|rest| rest.starts_with([' ', '\t']));
        let next = lines.get(1).copied().unwrap_or_default();
        let rest = bullet.or_else(|| after_number(line));
        let rest = rest.or_else(|| after_letter(line).filter(|_| may_follow_item(next)));
        let is_term = rest.is_none() && indent(next) > 0 && !line.ends_with("::");
        let (first, body_lines): (&str, &[&str]) = match rest {
            Some(rest) => (rest.trim_start(), &lines[1..]),
            None if is_term && !next.trim().is_empty() => (line, &lines[1..]),
            None => return None,
        };
        let (body, length) = indented(body_lines);
        let ordered = rest.is_some() && bullet.is_none();
        self.writer.flow.open(Container::List { ordered });
        self.writer.flow.open(Container::Item);
        match is_term {
            true => {
                self.writer.line(first);
                self.writer.flush();
                self.blocks(&body, depth + 1);
            }
            false => {
                let mut whole = vec![first];
                whole.extend(&body);
                self.blocks(&whole, depth + 1);
            }
        }
        self.writer.flow.close();
        self.writer.flow.close();
        Some(length + 1)
    }

    /// Reads lines that begin with a bar, which stay lines; a line without one goes on with that before it.
    fn line_block(&mut self, lines: &[&str]) -> Option<usize> {
        let after_bar = |line: &'_ str| -> Option<String> {
            let rest = line.trim_end().strip_prefix('|')?;
            let is_bar = rest.is_empty() || rest.starts_with(' ');
            is_bar.then(|| rest.strip_prefix(' ').unwrap_or(rest).to_owned())
        };
        let mut text: Vec<String> = Vec::new();
        let mut count = 0;
        for line in lines {
            match (after_bar(line), text.last_mut()) {
                (Some(line), _) => text.push(line),
                (None, Some(last)) if indent(line) > 0 && !line.trim().is_empty() => {
                    last.push(' ');
                    last.push_str(line.trim());
                }
                _ => break,
            }
            count += 1;
        }
        (count > 0).then(|| {
            self.writer.paragraph(&text.join("\n"));
            count
        })
    }

    /// Reads a field: `:name: value`. The first of a text say who wrote it.
    fn field(&mut self, lines: &[&str]) -> Option<usize> {
        let (name, value) = lines[0].strip_prefix(':')?.split_once(':')?;
        let is_field = !name.is_empty() && (value.is_empty() || value.starts_with(' '));
        if !is_field || name.contains('`') {
            return None;
        }
        let (body, length) = indented(&lines[1..]);
        let mut all = vec![value.trim()];
        all.extend(
            body.iter()
                .map(|line| line.trim())
                .filter(|line| !line.is_empty()),
        );
        let value = all.join("\n");
        let known = match name.to_ascii_lowercase().as_str() {
            "author" | "authors" => Some("author"),
            "description" | "abstract" => Some("description"),
            "keywords" => Some("keywords"),
            _ => None,
        };
        if let Some(known) = known {
            self.writer.declare(known, value.trim());
        }
        self.writer.field(name, value.trim());
        Some(length + 1)
    }

    /// Reads a line of a paragraph; one that ends in two colons has code after it.
    fn paragraph_line(&mut self, lines: &[&str]) -> usize {
        let line = lines[0].trim_end();
        let is_last = lines.get(1).is_none_or(|line| line.trim().is_empty());
        let Some(before) = line.strip_suffix("::").filter(|_| is_last) else {
            self.writer.line(line);
            return 1;
        };
        match before.ends_with(' ') || before.is_empty() {
            true if before.trim().is_empty() => {}
            true => self.writer.line(before),
            false => self.writer.line(&format!("{before}:")),
        }
        self.writer.flush();
        let (body, length) = indented(&lines[1..]);
        self.writer.code(body.join("\n").trim_matches('\n'), None);
        length + 1
    }
}

/// Returns the rest of a line that begins like an item with a letter or a Roman number.
fn after_letter(line: &str) -> Option<&str> {
    let (inner, ends) = match line.strip_prefix('(') {
        Some(inner) => (inner, &[')'][..]),
        None => (line, &['.', ')'][..]),
    };
    let end = inner.find(|character: char| !character.is_ascii_alphabetic())?;
    let label = &inner[..end];
    let is_roman = |of: &str| label.len() <= 8 && label.chars().all(|digit| of.contains(digit));
    let is_label = label.len() == 1 || is_roman("ivxlcdm") || is_roman("IVXLCDM");
    let rest = inner[end..]
        .strip_prefix(ends)
        .filter(|_| end > 0 && is_label)?;
    rest.starts_with([' ', '\t']).then_some(rest)
}

/// Whether a line may follow the first of an item that a letter could also begin by chance.
fn may_follow_item(line: &str) -> bool {
    line.trim().is_empty() || indent(line) > 0 || after_letter(line).is_some()
}

/// Returns the character of a line that is nothing else and stands under or over a heading.
fn adornment(line: &str) -> Option<char> {
    let mark = line.chars().next().filter(char::is_ascii_punctuation)?;
    let is_line = line.len() >= 2 && line.chars().all(|character| character == mark);
    (is_line && !(line.len() < 4 && matches!(mark, '.' | ':' | '_' | '|' | '`' | '"' | '\'')))
        .then_some(mark)
}

/// Returns the lines that are indented or blank, without their common indentation, and how many they are; blank lines at
/// the end do not belong to them.
fn indented<'t>(lines: &[&'t str]) -> (Vec<&'t str>, usize) {
    indented_by(1, lines)
}

/// As [`indented`], but a line that is indented less than the first ends it.
fn indented_like_first<'t>(lines: &[&'t str]) -> (Vec<&'t str>, usize) {
    let first = lines.iter().find(|line| !line.trim().is_empty());
    let least = first.map_or(0, |line| margin_of(line));
    indented_by(least.max(1), lines)
}

fn margin_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn indented_by<'t>(least: usize, lines: &[&'t str]) -> (Vec<&'t str>, usize) {
    let mut count = 0;
    let mut margin = usize::MAX;
    for (index, line) in lines.iter().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let columns = margin_of(line);
        if columns < least {
            break;
        }
        margin = margin.min(columns);
        count = index + 1;
    }
    let body = lines[..count]
        .iter()
        .map(|line| line.get(margin..).unwrap_or_default());
    (body.collect(), count)
}
