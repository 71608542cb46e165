//! Texts and presentations of OpenDocument (ODF 1.3, parts 3 and 4), as LibreOffice and others write them.
//!
//! How they look is no content: fonts, numbers of pages and items, what a master page repeats on every slide. Text
//! that was deleted under review is none.

mod block;
mod frame;
mod mathml;
mod meta;
mod object;
mod slides;
mod styles;
mod table;
mod text;

use dpe_connector::content::{Category, Element, Page};
use roxmltree::Node;

use crate::flow::{Container, Flow};
use crate::format::Format;
use crate::formats::head;
use crate::package::Package;
use crate::pages;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, xml};

use styles::Styles;

pub(in crate::formats) use meta::declare;
pub(in crate::formats) use text::spaces;

/// Reads a text. Its pages are those between declared page breaks.
///
/// # Errors
///
/// `encrypted`; `damaged` if the content is missing or not well-formed; `bomb`.
pub(super) fn read_text(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    read(
        format.as_type("odt"),
        package,
        reading,
        |reader, body, styles| reader.document(body, styles),
    )
}

/// Reads a presentation: a page for each slide.
///
/// # Errors
///
/// As for [a text](read_text).
pub(super) fn read_presentation(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    read(
        format.as_type("odp"),
        package,
        reading,
        |reader, body, _| reader.slides(body),
    )
}

fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
    pages: impl for<'t> FnOnce(
        &mut Reader<'_, '_, '_, 't>,
        Node<'t, 't>,
        Option<Node<'t, 't>>,
    ) -> Result<Vec<Page>, ExtractError>,
) -> Result<Document, ExtractError> {
    refuse_encrypted(package, reading)?;
    let mut head = head(format);
    declare(&mut head, package, reading)?;
    let content = xml::text(&package.needed("content.xml", reading)?)?;
    let content = xml::parse(&content, reading)?;
    let shared = shared_styles(package, reading)?;
    let shared = xml::parse(&shared, reading);
    let shared = reading.tolerated("styles.xml", shared)?;
    let shared = shared.as_ref().map(roxmltree::Document::root_element);
    let root = content.root_element();
    let body = root.children().find(|child| xml::is(*child, "body"));
    let body = body.ok_or_else(|| ExtractError::damaged("the document has no body"))?;
    let mut styles = Styles::default();
    shared.into_iter().for_each(|shared| styles.read(shared));
    styles.read(root);
    let mut reader = Reader::new(styles, package, reading);
    let pages = pages(&mut reader, body, shared)?;
    head.title = head.title.or(reader.title);
    Ok(Document { head, pages })
}

