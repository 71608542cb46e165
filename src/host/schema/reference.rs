//! `$ref`: how it is spelled, where it leads, and that it leads nowhere in a circle (connector
//! contract §4.4).

use std::borrow::Cow;
use std::collections::HashMap;

use percent_encoding::percent_decode_str;

use crate::json::Value;

use super::Breach;
use super::error::SchemaRule;

/// A reference that is spelled correctly.
#[derive(Debug)]
pub(super) struct Reference<'t> {
    /// The value of `$ref`.
    place: Value<'t>,
    /// Offset of the entry of `$defs` it stands in, if it stands in one.
    from: Option<usize>,
    /// Name of the entry it leads to.
    name: String,
}

impl<'t> Reference<'t> {
    /// Reads the value of a `$ref`.
    pub(super) fn parse(text: &str, place: Value<'t>, from: Option<usize>) -> Result<Self, Breach> {
        let name =
            definition_name(text).map_err(|why| Breach::of(place, SchemaRule::Reference(why)))?;
        Ok(Self { place, from, name })
    }
}

fn definition_name(text: &str) -> Result<String, &'static str> {
    let not_there = "has to be `#/$defs/` and a name";
    let encoded = text.strip_prefix("#/").ok_or(not_there)?;
    if !has_whole_triplets(encoded) {
        return Err("has a `%` without two hexadecimal digits");
    }
    let decoded = percent_decode_str(encoded).decode_utf8();
    let decoded = decoded.map_err(|_| "is no UTF-8 once its percent signs are decoded")?;
    let name = decoded.strip_prefix("$defs/").ok_or(not_there)?;
    if name.is_empty() || name.contains('/') {
        return Err(not_there);
    }
    unescaped(name).ok_or("has a `~` that is followed by neither 0 nor 1")
}

fn has_whole_triplets(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let digits = rest.as_bytes().first_chunk::<2>();
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn unescaped(name: &str) -> Option<String> {
    let mut parts = name.split('~');
    let mut plain = parts.next()?.to_owned();
    for part in parts {
        let (character, rest) = match part.as_bytes().first()? {
            b'0' => ('~', &part[1..]),
            b'1' => ('/', &part[1..]),
            _ => return None,
        };
        plain.push(character);
        plain.push_str(rest);
    }
    Some(plain)
}

/// All references of a schema.
#[derive(Debug, Default)]
pub(super) struct References<'t>(Vec<Reference<'t>>);

impl<'t> References<'t> {
    /// Takes one more.
    pub(super) fn add(&mut self, reference: Reference<'t>) {
        self.0.push(reference);
    }

    /// Returns where each leads, by the offset of its value.
    pub(super) fn resolve(&self, root: Value<'t>) -> Result<HashMap<usize, Value<'t>>, Breach> {
        let definitions = root.member("$defs").and_then(Value::members);
        let definitions: HashMap<Cow<'_, str>, Value<'t>> =
            definitions.into_iter().flatten().collect();
        let mut targets = HashMap::with_capacity(self.0.len());
        for reference in &self.0 {
            let target = definitions.get(&*reference.name).ok_or_else(|| {
                let rule = SchemaRule::Reference("leads to no entry of `$defs`");
                Breach::of(reference.place, rule)
            })?;
            targets.insert(reference.place.offset(), *target);
        }
        self.check_circles(&targets)?;
        Ok(targets)
    }

    /// Takes away, again and again, the definitions nobody refers to; whoever stays is in a circle,
    /// or only such refer to it. A chain of definitions may be longer than a stack is deep, so
    /// nothing recurses here.
    fn check_circles(&self, targets: &HashMap<usize, Value<'t>>) -> Result<(), Breach> {
        let mut referred: HashMap<usize, usize> = HashMap::new();
        let mut leads_to: HashMap<usize, Vec<usize>> = HashMap::new();
        for reference in &self.0 {
            let Some(from) = reference.from else { continue };
            let to = targets[&reference.place.offset()].offset();
            leads_to.entry(from).or_default().push(to);
            *referred.entry(to).or_default() += 1;
        }
        let is_free = |at: &usize| !referred.contains_key(at);
        let mut free: Vec<usize> = leads_to.keys().copied().filter(is_free).collect();
        while let Some(from) = free.pop() {
            for to in leads_to.remove(&from).unwrap_or_default() {
                let left = referred.entry(to).or_default();
                *left -= 1;
                if *left == 0 {
                    free.push(to);
                }
            }
        }
        // Of the rest, the first in the text: the verdict should not depend on a hash.
        match leads_to.into_keys().min() {
            Some(offset) => Err(Breach {
                offset,
                rule: SchemaRule::Recursive,
            }),
            None => Ok(()),
        }
    }
}
