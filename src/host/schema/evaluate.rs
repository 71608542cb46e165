//! Holds a configuration against a schema that has been judged (connector contract §4.3,
//! evaluation).
//!
//! Numbers are doubles, as I-JSON carries no more, so canonical text decides about equality: it is
//! the same exactly if two values are mathematically equal, deep and whatever the order of members.

use std::collections::{HashMap, HashSet};

use crate::json::{Value, canonical};

use super::Schema;
use super::keyword::{double, is_integral};
use super::violation::{ConfigViolation, Step, pointer, shown};

/// Returns the first violation, in the order of the schema's text.
pub(super) fn violation(schema: &Schema<'_>, config: Value<'_>) -> Option<ConfigViolation> {
    Evaluation {
        schema,
        path: Vec::new(),
        known: HashMap::new(),
    }
    .judge(schema.root, config)
}

struct Evaluation<'s, 't> {
    schema: &'s Schema<'t>,
    /// From the root of the configuration to the value being judged.
    path: Vec<Step>,
    /// Verdicts of definitions on values, by both offsets. Definitions that refer to others twice
    /// would otherwise be evaluated 2^62 times.
    known: HashMap<(usize, usize), Option<ConfigViolation>>,
}

/// A value and the schema it is held against.
#[derive(Clone, Copy)]
struct Pair<'t, 'v> {
    schema: Value<'t>,
    value: Value<'v>,
}

