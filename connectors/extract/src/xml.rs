//! XML as the parts of packages are written in it: a tree that is small against its text, without
//! external entities, and not deeper than is taken.
//!
//! Names are compared without their namespaces: producers use the transitional and the strict ones of
//! a format, and now and then one of their own making.

use roxmltree::{Document, Node, ParsingOptions};

use crate::reading::Reading;
use crate::reason::Reason;
use crate::{ExtractError, decode, entities};

/// No part that is read as a tree has more nodes by intention; a tree of so many takes some 600 MB.
const MOST_NODES: u32 = 8_000_000;

/// By intention entities unfold to less, in bytes, even in short texts.
const UNFOLDED_BYTES: u64 = 1 << 20;

/// And to so many times the text at most, in longer ones.
const UNFOLDED_RATIO: u64 = 16;

/// Returns the text of a part, in the encoding that it declares or begins with.
///
/// # Errors
///
/// `damaged` if it is not in that encoding.
pub(crate) fn text(bytes: &[u8]) -> Result<String, ExtractError> {
    match decode::of_xml(bytes) {
        Some(encoding) if encoding != encoding_rs::UTF_8 && !decode::has_utf16_mark(bytes) => {
            Ok(encoding.decode(bytes).0.into_owned())
        }
        _ => Ok(decode::text(bytes)?.into_owned()),
    }
}

/// Parses a text.
///
/// # Errors
///
/// `damaged` if it is not well-formed, `bomb` if it is nested deeper than is taken or its entities
/// unfold without measure.
pub(crate) fn parse<'t>(
    text: &'t str,
    reading: &Reading<'_>,
) -> Result<Document<'t>, ExtractError> {
    let most_unfolded = UNFOLDED_BYTES.max(UNFOLDED_RATIO.saturating_mul(text.len() as u64));
    if entities::unfold_to(text) > most_unfolded {
        let message = format!("XML: its entities unfold to more than {most_unfolded} bytes");
        return Err(ExtractError::new(Reason::Bomb, message));
    }
    let options = ParsingOptions {
        allow_dtd: true,
        nodes_limit: MOST_NODES,
        ..ParsingOptions::default()
    };
    let tree = Document::parse_with_options(text, options).map_err(|error| match error {
        roxmltree::Error::EntityReferenceLoop(_) | roxmltree::Error::NodesLimitReached => {
            ExtractError::new(Reason::Bomb, format!("XML: {error}"))
        }
        _ => ExtractError::damaged(format!("not well-formed XML: {error}")),
    })?;
    let most = reading.limits().xml_depth;
    if is_deeper(&tree, most) {
        let message = format!("XML nested more than {most} deep");
        return Err(ExtractError::new(Reason::Bomb, message));
    }
    Ok(tree)
}

/// Returns the value of an attribute by its local name.
pub(crate) fn attribute<'n>(node: Node<'n, '_>, name: &str) -> Option<&'n str> {
    node.attributes()
        .find(|attribute| attribute.name() == name)
        .map(|attribute| attribute.value())
}

/// Returns the child elements of a local name.
pub(crate) fn children<'n, 't: 'n>(
    node: Node<'n, 't>,
    name: &'n str,
) -> impl Iterator<Item = Node<'n, 't>> + 'n {
    node.children().filter(move |child| is(*child, name))
}

/// Returns the first child element of a local name.
pub(crate) fn child<'n, 't: 'n>(node: Node<'n, 't>, name: &'n str) -> Option<Node<'n, 't>> {
    node.children().find(|child| is(*child, name))
}

/// Returns whether a node is an element of a local name.
pub(crate) fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name() == name
}

/// Returns the nodes below one that are wanted, but none below another of them: whoever reads all of a node
/// reads no text twice, however they are nested.
pub(crate) fn outermost<'n, 't: 'n>(
    top: Node<'n, 't>,
    is_wanted: impl Fn(Node<'n, 't>) -> bool,
) -> impl Iterator<Item = Node<'n, 't>> {
    let mut next = top.first_child();
    std::iter::from_fn(move || {
        while let Some(here) = next {
            let found = is_wanted(here);
            let inside = here.first_child().filter(|_| !found);
            next = inside.or_else(|| after(here, top));
            if found {
                return Some(here);
            }
        }
        None
    })
}

