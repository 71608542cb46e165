//! Whether a pattern occurs in a text.
//!
//! From the places where a node may begin follow the places where it can end, all at once; there
//! is no backtracking and no automaton. Counts need not be unrolled: what matches the empty
//! text reaches a place with fewer repetitions or not at all, and what does not moves on by a
//! character each time. So no loop runs more often than the text has places, whatever the count.
//! Loops inside of loops come back to the same question again and again, and so its answer is kept:
//! `((a+)+)+` would otherwise take twice as long with every pair of parentheses.

use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ptr;

use super::positions::Positions;
use super::tree::{Branch, Node, Repeat, Tree};

/// Most bytes of answers that are kept.
const KNOWN_BYTES: usize = 32 << 20;

/// Returns whether `tree` matches somewhere in `text`.
pub(super) fn occurs(tree: &Tree, text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let search = Search {
        tree,
        places: vec![OnceCell::new(); tree.classes.len()],
        text: &text,
        known: RefCell::default(),
    };
    tree.branches.iter().any(|branch| search.finds(branch))
}

struct Search<'s> {
    tree: &'s Tree,
    text: &'s [char],
    /// For each class where its characters stand, once somebody has asked.
    places: Vec<OnceCell<Positions>>,
    known: RefCell<Known>,
}

/// Where a repetition, known by its address in the tree, can begin, and where it then can end.
#[derive(Default)]
struct Known {
    ends: HashMap<(*const Repeat, Positions), Positions>,
    bytes: usize,
}

impl Search<'_> {
    fn finds(&self, branch: &Branch) -> bool {
        let starts = if branch.from_start {
            Positions::one(0)
        } else {
            Positions::where_true(self.text.len() + 1, |_| true)
        };
        let ends = self.ends(&branch.body, starts);
        if branch.to_end {
            ends.contains(self.text.len())
        } else {
            !ends.is_empty()
        }
    }

    /// Returns where `node` can end if it begins at one of `starts`.
    fn ends(&self, node: &Node, starts: Positions) -> Positions {
        if starts.is_empty() {
            return starts;
        }
        match node {
            Node::One(class) => starts.step(self.places_of(*class)),
            Node::Sequence(nodes) => nodes
                .iter()
                .fold(starts, |starts, node| self.ends(node, starts)),
            Node::Choice(nodes) => {
                let mut all = Positions::default();
                for node in nodes {
                    all.add(&self.ends(node, starts.clone()));
                }
                all
            }
            Node::Repeat(repeat) => self.repeated(repeat, starts),
        }
    }

    fn repeated(&self, repeat: &Repeat, starts: Positions) -> Positions {
        let question = (ptr::from_ref(repeat), starts);
        if let Some(ends) = self.known.borrow().ends.get(&question) {
            return ends.clone();
        }
        let ends = self.repeated_anew(repeat, question.1.clone());
        self.known.borrow_mut().add(question, ends.clone());
        ends
    }

    fn repeated_anew(&self, repeat: &Repeat, mut starts: Positions) -> Positions {
        let mut more = repeat.most;
        // A repetition that may be empty may be left out: then the least number is no demand.
        if !repeat.is_nullable {
            for _ in 0..repeat.least {
                starts = self.ends(&repeat.node, starts);
                if starts.is_empty() {
                    return starts;
                }
            }
            more = more.map(|most| most - repeat.least);
        }
        self.at_most(&repeat.node, starts, more)
    }

    /// Returns where up to `most` repetitions can end. A place that was reached before is not gone
    /// on from again: fewer repetitions have led there.
    fn at_most(&self, node: &Node, starts: Positions, most: Option<u64>) -> Positions {
        let mut reached = starts.clone();
        let mut newest = starts;
        let mut round = 0;
        while most.is_none_or(|most| round < most) {
            newest = self.ends(node, newest).without(&reached);
            if newest.is_empty() {
                break;
            }
            reached.add(&newest);
            round += 1;
        }
        reached
    }

    fn places_of(&self, class: usize) -> &Positions {
        self.places[class].get_or_init(|| {
            let class = &self.tree.classes[class];
            Positions::where_true(self.text.len(), |at| class.contains(self.text[at]))
        })
    }
}

impl Known {
    fn add(&mut self, question: (*const Repeat, Positions), ends: Positions) {
        let bytes = question.1.bytes() + ends.bytes();
        if self.bytes + bytes > KNOWN_BYTES {
            *self = Self::default();
        }
        self.bytes += bytes;
        self.ends.insert(question, ends);
    }
}
