//! Text of a Word document that is being written, and the fields that are open in it.

use std::collections::HashSet;
use std::ops::Range;

use super::fib::Fib;
use crate::codepage;
use crate::formats::fields;
use crate::formats::story::Story;

/// Fields within fields; each is looked at for all that is written in it. Deeper ones are none.
const MAX_FIELDS: usize = 32;

/// A longer instruction of a field is none.
const MAX_INSTRUCTION: usize = 16 * 1024;

/// A field that is open.
#[derive(Debug, Default)]
struct Field {
    instruction: String,
    in_result: bool,
    has_result: bool,
    is_left_out: bool,
    is_link: bool,
}

/// One run of text while it is read.
#[derive(Debug, Default)]
pub(super) struct Open {
    pub(super) story: Story,
    pub(super) units: Vec<u16>,
    fields: Vec<Field>,
    pub(super) is_furniture: bool,
    /// The code page of the font, of old documents.
    pub(super) code_page: Option<u16>,
}

impl Open {
    pub(super) fn new(is_furniture: bool) -> Self {
        Self {
            is_furniture,
            ..Self::default()
        }
    }

    /// Writes the units that were read.
    pub(super) fn flush(&mut self, fib: &Fib) {
        if self.units.is_empty() {
            return;
        }
        let units = std::mem::take(&mut self.units);
        let text = match fib.is_old {
            true => {
                let bytes: Vec<u8> = units.iter().map(|unit| (*unit & 0xFF) as u8).collect();
                codepage::decode(self.code_page.unwrap_or(fib.code_page), &bytes)
            }
            false => String::from_utf16_lossy(&units),
        };
        self.push(&text);
    }

    /// Writes text: into the story, or into the instruction of a field.
    pub(super) fn push(&mut self, text: &str) {
        let is_shown = self.is_shown();
        let into = self.fields.iter_mut().find(|field| !field.in_result);
        match into {
            Some(field) if field.instruction.len() < MAX_INSTRUCTION => {
                field.instruction.push_str(text);
            }
            Some(_) => {}
            None if is_shown => {
                for field in &mut self.fields {
                    field.has_result |= !text.trim().is_empty();
                }
                self.story.inline().push(text);
            }
            None => {}
        }
    }

    /// Leaves out the number of a page.
    pub(super) fn leave_out_number(&mut self) {
        self.story.inline().leave_out_number();
    }

    pub(super) fn is_shown(&self) -> bool {
        self.fields
            .iter()
            .all(|field| field.in_result && !field.is_left_out)
    }

    pub(super) fn field(&mut self, unit: u16) {
        match unit {
            0x13 => self.fields.push(Field::default()),
            0x14 => {
                let is_furniture = self.is_furniture;
                let Some(field) = self.fields.last_mut() else {
                    return;
                };
                field.in_result = true;
                field.is_left_out = is_furniture && fields::is_layout(&field.instruction);
                let url = fields::link_target(&field.instruction);
                if let Some(url) = url.filter(|_| self.is_shown()) {
                    self.story.inline().open_link(&url);
                    if let Some(field) = self.fields.last_mut() {
                        field.is_link = true;
                    }
                }
            }
            _ => {
                let Some(field) = self.fields.pop() else {
                    return;
                };
                if field.is_link {
                    self.story.inline().close_link();
                }
                if self.is_furniture && fields::is_layout(&field.instruction) && self.is_shown() {
                    return self.leave_out_number();
                }
                if !field.has_result
                    && !field.is_left_out
                    && let Some(text) = fields::shown(&field.instruction)
                {
                    self.push(&text);
                }
            }
        }
    }
}

/// Returns the marks of fields that have both a beginning and an end here.
pub(super) fn whole_fields(units: &[u16], range: Range<usize>) -> HashSet<usize> {
    let mut open: Vec<Vec<usize>> = Vec::new();
    let mut found = HashSet::new();
    for at in range {
        match units[at] {
            0x13 => open.push(vec![at]),
            0x14 => {
                if let Some(field) = open.last_mut().filter(|field| field.len() == 1) {
                    field.push(at);
                }
            }
            0x15 => {
                if let Some(field) = open.pop().filter(|_| open.len() < MAX_FIELDS) {
                    found.extend(field);
                    found.insert(at);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{MAX_FIELDS, whole_fields};

    #[test]
    fn fields_are_whole_and_not_nested_without_end() {
        let marks = [0x13, 0x61, 0x13, 0x14, 0x14, 0x15, 0x62, 0x15, 0x15, 0x13];
        let mut found: Vec<usize> = whole_fields(&marks, 0..marks.len()).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [0, 2, 3, 5, 7]);
        let many = 1000;
        let deep = [vec![0x13; many], vec![0x15; many]].concat();
        assert_eq!(whole_fields(&deep, 0..2 * many).len(), 2 * MAX_FIELDS);
    }
}
