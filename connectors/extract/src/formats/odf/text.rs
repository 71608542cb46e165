//! The words of a paragraph. Runs of white space count as one space, and space that counts has elements of its own
//! (ODF 1.3 part 3, 6.1.2).

use roxmltree::Node;

use super::Reader;
use super::block::is_drawn;
use crate::formats::ooxml::properties::text_of;
use crate::inline::Inline;
use crate::{ExtractError, xml};

/// More spaces in a row are nobody's text.
const MAX_SPACES: usize = 1000;

/// Spaces in a row that cost no more than what says them.
const FREE_SPACES: usize = 16;

/// Returns how many spaces are written where so many are said to be in a row, and how many of those are
/// repetitions, for which there is so much room.
pub(in crate::formats) fn spaces(declared: usize, room: usize) -> (usize, usize) {
    let count = declared.min(MAX_SPACES);
    let repeated = count.saturating_sub(FREE_SPACES).min(room);
    (count.min(FREE_SPACES + repeated), repeated)
}

/// A paragraph under construction.
#[derive(Debug, Default)]
pub(super) struct Line<'t> {
    pub(super) inline: Inline,
    /// What is to be read after the paragraph.
    pub(super) beside: Vec<Beside<'t>>,
}

/// Something hung up in a paragraph that has blocks of its own.
#[derive(Debug)]
pub(super) enum Beside<'t> {
    /// A text box, or a shape with a text.
    Blocks(Node<'t, 't>),
    /// A frame with a document of another kind, and where a click on it leads.
    Object(Node<'t, 't>, Option<&'t str>),
}

impl<'t> Reader<'_, '_, '_, 't> {
    /// Adds the words below a node.
    pub(super) fn inline(
        &mut self,
        parent: Node<'t, 't>,
        line: &mut Line<'t>,
    ) -> Result<(), ExtractError> {
        for node in parent.children() {
            if let Some(text) = node.text().filter(|_| node.is_text()) {
                line.inline.push_collapsed(text);
            }
            if node.is_element() {
                self.inline_element(node, line)?;
            }
        }
        Ok(())
    }

    fn inline_element(
        &mut self,
        node: Node<'t, 't>,
        line: &mut Line<'t>,
    ) -> Result<(), ExtractError> {
        match node.tag_name().name() {
            "s" => self.spaces(node, line),
            "tab" => line.inline.push("\t"),
            "line-break" => line.inline.line_break(),
            "note" => self.note(node, line),
            "annotation" => self.comments.push(node),
            "page-number" | "page-count" if !self.is_text => line.inline.leave_out_number(),
            // Numbers of pages are layout.
            "page-number" | "page-count" | "script" | "tracked-changes" => {}
            "ruby" => self.ruby(node, line)?,
            _ if is_drawn(node) => self.shape(node, None, line)?,
            "a" => {
                let address = xml::attribute(node, "href").unwrap_or_default();
                line.inline.open_link(address);
                self.inline(node, line)?;
                line.inline.close_link();
            }
            "p" | "h" => {
                line.inline.begin_line();
                self.inline(node, line)?;
            }
            _ => self.inline(node, line)?,
        }
        Ok(())
    }

    /// Adds spaces; more of them than the element has bytes are repetitions.
    fn spaces(&mut self, node: Node<'t, 't>, line: &mut Line<'t>) {
        let count = xml::attribute(node, "c").and_then(|count| count.parse().ok());
        let (count, repeated) = spaces(count.unwrap_or(1), self.repeats);
        self.repeats -= repeated;
        line.inline.push(&" ".repeat(count));
    }

    /// Adds words with their reading in parentheses behind them.
    fn ruby(&mut self, node: Node<'t, 't>, line: &mut Line<'t>) -> Result<(), ExtractError> {
        if let Some(base) = xml::child(node, "ruby-base") {
            self.inline(base, line)?;
        }
        if let Some(reading) = xml::child(node, "ruby-text") {
            line.inline.push("(");
            self.inline(reading, line)?;
            line.inline.push(")");
        }
        Ok(())
    }

    fn note(&mut self, note: Node<'t, 't>, line: &mut Line<'t>) {
        let child = |name| note.children().find(|child| xml::is(*child, name));
        let label = child("note-citation").map(text_of).unwrap_or_default();
        let label = label.trim().to_owned();
        line.inline.push(&format!("[^{label}]"));
        if let Some(body) = child("note-body") {
            match xml::attribute(note, "note-class") {
                Some("endnote") => self.endnotes.push((label, body)),
                _ => self.footnotes.push((label, body)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::spaces;

    #[test]
    fn spaces_beyond_a_few_are_written_as_far_as_there_is_room() {
        assert_eq!(spaces(0, 0), (0, 0));
        assert_eq!(spaces(16, 0), (16, 0));
        assert_eq!(spaces(20, 100), (20, 4));
        assert_eq!(spaces(20, 3), (19, 3));
        assert_eq!(spaces(usize::MAX, usize::MAX), (1000, 984));
    }
}