impl<'t> Evaluation<'_, 't> {
    fn judge(&mut self, schema: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        if schema.as_bool() == Some(false) {
            return Some(self.breach("false", "no value is allowed here"));
        }
        let pair = Pair { schema, value };
        let mut keywords = schema.members().into_iter().flatten();
        keywords.find_map(|(keyword, constraint)| self.keyword(&keyword, constraint, pair))
    }

    fn holds(&mut self, schema: Value<'t>, value: Value<'_>) -> bool {
        self.judge(schema, value).is_none()
    }

    fn keyword(
        &mut self,
        keyword: &str,
        constraint: Value<'t>,
        pair: Pair<'t, '_>,
    ) -> Option<ConfigViolation> {
        let Pair { schema, value } = pair;
        match keyword {
            "properties" => self.properties(constraint, value),
            "patternProperties" => self.pattern_properties(constraint, value),
            "additionalProperties" => self.additional_properties(constraint, pair),
            "propertyNames" => self.property_names(constraint, value),
            "required" => self.required(constraint, value),
            "dependentRequired" => self.dependent_required(constraint, value),
            "items" => self.items(constraint, value),
            "$ref" => self.reference(constraint, value),
            "allOf" => {
                let mut schemas = constraint.items()?;
                schemas.find_map(|schema| self.judge(schema, value))
            }
            "anyOf" | "oneOf" => self.some_of(keyword == "oneOf", constraint, value),
            "not" => self
                .holds(constraint, value)
                .then(|| self.breach("not", "the schema under it must not hold")),
            "if" => {
                let branch = if self.holds(constraint, value) {
                    "then"
                } else {
                    "else"
                };
                self.judge(schema.member(branch)?, value)
            }
            _ => self.assertion(keyword, constraint, value),
        }
    }

    /// Keywords that look at nothing but the value.
    fn assertion(
        &self,
        keyword: &str,
        constraint: Value<'t>,
        value: Value<'_>,
    ) -> Option<ConfigViolation> {
        let (name, holds) = match keyword {
            "pattern" => {
                let pattern = &self.schema.patterns[&constraint.offset()];
                let holds = value.as_str().is_none_or(|text| pattern.is_match(&text));
                ("pattern", holds)
            }
            _ => simple_assertion(keyword, constraint, value)?,
        };
        (!holds).then(|| self.breach(name, constraint.raw()))
    }

    fn properties(&mut self, named: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        let mut members = value.members()?;
        members.find_map(|(name, member)| {
            let schema = named.member(&name)?;
            self.inside(Step::Declared(name.into_owned()), schema, member)
        })
    }

    fn pattern_properties(
        &mut self,
        named: Value<'t>,
        value: Value<'_>,
    ) -> Option<ConfigViolation> {
        let mut members = value.members()?;
        members.find_map(|(name, member)| {
            let mut schemas = named.members()?.handles();
            schemas.find_map(|(pattern, schema)| {
                let is_match = self.schema.patterns[&pattern.offset()].is_match(&name);
                is_match.then(|| self.inside(Step::Undeclared, schema, member))?
            })
        })
    }

    fn additional_properties(
        &mut self,
        additional: Value<'t>,
        pair: Pair<'t, '_>,
    ) -> Option<ConfigViolation> {
        let mut members = pair.value.members()?;
        members.find_map(|(name, member)| {
            if self.is_evaluated(pair.schema, &name) {
                return None;
            }
            if additional.as_bool() == Some(false) {
                let why = "only the declared members are allowed";
                return Some(self.breach("additionalProperties", why));
            }
            self.inside(Step::Undeclared, additional, member)
        })
    }

    /// Returns whether `properties` or `patternProperties` of this very schema speak of `name`.
    fn is_evaluated(&self, schema: Value<'t>, name: &str) -> bool {
        let named = schema.member("properties");
        if named.is_some_and(|named| named.member(name).is_some()) {
            return true;
        }
        let by_pattern = schema.member("patternProperties").and_then(Value::members);
        by_pattern.is_some_and(|members| {
            let mut patterns = members.handles();
            patterns.any(|(pattern, _)| self.schema.patterns[&pattern.offset()].is_match(name))
        })
    }

    fn property_names(&mut self, schema: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        let mut members = value.members()?.handles();
        members.find_map(|(name, _)| {
            let inner = self.judge(schema, name)?;
            let why = format!("for a name, `{}`: {}", inner.keyword, inner.constraint);
            Some(self.breach("propertyNames", &why))
        })
    }

    fn required(&self, names: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        value.members()?;
        let missing = first_missing(names, value)?;
        Some(self.breach("required", &format!("{} is missing", missing.raw())))
    }

    fn dependent_required(&self, named: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        value.members()?;
        let mut dependencies = named.members()?.handles();
        dependencies.find_map(|(name, names)| {
            value.member(&name.as_str()?)?;
            let missing = first_missing(names, value)?.raw();
            let why = format!("{} needs {missing}, which is missing", name.raw());
            Some(self.breach("dependentRequired", &why))
        })
    }

    fn items(&mut self, schema: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        let mut items = value.items()?.enumerate();
        items.find_map(|(index, item)| self.inside(Step::Item(index), schema, item))
    }

    fn some_of(
        &mut self,
        exactly_one: bool,
        schemas: Value<'t>,
        value: Value<'_>,
    ) -> Option<ConfigViolation> {
        let count = schemas.items()?.count();
        let holding = schemas.items()?.filter(|&schema| self.holds(schema, value));
        match (exactly_one, holding.take(2).count()) {
            (_, 1) | (false, 2) => None,
            (true, _) => {
                let why = format!("exactly one of {count} schemas has to hold");
                Some(self.breach("oneOf", &why))
            }
            (false, _) => {
                let why = format!("one of {count} schemas has to hold");
                Some(self.breach("anyOf", &why))
            }
        }
    }

    fn reference(&mut self, reference: Value<'t>, value: Value<'_>) -> Option<ConfigViolation> {
        let target = self.schema.targets[&reference.offset()];
        let key = (target.offset(), value.offset());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let found = self.judge(target, value);
        self.known.insert(key, found.clone());
        found
    }

    fn inside(
        &mut self,
        step: Step,
        schema: Value<'t>,
        value: Value<'_>,
    ) -> Option<ConfigViolation> {
        self.path.push(step);
        let found = self.judge(schema, value);
        self.path.pop();
        found
    }

    fn breach(&self, keyword: &'static str, constraint: &str) -> ConfigViolation {
        ConfigViolation {
            place: pointer(&self.path),
            keyword,
            constraint: shown(constraint),
        }
    }
}

