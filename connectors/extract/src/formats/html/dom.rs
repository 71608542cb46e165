//! A tree of HTML in an arena, walked without recursion.
//!
//! Knows neither how the tree comes about ([`super::sink`]) nor what tags mean.

use std::num::NonZeroU32;

use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{TreeBuilder, create_element};
use html5ever::{Attribute, QualName, local_name, ns};

use super::sink::{OPTIONS, Sink, parse};

/// A node's place in its tree.
pub(super) type Id = usize;

/// A parsed text.
#[derive(Debug)]
pub(super) struct Dom {
    nodes: Vec<Node>,
}

/// One node, linked to its neighbours. There is one for every few bytes of a page, so it is kept small.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) parent: Link,
    pub(super) previous: Link,
    pub(super) next: Link,
    pub(super) first_child: Link,
    pub(super) last_child: Link,
    /// Nodes above, as of when it was put in its place.
    pub(super) depth: u32,
    pub(super) data: Data,
}

/// A link from a node to another, or to none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Link(Option<NonZeroU32>);

impl Link {
    pub(super) fn to(id: Id) -> Self {
        // No text has so many nodes: it is refused before.
        let place = u32::try_from(id).ok().and_then(|id| id.checked_add(1));
        Self(place.and_then(NonZeroU32::new))
    }

    pub(super) fn id(self) -> Option<Id> {
        self.0.map(|place| place.get() as Id - 1)
    }

    pub(super) fn take(&mut self) -> Option<Id> {
        std::mem::take(self).id()
    }

    pub(super) fn replace(&mut self, id: Id) -> Option<Id> {
        std::mem::replace(self, Self::to(id)).id()
    }
}

/// What a node is.
#[derive(Debug)]
pub(super) enum Data {
    /// An element with those of its attributes that are read.
    Element {
        name: QualName,
        attributes: Box<[Attribute]>,
    },
    /// Text.
    Text(StrTendril),
    /// The document itself, a comment, a processing instruction, what a `template` holds.
    Other,
}

/// One step of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A node, before its children.
    Enter(Id),
    /// The same node, after its children.
    Leave(Id),
}

/// The text is built to be parsed at great cost: its tree would be far larger than itself, or a tag
/// has attributes beyond any use.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Excessive;

impl Dom {
    pub(super) fn new(nodes: Vec<Node>) -> Self {
        Self { nodes }
    }

    /// Parses a whole document.
    pub(super) fn of_document(text: &str) -> Result<Self, Excessive> {
        parse(text, TreeBuilder::new(Sink::new(text), OPTIONS))
    }

    /// Parses what may stand inside a `body`.
    pub(super) fn of_fragment(text: &str) -> Result<Self, Excessive> {
        let sink = Sink::new(text);
        let name = QualName::new(None, ns!(html), local_name!("body"));
        let context = create_element(&sink, name, Vec::new());
        parse(
            text,
            TreeBuilder::new_for_fragment(sink, context, None, OPTIONS),
        )
    }

    /// Returns the node all others are below.
    pub(super) fn root(&self) -> Id {
        0
    }

    /// Returns what a node is.
    pub(super) fn data(&self, id: Id) -> &Data {
        &self.nodes[id].data
    }

    /// Returns the tag name of an HTML element.
    pub(super) fn tag(&self, id: Id) -> Option<&str> {
        match &self.nodes[id].data {
            Data::Element { name, .. } if name.ns == ns!(html) => Some(&name.local),
            _ => None,
        }
    }

    /// Returns the value of an attribute.
    pub(super) fn attribute(&self, id: Id, wanted: &str) -> Option<&str> {
        let Data::Element { attributes, .. } = &self.nodes[id].data else {
            return None;
        };
        attributes
            .iter()
            .find(|attribute| &*attribute.name.local == wanted)
            .map(|attribute| &*attribute.value)
    }

    /// Returns the node before a node, below the same parent.
    pub(super) fn previous(&self, id: Id) -> Option<Id> {
        self.nodes[id].previous.id()
    }

    /// Returns the nodes around a node, nearest first.
    pub(super) fn ancestors(&self, id: Id) -> impl Iterator<Item = Id> {
        std::iter::successors(self.nodes[id].parent.id(), |id| self.nodes[*id].parent.id())
    }

    /// Walks a node and what is below it, in document order.
    pub(super) fn walk(&self, root: Id) -> Walk<'_> {
        Walk {
            dom: self,
            root,
            next: Some(Step::Enter(root)),
        }
    }
}

/// A walk in progress.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    dom: &'a Dom,
    root: Id,
    next: Option<Step>,
}

impl Walk<'_> {
    /// Goes on after the node just entered without a look below it; it is left without a step.
    pub(super) fn pass_over(&mut self, entered: Id) {
        self.next = self.after(entered);
    }

    fn after(&self, left: Id) -> Option<Step> {
        if left == self.root {
            return None;
        }
        let node = &self.dom.nodes[left];
        match node.next.id() {
            Some(next) => Some(Step::Enter(next)),
            None => node.parent.id().map(Step::Leave),
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.next?;
        self.next = match step {
            Step::Enter(id) => Some(match self.dom.nodes[id].first_child.id() {
                Some(child) => Step::Enter(child),
                None => Step::Leave(id),
            }),
            Step::Leave(id) => self.after(id),
        };
        Some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::{Data, Dom, Excessive, Step};

    #[test]
    fn nodes_are_small() {
        assert!(size_of::<super::Node>() <= 72);
    }

    fn outline(dom: &Dom) -> String {
        let mut outline = String::new();
        for step in dom.walk(dom.root()) {
            match step {
                Step::Enter(id) => match dom.data(id) {
                    Data::Element { name, .. } => outline.push_str(&format!("<{}>", &*name.local)),
                    Data::Text(text) => outline.push_str(text),
                    Data::Other => {}
                },
                Step::Leave(id) => {
                    if dom.tag(id).is_some() {
                        outline.push('/');
                    }
                }
            }
        }
        outline
    }

    #[test]
    fn tree_is_the_one_the_html_standard_builds() {
        let text = "<!doctype html><title>t</title><p>a<b>b<p>c</b>d<table>x<tr><td>y";
        let dom = Dom::of_document(text).unwrap();
        assert_eq!(
            outline(&dom),
            "<html><head><title>t//<body><p>a<b>b//<p><b>c/d/x<table><tbody><tr><td>y//////"
        );
    }

    #[test]
    fn fragment_stands_in_a_body() {
        let dom = Dom::of_fragment("a<p>b").unwrap();
        assert_eq!(outline(&dom), "<html>a<p>b//");
    }

    #[test]
    fn deep_nesting_is_flattened_and_keeps_its_text() {
        let deep = format!(
            "{}core{}",
            "<div>".repeat(100_000),
            "</div>".repeat(100_000)
        );
        let text = outline(&Dom::of_document(&deep).unwrap());
        assert!(text.contains("core"));
        assert!(text.matches("<div>").count() < 1000);
    }

    #[test]
    fn tree_that_outgrows_its_text_is_refused() {
        // Each paragraph opens again the formatting that the first left open.
        let mut text = "<p>".to_owned();
        for attribute in 0..200 {
            text.push_str(&format!("<b a={attribute}>"));
        }
        text.push_str(&"</p><p>x".repeat(10_000));
        assert!(matches!(Dom::of_document(&text), Err(Excessive)));
    }
}