/// Returns the node that follows all of another one, as far as it is below the top.
fn after<'n, 't>(node: Node<'n, 't>, top: Node<'n, 't>) -> Option<Node<'n, 't>> {
    let mut here = node;
    while here.next_sibling().is_none() {
        here = here.parent().filter(|parent| *parent != top)?;
    }
    here.next_sibling()
}

/// Returns whether elements are nested more than so many deep. The parser does not care, but those who walk
/// the tree go down step by step.
fn is_deeper(tree: &Document<'_>, most: u32) -> bool {
    let (mut node, mut depth) = (tree.root(), 0u32);
    loop {
        if let Some(child) = node.first_child() {
            depth += u32::from(child.is_element());
            if depth > most {
                return true;
            }
            node = child;
            continue;
        }
        loop {
            depth -= u32::from(node.is_element());
            if let Some(next) = node.next_sibling() {
                depth += u32::from(next.is_element());
                node = next;
                break;
            }
            match node.parent() {
                Some(parent) if !parent.is_root() => node = parent,
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{is, outermost, parse, text};
    use crate::reading::Reading;
    use crate::{Limits, Reason};

    fn failure(source: &str) -> Option<Reason> {
        let limits = Limits::default();
        let reading = Reading::new(&limits, 1);
        parse(source, &reading).err().map(|error| error.reason)
    }

    #[test]
    fn encoding_is_the_declared_one() {
        let latin = b"<?xml version='1.0' encoding='ISO-8859-1'?><a>caf\xE9</a>";
        assert!(text(latin).unwrap().ends_with("<a>caf\u{e9}</a>"));
        assert!(text(b"<?xml version='1.0'?><a>caf\xE9</a>").is_err());
        assert_eq!(text(b"\xFF\xFE<\0a\0/\0>\0").unwrap(), "<a/>");
    }

    #[test]
    fn outermost_nodes_hold_no_others() {
        let source =
            "<a><b n='1'><c><b n='2'/></c></b><c><c><b n='3'/></c>x</c><b n='4'/></a><!-- -->";
        let tree = roxmltree::Document::parse(source).unwrap();
        let numbers = |top| {
            let found = outermost(top, |node| is(node, "b"));
            found
                .filter_map(|node| node.attribute("n"))
                .collect::<Vec<_>>()
                .concat()
        };
        assert_eq!(numbers(tree.root_element()), "134");
        let first = tree.root_element().first_child().unwrap();
        assert_eq!(numbers(first), "2");
        assert_eq!(numbers(tree.root_element().last_child().unwrap()), "");
    }

    #[test]
    fn nesting_and_entities_are_bounded() {
        let deep = format!("{}{}", "<a>".repeat(300), "</a>".repeat(300));
        assert_eq!(failure(&deep), Some(Reason::Bomb));
        for hidden in ["<?x <!--?>", "<!DOCTYPE a [<!ENTITY e \"<!--\">]>"] {
            assert_eq!(failure(&format!("{hidden}{deep}")), Some(Reason::Bomb));
        }
        let wide = format!(
            "<a>{}<!-- {} --></a>",
            "<b c='>'/>".repeat(300),
            "<d>".repeat(300)
        );
        assert_eq!(failure(&wide), None);
        assert_eq!(failure("<a><b></a>"), Some(Reason::Damaged));
        let mut laughs = String::from("<!DOCTYPE a [<!ENTITY e0 \"ha\">");
        for level in 1..12 {
            let inner = format!("&e{};", level - 1).repeat(10);
            laughs.push_str(&format!("<!ENTITY e{level} \"{inner}\">"));
        }
        laughs.push_str("]><a>&e11;</a>");
        assert_eq!(failure(&laughs), Some(Reason::Bomb));
    }

    #[test]
    fn entities_of_the_text_itself_are_bounded() {
        let drawing = |value: &str, times: usize| {
            let references = "&e;".repeat(times);
            format!("<!DOCTYPE svg [<!ENTITY e \"{value}\">]><svg>{references}</svg>")
        };
        // Some 13 KB that would unfold to 14 MB of text, or to 3.6 million elements.
        for value in ["x".repeat(6000), "<a/>".repeat(1500)] {
            assert_eq!(failure(&drawing(&value, 2400)), Some(Reason::Bomb));
            assert_eq!(failure(&drawing(&value, 100)), None);
        }
        assert_eq!(failure(&drawing("http://www.w3.org/2000/svg", 5000)), None);
    }

    #[test]
    fn external_entities_are_never_read() {
        let external = "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/hostname\">]><a>&e;</a>";
        assert!(failure(external).is_some());
    }
}
