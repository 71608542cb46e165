//! The keywords there are and what their values have to be (connector contract §4.3, meta rules).

use std::collections::HashSet;

use crate::json::Value;

/// What the value of a keyword is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A schema.
    Schema,
    /// A non-empty array of schemas.
    Schemas,
    /// An object of schemas.
    Named,
    /// The same, and the names are patterns.
    NamedByPattern,
    /// The same, for others to refer to.
    Definitions,
    /// A pattern.
    Pattern,
    /// The place of a definition.
    Reference,
    /// The name of the dialect.
    Dialect,
    /// Something that holds no schema.
    Plain(Plain),
}

/// Values without schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plain {
    /// A name of a type, or a non-empty array of distinct ones.
    Type,
    /// Anything.
    Data,
    /// Any array.
    Array,
    /// An array of distinct strings.
    Names,
    /// An object of such arrays.
    NamesByName,
    /// A number without a fraction, 0 or more.
    Count,
    /// A number.
    Number,
    /// A boolean.
    Boolean,
    /// A string.
    Text,
}

/// Values of `$schema`.
const DIALECTS: [&str; 2] = [
    "https://json-schema.org/draft/2020-12/schema",
    "https://json-schema.org/draft/2020-12/schema#",
];

const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

impl Shape {
    /// Returns what the value of `keyword` is, if there is such a keyword.
    pub(super) fn of(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "additionalProperties" | "propertyNames" | "items" | "not" | "if" | "then" | "else" => {
                Self::Schema
            }
            "allOf" | "anyOf" | "oneOf" => Self::Schemas,
            "properties" => Self::Named,
            "patternProperties" => Self::NamedByPattern,
            "$defs" => Self::Definitions,
            "pattern" => Self::Pattern,
            "$ref" => Self::Reference,
            "$schema" => Self::Dialect,
            _ => Self::Plain(Plain::of(keyword)?),
        })
    }
}

impl Plain {
    fn of(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "type" => Self::Type,
            "const" | "default" => Self::Data,
            "enum" | "examples" => Self::Array,
            "required" => Self::Names,
            "dependentRequired" => Self::NamesByName,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => Self::Count,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Self::Number,
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => Self::Boolean,
            "title" | "description" | "format" | "contentEncoding" | "contentMediaType"
            | "$comment" => Self::Text,
            _ => return None,
        })
    }

    /// Judges a value; the error says what it has to be.
    pub(super) fn check(self, value: Value<'_>) -> Result<(), &'static str> {
        let (holds, expected) = match self {
            Self::Type => (
                is_type(value),
                "the name of a type, or a non-empty array of distinct ones",
            ),
            Self::Data => (true, "anything"),
            Self::Array => (value.items().is_some(), "an array"),
            Self::Names => (are_distinct(value), "an array of distinct strings"),
            Self::NamesByName => (
                value
                    .members()
                    .is_some_and(|mut members| members.all(|(_, names)| are_distinct(names))),
                "an object of arrays of distinct strings",
            ),
            Self::Count => (
                double(value).is_some_and(|count| count >= 0.0 && is_integral(count)),
                "a non-negative integer",
            ),
            Self::Number => (value.number().is_some(), "a number"),
            Self::Boolean => (value.as_bool().is_some(), "a boolean"),
            Self::Text => (value.is_string(), "a string"),
        };
        if holds { Ok(()) } else { Err(expected) }
    }
}

/// Judges the value of `$schema`.
pub(super) fn is_dialect(value: Value<'_>) -> bool {
    DIALECTS.iter().any(|dialect| value.says(dialect))
}

/// Returns the value of a number as a double, which is what I-JSON can carry.
pub(super) fn double(value: Value<'_>) -> Option<f64> {
    value.number()?.literal().parse().ok()
}

/// Returns whether a number counts as an integer: `1.0` does.
pub(super) fn is_integral(number: f64) -> bool {
    number.fract() == 0.0
}

fn is_type(value: Value<'_>) -> bool {
    let is_name = |value: Value<'_>| TYPES.iter().any(|name| value.says(name));
    match value.items() {
        Some(mut names) => {
            are_distinct(value) && names.clone().next().is_some() && names.all(is_name)
        }
        None => is_name(value),
    }
}

fn are_distinct(value: Value<'_>) -> bool {
    let mut seen = HashSet::new();
    value.items().is_some_and(|mut items| {
        items.all(|item| item.as_str().is_some_and(|text| seen.insert(text)))
    })
}
