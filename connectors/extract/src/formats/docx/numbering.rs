//! Lists: whether the items of a level are counted (ECMA-376 part 1, 17.9). The numbers themselves are computed by
//! whoever shows the document, and so no text of it.

use std::collections::HashMap;

use roxmltree::Node;

use super::styles::{Styles, value};
use crate::xml;

/// Word knows nine levels.
const MAX_LEVEL: u32 = 8;

/// How the items of a list level are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing: it only looks like a list in the file.
    None,
    Bullet,
    Number,
}

#[derive(Clone, Debug, Default)]
struct Levels {
    marks: HashMap<u32, Mark>,
    /// Levels by the styles that mean them.
    styles: HashMap<String, u32>,
    /// The numbering style that has the levels instead.
    linked: Option<String>,
}

/// The lists of a document.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    abstracts: HashMap<String, Levels>,
    lists: HashMap<String, List>,
    /// Abstract lists by the numbering style they define.
    by_style: HashMap<String, String>,
}

#[derive(Debug, Default)]
struct List {
    of: String,
    overrides: Levels,
}

impl Numbering {
    /// Reads the part of the lists.
    pub(super) fn read(root: Node<'_, '_>) -> Self {
        let mut numbering = Self::default();
        for node in root.children().filter(Node::is_element) {
            match node.tag_name().name() {
                "abstractNum" => {
                    let id = xml::attribute(node, "abstractNumId").unwrap_or_default();
                    if let Some(style) = value(node, "styleLink") {
                        numbering.by_style.insert(style.to_owned(), id.to_owned());
                    }
                    numbering
                        .abstracts
                        .insert(id.to_owned(), Levels::read(node));
                }
                "num" => {
                    let id = xml::attribute(node, "numId").unwrap_or_default();
                    let list = List {
                        of: value(node, "abstractNumId").unwrap_or_default().to_owned(),
                        overrides: Levels::read(node),
                    };
                    numbering.lists.insert(id.to_owned(), list);
                }
                _ => {}
            }
        }
        numbering
    }

    /// Returns how deep in which kind of list a paragraph is, from 0; `None` if in none.
    pub(super) fn place(
        &self,
        styles: &Styles,
        style: Option<&str>,
        own: &super::styles::Style,
    ) -> Option<(u32, Mark)> {
        let (numbered, by_style) = styles.numbered(style, own);
        let id = numbered.list.filter(|id| id != "0")?;
        let list = self.lists.get(&id)?;
        let levels = self.levels(list)?;
        let level_of_style = by_style.and_then(|style| levels.styles.get(style).copied());
        let level = numbered
            .level
            .or(level_of_style)
            .unwrap_or(0)
            .min(MAX_LEVEL);
        let overridden = list.overrides.marks.get(&level);
        let mark = overridden.or_else(|| levels.marks.get(&level));
        let mark = *mark.unwrap_or(&Mark::Bullet);
        (mark != Mark::None).then_some((level, mark))
    }

    fn levels(&self, list: &List) -> Option<&Levels> {
        let levels = self.abstracts.get(&list.of)?;
        let linked = levels.linked.as_ref().filter(|_| levels.marks.is_empty());
        let linked = linked.and_then(|style| self.by_style.get(style));
        linked
            .and_then(|id| self.abstracts.get(id))
            .or(Some(levels))
    }
}

impl Levels {
    fn read(node: Node<'_, '_>) -> Self {
        let mut levels = Self {
            linked: value(node, "numStyleLink").map(str::to_owned),
            ..Self::default()
        };
        for level in node.descendants().filter(|node| xml::is(*node, "lvl")) {
            let number = xml::attribute(level, "ilvl").and_then(|number| number.parse().ok());
            let Some(number) = number else { continue };
            let text = value(level, "lvlText");
            let mark = match value(level, "numFmt") {
                Some("bullet") => Mark::Bullet,
                Some("none") if text.is_none_or(|text| text.trim().is_empty()) => Mark::None,
                Some("none") => Mark::Bullet,
                _ => Mark::Number,
            };
            levels.marks.insert(number, mark);
            if let Some(style) = value(level, "pStyle") {
                levels.styles.insert(style.to_owned(), number);
            }
        }
        levels
    }
}
