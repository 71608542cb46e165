//! What can be wrong with a definition.

use miette::Diagnostic;
use thiserror::Error;

use crate::json::{NumberReason, SyntaxError, push_token};

/// A definition that defines no instance.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum DefinitionError {
    /// The text is no I-JSON.
    #[error("the definition is not strict JSON: {0}")]
    #[diagnostic(
        code(dpe::config::definition_syntax),
        help("write it as JSON in UTF-8, without duplicate names")
    )]
    Syntax(#[source] SyntaxError),
    /// It nests too deeply.
    #[error("the definition is nested {depth} deep")]
    #[diagnostic(
        code(dpe::config::definition_depth),
        help("nest it at most 64 deep, its configuration included")
    )]
    Depth {
        /// How deep it is.
        depth: usize,
    },
    /// A number that not everybody can carry.
    #[error("{place} of the definition: {reason} at byte {offset}")]
    #[diagnostic(
        code(dpe::config::definition_number),
        help("write large numbers as strings if the connector takes them")
    )]
    Number {
        /// Pointer to the member of the definition that it is in.
        place: String,
        /// Byte offset into the text.
        offset: usize,
        /// What is wrong with it.
        reason: NumberReason,
    },
    /// A member breaks a rule.
    #[error("{place} of the definition {why}")]
    #[diagnostic(
        code(dpe::config::definition_member),
        help("see the instance definition of the connector contract (§6)")
    )]
    Member {
        /// Pointer to it.
        place: String,
        /// The rule.
        why: String,
    },
}

impl DefinitionError {
    /// Returns the error of a member that breaks a rule; `why` goes on from its name.
    pub fn member(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Member {
            place: place.into(),
            why: why.into(),
        }
    }

    /// Returns the error of a member of the object at `parent`.
    pub fn inside(parent: &str, name: &str, why: impl Into<String>) -> Self {
        let mut place = parent.to_owned();
        push_token(&mut place, name);
        Self::member(place, why)
    }
}
