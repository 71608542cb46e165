//! NDJSON: records, one per line, in groups of whole lines.
//!
//! Where a group ends is for [`groups`] to say: a line that changes costs its group and no other. Lines that are no
//! JSON are kept and noted: logs have them.

use dpe_connector::content::Category;

use crate::elements::Elements;
use crate::format::Format;
use crate::formats::{head, json, language};
use crate::groups;
use crate::reading::Reading;
use crate::{Document, ExtractError, decode};

/// A group ends before the line that would make it longer than this.
const GROUP_BYTES: usize = 16 * 1024;

/// The length groups tend to have.
const USUAL_GROUP_BYTES: u64 = 8 * 1024;

/// Reads records. Blank lines are not records.
///
/// # Errors
///
/// `damaged` if it is not text.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    Ok(records(format, &text, reading))
}

/// A document of the records of a text.
pub(super) fn records(format: Format, text: &str, reading: &mut Reading<'_>) -> Document {
    let mut elements = Elements::of(reading.made());
    let mut group = String::new();
    let metadata = language(format.file_type());
    for (index, line) in text.split('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        if let Err(error) = json::check(line) {
            reading.note(invalid(index + 1, &error));
        }
        if !group.is_empty() && group.len() + 1 + line.len() > GROUP_BYTES {
            elements.push_text(Category::CodeSnippet, &group, &metadata);
            group.clear();
        }
        if !group.is_empty() {
            group.push('\n');
        }
        group.push_str(line);
        if groups::ends(line, USUAL_GROUP_BYTES) {
            elements.push_text(Category::CodeSnippet, &group, &metadata);
            group.clear();
        }
    }
    elements.push_text(Category::CodeSnippet, &group, &metadata);
    Document::of_elements(head(format), elements)
}

fn invalid(line: usize, error: &serde_json::Error) -> String {
    // serde_json counts lines of the text it was given, which is one line here.
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or(&message);
    format!(
        "line {line} is not valid JSON: {reason} at column {}",
        error.column()
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{Input, Limits, extract};

    fn groups(text: &str) -> Vec<String> {
        let input = Input {
            name: b"a.ndjson",
            bytes: text.as_bytes(),
        };
        let mut pages = extract(&input, &Limits::default()).unwrap().pages;
        let elements = pages.remove(0).elements;
        elements
            .into_iter()
            .filter_map(|element| element.text)
            .collect()
    }

    #[test]
    fn new_first_record_leaves_later_groups_as_they_were() {
        let lines: Vec<String> = (0..5000).map(|n| format!("{{\"record\": {n}}}")).collect();
        let before = groups(&lines.join("\n"));
        let after = groups(&format!("{{\"new\": true}}\n{}", lines.join("\n")));
        assert!(
            before.len() > 5,
            "the text is long enough for several groups"
        );
        assert_eq!(before.join("\n"), lines.join("\n"));
        let before: BTreeSet<_> = before.into_iter().collect();
        let changed = after
            .iter()
            .filter(|group| !before.contains(*group))
            .count();
        assert!(changed <= 2, "{changed} groups changed");
    }
}
