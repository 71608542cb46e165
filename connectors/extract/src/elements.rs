//! The elements of a page, each kept within the size budget.
//!
//! Knows nothing of formats. The cut is a fixed rule, so that two runs, or two machines, cut the
//! same text in the same places.

use dpe_connector::content::{Category, Element, Metadata};
use serde_json::Value;

use crate::made::Made;

/// The most bytes of UTF-8 one element's `text` or `text_as_html` may have.
pub(crate) const ELEMENT_BYTES: usize = 1 << 20;

/// The most bytes a single value that a source declares may have to be worth noting: an address, the
/// title of a picture, the description of a page.
pub(crate) const VALUE_BYTES: usize = 64 * 1024;

/// A link inside a text: bytes `start..end` are its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) url: String,
}

/// Elements in reading order. Once a document has become too much there are none: it is refused in the end, see
/// [`settled`](crate::reading::Reading::settled).
#[derive(Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Elements {
    list: Vec<Element>,
    made: Made,
}

impl Elements {
    /// Returns no elements yet, of a document of which so much is made already.
    pub(crate) fn of(made: &Made) -> Self {
        Self {
            list: Vec::new(),
            made: made.clone(),
        }
    }

    /// Adds an element that is known to be within the budget.
    pub(crate) fn push(&mut self, element: Element) {
        match self.made.element(&element) {
            true => self.list.push(element),
            false => self.list = Vec::new(),
        }
    }

    /// Adds a text, in as many elements of the same category as the budget asks for. Metadata is
    /// repeated on each.
    pub(crate) fn push_text(&mut self, category: Category, text: &str, metadata: &Metadata) {
        for (_, piece) in pieces(text) {
            self.push(Element {
                metadata: metadata.clone(),
                ..Element::text(category, piece)
            });
        }
    }

    /// As [`push_text`](Self::push_text); each link goes with the piece in which it begins.
    pub(crate) fn push_linked(
        &mut self,
        category: Category,
        text: String,
        links: &[Link],
        mut metadata: Metadata,
    ) {
        if text.len() <= ELEMENT_BYTES {
            note_links(&mut metadata, &text, links);
            self.push(Element {
                metadata,
                ..Element::text(category, text)
            });
            return;
        }
        let mut rest = links;
        for (start, piece) in pieces(&text) {
            let own = rest.partition_point(|link| link.start <= start + piece.len());
            let mut metadata = metadata.clone();
            note_links(&mut metadata, &text, &rest[..own]);
            rest = &rest[own..];
            self.push(Element {
                metadata,
                ..Element::text(category, piece)
            });
        }
    }

    /// Adds elements that were made, and counted, already.
    pub(crate) fn append(&mut self, mut others: Vec<Element>) {
        self.list.append(&mut others);
    }

    /// What is made of the file so far.
    pub(crate) fn made(&self) -> &Made {
        &self.made
    }

    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Adds a line to the text of the last element if that is of a category and has room; `false` if not.
    pub(crate) fn continue_text(&mut self, category: Category, line: &str) -> bool {
        let last = self
            .list
            .last_mut()
            .filter(|last| last.category == category);
        let Some(text) = last.and_then(|last| last.text.as_mut()) else {
            return false;
        };
        let has_room = text.len() + 1 + line.len() <= ELEMENT_BYTES;
        if has_room && self.made.bytes(1 + line.len() as u64) {
            text.push('\n');
            text.push_str(line);
        }
        has_room
    }

    /// Moves the elements from some place on before all others.
    pub(crate) fn move_first(&mut self, from: usize) {
        let from = from.min(self.list.len());
        self.list.rotate_left(from);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes those so far; further ones begin anew.
    pub(crate) fn take(&mut self) -> Vec<Element> {
        std::mem::take(&mut self.list)
    }

    pub(crate) fn into_vec(self) -> Vec<Element> {
        self.list
    }
}

/// Links as metadata says them.
#[derive(Debug, Default)]
pub(crate) struct NotedLinks {
    values: Vec<Value>,
    bytes: usize,
}

impl NotedLinks {
    /// What a link costs beside its words and its address.
    const LINK_BYTES: usize = r#"{"text":"","url":""},"#.len();

