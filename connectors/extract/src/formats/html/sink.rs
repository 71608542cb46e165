//! From text to tree: html5ever's tree builder writing into an arena, within bounds.
//!
//! Any bytes are some HTML, and some bytes make a parser of browser grade slow or its tree large:
//! tags nested a hundred thousand deep, formatting tags repeated in every paragraph. Depth is
//! therefore bounded, as browsers do, and a tree that outgrows its text is refused. Knows nothing of
//! what tags mean.

use std::borrow::Cow;
use std::cell::{Cell, Ref, RefCell};
use std::collections::BTreeMap;

use html5ever::interface::TokenizerResult;
use html5ever::interface::tree_builder::{
    ElemName, ElementFlags, NodeOrText, QuirksMode, TreeSink,
};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, StartTag, Tag, TagToken, Token, TokenSink, TokenSinkResult, Tokenizer,
    TokenizerOpts,
};
use html5ever::tree_builder::{TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, LocalName, Namespace, QualName, local_name, ns};

use super::dom::{Data, Dom, Excessive, Id, Link, Node};
use super::tags;

/// Open tags beyond this depth are not opened; their text stays, in its place.
const MAX_DEPTH: u32 = 256;

/// Nodes any tree may have, however short its text.
const MIN_NODES: usize = 1000;

/// How the tree builder works here.
pub(super) const OPTIONS: TreeBuilderOpts = TreeBuilderOpts {
    exact_errors: false,
    // What a page shows without scripts is what can be read here.
    scripting_enabled: false,
    iframe_srcdoc: false,
    drop_doctype: true,
    quirks_mode: QuirksMode::NoQuirks,
};

/// Parses a text with a builder that is ready for it.
pub(super) fn parse(text: &str, builder: TreeBuilder<Id, Sink>) -> Result<Dom, Excessive> {
    if tags::have_absurd_attributes(text) {
        return Err(Excessive);
    }
    let tokenizer = Tokenizer::new(Guard { builder }, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(text));
    // The parser stops to ask about scripts and encodings; both are settled.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    let sink = tokenizer.sink.builder.sink;
    if sink.is_outgrown() {
        return Err(Excessive);
    }
    Ok(Dom::new(sink.nodes.into_inner()))
}

/// Stands between tokenizer and tree builder and keeps the tree within bounds.
struct Guard {
    builder: TreeBuilder<Id, Sink>,
}

impl TokenSink for Guard {
    type Handle = Id;

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<Id> {
        let sink = &self.builder.sink;
        let is_refused = match &token {
            TagToken(tag) => is_too_deep(tag, sink.depth.get()),
            _ => false,
        };
        if is_refused || sink.is_outgrown() {
            return TokenSinkResult::Continue;
        }
        self.builder.process_token(token, line)
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder
            .adjusted_current_node_present_but_not_in_html_namespace()
    }
}

fn is_too_deep(tag: &Tag, depth: u32) -> bool {
    if tag.kind != StartTag {
        return false;
    }
    // Without their tags, scripts and styles would be read as text.
    let is_raw = matches!(
        &*tag.name,
        "script" | "style" | "textarea" | "title" | "iframe" | "xmp" | "noembed" | "noframes"
    );
    depth > if is_raw { 2 * MAX_DEPTH } else { MAX_DEPTH }
}

/// The arena while the tree grows.
pub(super) struct Sink {
    nodes: RefCell<Vec<Node>>,
    /// Roots of what templates hold.
    templates: RefCell<BTreeMap<Id, Id>>,
    max_nodes: usize,
    /// Depth of the innermost open element, nearly: elements without content count while they last.
    depth: Cell<u32>,
}

impl Sink {
    /// An empty tree, with room in proportion to the text.
    pub(super) fn new(text: &str) -> Self {
        let sink = Self {
            nodes: RefCell::new(Vec::new()),
            templates: RefCell::default(),
            max_nodes: MIN_NODES + text.len() / 2,
            depth: Cell::new(0),
        };
        sink.add(Data::Other);
        sink
    }

    fn is_outgrown(&self) -> bool {
        self.nodes.borrow().len() > self.max_nodes
    }