/// Judges keywords that need neither patterns nor other schemas. Nothing for annotations, and for
/// `then`, `else` and `$defs`, which say nothing by themselves.
fn simple_assertion(
    keyword: &str,
    constraint: Value<'_>,
    value: Value<'_>,
) -> Option<(&'static str, bool)> {
    let length = || value.as_str().map(|text| text.chars().count());
    let items = || value.items().map(Iterator::count);
    let members = || value.members().map(Iterator::count);
    let limit = double(constraint);
    let fits = |size: Option<usize>, fits: fn(&f64, &f64) -> bool| {
        size.is_none_or(|size| limit.is_none_or(|limit| fits(&(size as f64), &limit)))
    };
    let number = |fits: fn(&f64, &f64) -> bool| {
        double(value).is_none_or(|number| limit.is_none_or(|limit| fits(&number, &limit)))
    };
    Some(match keyword {
        "type" => ("type", has_type(value, constraint)),
        "const" => ("const", identity(value) == identity(constraint)),
        "enum" => ("enum", is_among(value, constraint)),
        "minLength" => ("minLength", fits(length(), f64::ge)),
        "maxLength" => ("maxLength", fits(length(), f64::le)),
        "minItems" => ("minItems", fits(items(), f64::ge)),
        "maxItems" => ("maxItems", fits(items(), f64::le)),
        "minProperties" => ("minProperties", fits(members(), f64::ge)),
        "maxProperties" => ("maxProperties", fits(members(), f64::le)),
        "minimum" => ("minimum", number(f64::ge)),
        "maximum" => ("maximum", number(f64::le)),
        "exclusiveMinimum" => ("exclusiveMinimum", number(f64::gt)),
        "exclusiveMaximum" => ("exclusiveMaximum", number(f64::lt)),
        "uniqueItems" => {
            let holds = constraint.as_bool() != Some(true) || are_unique(value);
            ("uniqueItems", holds)
        }
        _ => return None,
    })
}

fn has_type(value: Value<'_>, types: Value<'_>) -> bool {
    let is = |name: Value<'_>| match name.as_str().as_deref() {
        Some("null") => value.is_null(),
        Some("boolean") => value.as_bool().is_some(),
        Some("object") => value.is_object(),
        Some("array") => value.items().is_some(),
        Some("string") => value.is_string(),
        Some("number") => value.number().is_some(),
        Some("integer") => double(value).is_some_and(is_integral),
        _ => false,
    };
    match types.items() {
        Some(mut names) => names.any(is),
        None => is(types),
    }
}

fn is_among(value: Value<'_>, options: Value<'_>) -> bool {
    let own = identity(value);
    let mut options = options.items().into_iter().flatten();
    options.any(|option| option.kind() == value.kind() && identity(option) == own)
}

fn are_unique(value: Value<'_>) -> bool {
    let mut seen = HashSet::new();
    let mut items = value.items().into_iter().flatten();
    items.all(|item| seen.insert(identity(item)))
}

fn first_missing<'t>(names: Value<'t>, value: Value<'_>) -> Option<Value<'t>> {
    let is_missing = |name: &Value<'t>| {
        name.as_str()
            .is_some_and(|name| value.member(&name).is_none())
    };
    names.items()?.find(is_missing)
}

/// Returns a text that is the same exactly for equal values.
fn identity(value: Value<'_>) -> Vec<u8> {
    let mut text = Vec::new();
    match canonical::write(value, &mut text) {
        Ok(()) => text,
        // A number without a double. Whoever reads configurations has refused it before.
        Err(_) => value.raw().as_bytes().to_vec(),
    }
}
