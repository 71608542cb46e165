//! Org, by its lines.

use super::inline::{Link, Notation, no_reference};
use super::writer::{Writer, after_number, indent};
use crate::flow::Container;
use crate::format::Format;
use crate::formats::head;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

const ORG: Notation = Notation {
    marks: &["*", "/", "_", "=", "~", "+"],
    link,
    reference: no_reference,
    literal: None,
};

/// Reads an Org text. What `#+` lines declare of title, author, date, keywords, description and language is metadata.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let lines: Vec<&str> = text.lines().collect();
    let mut writer = Writer::new(&ORG, head(format), &lines, reading.made());
    let mut at = 0;
    while at < lines.len() {
        at += block(&lines[at..], &mut writer);
    }
    Ok(writer.finish())
}

/// Returns `[[address][words]]` at the beginning of a text.
fn link(text: &str) -> Option<Link<'_>> {
    let inner = text.strip_prefix("[[")?;
    let inner = &inner[..inner.find("]]")?];
    let (url, words) = inner.split_once("][").unwrap_or((inner, inner));
    let is_text = !words.is_empty() && !words.contains('[');
    is_text.then_some(Link {
        words: words.into(),
        url,
        length: inner.len() + 4,
    })
}

/// Reads what the first line begins and returns how many lines that was.
fn block(lines: &[&str], writer: &mut Writer) -> usize {
    let line = lines[0];
    let text = line.trim();
    if text.is_empty() {
        writer.flush();
        return 1;
    }
    let stars = line.len() - line.trim_start_matches('*').len();
    if stars > 0 && line[stars..].starts_with(' ') {
        writer.heading(stars, &line[stars..]);
        return 1;
    }
    if let Some(keyword) = text.strip_prefix("#+") {
        return keyword_line(keyword, lines, writer);
    }
    if begins(text, "#") || begins(text, ":") {
        return marked_lines(lines, writer);
    }
    if is_drawer(text) {
        return drawer(lines, writer);
    }
    if text.starts_with('|') {
        return table(lines, writer);
    }
    match text.len() >= 5 && text.bytes().all(|byte| byte == b'-') {
        true => {
            writer.end_lists();
            writer.flow.page_break();
        }
        false => paragraph_line(line, writer),
    }
    1
}

fn paragraph_line(line: &str, writer: &mut Writer) {
    let column = indent(line);
    let text = line.trim_start();
    let bullet = text.strip_prefix("- ").or_else(|| text.strip_prefix("+ "));
    let bullet = bullet.or_else(|| text.strip_prefix("* ").filter(|_| column > 0));
    let numbered = after_number(text).filter(|_| bullet.is_none());
    let Some(rest) = bullet.or(numbered) else {
        if !writer.has_lines() {
            writer.outdent(column);
        }
        writer.line(line);
        return;
    };
    writer.item(column, numbered.is_some());
    let rest = rest.trim_start();
    for (mark, done) in [
        ("[ ] ", false),
        ("[X] ", true),
        ("[x] ", true),
        ("[-] ", false),
    ] {
        if let Some(task) = rest.strip_prefix(mark) {
            writer.flow.task(done);
            writer.line(task);
            return;
        }
    }
    writer.line(rest);
}

/// Reads a line that begins with `#+`: a block, or a declaration.
fn keyword_line(keyword: &str, lines: &[&str], writer: &mut Writer) -> usize {
    if let Some(begin) = keyword.get(..6)
        && begin.eq_ignore_ascii_case("begin_")
    {
        let rest = &keyword[6..];
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let name = name.to_ascii_lowercase();
        if let Some(length) = writer.end_of(&format!("#+end_{name}"), &lines[1..]) {
            delimited(&name, arguments.trim(), &lines[1..=length], writer);
            return length + 2;
        }
    }
    let Some((name, value)) = keyword.split_once(':') else {
        writer.raw(lines[0]);
        return 1;
    };
    let value = value.trim();
    match name.to_ascii_lowercase().as_str() {
        "title" => writer.declare_title(value),
        "author" => writer.declare("author", value),
        "date" => writer.declare("date", value),
        "keywords" => writer.declare("keywords", value),
        "description" => writer.declare("description", value),
        "language" => writer.declare("language", value),
        "caption" => writer.caption(value),
        _ => writer.field(name, value),
    }
    1
}

