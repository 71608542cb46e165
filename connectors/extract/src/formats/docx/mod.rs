//! Documents of Word since 2007 (ECMA-376 part 1, 17): the text with what belongs to it, in reading order.
//!
//! How it looks is no content: fonts, columns, numbers of pages and items. Text that was deleted under review is none,
//! text that was inserted is. Hidden text is read.

mod beside;
mod block;
mod fields;
mod notes;
mod numbering;
mod run;
mod styles;
mod symbol;
mod table;

use std::collections::HashSet;

use dpe_connector::content::{Category, Element};
use roxmltree::Node;

use crate::flow::{Container, Flow};
use crate::format::Format;
use crate::formats::head;
use crate::formats::ooxml::relations::Relations;
use crate::formats::ooxml::{properties, with_part};
use crate::package::Package;
use crate::pages;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::{Document, ExtractError, xml};

use fields::Fields;
use notes::{Kind, Notes, Sources, Texts};
use numbering::Numbering;
use styles::Styles;

pub(super) use notes::comment;

/// Where every program puts the text, for packages that do not say.
const USUAL_PART: &str = "word/document.xml";

/// Reads a document. Its pages are those between declared page breaks.
///
/// # Errors
///
/// `damaged` if the main part is missing or not well-formed; `bomb`.
pub(super) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let of_package = Relations::of("", package, reading)?;
    let mut head = head(format.as_type("docx"));
    properties::declare(&mut head, &of_package, package, reading)?;
    let main = of_package.of_kind("officeDocument").next();
    let main = main.unwrap_or(USUAL_PART).to_owned();
    let source = xml::text(&package.needed(&main, reading)?)?;
    let tree = xml::parse(&source, reading)?;
    let relations = Relations::of(&main, package, reading)?;
    let notes = Texts::of(&relations, package, reading)?;
    let notes = notes.trees(reading)?;
    let sources = Sources::in_trees(&notes, package, reading)?;
    let here = Surroundings {
        relations,
        fields: Fields::of_part(tree.root_element()),
    };
    let mut reader = Reader::new(here, sources, package, reading)?;
    reader.document(tree.root_element())?;
    let (title, pages) = reader.finish();
    head.title = head.title.or(title);
    let pages = pages.into_iter().flat_map(pages::of).collect();
    Ok(Document { head, pages })
}

/// What the words of a part refer to.
#[derive(Debug, Default)]
struct Surroundings {
    relations: Relations,
    fields: Fields,
}

/// A document under way.
#[derive(Debug)]
struct Reader<'r, 'b, 'l, 't> {
    package: &'r mut Package<'b>,
    reading: &'r mut Reading<'l>,
    styles: Styles,
    numbering: Numbering,
    pictures: Pictures,
    /// Those of the part that is read now.
    here: Surroundings,
    flow: Flow,
    pages: Vec<Vec<Element>>,
    title: Option<String>,
    /// Whether page breaks count here.
    in_body: bool,
    /// Whether headings are headings here: in the text, and not in headers and notes.
    is_text: bool,
    notes: Notes,
    sources: Sources<'t>,
}

impl<'r, 'b, 'l, 't> Reader<'r, 'b, 'l, 't> {
    fn new(
        here: Surroundings,
        sources: Sources<'t>,
        package: &'r mut Package<'b>,
        reading: &'r mut Reading<'l>,
    ) -> Result<Self, ExtractError> {
        let part = |kind| here.relations.of_kind(kind).next().map(str::to_owned);
        let (styles, numbering) = (part("styles"), part("numbering"));
        let mut reader = Self {
            flow: Flow::of(reading.made()),
            package,
            reading,
            styles: Styles::default(),
            numbering: Numbering::default(),
            pictures: Pictures::default(),
            here,
            pages: Vec::new(),
            title: None,
            in_body: true,
            is_text: true,
            notes: Notes::default(),
            sources,
        };
        if let Some(part) = styles {
            let styles = with_part(&part, reader.package, reader.reading, |root, _, _| {
                Ok(Styles::read(root))
            })?;
            reader.styles = styles.unwrap_or_default();
        }
        if let Some(part) = numbering {
            let lists = with_part(&part, reader.package, reader.reading, |root, _, _| {
                Ok(Numbering::read(root))
            })?;
            reader.numbering = lists.unwrap_or_default();
        }
        Ok(reader)
    }

