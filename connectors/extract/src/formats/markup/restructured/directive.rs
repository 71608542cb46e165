//! What begins with two dots: directives, targets, footnotes, comments.

use super::reference::footnote_label;
use super::{Reader, indented_like_first};
use crate::flow::Container;

impl Reader {
    /// Reads explicit markup and what is indented below it. What is not known stays as it is written.
    pub(super) fn explicit(&mut self, lines: &[&str], depth: usize) -> usize {
        let (body, length) = indented_like_first(&lines[1..]);
        let text = lines[0].trim_start_matches('.').trim();
        if let Some((name, argument)) = name(text) {
            self.directive(name, argument, &body, depth);
            return length + 1;
        }
        if let Some((label, first)) = text.strip_prefix('[').and_then(|text| text.split_once(']'))
            && !label.is_empty()
        {
            let label = footnote_label(label).to_owned();
            self.writer.end_lists();
            self.writer.flow.open(Container::Footnote { label });
            let mut whole = vec![first.trim_start()];
            whole.extend(&body);
            self.blocks(&whole, depth + 1);
            self.writer.flow.close();
            return length + 1;
        }
        // A place that something may refer to is no text.
        let is_anchor = text.starts_with('_') && text.ends_with(':') && body.is_empty();
        let mut whole = vec![text];
        whole.extend(&body);
        self.writer.end_lists();
        if is_anchor {
            return length + 1;
        }
        self.writer.raw(whole.join("\n").trim());
        length + 1
    }

    fn directive(&mut self, name: &str, argument: &str, body: &[&str], depth: usize) {
        let (options, content) = options(body);
        let option = |wanted: &str| {
            let found = options.iter().find(|(name, _)| *name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        self.writer.end_lists();
        match name {
            "code" | "code-block" | "sourcecode" | "highlight" if !content.is_empty() => {
                self.code(argument, option("caption"), &content);
            }
            "parsed-literal" | "literalinclude" | "prompt" if !content.is_empty() => {
                self.code("", None, &content);
            }
            "image" | "figure" => self.picture(argument, &option, &content),
            "math" => {
                let formula = [&[argument][..], &content].concat().join("\n");
                self.writer.flow.formula(&formula);
            }
            _ if is_setting(name, argument, &content) && option("caption").is_none() => {}
            _ if is_admonition(name) => self.marked(name, argument, &content, depth),
            _ if is_container(name) => {
                if !argument.is_empty() {
                    self.writer.line(argument);
                    self.writer.flush();
                }
                self.blocks(&content, depth + 1);
            }
            "table" | "csv-table" | "list-table" => {
                self.table(name, argument, &option, &content, depth)
            }
            _ => {
                if name == "meta" {
                    self.meta(&options);
                }
                self.kept(name, argument, body);
            }
        }
    }

    fn code(&mut self, language: &str, caption: Option<&str>, content: &[&str]) {
        if let Some(caption) = caption {
            self.writer.caption(caption);
        }
        let language = Some(language).filter(|language| !language.is_empty());
        self.writer
            .code(content.join("\n").trim_matches('\n'), language);
    }

    fn picture<'o>(
        &mut self,
        url: &str,
        option: &impl Fn(&str) -> Option<&'o str>,
        content: &[&str],
    ) {
        let of = |name| option(name).unwrap_or_default();
        self.writer.picture(url, of("alt"), of("target"));
        let text = content.join("\n");
        if !text.trim().is_empty() {
            self.writer.caption(text.trim());
        }
    }

    fn meta(&mut self, options: &Options<'_>) {
        for (name, value) in options {
            if matches!(*name, "description" | "keywords" | "author") {
                self.writer.declare(name, value);
            }
        }
    }

    /// Writes a directive as it is written.
    fn kept(&mut self, name: &str, argument: &str, body: &[&str]) {
        let first = format!("{name}:: {argument}");
        let mut whole = vec![first.trim_end()];
        whole.extend(body);
        self.writer.raw(whole.join("\n").trim_end());
    }

    /// Reads a note to the reader.
    fn marked(&mut self, name: &str, argument: &str, content: &[&str], depth: usize) {
        let alert = match name {
            "tip" | "hint" => "tip",
            "important" => "important",
            "warning" | "attention" => "warning",
            "caution" | "danger" | "error" => "caution",
            _ => "note",
        };
        self.writer
            .flow
            .open(Container::Quote { alert: Some(alert) });
        let mut whole = vec![argument];
        whole.extend(content);
        self.blocks(&whole, depth + 1);
        self.writer.flow.close();
    }

    fn table<'o>(
        &mut self,
        name: &str,
        title: &str,
        option: &impl Fn(&str) -> Option<&'o str>,
        content: &[&str],
        depth: usize,
    ) {
        if !title.is_empty() {
            self.writer.caption(title);
        }
        let headers = option("header-rows").and_then(|rows| rows.trim().parse().ok());
        match name {
            "csv-table" => {
                let mut rows = Vec::new();
                rows.extend(option("header").map(records).unwrap_or_default());
                let headers = rows.len().max(headers.unwrap_or(0));
                rows.extend(records(&content.join("\n")));
                self.writer.table(&rows, headers);
            }
            "list-table" => match listed(content) {
                Some(rows) => self.writer.table(&rows, headers.unwrap_or(0)),
                None => self.blocks(content, depth + 1),
            },
            _ => self.blocks(content, depth + 1),
        }
    }
}

