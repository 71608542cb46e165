//! What is wrong with a configuration, told without telling what is in it.
//!
//! A value may be a secret in the wrong place, and so may a name nobody declared (connector
//! contract §4.3): a violation has names and values of the schema only.

use std::fmt;

use crate::json::push_token;

/// Longest constraint that is shown, in characters.
const SHOWN: usize = 200;

/// A rule of the schema that a configuration breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigViolation {
    /// Where, as an RFC 6901 pointer into the configuration. A name that is declared nowhere
    /// is shown as `*`.
    pub place: String,
    /// The keyword of the schema.
    pub keyword: &'static str,
    /// What the schema demands there.
    pub constraint: String,
}

impl fmt::Display for ConfigViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            keyword,
            constraint,
        } = self;
        match place.as_str() {
            "" => write!(f, "the configuration breaks `{keyword}`: {constraint}"),
            _ => write!(
                f,
                "{place} of the configuration breaks `{keyword}`: {constraint}"
            ),
        }
    }
}

/// One step from a value to a value inside.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// To a member the schema names.
    Declared(String),
    /// To another member.
    Undeclared,
    /// To an item.
    Item(usize),
}

/// Returns the pointer of a path.
pub(super) fn pointer(path: &[Step]) -> String {
    let mut pointer = String::new();
    for step in path {
        match step {
            Step::Declared(name) => push_token(&mut pointer, name),
            Step::Undeclared => pointer.push_str("/*"),
            Step::Item(index) => push_token(&mut pointer, &index.to_string()),
        }
    }
    pointer
}

/// Shortens what a schema says, so that it can be shown.
pub(super) fn shown(constraint: &str) -> String {
    match constraint.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &constraint[..end]),
        None => constraint.to_owned(),
    }
}