/// Returns the text of the part of the styles; without one, that of an empty one.
fn shared_styles(
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<String, ExtractError> {
    let bytes = package.part("styles.xml", reading);
    let bytes = reading.tolerated("styles.xml", bytes)?.flatten();
    let text = bytes.map_or_else(|| Ok("<none/>".to_owned()), |bytes| xml::text(&bytes));
    let text = reading.tolerated("styles.xml", text)?;
    Ok(text.unwrap_or_else(|| "<none/>".to_owned()))
}

/// Refuses a package with encrypted parts (part 2, 3.4).
///
/// # Errors
///
/// `encrypted`; `bomb`.
pub(in crate::formats) fn refuse_encrypted(
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let manifest = package.part("META-INF/manifest.xml", reading);
    let manifest = reading.tolerated("the manifest", manifest)?.flatten();
    let is_encrypted = manifest
        .is_some_and(|manifest| memchr::memmem::find(&manifest, b"encryption-data").is_some());
    if is_encrypted || package.has("encrypted-package") {
        return Err(ExtractError::new(
            Reason::Encrypted,
            "the document wants a password",
        ));
    }
    Ok(())
}

/// A document under way; `'t` is the life of its trees.
#[derive(Debug)]
struct Reader<'r, 'b, 'l, 't> {
    package: &'r mut Package<'b>,
    reading: &'r mut Reading<'l>,
    styles: Styles,
    pictures: Pictures,
    flow: Flow,
    pages: Vec<Vec<Element>>,
    title: Option<String>,
    /// Whether page breaks count here.
    in_body: bool,
    /// Whether headings are headings here.
    is_text: bool,
    /// Notes of this block, with their labels, and comments.
    footnotes: Vec<(String, Node<'t, 't>)>,
    endnotes: Vec<(String, Node<'t, 't>)>,
    comments: Vec<Node<'t, 't>>,
    /// Bytes that cells and spaces may still be repeated for.
    repeats: usize,
}

impl<'r, 'b, 'l, 't> Reader<'r, 'b, 'l, 't> {
    fn new(styles: Styles, package: &'r mut Package<'b>, reading: &'r mut Reading<'l>) -> Self {
        Self {
            flow: Flow::of(reading.made()),
            package,
            reading,
            styles,
            pictures: Pictures::default(),
            pages: Vec::new(),
            title: None,
            in_body: true,
            is_text: true,
            footnotes: Vec::new(),
            endnotes: Vec::new(),
            comments: Vec::new(),
            repeats: table::MAX_REPEATED_BYTES,
        }
    }

    fn document(
        &mut self,
        body: Node<'t, 't>,
        shared: Option<Node<'t, 't>>,
    ) -> Result<Vec<Page>, ExtractError> {
        let headers = self.furniture(shared, "header", Category::Header)?;
        for text in body.children().filter(Node::is_element) {
            self.blocks(text)?;
        }
        let endnotes = std::mem::take(&mut self.endnotes);
        self.notes(endnotes)?;
        self.notes_of_block()?;
        self.turn_page();
        let footers = self.furniture(shared, "footer", Category::Footer)?;
        if self.pages.is_empty() && !(headers.is_empty() && footers.is_empty()) {
            self.pages.push(Vec::new());
        }
        if let Some(first) = self.pages.first_mut() {
            first.splice(0..0, headers);
        }
        if let Some(last) = self.pages.last_mut() {
            last.extend(footers);
        }
        let all = std::mem::take(&mut self.pages);
        Ok(all.into_iter().flat_map(pages::of).collect())
    }

    /// Reads the headers or footers of all master pages, equal ones once.
    fn furniture(
        &mut self,
        shared: Option<Node<'t, 't>>,
        kind: &str,
        region: Category,
    ) -> Result<Vec<Element>, ExtractError> {
        let masters = shared.into_iter().flat_map(|root| root.descendants());
        let masters = masters.filter(|node| xml::is(*node, "master-page"));
        let parts = masters.flat_map(|master| master.children());
        let parts =
            parts.filter(|part| part.is_element() && part.tag_name().name().starts_with(kind));
        let mut all: Vec<Vec<Element>> = Vec::new();
        for part in parts {
            self.flow.open(Container::Region(region));
            self.apart(|reader| reader.blocks(part))?;
            self.flow.close();
            let elements = self.flow.turn_page();
            if !all.contains(&elements) {
                all.push(elements);
            }
        }
        Ok(all.into_iter().flatten().collect())
    }

    /// Reads something beside the text, where page breaks and headings are none.
    fn apart(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<(), ExtractError>,
    ) -> Result<(), ExtractError> {
        let in_body = std::mem::replace(&mut self.in_body, false);
        let is_text = std::mem::replace(&mut self.is_text, false);
        let result = read(self);
        self.in_body = in_body;
        self.is_text = is_text;
        result
    }

    /// Ends a page, unless there is nothing on it.
    fn turn_page(&mut self) {
        let elements = self.flow.turn_page();
        if !elements.is_empty() {
            self.pages.push(elements);
        }
    }

    /// Reads the footnotes and comments of a block, and those in them.
    fn notes_of_block(&mut self) -> Result<(), ExtractError> {
        while self.is_text && !(self.footnotes.is_empty() && self.comments.is_empty()) {
            let footnotes = std::mem::take(&mut self.footnotes);
            self.notes(footnotes)?;
            for comment in std::mem::take(&mut self.comments) {
                self.comment(comment)?;
            }
        }
        Ok(())
    }

    fn notes(&mut self, notes: Vec<(String, Node<'t, 't>)>) -> Result<(), ExtractError> {
        for (label, body) in notes {
            self.flow.open(Container::Footnote { label });
            self.apart(|reader| reader.blocks(body))?;
            self.flow.close();
        }
        Ok(())
    }
}