/// Whether a directive only sets how others look or where something generated goes.
fn is_setting(name: &str, argument: &str, content: &[&str]) -> bool {
    let has_content = content.iter().any(|line| !line.trim().is_empty());
    match name {
        "highlight" | "default-role" | "sectnum" | "section-numbering" => !has_content,
        "contents" | "toctree" => !has_content && argument.is_empty(),
        _ => false,
    }
}

fn is_admonition(name: &str) -> bool {
    let names = [
        "note",
        "tip",
        "hint",
        "important",
        "warning",
        "attention",
        "caution",
        "danger",
        "error",
        "seealso",
        "admonition",
        "topic",
        "sidebar",
    ];
    names.contains(&name)
}

/// Whether a directive is a name for a part of the text.
fn is_container(name: &str) -> bool {
    let names = [
        "epigraph",
        "highlights",
        "pull-quote",
        "container",
        "compound",
        "centered",
        "rubric",
        "only",
        "versionadded",
        "versionchanged",
        "deprecated",
    ];
    names.contains(&name)
}

/// Returns the name of a directive and what follows it on the line; a substitution's too.
fn name(text: &str) -> Option<(&str, &str)> {
    let text = match text.strip_prefix('|') {
        Some(substitution) => substitution.split_once("| ").map_or("", |(_, text)| text),
        None => text,
    };
    let (name, argument) = text.split_once("::")?;
    let is_name = |character: char| character.is_alphanumeric() || "-_.+:".contains(character);
    (!name.is_empty() && name.chars().all(is_name)).then_some((name, argument.trim()))
}

type Options<'t> = Vec<(&'t str, String)>;

/// Cuts the options of a directive off its content. They stand right below its name, and what is indented below
/// one goes on with it. A role at the beginning of the content has its words right behind the second colon.
fn options<'t>(body: &[&'t str]) -> (Options<'t>, Vec<&'t str>) {
    let mut options: Options<'t> = Vec::new();
    let mut at = 0;
    for line in body {
        let goes_on = line.starts_with([' ', '\t']) && !line.trim().is_empty();
        match (option(line), options.last_mut()) {
            (Some((name, value)), _) => options.push((name, value.to_owned())),
            (None, Some((_, value))) if goes_on => {
                if !value.is_empty() {
                    value.push('\n');
                }
                value.push_str(line.trim());
            }
            _ => break,
        }
        at += 1;
    }
    (options, body[at..].to_vec())
}

fn option(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix(':')?.split_once(':')?;
    let is_option = !name.is_empty() && !name.contains([' ', '`']);
    let is_value = value.is_empty() || value.starts_with([' ', '\t']);
    (is_option && is_value).then(|| (name, value.trim()))
}

fn records(text: &str) -> Vec<Vec<String>> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All);
    let reader = reader.from_reader(text.as_bytes());
    let records = reader.into_records().filter_map(Result::ok);
    records
        .map(|record| record.iter().map(str::to_owned).collect())
        .collect()
}

/// Returns the cells of a list of lists, if all of it is that.
fn listed(content: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for line in content {
        let (starts_row, rest) = match line.strip_prefix("* ") {
            Some(rest) => (true, rest),
            None => (false, *line),
        };
        if starts_row {
            rows.push(Vec::new());
        }
        let trimmed = rest.trim_start();
        if trimmed.is_empty() {
            continue;
        }
        let row = rows.last_mut()?;
        let is_cell = trimmed.starts_with("- ") || trimmed == "-";
        let is_shallow = starts_row || rest.len() - trimmed.len() <= 2;
        match (is_cell && is_shallow, row.last_mut()) {
            (true, _) => row.push(trimmed[1..].trim().to_owned()),
            (false, Some(cell)) => {
                cell.push('\n');
                cell.push_str(trimmed.trim_end());
            }
            (false, None) => return None,
        }
    }
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::options;
    use crate::{Input, Limits, extract};

    fn texts(text: &str) -> Vec<String> {
        let (name, bytes) = (b"a.rst", text.as_bytes());
        let extraction = extract(&Input { name, bytes }, &Limits::default()).unwrap();
        let elements = extraction.pages.into_iter().flat_map(|page| page.elements);
        elements.filter_map(|element| element.text).collect()
    }

    #[test]
    fn content_of_a_directive_may_begin_with_a_role() {
        let text = ".. versionchanged:: 3.2\n   :func:`foo` now accepts bar.\n\n\
            .. note::\n   :ref:`intro` is first.\n";
        let expected = ["3.2", "foo now accepts bar.", "intro is first."];
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn caption_of_a_list_of_documents_stays() {
        assert!(texts(".. toctree::\n   :maxdepth: 2\n").is_empty());
        let captioned = texts(".. toctree::\n   :caption: API Reference\n");
        assert!(captioned[0].contains("API Reference"));
    }

    #[test]
    fn options_of_a_directive_are_no_roles_and_go_on_where_they_are_indented() {
        let body = [":alt: a long", "   text", ":class:", "", ":name: x"];
        let (found, content) = options(&body);
        let expected = [("alt", "a long\ntext"), ("class", "")];
        let found = found.iter().map(|(name, value)| (*name, value.as_str()));
        assert_eq!(found.collect::<Vec<_>>(), expected);
        assert_eq!(content, ["", ":name: x"]);
        for first in [
            ":func:`foo` now",
            ":py:class:`A` x",
            "::",
            "words",
            "  more",
        ] {
            assert_eq!(options(&[first]), (Vec::new(), vec![first]), "{first}");
        }
    }
}