    fn document(&mut self, root: Node<'_, '_>) -> Result<(), ExtractError> {
        let body = root.children().find(|child| xml::is(*child, "body"));
        let body = body.ok_or_else(|| ExtractError::damaged("the document has no body"))?;
        let sections = sections(body);
        let headers = self.furniture(&sections, "headerReference", Category::Header)?;
        self.body(body, &sections)?;
        // Endnotes have comments and footnotes, and these may refer to further endnotes.
        while self.notes.has_endnotes() {
            self.read_notes(Kind::Endnote)?;
            self.notes_of_block()?;
        }
        self.turn_page();
        let footers = self.furniture(&sections, "footerReference", Category::Footer)?;
        if self.pages.is_empty() && !(headers.is_empty() && footers.is_empty()) {
            self.pages.push(Vec::new());
        }
        if let Some(first) = self.pages.first_mut() {
            first.splice(0..0, headers);
        }
        if let Some(last) = self.pages.last_mut() {
            last.extend(footers);
        }
        Ok(())
    }

    fn finish(self) -> (Option<String>, Vec<Vec<Element>>) {
        (self.title, self.pages)
    }

    /// Ends a page, unless there is nothing on it.
    fn turn_page(&mut self) {
        let elements = self.flow.turn_page();
        if !elements.is_empty() {
            self.pages.push(elements);
        }
    }

    /// Reads the headers or footers of all sections, equal ones once.
    fn furniture(
        &mut self,
        sections: &[Node<'_, '_>],
        reference: &str,
        region: Category,
    ) -> Result<Vec<Element>, ExtractError> {
        let mut known = HashSet::new();
        let mut parts: Vec<String> = Vec::new();
        for section in sections {
            for node in section
                .children()
                .filter(|child| xml::is(*child, reference))
            {
                let id = xml::attribute(node, "id").unwrap_or_default();
                let part = self.here.relations.part(id).map(str::to_owned);
                parts.extend(part.filter(|part| known.insert(part.clone())));
            }
        }
        let mut all: Vec<Vec<Element>> = Vec::new();
        for part in parts {
            self.flow.open(Container::Region(region));
            self.read_part(&part, |reader, root| reader.blocks(root))?;
            self.flow.close();
            let elements = self.flow.turn_page();
            if !all.contains(&elements) {
                all.push(elements);
            }
        }
        Ok(all.into_iter().flatten().collect())
    }

    /// Reads another part within its own surroundings, and beside the body.
    fn read_part(
        &mut self,
        part: &str,
        read: impl FnOnce(&mut Self, Node<'_, '_>) -> Result<(), ExtractError>,
    ) -> Result<(), ExtractError> {
        let bytes = self.package.part(part, self.reading);
        let Some(bytes) = self.reading.tolerated(part, bytes)?.flatten() else {
            return Ok(());
        };
        let text = xml::text(&bytes);
        let Some(text) = self.reading.tolerated(part, text)? else {
            return Ok(());
        };
        let tree = xml::parse(&text, self.reading);
        let Some(tree) = self.reading.tolerated(part, tree)? else {
            return Ok(());
        };
        let there = Surroundings {
            relations: Relations::of(part, self.package, self.reading)?,
            fields: Fields::of_part(tree.root_element()),
        };
        let here = std::mem::replace(&mut self.here, there);
        let result = self.beside_text(|reader| read(reader, tree.root_element()));
        self.here = here;
        result
    }

    /// Reads something that is not the text, where page breaks and headings are none.
    fn beside_text(
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
}

/// Returns the properties of the sections, in their order; those under review are others' former ones.
fn sections<'n, 't>(body: Node<'n, 't>) -> Vec<Node<'n, 't>> {
    let all = body.descendants().filter(|node| xml::is(*node, "sectPr"));
    all.filter(|node| {
        let parent = node.parent();
        parent.is_some_and(|parent| parent == body || xml::is(parent, "pPr"))
    })
    .collect()
}
