//! Which paragraphs are items of lists: a slide mostly leaves that to its layout, and the layout to its master
//! (ECMA-376 part 1, 21.1.2.4).

use roxmltree::Node;

use crate::xml;

/// How a paragraph is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    None,
    Bullet,
    Number,
}

/// Marks by the level of a paragraph, as far as they are said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Levels([Option<Mark>; 9]);

/// What stands for something of the layout.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// `title`, `body` …; empty is anything.
    pub(super) kind: String,
    index: String,
}

/// What the shapes of a slide take over.
#[derive(Debug, Default)]
pub(super) struct Bullets {
    layout: Vec<(Placeholder, Levels)>,
    master: Vec<(Placeholder, Levels)>,
    body: Levels,
}

impl Placeholder {
    /// Returns the placeholder that a shape is, if it is one.
    pub(super) fn of(shape: Node<'_, '_>) -> Option<Self> {
        let properties = shape
            .children()
            .find(|child| child.is_element() && child.tag_name().name().starts_with("nv"))?;
        let node = properties.descendants().find(|node| xml::is(*node, "ph"))?;
        let value = |name| xml::attribute(node, name).unwrap_or_default().to_owned();
        Some(Self {
            kind: value("type"),
            index: value("idx"),
        })
    }

    pub(super) fn is_title(&self) -> bool {
        matches!(&*self.kind, "title" | "ctrTitle")
    }

    /// Whether it repeats what is on every slide: date, number, header or footer.
    pub(super) fn is_furniture(&self) -> bool {
        matches!(&*self.kind, "dt" | "sldNum" | "ftr" | "hdr")
    }

    fn is_body(&self) -> bool {
        !self.is_title() && !self.is_furniture()
    }
}

impl Levels {
    /// Returns what a list style (`a:lstStyle`, `p:bodyStyle`) says.
    pub(super) fn of(style: Option<Node<'_, '_>>) -> Self {
        let mut levels = Self::default();
        let all = style.into_iter().flat_map(|style| style.children());
        for node in all.filter(Node::is_element) {
            let name = node.tag_name().name();
            let level = name
                .strip_prefix("lvl")
                .and_then(|rest| rest.strip_suffix("pPr"));
            let level = level.and_then(|level| level.parse::<usize>().ok());
            let place = level.and_then(|level| levels.0.get_mut(level.checked_sub(1)?));
            if let Some(place) = place {
                *place = mark(node);
            }
        }
        levels
    }

    pub(super) fn at(&self, level: usize) -> Option<Mark> {
        self.0.get(level).copied().flatten()
    }
}

impl Bullets {
    /// Returns what a layout and its master say.
    pub(super) fn read_layout(&mut self, root: Node<'_, '_>) {
        self.layout = placeholders(root);
    }

    pub(super) fn read_master(&mut self, root: Node<'_, '_>) {
        self.master = placeholders(root);
        self.body = Levels::of(root.descendants().find(|node| xml::is(*node, "bodyStyle")));
    }

    /// Returns the mark that a paragraph of a placeholder takes over.
    pub(super) fn inherited(&self, placeholder: &Placeholder, level: usize) -> Option<Mark> {
        let same_index = |known: &&(Placeholder, Levels)| known.0.index == placeholder.index;
        let same_kind = |known: &&(Placeholder, Levels)| known.0.kind == placeholder.kind;
        let is_body = |known: &&(Placeholder, Levels)| known.0.kind == "body";
        let layout = self.layout.iter().find(same_index);
        let layout = layout.or_else(|| self.layout.iter().find(same_kind));
        let master = self.master.iter().find(same_kind);
        let master = master.or_else(|| self.master.iter().find(is_body));
        let said = |known: Option<&(Placeholder, Levels)>| known?.1.at(level);
        let by_master = || said(master).or_else(|| self.body.at(level));
        let by_layout = said(layout);
        match placeholder.is_body() {
            true => by_layout.or_else(by_master),
            false => by_layout,
        }
    }
}

/// Returns the mark that properties of paragraphs state.
pub(super) fn mark(properties: Node<'_, '_>) -> Option<Mark> {
    let mut children = properties.children().filter(Node::is_element);
    children.find_map(|child| match child.tag_name().name() {
        "buNone" => Some(Mark::None),
        "buChar" | "buBlip" => Some(Mark::Bullet),
        "buAutoNum" => Some(Mark::Number),
        _ => None,
    })
}

fn placeholders(root: Node<'_, '_>) -> Vec<(Placeholder, Levels)> {
    let shapes = root.descendants().filter(|node| xml::is(*node, "sp"));
    let found = shapes.filter_map(|shape| {
        let style = shape.children().find(|child| xml::is(*child, "txBody"));
        let style = style.and_then(|body| xml::child(body, "lstStyle"));
        Some((Placeholder::of(shape)?, Levels::of(style)))
    });
    found.collect()
}
