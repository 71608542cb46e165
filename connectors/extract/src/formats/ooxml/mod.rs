//! What the Office Open XML formats share: relations between parts, core properties, charts, diagrams, formulas.
//!
//! Knows neither texts nor slides nor sheets.

pub(super) mod chart;
pub(super) mod diagram;
pub(super) mod math;
pub(super) mod properties;
pub(super) mod relations;

use roxmltree::Node;

use crate::reading::Reading;
use crate::xml;

/// Returns what stands for an `mc:AlternateContent` (ECMA-376 part 3): its first choice that holds something to read,
/// else the fallback.
pub(super) fn alternative<'n, 't: 'n>(content: Node<'n, 't>) -> Option<Node<'n, 't>> {
    let choice = xml::children(content, "Choice").find(|choice| is_readable(*choice));
    let fallback = xml::child(content, "Fallback");
    choice
        .or(fallback)
        .or_else(|| xml::child(content, "Choice"))
}

fn is_readable(choice: Node<'_, '_>) -> bool {
    choice.descendants().any(|node| {
        node.is_element()
            && matches!(
                node.tag_name().name(),
                "t" | "blip" | "imagedata" | "chart" | "relIds" | "tbl"
            )
    })
}

/// Returns whether a switch (`w:b`, `w:vanish` …) that is there is on.
pub(super) fn is_on(switch: Node<'_, '_>) -> bool {
    !matches!(
        xml::attribute(switch, "val"),
        Some("0" | "false" | "off" | "none")
    )
}

/// Reads a part and gives its root to a function; a part that is missing gives nothing, one that cannot be read is
/// noted.
pub(super) fn with_part<T>(
    name: &str,
    package: &mut crate::package::Package<'_>,
    reading: &mut Reading<'_>,
    read: impl FnOnce(
        Node<'_, '_>,
        &mut crate::package::Package<'_>,
        &mut Reading<'_>,
    ) -> Result<T, crate::ExtractError>,
) -> Result<Option<T>, crate::ExtractError> {
    let result = in_part(name, package, reading, read);
    Ok(reading.tolerated(name, result)?.flatten())
}

fn in_part<T>(
    name: &str,
    package: &mut crate::package::Package<'_>,
    reading: &mut Reading<'_>,
    read: impl FnOnce(
        Node<'_, '_>,
        &mut crate::package::Package<'_>,
        &mut Reading<'_>,
    ) -> Result<T, crate::ExtractError>,
) -> Result<Option<T>, crate::ExtractError> {
    let Some(bytes) = package.part(name, reading)? else {
        return Ok(None);
    };
    let text = xml::text(&bytes)?;
    drop(bytes);
    let tree = xml::parse(&text, reading)?;
    read(tree.root_element(), package, reading).map(Some)
}