    fn add(&self, data: Data) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node {
            parent: Link::default(),
            previous: Link::default(),
            next: Link::default(),
            first_child: Link::default(),
            last_child: Link::default(),
            depth: 0,
            data,
        });
        nodes.len() - 1
    }

    /// Puts a node below `parent`, before `next` or at the end.
    fn place(&self, id: Id, parent: Id, next: Option<Id>) {
        detach(&mut self.nodes.borrow_mut(), id);
        let nodes = &mut *self.nodes.borrow_mut();
        let previous = match next {
            Some(next) => nodes[next].previous.replace(id),
            None => nodes[parent].last_child.replace(id),
        };
        match previous {
            Some(previous) => nodes[previous].next = Link::to(id),
            None => nodes[parent].first_child = Link::to(id),
        }
        let depth = nodes[parent].depth.saturating_add(1);
        let node = &mut nodes[id];
        node.parent = Link::to(parent);
        node.previous = previous.map(Link::to).unwrap_or_default();
        node.next = next.map(Link::to).unwrap_or_default();
        node.depth = depth;
        if matches!(node.data, Data::Element { .. }) {
            self.depth.set(depth);
        }
    }

    fn insert(&self, parent: Id, next: Option<Id>, child: NodeOrText<Id>) {
        let text = match child {
            NodeOrText::AppendNode(id) => return self.place(id, parent, next),
            NodeOrText::AppendText(text) => text,
        };
        let neighbour = {
            let nodes = self.nodes.borrow();
            match next {
                Some(next) => nodes[next].previous.id(),
                None => nodes[parent].last_child.id(),
            }
        };
        if let Some(neighbour) = neighbour
            && let Data::Text(before) = &mut self.nodes.borrow_mut()[neighbour].data
        {
            before.push_tendril(&text);
            return;
        }
        let id = self.add(Data::Text(text));
        self.place(id, parent, next);
    }
}

fn detach(nodes: &mut [Node], id: Id) {
    let (parent, previous, next) = {
        let node = &mut nodes[id];
        (node.parent.take(), node.previous.take(), node.next.take())
    };
    let link = |id: Option<Id>| id.map(Link::to).unwrap_or_default();
    match (previous, parent) {
        (Some(previous), _) => nodes[previous].next = link(next),
        (None, Some(parent)) => nodes[parent].first_child = link(next),
        (None, None) => {}
    }
    match (next, parent) {
        (Some(next), _) => nodes[next].previous = link(previous),
        (None, Some(parent)) => nodes[parent].last_child = link(previous),
        (None, None) => {}
    }
}

/// An element's name, borrowed from the arena.
#[derive(Debug)]
pub(super) struct BorrowedName<'a>(Ref<'a, QualName>);

impl ElemName for BorrowedName<'_> {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Self;
    type ElemName<'a> = BorrowedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        0
    }

    fn elem_name<'a>(&'a self, target: &'a Id) -> BorrowedName<'a> {
        BorrowedName(Ref::map(self.nodes.borrow(), |nodes| {
            match &nodes[*target].data {
                Data::Element { name, .. } => name,
                // The tree builder promises to ask elements only.
                Data::Text(_) | Data::Other => &NO_NAME,
            }
        }))
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> Id {
        let attributes = attributes.into_iter().filter(is_read).collect();
        let id = self.add(Data::Element { name, attributes });
        if flags.template {
            let contents = self.add(Data::Other);
            self.templates.borrow_mut().insert(id, contents);
        }
        id
    }

    fn create_comment(&self, _: StrTendril) -> Id {
        self.add(Data::Other)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Id {
        self.add(Data::Other)
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.insert(*parent, None, child);
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        let parent = self.nodes.borrow()[*element].parent.id();
        match parent {
            Some(parent) => self.insert(parent, Some(*element), child),
            None => self.insert(*previous, None, child),
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    fn pop(&self, node: &Id) {
        let depth = self.nodes.borrow()[*node].depth;
        self.depth.set(depth.saturating_sub(1));
    }

    fn get_template_contents(&self, target: &Id) -> Id {
        let templates = self.templates.borrow();
        templates.get(target).copied().unwrap_or(*target)
    }

    fn same_node(&self, one: &Id, other: &Id) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Id, child: NodeOrText<Id>) {
        let parent = self.nodes.borrow()[*sibling].parent.id();
        if let Some(parent) = parent {
            self.insert(parent, Some(*sibling), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Id, more: Vec<Attribute>) {
        if let Data::Element { attributes, .. } = &mut self.nodes.borrow_mut()[*target].data {
            let mut all = std::mem::take(attributes).into_vec();
            for attribute in more.into_iter().filter(is_read) {
                let is_known = all.iter().any(|known| known.name == attribute.name);
                if !is_known {
                    all.push(attribute);
                }
            }
            *attributes = all.into_boxed_slice();
        }
    }

    fn remove_from_parent(&self, target: &Id) {
        detach(&mut self.nodes.borrow_mut(), *target);
    }

    fn reparent_children(&self, node: &Id, new_parent: &Id) {
        while let Some(child) = { self.nodes.borrow()[*node].first_child.id() } {
            self.place(child, *new_parent, None);
        }
    }
}

/// Whether somebody looks at an attribute of the tree; all others are not kept.
fn is_read(attribute: &Attribute) -> bool {
    matches!(
        &*attribute.name.local,
        "alt"
            | "checked"
            | "class"
            | "colspan"
            | "content"
            | "href"
            | "lang"
            | "name"
            | "role"
            | "rowspan"
            | "src"
            | "summary"
            | "title"
            | "type"
    )
}

static NO_NAME: QualName = QualName {
    prefix: None,
    ns: ns!(),
    local: local_name!(""),
};
