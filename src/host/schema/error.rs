//! Why a `config_schema` is outside of the subset.

use thiserror::Error;

use crate::host::pattern::PatternError;

/// A rule of connector contract §4.3, §4.4 or §5 that a manifest breaks.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {rule}")]
pub struct SchemaError {
    /// Where, as an RFC 6901 pointer into the manifest.
    pub place: String,
    /// What is wrong there.
    pub rule: SchemaRule,
}

/// The rules.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SchemaRule {
    /// The root has another type.
    #[error("the root has to be an object whose `type` is exactly \"object\"")]
    Root,
    /// Something else where a schema belongs.
    #[error("a schema is an object or a boolean")]
    Position,
    /// A keyword the contract does not have.
    #[error("not one of the keywords of the contract")]
    Keyword,
    /// A keyword of the root in another place.
    #[error("this keyword stands at the root only")]
    RootOnly,
    /// A keyword with a value it cannot have.
    #[error("the value has to be {0}")]
    Value(&'static str),
    /// A regular expression outside of the subset.
    #[error("the pattern is outside of the portable subset: {0}")]
    Pattern(PatternError),
    /// A `$ref` that is spelled wrongly or leads nowhere.
    #[error("the reference {0}")]
    Reference(&'static str),
    /// Definitions that need each other.
    #[error("the definition refers to itself")]
    Recursive,
    /// More than 64 schemas inside of each other, references followed.
    #[error("the schema expands deeper than 64")]
    Expansion,
}
