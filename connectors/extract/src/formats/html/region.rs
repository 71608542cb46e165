//! Which parts of a page are its furniture: navigation, head and foot.
//!
//! Only what the page says of itself counts: tags, roles, and the classes that the generators of most manuals
//! (DocBook, Sphinx) give to their navigation. Places on the screen and densities of links are not looked at.

use dpe_connector::content::Category;

use super::dom::{Dom, Id};

/// A part of a page that is not its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Region {
    Navigation,
    Banner,
    Foot,
}

impl Region {
    /// Returns the category of the texts in it.
    pub(super) fn category(self) -> Category {
        match self {
            Self::Navigation | Self::Banner => Category::Header,
            Self::Foot => Category::Footer,
        }
    }
}

/// Returns the region an element is; the same answer when it is entered and when it is left.
pub(super) fn of(dom: &Dom, id: Id, tag: &str) -> Option<Region> {
    match dom.attribute(id, "role") {
        Some("navigation") => return Some(Region::Navigation),
        Some("banner") => return Some(Region::Banner),
        Some("contentinfo") => return Some(Region::Foot),
        _ => {}
    }
    match tag {
        "nav" => Some(Region::Navigation),
        "header" if !is_in_section(dom, id) => Some(Region::Banner),
        "footer" if !is_in_section(dom, id) => Some(Region::Foot),
        "div" => by_class(dom.attribute(id, "class")?),
        "table" => by_summary(dom.attribute(id, "summary")?),
        _ => None,
    }
}

/// Whether a heading of a level within regions names one of them and no part of the text. The heading of the page
/// itself often stands in its head.
pub(super) fn has_heading(around: &[Region], level: u64) -> bool {
    around
        .iter()
        .any(|region| *region != Region::Banner || level > 1)
}

fn by_class(classes: &str) -> Option<Region> {
    // Sphinx's bar of links has no other class; with others the word is anybody's.
    if classes.trim() == "related" {
        return Some(Region::Navigation);
    }
    classes
        .split_ascii_whitespace()
        .find_map(|class| match class {
            "navheader" | "navfooter" | "sphinxsidebar" => Some(Region::Navigation),
            _ => None,
        })
}

/// DocBook says so of the tables it makes, with or without the classes around them.
fn by_summary(summary: &str) -> Option<Region> {
    matches!(summary, "Navigation header" | "Navigation footer").then_some(Region::Navigation)
}

/// Whether a header or footer is that of a section and not of the page (HTML standard, 4.3.8).
fn is_in_section(dom: &Dom, id: Id) -> bool {
    dom.ancestors(id).any(|ancestor| {
        matches!(
            dom.tag(ancestor),
            Some("article" | "aside" | "main" | "nav" | "section" | "blockquote" | "td" | "figure")
        )
    })
}
