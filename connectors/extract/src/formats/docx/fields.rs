//! Fields: instructions and the results that were computed of them last (ECMA-376 part 1, 17.16). Results are text,
//! instructions are not, and the numbers of pages are layout.

use std::collections::HashSet;

use roxmltree::{Node, NodeId};

use crate::xml;

/// A longer instruction is no link.
const MAX_INSTRUCTION: usize = 64 * 1024;

/// The fields that are open at some place of a part.
#[derive(Debug, Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    /// Beginnings of fields that end; one that does not is taken for no field, so that it hides nothing.
    complete: HashSet<NodeId>,
}

#[derive(Debug)]
struct Field {
    is_complete: bool,
    in_instruction: bool,
    hides_result: bool,
    instruction: String,
}

/// What the result that follows is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Text,
    /// The words of a link to an address.
    Link(String),
}

impl Fields {
    /// Looks through a part for its fields.
    pub(super) fn of_part(root: Node<'_, '_>) -> Self {
        let mut begun = Vec::new();
        let mut complete = HashSet::new();
        for node in root.descendants().filter(|node| xml::is(*node, "fldChar")) {
            match xml::attribute(node, "fldCharType") {
                Some("begin") => begun.push(node.id()),
                Some("end") => complete.extend(begun.pop()),
                _ => {}
            }
        }
        Self {
            open: Vec::new(),
            complete,
        }
    }

    /// Goes beside the text, where none of the fields is open.
    pub(super) fn set_aside(&mut self) -> Aside {
        Aside(std::mem::take(&mut self.open))
    }

    /// Comes back from there.
    pub(super) fn resume(&mut self, aside: Aside) {
        self.open = aside.0;
    }

    pub(super) fn begin(&mut self, node: Node<'_, '_>) {
        self.open.push(Field {
            is_complete: self.complete.contains(&node.id()),
            in_instruction: true,
            hides_result: false,
            instruction: String::new(),
        });
    }

    /// Adds to the instruction of the field begun last.
    pub(super) fn instruct(&mut self, text: &str) {
        if let Some(field) = self.open.last_mut()
            && field.in_instruction
            && field.instruction.len() + text.len() <= MAX_INSTRUCTION
        {
            field.instruction.push_str(text);
        }
    }

    /// The instruction is over.
    pub(super) fn separate(&mut self) -> Option<Shown> {
        let field = self.open.last_mut()?;
        field.in_instruction = false;
        field.hides_result = is_page_number(&field.instruction);
        Some(result(&field.instruction))
    }

    /// The field is over; tells whether it was a link.
    pub(super) fn end(&mut self) -> bool {
        let field = self.open.pop();
        field.is_some_and(|field| matches!(result(&field.instruction), Shown::Link(_)))
    }

    /// Whether text here is no text: an instruction's, or the number of a page.
    pub(super) fn hide_text(&self) -> bool {
        let mut open = self.open.iter();
        open.any(|field| field.is_complete && (field.in_instruction || field.hides_result))
    }
}

/// Fields that are open elsewhere.
#[derive(Debug)]
pub(super) struct Aside(Vec<Field>);

/// Whether an instruction asks for the number of the page, or how many there are.
pub(super) fn is_page_number(instruction: &str) -> bool {
    let name = instruction.split_whitespace().next().unwrap_or_default();
    ["PAGE", "NUMPAGES", "SECTIONPAGES"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns what an instruction's result is. A link to a place in the document is text.
pub(super) fn result(instruction: &str) -> Shown {
    let mut words = Words(instruction);
    let is_link = words
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("HYPERLINK"));
    while let Some(word) = words.next().filter(|_| is_link) {
        match word {
            // These are followed by a value of their own.
            r"\l" | r"\o" | r"\t" | r"\m" => drop(words.next()),
            word if word.starts_with('\\') && word.len() == 2 => {}
            address => return Shown::Link(address.replace(r"\\", r"\")),
        }
    }
    Shown::Text
}

/// Words of an instruction; what is between quotation marks is one.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        if text.is_empty() {
            return None;
        }
        let (word, rest) = match text.strip_prefix(['"', '“', '”']) {
            Some(quoted) => quoted.split_once(['"', '“', '”']).unwrap_or((quoted, "")),
            None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
        };
        self.0 = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::{Shown, is_page_number, result};

    #[test]
    fn address_of_a_link_is_found_among_its_switches() {
        let link = |address: &str| Shown::Link(address.to_owned());
        assert_eq!(result(" HYPERLINK \"http://a b\" "), link("http://a b"));
        assert_eq!(
            result("hyperlink \\o \"tip\" http://a \\h"),
            link("http://a")
        );
        assert_eq!(result(" HYPERLINK \\l \"_Toc1\" "), Shown::Text);
        assert_eq!(result(" REF \"x\" "), Shown::Text);
        assert_eq!(result(""), Shown::Text);
        assert!(is_page_number(" page \\* MERGEFORMAT") && !is_page_number("PAGEREF x"));
    }
}
