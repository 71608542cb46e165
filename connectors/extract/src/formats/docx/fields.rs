//! Fields: instructions and the results that were computed of them last (ECMA-376 part 1, 17.16). Results are text,
//! instructions are not, and the numbers of pages are layout.

use std::collections::HashSet;

use roxmltree::{Node, NodeId};

use crate::formats::fields as instruction;
use crate::formats::ooxml::is_on;
use crate::xml;

/// A longer instruction is no link.
const MAX_INSTRUCTION: usize = 64 * 1024;

/// The fields that are open at some place of a part.
#[derive(Debug, Default)]
pub(super) struct Fields {
    open: Vec<Field>,
    /// How many of them hide the text that is read.
    hiding: usize,
    /// Beginnings of fields that end; one that does not is taken for no field, so that it hides nothing.
    complete: HashSet<NodeId>,
}

#[derive(Debug)]
struct Field {
    is_complete: bool,
    in_instruction: bool,
    hides_result: bool,
    instruction: String,
    /// Whether the check box that it may be is checked.
    is_checked: Option<bool>,
}

/// What ends with a field.
#[derive(Debug)]
pub(super) enum End {
    /// The words of a link.
    Link,
    /// A field without a result, which shows this.
    Shown(String),
    /// The number of a page, which is left out.
    Number,
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
            complete,
            ..Self::default()
        }
    }

    /// Goes beside the text, where none of the fields is open.
    pub(super) fn set_aside(&mut self) -> Aside {
        Aside {
            open: std::mem::take(&mut self.open),
            hiding: std::mem::take(&mut self.hiding),
        }
    }

    /// Comes back from there.
    pub(super) fn resume(&mut self, aside: Aside) {
        self.open = aside.open;
        self.hiding = aside.hiding;
    }

    pub(super) fn begin(&mut self, node: Node<'_, '_>) {
        let field = Field {
            is_complete: self.complete.contains(&node.id()),
            in_instruction: true,
            hides_result: false,
            instruction: String::new(),
            is_checked: is_checked(node),
        };
        self.hiding += usize::from(field.hides());
        self.open.push(field);
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

    /// The instruction is over; tells where it leads, if it is a link's.
    pub(super) fn separate(&mut self) -> Option<String> {
        let field = self.open.last_mut()?;
        self.hiding -= usize::from(field.hides());
        field.in_instruction = false;
        field.hides_result = instruction::is_layout(&field.instruction);
        self.hiding += usize::from(field.hides());
        instruction::link_target(&field.instruction)
    }

    /// The field is over; tells how it ends.
    pub(super) fn end(&mut self) -> Option<End> {
        let field = self.open.pop()?;
        self.hiding -= usize::from(field.hides());
        if instruction::is_layout(&field.instruction) {
            return (!self.hide_text()).then_some(End::Number);
        }
        if let Some(is_checked) = field.is_checked.filter(|_| !self.hide_text()) {
            let mark = if is_checked { '☒' } else { '☐' };
            return Some(End::Shown(mark.to_string()));
        }
        if field.in_instruction {
            return instruction::shown(&field.instruction).map(End::Shown);
        }
        instruction::link_target(&field.instruction).map(|_| End::Link)
    }

    /// Whether text here is no text: an instruction's, or the number of a page.
    pub(super) fn hide_text(&self) -> bool {
        self.hiding > 0
    }
}

impl Field {
    fn hides(&self) -> bool {
        self.is_complete && (self.in_instruction || self.hides_result)
    }
}

/// Returns whether the check box of a form (`w:ffData`) that begins here is checked, if one does.
fn is_checked(begin: Node<'_, '_>) -> Option<bool> {
    let check_box = xml::child(xml::child(begin, "ffData")?, "checkBox")?;
    let state = xml::child(check_box, "checked").or_else(|| xml::child(check_box, "default"));
    Some(state.is_some_and(is_on))
}

/// Fields that are open elsewhere.
#[derive(Debug)]
pub(super) struct Aside {
    open: Vec<Field>,
    hiding: usize,
}
