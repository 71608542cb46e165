//! Walks all schema positions and holds each keyword against its rule (connector contract §4.3).

use std::collections::HashMap;

use crate::host::pattern::Pattern;
use crate::json::Value;

use super::error::SchemaRule;
use super::keyword::{Shape, is_dialect};
use super::reference::{Reference, References};
use super::{Breach, Schema};

/// Judges everything but the expansion depth, which needs the references.
pub(super) fn schema(root: Value<'_>) -> Result<Schema<'_>, Breach> {
    let is_object = |kind: Value<'_>| kind.says("object");
    if !root.member("type").is_some_and(is_object) {
        return Err(Breach::of(root, SchemaRule::Root));
    }
    let mut check = Check {
        root,
        definition: None,
        patterns: HashMap::new(),
        references: References::default(),
    };
    check.position(root)?;
    Ok(Schema {
        root,
        targets: check.references.resolve(root)?,
        patterns: check.patterns,
    })
}

struct Check<'t> {
    root: Value<'t>,
    /// Offset of the entry of `$defs` we are in.
    definition: Option<usize>,
    patterns: HashMap<usize, Pattern>,
    references: References<'t>,
}

impl<'t> Check<'t> {
    /// Judges what stands at a schema position.
    fn position(&mut self, schema: Value<'t>) -> Result<(), Breach> {
        if schema.as_bool().is_some() {
            return Ok(());
        }
        let Some(keywords) = schema.members() else {
            return Err(Breach::of(schema, SchemaRule::Position));
        };
        let is_root = schema.offset() == self.root.offset();
        for (keyword, value) in keywords {
            let shape = Shape::of(&keyword);
            let shape = shape.ok_or_else(|| Breach::of(value, SchemaRule::Keyword))?;
            if !is_root && matches!(shape, Shape::Definitions | Shape::Dialect) {
                return Err(Breach::of(value, SchemaRule::RootOnly));
            }
            self.keyword(shape, value)?;
        }
        Ok(())
    }

    fn keyword(&mut self, shape: Shape, value: Value<'t>) -> Result<(), Breach> {
        let wrong = |expected| Breach::of(value, SchemaRule::Value(expected));
        match shape {
            Shape::Schema => self.position(value),
            Shape::Schemas => {
                let schemas = value.items().filter(|items| items.clone().next().is_some());
                let mut schemas = schemas.ok_or_else(|| wrong("a non-empty array of schemas"))?;
                schemas.try_for_each(|schema| self.position(schema))
            }
            Shape::Named | Shape::NamedByPattern | Shape::Definitions => {
                let schemas = value
                    .members()
                    .ok_or_else(|| wrong("an object of schemas"))?;
                let mut schemas = schemas.handles();
                schemas.try_for_each(|(name, schema)| self.named(shape, name, schema))
            }
            Shape::Pattern => self.pattern(value, value),
            Shape::Reference => {
                let text = value.as_str().ok_or_else(|| wrong("a string"))?;
                let reference = Reference::parse(&text, value, self.definition);
                self.references.add(reference?);
                Ok(())
            }
            Shape::Dialect if is_dialect(value) => Ok(()),
            Shape::Dialect => Err(wrong("the name of draft 2020-12")),
            Shape::Plain(plain) => plain.check(value).map_err(wrong),
        }
    }

    fn named(&mut self, shape: Shape, name: Value<'t>, schema: Value<'t>) -> Result<(), Breach> {
        match shape {
            Shape::NamedByPattern => self.pattern(name, schema)?,
            Shape::Definitions => self.definition = Some(schema.offset()),
            _ => {}
        }
        self.position(schema)?;
        if shape == Shape::Definitions {
            self.definition = None;
        }
        Ok(())
    }

    /// Keeps the pattern that `text` is; a breach is shown at `place`, since names have none.
    fn pattern(&mut self, text: Value<'t>, place: Value<'t>) -> Result<(), Breach> {
        let written = text.as_str();
        let written = written.ok_or_else(|| Breach::of(place, SchemaRule::Value("a string")))?;
        let pattern =
            Pattern::parse(&written).map_err(|why| Breach::of(place, SchemaRule::Pattern(why)))?;
        self.patterns.insert(text.offset(), pattern);
        Ok(())
    }
}
