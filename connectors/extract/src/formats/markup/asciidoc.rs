//! AsciiDoc, by its lines.

use super::inline::{Link, Notation, no_reference};
use super::org::dedented;
use super::writer::{Writer, indent};
use crate::flow::Container;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

const ASCIIDOC: Notation = Notation {
    marks: &["**", "__", "``", "##", "*", "_", "`", "#"],
    link,
    reference: no_reference,
    literal: None,
};

const ADMONITIONS: [(&str, &str); 5] = [
    ("NOTE", "note"),
    ("TIP", "tip"),
    ("IMPORTANT", "important"),
    ("WARNING", "warning"),
    ("CAUTION", "caution"),
];

/// What the lines before a block say of it.
#[derive(Default)]
struct Announced {
    /// The first words in brackets: `source`, `quote`, `NOTE`.
    style: String,
    language: Option<String>,
    has_header: bool,
    columns: usize,
    /// Whether a line with a plus binds the block to the item before it.
    is_bound: bool,
}

/// Reads an AsciiDoc text. The header's title, author, description, keywords and language are metadata.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut writer = Writer::new(&ASCIIDOC, head(format), &lines, reading.made());
    blocks(&lines, 0, &mut writer);
    Ok(writer.finish())
}

/// Returns `address[words]`, `link:address[words]`, `<<id,words>>` and the like at the beginning of a text.
fn link(text: &str) -> Option<Link<'_>> {
    if let Some(inner) = text.strip_prefix("<<") {
        let inner = &inner[..inner.find(">>")?];
        let words = inner
            .split_once(',')
            .map_or(inner, |(_, words)| words.trim());
        return (!words.is_empty()).then_some(Link {
            words: words.into(),
            url: "",
            length: inner.len() + 4,
        });
    }
    let is_macro = ["link:", "xref:", "http://", "https://", "mailto:"];
    let prefix = is_macro.iter().find(|prefix| text.starts_with(**prefix))?;
    let end = text.find(|character: char| character == '[' || character.is_whitespace())?;
    let inner = text[end..].strip_prefix('[')?;
    let inner = &inner[..inner.find(']')?];
    let url = match *prefix {
        "link:" => &text[prefix.len()..end],
        "xref:" => "",
        _ => &text[..end],
    };
    let words = inner.split_once(",role=").map_or(inner, |(words, _)| words);
    let words = words.trim_end_matches('^').trim_matches('"');
    let words = if words.trim().is_empty() {
        text[..end].trim_start_matches("link:")
    } else {
        words
    };
    Some(Link {
        words: words.into(),
        url,
        length: end + inner.len() + 2,
    })
}

fn blocks(lines: &[&str], depth: usize, writer: &mut Writer) {
    let mut announced = Announced::default();
    let mut at = 0;
    while at < lines.len() {
        at += block(&lines[at..], depth, &mut announced, writer);
    }
    writer.flush();
}

/// Reads what the first line begins and returns how many lines that was.
fn block(lines: &[&str], depth: usize, announced: &mut Announced, writer: &mut Writer) -> usize {
    let line = lines[0];
    let text = line.trim_end();
    if text.is_empty() {
        writer.flush();
        return 1;
    }
    if text == "+" && writer.in_list() {
        writer.flush();
        announced.is_bound = true;
        return 1;
    }
    if let Some(length) = fenced(lines, depth, announced, writer) {
        *announced = Announced::default();
        return length;
    }
    if announce(text, announced, writer) || marked_line(text, writer) {
        return 1;
    }
    if let Some(level) = heading_level(text) {
        writer.heading(level, text[level..].trim());
        return 1;
    }
    if let Some((name, value)) = attribute(text) {
        declare(name, value, writer);
        return 1;
    }
    if !writer.has_lines()
        && let Some(length) = whole_paragraph(lines, announced, writer)
    {
        *announced = Announced::default();
        return length;
    }
    paragraph(text, announced, writer);
    1
}

