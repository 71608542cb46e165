//! The words of an SVG drawing: what its texts say, in the order of the file (SVG 2 §11, §5.8).
//!
//! Where they stand in the drawing is not looked at.

use roxmltree::Node;

use super::described::Described;
use crate::flow::title;
use crate::inline::{Flat, Inline};
use crate::reading::Reading;
use crate::{ExtractError, xml};

/// Returns what a drawing says about itself and the texts in it.
///
/// # Errors
///
/// If it is no XML, or deeper than is taken.
pub(super) fn texts(
    bytes: &[u8],
    reading: &Reading<'_>,
) -> Result<(Described, Flat), ExtractError> {
    let text = xml::text(bytes)?;
    let tree = xml::parse(text.trim_start(), reading)?;
    let root = tree.root_element();
    let own = |name: &'static str| {
        let node = xml::child(root, name)?;
        let mut inline = Inline::default();
        add_below(node, &mut inline);
        Some(inline.take().text).filter(|text| !text.is_empty())
    };
    let described = Described {
        title: own("title").and_then(|text| title(&text)),
        description: own("desc"),
    };
    let mut inline = Inline::default();
    for node in root.children() {
        if !xml::is(node, "title") && !xml::is(node, "desc") {
            add_node(node, &mut inline);
        }
    }
    Ok((described, inline.take()))
}

/// Adds what is below a node; the depth of the tree is bounded.
fn add_below(node: Node<'_, '_>, inline: &mut Inline) {
    for child in node.children() {
        add_node(child, inline);
    }
}

fn add_node(node: Node<'_, '_>, inline: &mut Inline) {
    if let Some(text) = node.text().filter(|_| node.is_text()) {
        inline.push_collapsed(text);
        return;
    }
    let name = match node.is_element() {
        true => node.tag_name().name(),
        false => return,
    };
    match name {
        "style" | "script" | "metadata" | "namedview" => return,
        "tspan" if !begins_elsewhere(node) => {}
        "tspan" | "text" | "title" | "desc" | "flowPara" | "br" | "div" | "p" | "li" | "td"
        | "g" | "svg" | "foreignObject" => inline.begin_line(),
        _ => {}
    }
    add_below(node, inline);
    if matches!(
        name,
        "text" | "title" | "desc" | "flowPara" | "div" | "p" | "li" | "td"
    ) {
        inline.begin_line();
    }
}

/// Whether a part of a text is on another line than the part before it.
fn begins_elsewhere(part: Node<'_, '_>) -> bool {
    let is_set = |name| xml::attribute(part, name).is_some_and(|value| value.trim() != "0");
    let same_line = |before: Node<'_, '_>| {
        xml::attribute(before, "y").is_some()
            && xml::attribute(before, "y") == xml::attribute(part, "y")
    };
    let before = part.prev_sibling_element();
    is_set("dy") || (is_set("y") && !before.is_some_and(same_line))
}

#[cfg(test)]
mod tests {
    use super::texts;
    use crate::Limits;
    use crate::reading::Reading;

    #[test]
    fn texts_are_lines_and_what_a_drawing_says_of_itself_is_apart() {
        let svg = "<svg xmlns='http://www.w3.org/2000/svg'><title>A  plan</title><desc>Of it</desc>\
            <style>.a{}</style><g><text>one <tspan>word</tspan></text><rect><title>tip</title></rect>\
            <text><tspan x='0' y='1'>first</tspan><tspan x='9' y='1'>ly</tspan><tspan y='2'>then</tspan></text>\
            <text>\n  last\n</text></g></svg>";
        let limits = Limits::default();
        let (described, flat) = texts(svg.as_bytes(), &Reading::new(&limits, 1)).unwrap();
        assert_eq!(described.title.as_deref(), Some("A plan"));
        assert_eq!(described.description.as_deref(), Some("Of it"));
        assert_eq!(flat.text, "one word\ntip\nfirstly\nthen\nlast");
    }
}