fn delimited(name: &str, arguments: &str, lines: &[&str], writer: &mut Writer) {
    match name {
        "src" | "example" | "export" => {
            let language = arguments
                .split_whitespace()
                .next()
                .filter(|_| name != "example");
            writer.code(&dedented(lines), language);
        }
        "comment" => writer.raw(&lines.join("\n")),
        _ => {
            writer.flush();
            writer.end_lists();
            let is_quote = name == "quote";
            if is_quote {
                writer.flow.open(Container::Quote { alert: None });
            }
            writer.within(lines, |part| within(lines, part));
            if is_quote {
                writer.flow.close();
            }
        }
    }
}

/// Reads the lines of a block. A block within a block is text: they do not nest by intention.
fn within(lines: &[&str], writer: &mut Writer) {
    let mut at = 0;
    while at < lines.len() {
        match lines[at].trim().starts_with("#+") {
            true => {
                writer.line(lines[at]);
                at += 1;
            }
            false => at += block(&lines[at..], writer),
        }
    }
}

/// Returns lines without what all of them are indented.
pub(super) fn dedented(lines: &[&str]) -> String {
    let filled = lines.iter().filter(|line| !line.trim().is_empty());
    let margin = filled
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or(0);
    let without = lines
        .iter()
        .map(|line| line.get(margin..).unwrap_or_default());
    without.collect::<Vec<_>>().join("\n")
}

/// A drawer has its name between colons.
fn is_drawer(text: &str) -> bool {
    let name = text
        .strip_prefix(':')
        .and_then(|text| text.strip_suffix(':'));
    name.is_some_and(|name| {
        !name.is_empty()
            && name
                .chars()
                .all(|character| character.is_alphanumeric() || "-_".contains(character))
    })
}

fn drawer(lines: &[&str], writer: &mut Writer) -> usize {
    let Some(end) = writer.end_of(":end:", &lines[1..]) else {
        writer.line(lines[0]);
        return 1;
    };
    for line in &lines[1..=end] {
        let text = line.trim();
        match text.strip_prefix(':').and_then(|text| text.split_once(':')) {
            Some((name, value)) => writer.field(name, value.trim()),
            None => writer.line(text),
        }
    }
    writer.flush();
    end + 2
}

/// Reads a table; the rows before the first line of dashes name the columns, if rows follow it.
fn table(lines: &[&str], writer: &mut Writer) -> usize {
    let count = lines
        .iter()
        .take_while(|line| line.trim().starts_with('|'))
        .count();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut headers = None;
    for line in &lines[..count] {
        let text = line.trim().trim_start_matches('|');
        if text.starts_with('-') {
            if !rows.is_empty() {
                headers.get_or_insert(rows.len());
            }
            continue;
        }
        let text = text.strip_suffix('|').unwrap_or(text);
        rows.push(text.split('|').map(|cell| cell.trim().to_owned()).collect());
    }
    let headers = headers.filter(|headers| *headers < rows.len()).unwrap_or(0);
    writer.table(&rows, headers);
    count
}

/// Reads a comment, or code whose lines begin with colons.
fn marked_lines(lines: &[&str], writer: &mut Writer) -> usize {
    if begins(lines[0].trim(), "#") {
        let comment = gathered(lines, "#", str::trim);
        writer.raw(&comment.join("\n"));
        return comment.len();
    }
    let code = gathered(lines, ":", |line| {
        let text = line.trim().trim_start_matches(':');
        text.strip_prefix(' ').unwrap_or_default()
    });
    writer.code(&code.join("\n"), None);
    code.len()
}

/// Whether a line has a mark before its text, or nothing else.
fn begins(line: &str, mark: &str) -> bool {
    let rest = line.strip_prefix(mark);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// Returns the texts of the lines that have the mark of the first.
fn gathered<'t>(lines: &[&'t str], mark: &str, text: impl Fn(&'t str) -> &'t str) -> Vec<&'t str> {
    let marked = lines.iter().take_while(|line| begins(line.trim(), mark));
    marked.map(|line| text(line)).collect()
}

#[cfg(test)]
mod tests {
    use crate::{Input, Limits, extract};

    #[test]
    fn blocks_without_beginning_or_end_are_text() {
        for text in [
            ":END:",
            "#+begin_ \u{E4}",
            "#+begin_src",
            "#+",
            ":a:\nb",
            "#+end_src",
            "[[",
            "|",
        ] {
            let input = Input {
                name: b"a.org",
                bytes: text.as_bytes(),
            };
            assert!(extract(&input, &Limits::default()).is_ok(), "{text}");
        }
    }
}