/// Reads a paragraph that is something else by what is announced, or by its first word.
fn whole_paragraph(lines: &[&str], announced: &Announced, writer: &mut Writer) -> Option<usize> {
    let count = paragraph_length(lines);
    let lines = &lines[..count];
    if indent(lines[0]) > 0 && item(lines[0].trim_end()).is_none() {
        writer.code(&dedented(lines), announced.language.as_deref());
        return Some(count);
    }
    if matches!(announced.style.as_str(), "source" | "listing" | "literal") {
        writer.code(&lines.join("\n"), announced.language.as_deref());
        return Some(count);
    }
    let prefixed = ADMONITIONS.iter().find_map(|(word, alert)| {
        let rest = lines[0].strip_prefix(word)?.strip_prefix(": ")?;
        Some((*alert, rest))
    });
    let announced = ADMONITIONS
        .iter()
        .find(|(word, _)| *word == announced.style);
    let (alert, first) = prefixed.or_else(|| announced.map(|(_, alert)| (*alert, lines[0])))?;
    writer.flow.open(Container::Quote { alert: Some(alert) });
    writer.line(first);
    for line in &lines[1..] {
        writer.line(line);
    }
    writer.flush();
    writer.flow.close();
    Some(count)
}

/// Returns how many lines a paragraph has that begins with the first.
fn paragraph_length(lines: &[&str]) -> usize {
    let belongs = |line: &&&str| !line.trim().is_empty() && line.trim() != "+";
    1 + lines[1..].iter().take_while(belongs).count()
}

/// A heading has up to six `=` (or `#`) before it.
fn heading_level(text: &str) -> Option<usize> {
    let mark = text
        .chars()
        .next()
        .filter(|mark| matches!(mark, '=' | '#'))?;
    let level = text.len() - text.trim_start_matches(mark).len();
    (level <= 6 && text[level..].starts_with(' ')).then_some(level)
}

fn paragraph(text: &str, announced: &mut Announced, writer: &mut Writer) {
    if let Some((key, ordered, rest)) = item(text) {
        writer.item(key, ordered);
        for (mark, done) in [("[ ] ", false), ("[x] ", true), ("[*] ", true)] {
            if let Some(task) = rest.strip_prefix(mark) {
                writer.flow.task(done);
                writer.line(task);
                return;
            }
        }
        if !rest.is_empty() {
            writer.line(rest);
        }
        return;
    }
    if !writer.has_lines() {
        if !announced.is_bound {
            writer.end_lists();
        }
        *announced = Announced::default();
    }
    writer.line(text);
}

/// Returns how deep an item is, by the length of its marker, whether it is ordered, and its text.
fn item(text: &str) -> Option<(usize, bool, &str)> {
    let text = text.trim_start();
    for (mark, ordered) in [('*', false), ('.', true), ('-', false)] {
        let length = text.len() - text.trim_start_matches(mark).len();
        if (1..=6).contains(&length) && text[length..].starts_with(' ') {
            let key = length * 2 + usize::from(mark != '-');
            return Some((key, ordered, text[length..].trim_start()));
        }
    }
    if let Some(rest) = super::writer::after_number(text) {
        return Some((3, true, rest.trim_start()));
    }
    let (term, rest) = text.split_once("::")?;
    let is_term =
        !term.is_empty() && !term.ends_with(':') && (rest.is_empty() || rest.starts_with(' '));
    // The term and what it means are one item.
    is_term.then_some((1, false, text))
}

