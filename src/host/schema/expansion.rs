//! How deep schemas stand inside of each other once references are followed (connector contract
//! §4.3, expansion depth).

use std::collections::HashMap;

use crate::json::Value;

use super::error::SchemaRule;
use super::keyword::Shape;
use super::{Breach, Schema};

/// Largest expansion depth; the root has 1.
const MAX_DEPTH: usize = 64;

/// Judges the expansion depth of the root. References form no circle.
pub(super) fn check(schema: &Schema<'_>) -> Result<(), Breach> {
    Expansion {
        schema,
        entered: HashMap::new(),
    }
    .position(schema.root, 1)
}

struct Expansion<'s, 't> {
    schema: &'s Schema<'t>,
    /// The greatest depth at which a definition was entered, by its offset. Entering it again no
    /// deeper finds nothing new, so each is walked 64 times at most.
    entered: HashMap<usize, usize>,
}

impl<'t> Expansion<'_, 't> {
    fn position(&mut self, schema: Value<'t>, depth: usize) -> Result<(), Breach> {
        if depth > MAX_DEPTH {
            return Err(Breach::of(schema, SchemaRule::Expansion));
        }
        for (keyword, value) in schema.members().into_iter().flatten() {
            match Shape::of(&keyword) {
                Some(Shape::Schema) => self.position(value, depth + 1)?,
                Some(Shape::Schemas) => {
                    let mut schemas = value.items().into_iter().flatten();
                    schemas.try_for_each(|schema| self.position(schema, depth + 1))?;
                }
                Some(Shape::Named | Shape::NamedByPattern) => {
                    let mut schemas = value.members().into_iter().flatten();
                    schemas.try_for_each(|(_, schema)| self.position(schema, depth + 1))?;
                }
                Some(Shape::Reference) => self.follow(value, depth + 1)?,
                // Definitions count where they are referred to.
                _ => {}
            }
        }
        Ok(())
    }

    fn follow(&mut self, reference: Value<'t>, depth: usize) -> Result<(), Breach> {
        let target = self.schema.targets[&reference.offset()];
        let deepest = self.entered.entry(target.offset()).or_default();
        if depth <= *deepest {
            return Ok(());
        }
        *deepest = depth;
        self.position(target, depth)
    }
}
