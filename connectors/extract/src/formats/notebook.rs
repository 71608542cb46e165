//! Jupyter notebooks: cells and their outputs in order.
//!
//! Formats 2 to 4 alike. What a new run changes by itself, execution counts and ids, is left out, and so are the
//! colours of a terminal.

use serde_json::{Map, Value};

use crate::addressed::{self, Addressed};
use crate::flow::Flow;
use crate::format::Format;
use crate::formats::{head, html, markdown, source};
use crate::inline::{Inline, Picture};
use crate::reading::Reading;
use crate::{Document, ExtractError, decode, pages};

/// Kinds of pictures an output may have, the best first; it has the same one in several.
const PICTURES: [(&str, &str); 10] = [
    ("image/png", "image/png"),
    ("image/jpeg", "image/jpeg"),
    ("image/svg+xml", "image/svg+xml"),
    ("image/gif", "image/gif"),
    ("image/webp", "image/webp"),
    ("image/bmp", "image/bmp"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("svg", "image/svg+xml"),
    ("image/jpg", "image/jpeg"),
];

/// Cells in another language than the notebook's begin with a line that names it.
const CELL_LANGUAGES: [&str; 12] = [
    "bash",
    "sh",
    "html",
    "javascript",
    "js",
    "latex",
    "perl",
    "ruby",
    "sql",
    "cython",
    "R",
    "svg",
];

/// Reads a notebook.
///
/// # Errors
///
/// `damaged` if it is not JSON.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let notebook: Value = serde_json::from_str(&text)
        .map_err(|error| ExtractError::damaged(format!("not valid JSON: {error}")))?;
    let Some(cells) = cells(&notebook) else {
        return Ok(source::whole(format, &text, reading));
    };
    let mut head = head(format);
    let metadata = &notebook["metadata"];
    let language = language(metadata);
    let mut flow = Flow::of(reading.made());
    for cell in cells {
        flow = add_cell(cell, language, flow, reading);
    }
    let (leading_title, elements) = flow.finish();
    let declared = metadata["title"].as_str().and_then(crate::flow::title);
    head.title = declared.or(leading_title);
    if let Some(author) = authors(metadata) {
        head.doc_metadata.insert("author".to_owned(), author.into());
    }
    Ok(Document::of_elements(head, elements))
}

/// Returns the cells: format 3 has them on worksheets.
fn cells(notebook: &Value) -> Option<Vec<&Value>> {
    if let Some(cells) = notebook["cells"].as_array() {
        return Some(cells.iter().collect());
    }
    let worksheets = notebook["worksheets"].as_array()?;
    let cells = worksheets
        .iter()
        .filter_map(|sheet| sheet["cells"].as_array());
    Some(cells.flatten().collect())
}

fn language(metadata: &Value) -> Option<&str> {
    let kernel = metadata["kernelspec"]["language"].as_str();
    kernel.or_else(|| metadata["language_info"]["name"].as_str())
}

fn authors(metadata: &Value) -> Option<String> {
    let authors = metadata["authors"].as_array()?;
    let names: Vec<_> = authors
        .iter()
        .filter_map(|author| author["name"].as_str().or_else(|| author.as_str()))
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn add_cell(
    cell: &Value,
    language: Option<&str>,
    mut flow: Flow,
    reading: &mut Reading<'_>,
) -> Flow {
    let written = joined(&cell["source"]);
    match cell["cell_type"].as_str() {
        Some("markdown") => {
            let attachments = cell["attachments"].as_object();
            let mut attached = |url: &str, reading: &mut Reading<'_>| {
                let name = url.strip_prefix("attachment:")?;
                picture(attachments?.get(name)?.as_object()?, reading)
            };
            markdown::blocks(&written, flow, &mut Addressed::new(reading, &mut attached))
        }
        Some("code") => {
            add_code(cell, &written, language, &mut flow, reading);
            flow
        }
        Some("heading") => {
            let level = cell["level"].as_u64().unwrap_or(1).clamp(1, 6);
            flow.heading(level, flat(&written));
            flow
        }
        Some("html") => {
            let mut nothing = addressed::nothing;
            html::fragment(
                &written,
                &mut flow,
                &mut Addressed::new(reading, &mut nothing),
            );
            flow
        }
        _ => {
            flow.code(&written, None);
            flow
        }
    }
}

fn add_code(
    cell: &Value,
    written: &str,
    language: Option<&str>,
    flow: &mut Flow,
    reading: &mut Reading<'_>,
) {
    // Notebooks of the third version have it there.
    let code = match written.is_empty() {
        true => joined(&cell["input"]),
        false => written.to_owned(),
    };
    let language = cell["language"].as_str().or(language);
    flow.code(&code, cell_language(&code).or(language));
    for output in cell["outputs"].as_array().into_iter().flatten() {
        add_output(output, flow, reading);
    }
}

