//! Core properties: what an office document says about itself (ECMA-376 part 2, 11).

use dpe_connector::content::DocumentHead;

use super::relations::Relations;
use super::with_part;
use crate::elements::VALUE_BYTES;
use crate::package::Package;
use crate::reading::Reading;
use crate::{ExtractError, flow, times};

/// Where every program puts them, for those that relate nothing.
const USUAL_PART: &str = "docProps/core.xml";

/// Writes title and metadata into a head.
///
/// # Errors
///
/// `bomb`.
pub(in crate::formats) fn declare(
    head: &mut DocumentHead,
    of_package: &Relations,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let part = of_package.of_kind("core-properties").next();
    let part = part.unwrap_or(USUAL_PART).to_owned();
    with_part(&part, package, reading, |root, _, _| {
        for property in root.children().filter(roxmltree::Node::is_element) {
            note(head, property.tag_name().name(), &text_of(property));
        }
        Ok(())
    })?;
    Ok(())
}

fn note(head: &mut DocumentHead, property: &str, value: &str) {
    let name = match property {
        "title" => {
            if head.title.is_none() {
                head.title = flow::title(value);
            }
            return;
        }
        "creator" => "author",
        known @ ("subject" | "description" | "keywords" | "language" | "publisher") => known,
        time @ ("created" | "modified") => {
            if let Some(time_value) = times::rfc3339(value) {
                declare_value(head, time, &time_value);
            }
            return;
        }
        _ => return,
    };
    declare_value(head, name, value);
}

/// Writes one value of metadata, unless it is blank, absurdly long or there already.
pub(in crate::formats) fn declare_value(head: &mut DocumentHead, name: &str, value: &str) {
    let value = value.trim();
    if (1..=VALUE_BYTES).contains(&value.len()) && !head.doc_metadata.contains_key(name) {
        head.doc_metadata.insert(name.to_owned(), value.into());
    }
}

/// Returns all text below a node.
pub(in crate::formats) fn text_of(node: roxmltree::Node<'_, '_>) -> String {
    let texts = node.descendants().filter(|node| node.is_text());
    texts.filter_map(|node| node.text()).collect()
}
