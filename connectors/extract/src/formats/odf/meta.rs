//! What a document says about itself: `meta.xml` (ODF 1.3 part 3, 4.3).

use dpe_connector::content::DocumentHead;
use roxmltree::Node;

use crate::formats::ooxml::properties::{declare_value, text_of};
use crate::package::Package;
use crate::reading::Reading;
use crate::{ExtractError, flow, times, xml};

/// Writes title and metadata into a head.
///
/// # Errors
///
/// `bomb`.
pub(in crate::formats) fn declare(
    head: &mut DocumentHead,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let result = read(head, package, reading);
    reading.tolerated("meta.xml", result)?;
    Ok(())
}

fn read(
    head: &mut DocumentHead,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let Some(bytes) = package.part("meta.xml", reading)? else {
        return Ok(());
    };
    let text = xml::text(&bytes)?;
    let tree = xml::parse(&text, reading)?;
    let said = |name: &'static str| {
        let nodes = xml::outermost(tree.root(), move |node| xml::is(node, name));
        nodes.map(text_of).filter(|value| !value.trim().is_empty())
    };
    head.title = said("title").next().and_then(|title| flow::title(&title));
    // The creator is whoever changed it last, if there was a first one.
    for author in said("initial-creator").chain(said("creator")).take(1) {
        declare_value(head, "author", &author);
    }
    for name in ["subject", "description", "language", "publisher"] {
        said(name)
            .take(1)
            .for_each(|value| declare_value(head, name, &value));
    }
    let keywords: Vec<String> = said("keyword").collect();
    declare_value(head, "keywords", &keywords.join(", "));
    for (name, property) in [("created", "creation-date"), ("modified", "date")] {
        let time = said(property).next().and_then(|time| times::rfc3339(&time));
        time.into_iter()
            .for_each(|time| declare_value(head, name, &time));
    }
    Ok(())
}

/// Returns who wrote a comment, and when.
pub(super) fn author_and_date(comment: Node<'_, '_>) -> (Option<String>, Option<String>) {
    let said = |name| {
        let child = comment.children().find(|child| xml::is(*child, name));
        child.map(text_of).filter(|value| !value.is_empty())
    };
    (
        said("creator"),
        said("date").and_then(|date| times::rfc3339(&date)),
    )
}