/// Reads a line in brackets, or the title of a block.
fn announce(text: &str, announced: &mut Announced, writer: &mut Writer) -> bool {
    if let Some(inner) = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
    {
        if inner.starts_with(' ') {
            return false;
        }
        writer.flush();
        let mut words = inner.split(',').map(|word| word.trim().trim_matches('"'));
        let first = words.next().unwrap_or_default();
        let style = first.split(['%', '#', '.']).next().unwrap_or_default();
        if !style.is_empty() && !style.contains('=') {
            announced.style = style.to_owned();
        }
        if style == "source" || (style.is_empty() && first.is_empty()) {
            let language = words
                .next()
                .filter(|word| !word.is_empty() && !word.contains('='));
            announced.language = language.map(str::to_owned);
        }
        announced.has_header |= inner.contains("header");
        if let Some((_, columns)) = inner.split_once("cols=") {
            announced.columns = column_count(columns);
        }
        return true;
    }
    let title = text
        .strip_prefix('.')
        .filter(|title| !title.starts_with(['.', ' ']) && !title.is_empty());
    if let Some(title) = title.filter(|_| !writer.has_lines()) {
        writer.caption(title);
        return true;
    }
    false
}

/// Returns how many columns `cols="1,3*,2"` means; bounded, for the number is not to be trusted.
fn column_count(written: &str) -> usize {
    let quote = written
        .chars()
        .next()
        .filter(|character| matches!(character, '"' | '\''));
    let inner = match quote {
        Some(quote) => written[1..].split(quote).next().unwrap_or_default(),
        None => written.split([',', ']']).next().unwrap_or_default(),
    };
    let columns = inner.split([',', ';']).map(|column| {
        let repeated = column
            .trim()
            .split_once('*')
            .and_then(|(count, _)| count.parse().ok());
        repeated.unwrap_or(1usize).min(1000)
    });
    columns.sum()
}

/// Reads a line that is a block of its own.
fn marked_line(text: &str, writer: &mut Writer) -> bool {
    if let Some(comment) = text
        .strip_prefix("//")
        .filter(|rest| !rest.starts_with('/'))
    {
        writer.raw(comment.trim());
        return true;
    }
    if let Some(rest) = text.strip_prefix("image::")
        && let Some((url, alt)) = rest.split_once('[')
    {
        let alt = alt.trim_end_matches(']');
        let alt = alt.split_once(',').map_or(alt, |(alt, _)| alt);
        writer.picture(url, alt.trim_matches('"'), "");
        return true;
    }
    let is_rule = text.len() >= 3 && text.bytes().all(|byte| byte == b'\'');
    match text {
        _ if is_rule => writer.end_lists(),
        "---" | "***" => writer.end_lists(),
        "<<<" => writer.end_lists(),
        _ => return false,
    }
    writer.flow.page_break();
    true
}

fn attribute(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.strip_prefix(':')?.split_once(':')?;
    let is_name = |character: char| character.is_alphanumeric() || "-_!".contains(character);
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, value.trim()))
}

fn declare(name: &str, value: &str, writer: &mut Writer) {
    writer.flush();
    match name {
        "author" | "description" | "keywords" => writer.declare(name, value),
        "lang" => writer.declare("language", value),
        "doctitle" | "title" => writer.declare_title(value),
        _ => writer.field(name, value),
    }
}

/// Reads a block between two lines that are alike and returns its length; `None` if none begins.
fn fenced(
    lines: &[&str],
    depth: usize,
    announced: &Announced,
    writer: &mut Writer,
) -> Option<usize> {
    const MAX_DEPTH: usize = 16;
    let fence = lines[0].trim_end();
    let is_table = matches!(fence, "|===" | "!===" | ",===" | ":===");
    let mark = fence.chars().next()?;
    let is_run = fence.len() >= 4 && fence.chars().all(|character| character == mark);
    let is_block = is_run && matches!(mark, '-' | '.' | '=' | '*' | '_' | '+' | '/');
    let is_markdown = fence.starts_with("```");
    if !is_table && !is_block && !is_markdown && fence != "--" {
        return None;
    }
    let end = if is_markdown { "```" } else { fence };
    let length = writer.end_of(end, &lines[1..])?;
    let inner = &lines[1..=length];
    writer.flush();
    let language = announced.language.as_deref();
    let style = announced.style.as_str();
    match mark {
        _ if is_table => table(fence, inner, announced, writer),
        '`' => writer.code(
            &inner.join("\n"),
            Some(&fence[3..]).filter(|language| !language.is_empty()),
        ),
        '-' if fence != "--" => writer.code(&inner.join("\n"), language),
        '.' | '+' => writer.code(&inner.join("\n"), language),
        '-' if style == "source" => writer.code(&inner.join("\n"), language),
        '/' => writer.raw(&inner.join("\n")),
        _ if depth >= MAX_DEPTH => writer.raw(&inner.join("\n")),
        _ => container(mark, style, inner, depth, writer),
    }
    Some(length + 2)
}

