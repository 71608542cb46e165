//! How much a document has become while it is made.
//!
//! A file of a few megabytes may hold millions of paragraphs, or name one text again and again. Elements are
//! counted as they are added, wherever in the document that is, so that what is too much is never held. Knows
//! nothing of formats.

use std::cell::Cell;
use std::rc::Rc;

use dpe_connector::content::Element;
use serde_json::Value;

use crate::reason::{ExtractError, Reason};

/// What an element costs besides its texts, in bytes: names of members, category, punctuation.
pub(crate) const ELEMENT_OVERHEAD: usize = 64;

/// What is made of one file. Whoever makes elements of it has the same count.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    count: Rc<Count>,
}

#[derive(Debug)]
struct Count {
    elements: Cell<u64>,
    most_elements: u64,
    bytes: Cell<u64>,
    most_bytes: u64,
}

impl Made {
    /// Returns a count of nothing yet, with what may be made: elements, and bytes of their texts and metadata.
    pub(crate) fn up_to(most_elements: u64, most_bytes: u64) -> Self {
        let count = Count {
            elements: Cell::new(0),
            most_elements,
            bytes: Cell::new(0),
            most_bytes,
        };
        let count = Rc::new(count);
        Self { count }
    }

    /// Counts an element, and returns whether there is still room for it.
    pub(crate) fn element(&self, element: &Element) -> bool {
        let elements = self.count.elements.get().saturating_add(1);
        self.count.elements.set(elements);
        self.bytes(size(element))
    }

    /// Counts what an element grew by, and returns whether there was still room for it.
    pub(crate) fn bytes(&self, bytes: u64) -> bool {
        let bytes = self.count.bytes.get().saturating_add(bytes);
        self.count.bytes.set(bytes);
        self.settled().is_ok()
    }

    /// Whether it was not too much.
    ///
    /// # Errors
    ///
    /// `too_large` for elements, `bomb` for bytes: more of them than the file holds come of naming the same ones
    /// again.
    pub(crate) fn settled(&self) -> Result<(), ExtractError> {
        let count = &*self.count;
        if count.elements.get() > count.most_elements {
            let message = format!("more than {} elements", count.most_elements);
            return Err(ExtractError::new(Reason::TooLarge, message));
        }
        if count.bytes.get() > count.most_bytes {
            let message = format!("its texts have more than {} bytes", count.most_bytes);
            return Err(ExtractError::new(Reason::Bomb, message));
        }
        Ok(())
    }
}

#[cfg(test)]
impl Default for Made {
    fn default() -> Self {
        Self::up_to(u64::MAX, u64::MAX)
    }
}

/// Returns about how many bytes an element has: escapes of JSON are not counted, since this is done for each element.
fn size(element: &Element) -> u64 {
    let texts = [&element.text, &element.text_as_html];
    let texts: usize = texts.into_iter().flatten().map(String::len).sum();
    let metadata: u64 = element.metadata.iter().map(member).sum();
    (ELEMENT_OVERHEAD + texts) as u64 + metadata
}

fn member((name, value): (&String, &Value)) -> u64 {
    let value = match value {
        Value::String(text) => text.len() as u64,
        Value::Array(values) => values.iter().map(|value| member((name, value))).sum(),
        Value::Object(members) => members.iter().map(member).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    };
    name.len() as u64 + value
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Element};

    use super::Made;
    use crate::Reason;

    #[test]
    fn elements_and_their_texts_are_counted_together_wherever_they_are_made() {
        let made = Made::up_to(2, 1000);
        let element = Element::text(Category::NarrativeText, "a");
        assert!(made.element(&element) && made.clone().element(&element));
        assert!(made.settled().is_ok());
        assert!(!made.element(&element));
        assert_eq!(made.settled().unwrap_err().reason, Reason::TooLarge);
    }

    #[test]
    fn texts_and_metadata_that_multiply_are_a_bomb() {
        let mut element = Element::text(Category::NarrativeText, "a".repeat(200));
        let links = serde_json::json!([{"text": "b".repeat(100), "url": "c".repeat(100)}]);
        element.metadata.insert("links".to_owned(), links);
        let made = Made::up_to(10, 900);
        assert!(made.element(&element) && !made.element(&element));
        assert_eq!(made.settled().unwrap_err().reason, Reason::Bomb);
        let made = Made::up_to(10, 900);
        assert!(made.bytes(900) && !made.bytes(1));
    }
}
