//! NDJSON: records, one per line, in groups of whole lines.
//!
//! One element per record would be a million objects for a million small records; one element per
//! file would send everything again for one new line. Where a group ends is decided by the line that
//! ends it, so that a line added, changed or removed changes the group it is in and no other.

use dpe_connector::content::Category;

use crate::elements::Elements;
use crate::format::Format;
use crate::formats::{head, json, language};
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
/// `damaged`, naming the line, if a line that is not blank is no JSON text.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let text = decode::any(bytes, reading)?;
    let mut elements = Elements::default();
    let mut group = String::new();
    let metadata = language(format.file_type());
    for (index, line) in text.split('\n').enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        json::check(line).map_err(|error| invalid(index + 1, &error))?;
        if !group.is_empty() && group.len() + 1 + line.len() > GROUP_BYTES {
            elements.push_text(Category::CodeSnippet, &group, &metadata);
            group.clear();
        }
        if !group.is_empty() {
            group.push('\n');
        }
        group.push_str(line);
        if ends_group(line) {
            elements.push_text(Category::CodeSnippet, &group, &metadata);
            group.clear();
        }
    }
    elements.push_text(Category::CodeSnippet, &group, &metadata);
    Ok(Document::of_elements(head(format), elements))
}

fn invalid(line: usize, error: &serde_json::Error) -> ExtractError {
    // serde_json counts lines of the text it was given, which is one line here.
    let message = error.to_string();
    let reason = message.split(" at line ").next().unwrap_or(&message);
    ExtractError::damaged(format!(
        "line {line} is not valid JSON: {reason} at column {}",
        error.column()
    ))
}

/// Whether a line ends its group: by a hash of the line, as likely as the line is long.
fn ends_group(line: &str) -> bool {
    fnv1a(line.as_bytes()) % USUAL_GROUP_BYTES < line.len() as u64
}

/// FNV-1a in 64 bits: small, fixed for ever, and even enough for this.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::fnv1a;
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
    fn hash_is_the_published_one() {
        // Test vectors of the FNV reference.
        assert_eq!(fnv1a(b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xAF63_DC4C_8601_EC8C);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_F739_67E8);
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