fn cell_language(written: &str) -> Option<&'static str> {
    let named = written.strip_prefix("%%")?.split_whitespace().next()?;
    CELL_LANGUAGES
        .into_iter()
        .find(|language| *language == named)
}

/// Adds what a cell gave, marked as such.
fn add_output(output: &Value, flow: &mut Flow, reading: &mut Reading<'_>) {
    let mut given = Flow::of(reading.made());
    match output["output_type"].as_str() {
        Some("stream") => given.code(&plain(&output["text"]), None),
        Some("error" | "pyerr") => given.code(&error(output), None),
        _ => {
            let data = output["data"].as_object().or_else(|| output.as_object());
            if let Some(data) = data {
                given = display(data, given, reading);
            }
        }
    }
    let (_, elements) = given.finish();
    let mut elements = elements.into_vec();
    for element in &mut elements {
        element.metadata.insert("output".to_owned(), true.into());
    }
    flow.append(pages::of(elements));
}

/// Adds the best of the forms in which an output is there, and its picture.
fn display(data: &Map<String, Value>, mut flow: Flow, reading: &mut Reading<'_>) -> Flow {
    let of = |names: [&str; 2]| {
        names
            .into_iter()
            .find_map(|name| data.get(name))
            .map(joined)
    };
    let picture = picture(data, reading);
    let has_picture = picture.is_some();
    if let Some(picture) = picture {
        let mut inline = Inline::default();
        inline.open_picture(picture);
        inline.close_picture();
        flow.paragraph(inline.take());
    }
    let mut nothing = addressed::nothing;
    let pictures = &mut Addressed::new(reading, &mut nothing);
    if let Some(page) = of(["text/html", "html"]) {
        let before = flow.len();
        html::fragment(&page, &mut flow, pictures);
        if flow.len() > before {
            return flow;
        }
    }
    if let Some(text) = of(["text/markdown", "markdown"]) {
        return markdown::blocks(&text, flow, pictures);
    }
    if let Some(formula) = of(["text/latex", "latex"]) {
        flow.formula(&formula);
    } else if let Some(text) = ["text/plain", "text"]
        .iter()
        .find_map(|name| data.get(*name))
        && !has_picture
    {
        flow.code(&plain(text), None);
    }
    flow
}

/// Returns the picture among the forms of an output.
fn picture(data: &Map<String, Value>, reading: &mut Reading<'_>) -> Option<Picture> {
    PICTURES.iter().find_map(|(name, mime_type)| {
        let written = joined(data.get(*name)?);
        let bytes = match *mime_type {
            "image/svg+xml" => written.into_bytes(),
            _ => addressed::base64(written.as_bytes())?,
        };
        (!bytes.is_empty()).then(|| Picture::of_bytes(reading.blob(bytes), Some(mime_type)))
    })
}

fn error(output: &Value) -> String {
    let lines = output["traceback"].as_array().into_iter().flatten();
    let lines: Vec<_> = lines.map(plain).collect();
    let value = plain(&output["evalue"]);
    let traceback = lines.join("\n");
    match traceback.contains(&value) && !traceback.is_empty() {
        true => traceback,
        false => format!("{}: {value}\n{traceback}", plain(&output["ename"])),
    }
}

/// Returns a text that may be given as a list of its lines, without the colours of a terminal.
fn plain(value: &Value) -> String {
    let text = joined(value);
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find('\x1B') {
        plain.push_str(&rest[..at]);
        rest = after_escape(&rest[at + 1..]);
    }
    plain.push_str(rest);
    decode::unified_line_ends(plain.into()).into_owned()
}

/// Returns what follows a control sequence (ECMA-48) whose escape character was read.
fn after_escape(rest: &str) -> &str {
    let Some(sequence) = rest.strip_prefix('[') else {
        return rest;
    };
    let is_parameter = |character: char| matches!(character, ' '..='?');
    let last = sequence.trim_start_matches(is_parameter);
    match last.chars().next() {
        Some('@'..='~') => &last[1..],
        _ => last,
    }
}

fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => {
            let lines: Vec<_> = lines.iter().filter_map(Value::as_str).collect();
            // Format 2 leaves the line ends out.
            let has_line_ends = lines.iter().any(|line| line.ends_with('\n'));
            lines.join(if has_line_ends { "" } else { "\n" })
        }
        _ => String::new(),
    }
}

fn flat(text: &str) -> crate::inline::Flat {
    let mut inline = Inline::default();
    inline.push(text);
    inline.take()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::plain;

    #[test]
    fn colours_of_a_terminal_are_left_out() {
        let text = json!(["\x1B[0;31mName", "Error\x1B[0m\r\n", "a\x1B[", "\x1B"]);
        assert_eq!(plain(&text), "NameError\na");
    }
}
