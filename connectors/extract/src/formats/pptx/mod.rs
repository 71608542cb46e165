//! Presentations of PowerPoint since 2007 (ECMA-376 part 1, 19): a page for each slide, in the order of the show.
//!
//! What a slide takes over from its master is the look of all slides and no content of one; dates and numbers of
//! slides that the program fills in are layout. Slides that are not shown are read like the others.

mod beside;
mod bullets;
mod slide;
mod table;
mod text;

use std::collections::HashMap;
use std::rc::Rc;

use dpe_connector::content::Page;
use roxmltree::Node;

use crate::format::Format;
use crate::formats::head;
use crate::formats::ooxml::relations::Relations;
use crate::formats::ooxml::{properties, with_part};
use crate::package::Package;
use crate::pages;
use crate::pictures::Pictures;
use crate::reading::Reading;
use crate::{Document, ExtractError, xml};

use bullets::Bullets;

/// Where every program puts the list of slides, for packages that do not say.
const USUAL_PART: &str = "ppt/presentation.xml";

/// Reads a presentation.
///
/// # Errors
///
/// `damaged` if there is neither a list of slides nor a slide; `bomb`.
pub(super) fn read(
    format: Format,
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let of_package = Relations::of("", package, reading)?;
    let mut head = head(format.as_type("pptx"));
    properties::declare(&mut head, &of_package, package, reading)?;
    let main = of_package.of_kind("officeDocument").next();
    let main = main.unwrap_or(USUAL_PART).to_owned();
    let mut reader = Reader {
        relations: Relations::of(&main, package, reading)?,
        package,
        reading,
        pictures: Pictures::default(),
        bullets: HashMap::new(),
        authors: HashMap::new(),
    };
    let pages = reader.slides(&main)?;
    Ok(Document { head, pages })
}

/// A presentation under way.
#[derive(Debug)]
struct Reader<'r, 'b, 'l> {
    package: &'r mut Package<'b>,
    reading: &'r mut Reading<'l>,
    /// Those of the presentation.
    relations: Relations,
    pictures: Pictures,
    /// What slides take over, by the parts of their layouts.
    bullets: HashMap<String, Rc<Bullets>>,
    /// Names of those who commented, by their ids.
    authors: HashMap<String, String>,
}

impl Reader<'_, '_, '_> {
    fn slides(&mut self, main: &str) -> Result<Vec<Page>, ExtractError> {
        self.find_authors()?;
        let mut all = Vec::new();
        for part in self.order(main)? {
            self.reading.page()?;
            let slide = match part {
                Some(part) => self.slide(&part)?,
                None => {
                    self.reading
                        .note("a slide that the presentation lists is missing");
                    slide::Slide::default()
                }
            };
            all.extend(pages::declared(
                slide.title,
                dpe_connector::content::Metadata::new(),
                slide.elements,
            ));
        }
        Ok(all)
    }

    /// Returns the parts of the slides, in the order of the show; if the list of them cannot be read or is empty, in
    /// the order of their names.
    fn order(&mut self, main: &str) -> Result<Vec<Option<String>>, ExtractError> {
        let relations = &self.relations;
        let listed = with_part(main, self.package, self.reading, |root, _, _| {
            let lists = root.children().filter(|child| xml::is(*child, "sldIdLst"));
            let slides = lists
                .flat_map(|list| list.children())
                .filter(Node::is_element);
            let parts = slides.map(|slide| {
                let id = slide
                    .attributes()
                    .filter(|attribute| attribute.name() == "id");
                let mut parts = id.filter_map(|id| relations.part(id.value()));
                parts.next().map(str::to_owned)
            });
            Ok(parts.collect())
        })?;
        let is_read = listed.is_some();
        if let Some(listed) = listed.filter(|listed: &Vec<_>| !listed.is_empty()) {
            return Ok(listed);
        }
        let names = self.package.names().iter();
        let mut numbered: Vec<(u32, String)> = names.filter_map(|name| numbered(name)).collect();
        if numbered.is_empty() && !is_read {
            return Err(ExtractError::damaged("the package has no slides"));
        }
        numbered.sort();
        Ok(numbered.into_iter().map(|(_, name)| Some(name)).collect())
    }
}

/// Returns the number in a slide's name.
fn numbered(name: &str) -> Option<(u32, String)> {
    let number = name
        .strip_prefix("ppt/slides/slide")?
        .strip_suffix(".xml")?;
    Some((number.parse().ok()?, name.to_owned()))
}
