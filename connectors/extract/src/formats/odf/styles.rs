//! Styles: which paragraphs begin or end pages, which are titles or captions, which lists count their items.

use std::collections::{BTreeMap, HashMap};

use roxmltree::Node;

use crate::formats::role::Role;
use crate::xml;

/// Nobody derives styles deeper; and some do it in a circle.
const MAX_ANCESTORS: usize = 32;

#[derive(Debug, Default)]
struct Style {
    parent: Option<String>,
    breaks_before: Option<bool>,
    breaks_after: Option<bool>,
    begins_master: bool,
}

/// The styles of a document.
#[derive(Debug, Default)]
pub(super) struct Styles {
    by_name: HashMap<String, Style>,
    /// Whether the levels of a list style count their items.
    lists: HashMap<String, BTreeMap<u32, bool>>,
}

impl Styles {
    /// Adds the styles in a part. Those of the content come after the shared ones.
    pub(super) fn read(&mut self, root: Node<'_, '_>) {
        for node in root.descendants().filter(Node::is_element) {
            match node.tag_name().name() {
                "style" => self.read_style(node),
                "list-style" => {
                    let name = xml::attribute(node, "name").unwrap_or_default();
                    let levels = node
                        .children()
                        .filter(Node::is_element)
                        .filter_map(|level| {
                            let number = xml::attribute(level, "level")?.parse().ok()?;
                            let format = xml::attribute(level, "num-format").unwrap_or_default();
                            let is_counted = xml::is(level, "list-level-style-number");
                            Some((number, is_counted && !format.is_empty()))
                        });
                    self.lists.insert(name.to_owned(), levels.collect());
                }
                _ => {}
            }
        }
    }

    fn read_style(&mut self, node: Node<'_, '_>) {
        let family = xml::attribute(node, "family").unwrap_or_default();
        if !matches!(family, "paragraph" | "table") {
            return;
        }
        let properties = node.children().filter(Node::is_element);
        let said = |name: &str| {
            let mut properties = properties.clone();
            properties.find_map(|properties| xml::attribute(properties, name))
        };
        let breaks = |value: Option<&str>| value.map(|value| value == "page");
        let style = Style {
            parent: xml::attribute(node, "parent-style-name").map(str::to_owned),
            breaks_before: breaks(said("break-before")),
            breaks_after: breaks(said("break-after")),
            begins_master: xml::attribute(node, "master-page-name")
                .is_some_and(|master| !master.is_empty()),
        };
        if let Some(name) = xml::attribute(node, "name") {
            self.by_name.insert(key(family, name), style);
        }
    }

    fn line<'a>(
        &'a self,
        family: &'a str,
        name: &'a str,
    ) -> impl Iterator<Item = (&'a str, Option<&'a Style>)> {
        let mut next = Some(name);
        let line = std::iter::from_fn(move || {
            let name = next?;
            let style = self.by_name.get(&key(family, name));
            next = style.and_then(|style| style.parent.as_deref());
            Some((name, style))
        });
        line.take(MAX_ANCESTORS)
    }

    /// Returns whether something of a style begins a page, and whether it ends one.
    pub(super) fn breaks(&self, family: &str, name: &str) -> (bool, bool) {
        let line = || self.line(family, name).filter_map(|(_, style)| style);
        let before = line()
            .find_map(|style| style.breaks_before)
            .unwrap_or(false);
        let master = line().next().is_some_and(|style| style.begins_master);
        let after = line().find_map(|style| style.breaks_after).unwrap_or(false);
        (before || master, after)
    }

    /// Returns what a style makes of its paragraphs. Names of styles are not translated in files.
    pub(super) fn role(&self, name: &str) -> Role {
        let line = self.line("paragraph", name);
        let mut roles = line.map(|(name, _)| Role::of_style(&name.replace("_20_", " ")));
        roles.find(|role| *role != Role::Text).unwrap_or_default()
    }

    /// Returns whether a list style counts the items of a level, from 1; a level it does not define is as the one
    /// above it.
    pub(super) fn is_ordered(&self, list: &str, level: u32) -> bool {
        let levels = self.lists.get(list);
        let nearest = levels.and_then(|levels| levels.range(..=level).next_back());
        nearest.is_some_and(|(_, is_ordered)| *is_ordered)
    }
}

fn key(family: &str, name: &str) -> String {
    format!("{family}/{name}")
}
