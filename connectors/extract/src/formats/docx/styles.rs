//! Styles of paragraphs: which are headings, captions, quotations or list items, through the styles they are based
//! on (ECMA-376 part 1, 17.7).

use std::collections::HashMap;

use roxmltree::Node;

use crate::formats::ooxml::is_on;
use crate::formats::role::Role;
use crate::xml;

/// Nobody bases styles on each other deeper; and some do it in a circle.
const MAX_ANCESTORS: usize = 32;

/// Returns the value of a child element (`<w:name w:val="…"/>`).
pub(super) fn value<'n>(parent: Node<'n, '_>, name: &str) -> Option<&'n str> {
    let child = parent.children().find(|child| xml::is(*child, name))?;
    xml::attribute(child, "val")
}

/// The list a paragraph is in, and how deep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) list: Option<String>,
    pub(super) level: Option<u32>,
}

/// What is known of a style, or of a paragraph's own properties.
#[derive(Clone, Debug, Default)]
pub(super) struct Style {
    based_on: Option<String>,
    name: String,
    /// Level of a heading, from 1; 0 says that it is none.
    outline: Option<u64>,
    pub(super) numbered: Numbered,
    page_break: Option<bool>,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    by_id: HashMap<String, Style>,
    default: Option<String>,
}

impl Styles {
    /// Reads the part of the styles.
    pub(super) fn read(root: Node<'_, '_>) -> Self {
        let mut styles = Self::default();
        for node in xml::children(root, "style") {
            let kind = xml::attribute(node, "type").unwrap_or("paragraph");
            let Some(id) = xml::attribute(node, "styleId").filter(|_| kind == "paragraph") else {
                continue;
            };
            if matches!(xml::attribute(node, "default"), Some("1" | "true" | "on")) {
                styles.default = Some(id.to_owned());
            }
            let mut style = xml::child(node, "pPr").map(Style::of).unwrap_or_default();
            style.based_on = value(node, "basedOn").map(str::to_owned);
            style.name = value(node, "name").unwrap_or(id).to_ascii_lowercase();
            styles.by_id.insert(id.to_owned(), style);
        }
        styles
    }

    /// Returns a style and those it is based on, nearest first; the default's if none is named.
    fn line<'a>(&'a self, id: Option<&'a str>) -> impl Iterator<Item = (&'a str, &'a Style)> {
        let mut next = id.or(self.default.as_deref());
        let line = std::iter::from_fn(move || {
            let id = next?;
            let style = self.by_id.get(id)?;
            next = style.based_on.as_deref();
            Some((id, style))
        });
        line.take(MAX_ANCESTORS)
    }

    /// Returns the level of the heading that a paragraph of a style is, from 1.
    pub(super) fn heading(&self, id: Option<&str>, own: &Style) -> Option<u64> {
        let line = self.line(id).map(|(_, style)| style);
        let declared = std::iter::once(own).chain(line).find_map(|style| {
            let by_name = || style.name.strip_prefix("heading ")?.trim().parse().ok();
            style.outline.or_else(by_name)
        });
        declared.filter(|level| (1..=9).contains(level))
    }

    /// Returns what a style makes of its paragraphs.
    pub(super) fn role(&self, id: Option<&str>) -> Role {
        let roles = self.line(id).map(|(_, style)| Role::of_style(&style.name));
        roles
            .into_iter()
            .find(|role| *role != Role::Text)
            .unwrap_or_default()
    }

    /// Returns the list that a paragraph is in; list and level may come from different styles. The style that
    /// names the list is told as well, for its level may be known to the list only.
    pub(super) fn numbered<'a>(
        &'a self,
        id: Option<&'a str>,
        own: &Style,
    ) -> (Numbered, Option<&'a str>) {
        let mut found = own.numbered.clone();
        let mut by_style = None;
        for (id, style) in self.line(id) {
            if found.list.is_none() && style.numbered.list.is_some() {
                found.list.clone_from(&style.numbered.list);
                by_style = Some(id);
            }
            found.level = found.level.or(style.numbered.level);
        }
        (found, by_style)
    }

    /// Returns whether a paragraph begins a page.
    pub(super) fn breaks_page(&self, id: Option<&str>, own: &Style) -> bool {
        let line = self.line(id).map(|(_, style)| style.page_break);
        let declared = std::iter::once(own.page_break).chain(line);
        declared.flatten().next().unwrap_or(false)
    }
}

impl Style {
    /// Returns what paragraph properties (`w:pPr`) say.
    pub(super) fn of(properties: Node<'_, '_>) -> Self {
        let mut style = Self::default();
        for node in properties.children().filter(Node::is_element) {
            let number = || xml::attribute(node, "val").and_then(|value| value.parse().ok());
            match node.tag_name().name() {
                "outlineLvl" => {
                    style.outline = number().map(|level: u64| match level {
                        0..=8 => level + 1,
                        _ => 0,
                    });
                }
                "pageBreakBefore" => style.page_break = Some(is_on(node)),
                "numPr" => {
                    style.numbered = Numbered {
                        list: value(node, "numId").map(str::to_owned),
                        level: value(node, "ilvl").and_then(|level| level.parse().ok()),
                    };
                }
                _ => {}
            }
        }
        style
    }
}
