//! Blocks in reading order to elements.
//!
//! Markdown, HTML and office documents say the same things in several notations: headings, paragraphs, items, quotes,
//! code, tables, pictures. Their readers tell this module what they meet; it decides which element
//! that is, given the containers around it, and so all notations map alike. Knows none of them.

use dpe_connector::content::{Category, Element, Metadata, Page};
use serde_json::Value;

use crate::elements::{Elements, VALUE_BYTES, pieces};
use crate::grid::Grid;
use crate::inline::{Flat, Picture};
use crate::made::Made;

/// A longer heading is a paragraph gone astray, not a title; it stays an element.
pub(crate) const TITLE_BYTES: usize = 16 * 1024;

/// A longer label names no footnote anybody would look for, and would be repeated on each of its blocks.
const LABEL_BYTES: usize = 128;

/// No language has a longer name.
const LANGUAGE_BYTES: usize = 64;

/// How far a text looks for the containers it is in; nobody nests deeper by intention.
const NEAR_CONTAINERS: usize = 64;

/// Something that holds blocks.
#[derive(Clone, Debug)]
pub(crate) enum Container {
    /// A list; its items are ordered or not.
    List { ordered: bool },
    /// One item.
    Item,
    /// A quotation, or a marked note of the kind named.
    Quote { alert: Option<&'static str> },
    /// The definition of a footnote.
    Footnote { label: String },
    /// Navigation or page furniture: text in it has this category.
    Region(Category),
    /// Something beside the text, such as a comment: texts in it say so in their metadata.
    Aside(Metadata),
}

/// Elements of a page under construction.
#[derive(Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Flow {
    elements: Elements,
    leading_title: Option<String>,
    open: Vec<Open>,
    depth: usize,
    item: Item,
}

/// A container with what held outside it.
#[derive(Debug)]
struct Open {
    container: Container,
    outer_item: Item,
}

/// The item whose own text comes next.
#[derive(Clone, Debug, Default)]
struct Item {
    awaits_text: bool,
    ordered: bool,
    checked: Option<bool>,
}

impl Flow {
    /// Returns nothing yet, of a document of which so much is made already.
    pub(crate) fn of(made: &Made) -> Self {
        Self {
            elements: Elements::of(made),
            leading_title: None,
            open: Vec::new(),
            depth: 0,
            item: Item::default(),
        }
    }

    /// What is made of the file so far.
    pub(crate) fn made(&self) -> &Made {
        self.elements.made()
    }

    /// Enters a container.
    pub(crate) fn open(&mut self, container: Container) {
        let ordered = matches!(
            self.open.last().map(|open| &open.container),
            Some(Container::List { ordered: true })
        );
        let inner = match container {
            Container::Item => Item {
                awaits_text: true,
                ordered,
                checked: None,
            },
            _ => Item::default(),
        };
        if matches!(container, Container::List { .. }) {
            self.depth += 1;
            // The item's own text cannot come after its first list.
            self.item.awaits_text = false;
        }
        let outer_item = std::mem::replace(&mut self.item, inner);
        self.open.push(Open {
            container,
            outer_item,
        });
    }

    /// Leaves the container entered last.
    pub(crate) fn close(&mut self) {
        let Some(closed) = self.open.pop() else {
            return;
        };
        if matches!(closed.container, Container::List { .. }) {
            self.depth -= 1;
        }
        self.item = closed.outer_item;
    }

    /// Marks the current item as a task.
    pub(crate) fn task(&mut self, done: bool) {
        self.item.checked = Some(done);
    }

    /// Adds a paragraph: an item's own text, page furniture, or narrative. One that is nothing but
    /// pictures is the pictures.
    pub(crate) fn paragraph(&mut self, flat: Flat) {
        self.text(Category::NarrativeText, flat);
    }

    /// Adds text of a category the source states; only narrative gives way to what is around it.
    pub(crate) fn text(&mut self, category: Category, flat: Flat) {
        if flat.has_words {
            let mut metadata = Metadata::new();
            let category = self.settle(category, &mut metadata);
            self.elements
                .push_linked(category, flat.text, &flat.links, metadata);
        }
        self.pictures(flat.pictures);
    }

    /// Adds a heading; `level` counts from 1.
    pub(crate) fn heading(&mut self, level: u64, flat: Flat) {
        if !flat.text.is_empty() {
            if level == 1 && self.elements.is_empty() && self.open.is_empty() {
                self.leading_title = title(&flat.text);
            }
            let mut metadata = Metadata::new();
            metadata.insert("level".to_owned(), level.into());
            self.note_containers(&mut metadata);
            self.elements
                .push_linked(Category::Title, flat.text, &flat.links, metadata);
        }
        self.pictures(flat.pictures);
    }

    /// Adds the heading of a whole page, which stands before all else on it wherever the source has it.
    pub(crate) fn page_heading(&mut self, flat: Flat) {
        let from = self.elements.len();
        self.heading(1, flat);
        self.elements.move_first(from);
    }