fn container(mark: char, style: &str, inner: &[&str], depth: usize, writer: &mut Writer) {
    let alert = ADMONITIONS
        .iter()
        .find(|(word, _)| *word == style)
        .map(|(_, alert)| *alert);
    let is_quote = mark == '_' || alert.is_some();
    if is_quote {
        writer.flow.open(Container::Quote { alert });
    }
    writer.within(inner, |part| blocks(inner, depth + 1, part));
    if is_quote {
        writer.flow.close();
    }
}

/// Reads a table: rows have as many cells as the first line, or as declared.
fn table(fence: &str, lines: &[&str], announced: &Announced, writer: &mut Writer) {
    let bar = match fence.chars().next() {
        Some(bar @ ('|' | '!')) => bar,
        separator => {
            let separator = separator.unwrap_or(',');
            let rows = lines.iter().filter(|line| !line.trim().is_empty());
            let cells = |line: &&str| {
                line.split(separator)
                    .map(|cell| cell.trim().to_owned())
                    .collect()
            };
            let rows: Vec<Vec<String>> = rows.map(cells).collect();
            return writer.table(&rows, usize::from(announced.has_header));
        }
    };
    let (cells, of_first_line) = cells(bar, lines);
    let columns = match announced.columns {
        0 => of_first_line,
        declared => declared,
    };
    let first_line = lines.iter().position(|line| !line.trim().is_empty());
    let second_line = first_line.and_then(|first| lines.get(first + 1));
    let has_header = announced.has_header || second_line.is_some_and(|line| line.trim().is_empty());
    let rows: Vec<Vec<String>> = cells
        .chunks(columns.max(1))
        .map(<[String]>::to_vec)
        .collect();
    let headers = usize::from(has_header && rows.len() > 1);
    writer.table(&rows, headers);
}

/// Returns the cells of a table, each of which begins with a bar, and how many are in the first line that has some.
fn cells(bar: char, lines: &[&str]) -> (Vec<String>, usize) {
    let mut cells: Vec<String> = Vec::new();
    let mut of_first_line = 0;
    for line in lines {
        let mut pieces = line.trim().split(bar);
        let before = pieces.next().unwrap_or_default();
        // Before the first bar of a line is the end of the cell before, or how the cell is set.
        if !before.is_empty() && !is_cell_setting(before) {
            match cells.last_mut() {
                Some(cell) => {
                    if !cell.is_empty() {
                        cell.push('\n');
                    }
                    cell.push_str(before.trim());
                }
                None => cells.push(before.trim().to_owned()),
            }
        }
        cells.extend(pieces.map(|piece| without_setting(piece).to_owned()));
        if of_first_line == 0 {
            of_first_line = cells.len();
        }
    }
    (cells, of_first_line)
}

/// Whether a text before a bar says how the next cell is set: `2+`, `.3+`, `a`, `^.^s`.
fn is_cell_setting(text: &str) -> bool {
    let text = text.trim();
    text.len() <= 8
        && text
            .bytes()
            .all(|byte| b"0123456789.+*<>^aehlmsdv".contains(&byte))
}

/// Takes the setting of the next cell off the end of a cell.
fn without_setting(cell: &str) -> &str {
    match cell.rsplit_once(' ') {
        Some((text, setting))
            if !setting.is_empty()
                && is_cell_setting(setting)
                && setting.contains(['+', '*', '^', '<', '>']) =>
        {
            text.trim()
        }
        _ => cell.trim(),
    }
}