    /// Notes the links of a text. Links that would make an element larger than its text may be are
    /// left out; their words are in the text all the same.
    pub(crate) fn note(&mut self, text: &str, links: &[Link]) {
        for link in links {
            let words = &text[link.start..link.end];
            self.bytes += Self::LINK_BYTES + words.len() + link.url.len();
            if self.bytes > ELEMENT_BYTES {
                return;
            }
            self.values
                .push(serde_json::json!({ "text": words, "url": link.url }));
        }
    }

    /// Writes them into metadata, if there are any.
    pub(crate) fn write(self, metadata: &mut Metadata) {
        if !self.values.is_empty() {
            metadata.insert("links".to_owned(), self.values.into());
        }
    }
}

fn note_links(metadata: &mut Metadata, text: &str, links: &[Link]) {
    let mut noted = NotedLinks::default();
    noted.note(text, links);
    noted.write(metadata);
}

/// Cuts a text at line ends into pieces within the budget, each with its offset. The line end at a
/// cut belongs to no piece; a line longer than the budget is cut between two characters.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = (!text.is_empty()).then_some(0);
    std::iter::from_fn(move || {
        let start = next?;
        let rest = &text[start..];
        if rest.len() <= ELEMENT_BYTES {
            next = None;
            return Some((start, rest));
        }
        // A line end in the very first place would give an empty piece.
        let line_end = memchr::memrchr(b'\n', &rest.as_bytes()[1..=ELEMENT_BYTES]);
        let (length, skipped) = match line_end {
            Some(at) => (at + 1, 1),
            None => (rest.floor_char_boundary(ELEMENT_BYTES), 0),
        };
        let after = start + length + skipped;
        next = (after < text.len()).then_some(after);
        Some((start, &rest[..length]))
    })
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::{Category, Metadata};

    use super::{ELEMENT_BYTES, Elements, Link, pieces};
    use crate::made::Made;

    #[test]
    fn text_within_budget_is_one_piece() {
        let text = "x".repeat(ELEMENT_BYTES);
        assert_eq!(pieces(&text).collect::<Vec<_>>(), [(0, text.as_str())]);
        assert_eq!(pieces("").count(), 0);
    }

    #[test]
    fn nothing_is_held_once_it_is_too_much() {
        let made = Made::up_to(2, u64::MAX);
        let mut elements = Elements::of(&made);
        for _ in 0..5 {
            elements.push_text(Category::NarrativeText, "a", &Metadata::new());
        }
        assert_eq!((elements.list.capacity(), elements.len()), (0, 0));
        let mut others = Elements::of(&made);
        others.push_text(Category::NarrativeText, "a", &Metadata::new());
        assert!(others.is_empty() && made.settled().is_err());
    }

    #[test]
    fn long_text_is_cut_at_the_last_line_end_that_fits() {
        let line = "x".repeat(ELEMENT_BYTES / 2 - 1);
        let text = format!("{line}\n{line}\nrest");
        let cut: Vec<_> = pieces(&text).collect();
        assert_eq!(cut.len(), 2);
        assert_eq!(cut[0].1, format!("{line}\n{line}"));
        assert_eq!(cut[1], (ELEMENT_BYTES, "rest"));
    }

    #[test]
    fn long_line_is_cut_between_characters() {
        let text = "ä€".repeat(ELEMENT_BYTES / 2);
        let cut: Vec<_> = pieces(&text).map(|(_, piece)| piece).collect();
        assert!(cut.iter().all(|piece| piece.len() <= ELEMENT_BYTES));
        assert_eq!(cut.concat(), text);
    }

    #[test]
    fn link_goes_with_the_piece_in_which_it_begins() {
        let text = format!("{}\nlinked", "x".repeat(ELEMENT_BYTES));
        let link = Link {
            start: ELEMENT_BYTES + 1,
            end: text.len(),
            url: "u".to_owned(),
        };
        let mut elements = Elements::default();
        elements.push_linked(Category::NarrativeText, text, &[link], Metadata::new());
        let elements = elements.into_vec();
        assert!(elements[0].metadata.is_empty());
        assert_eq!(
            elements[1].metadata["links"],
            serde_json::json!([{"text": "linked", "url": "u"}])
        );
    }
}