    /// Adds code; the line end before a closing fence or tag is not part of it.
    pub(crate) fn code(&mut self, text: &str, language: Option<&str>) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        if text.trim().is_empty() {
            return;
        }
        let mut metadata = Metadata::new();
        if let Some(language) = language.filter(|name| name.len() <= LANGUAGE_BYTES) {
            metadata.insert("language".to_owned(), language.into());
        }
        self.elements
            .push_text(Category::CodeSnippet, text, &metadata);
    }

    /// Adds a line of code that is a paragraph of its own; such lines after each other are one code.
    pub(crate) fn code_line(&mut self, line: &str) {
        if !self.elements.continue_text(Category::CodeSnippet, line) {
            self.code(line, None);
        }
    }

    /// Adds a formula that stands alone.
    pub(crate) fn formula(&mut self, text: &str) {
        self.elements
            .push_text(Category::Formula, text.trim(), &Metadata::new());
    }

    /// Adds a table and then the pictures its cells refer to.
    pub(crate) fn table(&mut self, grid: Grid, pictures: Vec<Picture>) {
        grid.finish(&mut self.elements);
        self.pictures(pictures);
    }

    /// Adds a break the source declares.
    pub(crate) fn page_break(&mut self) {
        self.elements.push(Element::empty(Category::PageBreak));
    }

    /// Adds the pages of a document within this one.
    pub(crate) fn append(&mut self, pages: Vec<Page>) {
        for page in pages {
            self.elements.append(page.elements);
        }
    }

    /// Returns how many elements there are so far.
    pub(crate) fn len(&self) -> usize {
        self.elements.len()
    }

    /// Takes the elements so far, of a page that ends here; what is open stays open.
    pub(crate) fn turn_page(&mut self) -> Vec<Element> {
        self.elements.take()
    }

    /// Returns the elements and, if the very first block was a heading of level 1, its text.
    pub(crate) fn finish(self) -> (Option<String>, Elements) {
        (self.leading_title, self.elements)
    }

    fn pictures(&mut self, pictures: Vec<Picture>) {
        for picture in pictures {
            let mut metadata = Metadata::new();
            for (name, value) in [
                ("url", picture.url),
                ("title", picture.title),
                ("link", picture.link),
            ] {
                if let Some(value) = value.filter(|value| value.len() <= VALUE_BYTES) {
                    metadata.insert(name.to_owned(), value.into());
                }
            }
            let mime_type = picture.mime_type.filter(|value| value.len() <= VALUE_BYTES);
            let has_bytes = picture.blob.is_some();
            if picture.alt.is_empty() && mime_type.is_none() && metadata.is_empty() && !has_bytes {
                continue;
            }
            let mut pieces = pieces(&picture.alt).map(|(_, piece)| piece);
            self.elements.push(Element {
                text: pieces.next().map(str::to_owned),
                blob: picture.blob,
                mime_type,
                metadata,
                ..Element::empty(Category::Image)
            });
            for piece in pieces {
                self.elements
                    .push(Element::text(Category::FigureCaption, piece));
            }
        }
    }

    /// Decides the category of a text here and writes what its containers say about it.
    fn settle(&mut self, category: Category, metadata: &mut Metadata) -> Category {
        self.note_containers(metadata);
        if category != Category::NarrativeText {
            return category;
        }
        if let Some(region) = self.region() {
            return region;
        }
        if !std::mem::take(&mut self.item.awaits_text) {
            return category;
        }
        if self.depth > 1 {
            metadata.insert("depth".to_owned(), self.depth.into());
        }
        if self.item.ordered {
            metadata.insert("ordered".to_owned(), true.into());
        }
        if let Some(done) = self.item.checked {
            metadata.insert("checked".to_owned(), done.into());
        }
        Category::ListItem
    }

    /// Looks at the innermost containers only, so that deep nesting stays cheap.
    fn note_containers(&self, metadata: &mut Metadata) {
        let near = self.open.iter().rev().take(NEAR_CONTAINERS);
        for open in near {
            match &open.container {
                Container::Quote { alert } => {
                    note(metadata, "quote", true.into());
                    if let Some(alert) = alert {
                        note(metadata, "alert", (*alert).into());
                    }
                }
                Container::Footnote { label } if label.len() <= LABEL_BYTES => {
                    note(metadata, "footnote", label.as_str().into())
                }
                Container::Aside(said) => {
                    for (name, value) in said {
                        note(metadata, name, value.clone());
                    }
                }
                Container::Footnote { .. }
                | Container::List { .. }
                | Container::Item
                | Container::Region(_) => {}
            }
        }
    }

    fn region(&self) -> Option<Category> {
        let near = self.open.iter().rev().take(NEAR_CONTAINERS);
        near.rev().find_map(|open| match open.container {
            Container::Region(category) => Some(category),
            _ => None,
        })
    }
}

fn note(metadata: &mut Metadata, name: &str, value: Value) {
    if !metadata.contains_key(name) {
        metadata.insert(name.to_owned(), value);
    }
}

/// Returns a heading as a title: one line, and not of absurd length.
pub(crate) fn title(text: &str) -> Option<String> {
    if text.len() > 2 * TITLE_BYTES {
        return None;
    }
    let words: Vec<_> = text.split_whitespace().collect();
    let title = words.join(" ");
    (!title.is_empty() && title.len() <= TITLE_BYTES).then_some(title)
}
