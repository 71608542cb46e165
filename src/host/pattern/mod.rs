//! The portable regular expressions of a `config_schema` (connector contract §5).
//!
//! Every member of the subset has to be accepted and matched, whatever an engine would say about
//! its size: `(a{1000000000}){0,}` is a member, and a small one by the counting of §5.2. So nothing
//! is unrolled or compiled here. A pattern is a small tree, and [`search`] asks each node where
//! in the text it can end. Knows texts and patterns, no JSON.

mod class;
mod count;
mod error;
mod parse;
mod positions;
mod search;
mod tree;

pub use error::{PatternError, PatternReason};

use tree::Tree;

/// A regular expression of the subset.
#[derive(Clone, Debug)]
pub struct Pattern(Tree);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// The first rule of §5.1 or §5.2 it breaks.
    pub fn parse(text: &str) -> Result<Self, PatternError> {
        parse::tree(text).map(Self)
    }

    /// Returns whether the pattern occurs anywhere in `text` (§5.3).
    pub fn is_match(&self, text: &str) -> bool {
        search::occurs(&self.0, text)
    }
}
