//! What a pattern says, without its spelling: groups are gone, counts are numbers.

use super::class::Class;

/// A whole pattern.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// The branches at the top; one of them has to occur.
    pub(super) branches: Vec<Branch>,
    /// The classes that nodes refer to.
    pub(super) classes: Vec<Class>,
}

/// A branch at the top, the only place for anchors.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    /// Whether it begins where the text does.
    pub(super) from_start: bool,
    pub(super) body: Node,
    /// Whether it ends where the text does.
    pub(super) to_end: bool,
}

/// A part of a pattern.
#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One character of the class at this index.
    One(usize),
    /// Each in turn; nothing at all if there are none.
    Sequence(Vec<Node>),
    /// One of them.
    Choice(Vec<Node>),
    /// The same again and again.
    Repeat(Box<Repeat>),
}

/// A node with a quantifier.
#[derive(Clone, Debug)]
pub(super) struct Repeat {
    pub(super) node: Node,
    /// Whether `node` matches the empty text.
    pub(super) is_nullable: bool,
    pub(super) least: u64,
    /// Nothing for no limit.
    pub(super) most: Option<u64>,
}

impl Node {
    /// Returns `node` repeated.
    pub(super) fn repeated(node: Self, least: u64, most: Option<u64>) -> Self {
        if most == Some(0) {
            return Self::Sequence(Vec::new());
        }
        let is_nullable = node.is_nullable();
        Self::Repeat(Box::new(Repeat {
            node,
            is_nullable,
            least,
            most,
        }))
    }

    fn is_nullable(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Sequence(nodes) => nodes.iter().all(Self::is_nullable),
            Self::Choice(nodes) => nodes.iter().any(Self::is_nullable),
            Self::Repeat(repeat) => repeat.least == 0 || repeat.is_nullable,
        }
    }
}
