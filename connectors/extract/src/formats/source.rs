//! Source code and configuration: the text as it is, long code in pieces.
//!
//! Code is cut between its top-level items, by a rule for all languages: an item begins at a line that is not
//! indented, after a blank line. Comments before an item stay with it, and so do the indented blocks after blank
//! lines inside it.

use dpe_connector::content::Category;

use crate::elements::Elements;
use crate::format::Format;
use crate::formats::{head, language, without_last_line_end};
use crate::groups;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// Code of at most so many bytes is one piece.
const WHOLE_BYTES: usize = 4 * 1024;

/// The length that pieces of longer code tend to have, in bytes.
const USUAL_PIECE_BYTES: u64 = 4 * 1024;

/// A piece ends before the item that would make it longer than this.
const PIECE_BYTES: usize = 32 * 1024;

/// Languages whose texts are data or one whole: nobody looks for items in them.
const WHOLE: [&str; 12] = [
    "yaml",
    "toml",
    "xml",
    "json5",
    "jsonc",
    "diff",
    "env",
    "ignore",
    "ini",
    "properties",
    "gettext",
    "go_mod",
];

/// Reads a text in a formal language; it is not parsed, so it need not be correct.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    if text.len() <= WHOLE_BYTES || WHOLE.contains(&format.file_type()) {
        return Ok(whole(format, &text, reading));
    }
    let mut elements = Elements::of(reading.made());
    let metadata = language(format.file_type());
    for piece in pieces(&text) {
        elements.push_text(Category::CodeSnippet, piece, &metadata);
    }
    Ok(Document::of_elements(head(format), elements))
}

/// A document of one text in one language; nothing but white space is nothing to read.
pub(crate) fn whole(format: Format, text: &str, reading: &Reading<'_>) -> Document {
    let mut elements = Elements::of(reading.made());
    if !text.trim().is_empty() {
        elements.push_text(
            Category::CodeSnippet,
            without_last_line_end(text),
            &language(format.file_type()),
        );
    }
    Document::of_elements(head(format), elements)
}

/// Cuts code between items; the blank lines at a cut belong to no piece.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut items = items(text).peekable();
    std::iter::from_fn(move || {
        let (start, mut end) = items.next()?;
        let mut last = start;
        while let Some((next, next_end)) = items.peek().copied() {
            let is_ended = groups::ends(&text[last..end], USUAL_PIECE_BYTES);
            if is_ended || next_end - start > PIECE_BYTES {
                break;
            }
            (last, end) = (next, next_end);
            items.next();
        }
        Some(&text[start..end])
    })
}

/// Returns where the items begin and end, without the blank lines after them.
fn items(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let mut lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let mut next = lines.by_ref().find(|(_, line)| !line.trim().is_empty());
    std::iter::from_fn(move || {
        let (start, first) = next.take()?;
        let mut end = start + first.trim_end().len();
        let mut after_blank = false;
        for (at, line) in lines.by_ref() {
            if line.trim().is_empty() {
                after_blank = true;
                continue;
            }
            if after_blank && begins_item(line) {
                next = Some((at, line));
                break;
            }
            after_blank = false;
            end = at + line.trim_end_matches('\n').len();
        }
        Some((start, end))
    })
}

/// Whether a line after a blank one begins an item, and does not close one.
fn begins_item(line: &str) -> bool {
    !line.starts_with([' ', '\t', '}', ')', ']'])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{items, pieces};

    #[test]
    fn item_begins_at_a_line_that_is_not_indented_after_a_blank_one() {
        let text =
            "\nuse a;\nuse b;\n\n\n// Comment.\nfn c() {\n    d();\n\n    e();\n\n}\n\nfn f() {}";
        let items: Vec<_> = items(text).map(|(start, end)| &text[start..end]).collect();
        assert_eq!(
            items,
            [
                "use a;\nuse b;",
                "// Comment.\nfn c() {\n    d();\n\n    e();\n\n}",
                "fn f() {}"
            ]
        );
        assert_eq!(super::items(" \n\n").count(), 0);
    }

    #[test]
    fn change_in_one_item_leaves_the_other_pieces_as_they_were() {
        let function =
            |number| format!("fn f{number}() {{\n    let x = {number};\n\n    g(x);\n}}\n\n");
        let before: String = (0..2000).map(function).collect();
        let after = before.replacen("let x = 1000;", "let y = 1000;\n    let x = y;", 1);
        let of = |text: &'static str| pieces(text).collect::<Vec<_>>();
        let (before, after): (&str, &str) = (before.leak(), after.leak());
        let (old, new) = (of(before), of(after));
        assert!((10..200).contains(&old.len()), "{}", old.len());
        let old: BTreeSet<_> = old.into_iter().collect();
        let changed = new.iter().filter(|piece| !old.contains(*piece)).count();
        assert!((1..=2).contains(&changed), "{changed} pieces changed");
    }

    #[test]
    fn pieces_have_every_line_that_is_not_blank() {
        let text: String = (0..500)
            .map(|n| format!("\n\n  a{n}\nb\n{}", "c\n".repeat(n % 7)))
            .collect();
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().filter(|line| !line.is_empty());
            lines.map(str::to_owned).collect()
        };
        let joined: Vec<_> = pieces(&text).flat_map(lines).collect();
        assert_eq!(joined, lines(&text));
    }
}
