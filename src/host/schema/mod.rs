//! The `config_schema` of a manifest: a closed subset of JSON Schema on which every
//! implementation reaches the same verdict (connector contract §4.3, §4.4).
//!
//! A schema is judged first, whatever a configuration may say; what has been judged is then read
//! straight from the tape of its text, keyword by keyword. Nothing is ever resolved outside of the text.

mod check;
mod error;
mod evaluate;
mod expansion;
mod keyword;
mod reference;
mod violation;

use std::collections::HashMap;

use crate::json::Value;

use super::pattern::Pattern;

pub use error::{SchemaError, SchemaRule};
pub use violation::ConfigViolation;

/// A schema that keeps the rules.
#[derive(Debug)]
pub(super) struct Schema<'t> {
    root: Value<'t>,
    /// By the offset of the `pattern` or of the name in `patternProperties`.
    patterns: HashMap<usize, Pattern>,
    /// Where each `$ref` leads, by its offset.
    targets: HashMap<usize, Value<'t>>,
}

impl<'t> Schema<'t> {
    /// Judges the value of `config_schema`.
    ///
    /// # Errors
    ///
    /// The first rule that is broken; its place is a byte offset of the text.
    pub(super) fn new(root: Value<'t>) -> Result<Self, Breach> {
        let schema = check::schema(root)?;
        expansion::check(&schema)?;
        Ok(schema)
    }

    /// Returns what is wrong with a configuration, if anything.
    pub(super) fn violation(&self, config: Value<'_>) -> Option<ConfigViolation> {
        evaluate::violation(self, config)
    }
}

/// A broken rule and the byte offset of the value that breaks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Breach {
    pub(super) offset: usize,
    pub(super) rule: SchemaRule,
}

impl Breach {
    fn of(value: Value<'_>, rule: SchemaRule) -> Self {
        let offset = value.offset();
        Self { offset, rule }
    }
}
