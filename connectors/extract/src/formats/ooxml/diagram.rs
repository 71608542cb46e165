//! Diagrams (SmartArt): the texts of their points, in the order of the data model.

use roxmltree::Node;

use crate::flow::Flow;
use crate::inline::Inline;
use crate::xml;

/// Adds the texts of a diagram's data model (`dgm:dataModel`).
pub(in crate::formats) fn read(model: Node<'_, '_>, flow: &mut Flow) {
    let points = xml::outermost(model, |node| xml::is(node, "pt"));
    for point in points {
        let Some(body) = point.children().find(|child| xml::is(*child, "t")) else {
            continue;
        };
        for paragraph in body.children().filter(|child| xml::is(*child, "p")) {
            let mut inline = Inline::default();
            plain_paragraph(paragraph, &mut inline);
            if !inline.is_blank() {
                flow.paragraph(inline.take());
            }
        }
    }
}

/// Adds the words of a paragraph of DrawingML (`a:p`), without its links.
pub(in crate::formats) fn plain_paragraph(paragraph: Node<'_, '_>, inline: &mut Inline) {
    for node in paragraph.descendants().filter(Node::is_element) {
        match node.tag_name().name() {
            "t" => inline.push(node.text().unwrap_or_default()),
            "br" => inline.line_break(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::flow::Flow;

    #[test]
    fn points_within_points_are_read_once() {
        let open = "<pt><t><p>".repeat(60);
        let close = "</p></t></pt>".repeat(60);
        let source = format!("<dataModel><ptLst>{open}deep<t>deep</t>{close}</ptLst></dataModel>");
        let tree = roxmltree::Document::parse(&source).unwrap();
        let mut flow = Flow::default();
        read(tree.root_element(), &mut flow);
        let elements = flow.finish().1.into_vec();
        assert_eq!(elements.len(), 1);
        assert_eq!(elements[0].text.as_deref(), Some("deep"));
    }
}
