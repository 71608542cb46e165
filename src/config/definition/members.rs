//! The members of a closed object (§6): each known, at most once, never null.

use std::borrow::Cow;

use crate::json::{Value, push_token};

use super::error::DefinitionError;

/// A value and where it is.
#[derive(Clone, Debug)]
pub(super) struct Place<'t> {
    pub(super) value: Value<'t>,
    /// Pointer to it; empty for the whole.
    pointer: String,
}

impl<'t> Place<'t> {
    pub(super) fn root(value: Value<'t>) -> Self {
        Self {
            value,
            pointer: String::new(),
        }
    }

    /// Returns the error of a value that breaks a rule.
    pub(super) fn refused(&self, why: impl Into<String>) -> DefinitionError {
        DefinitionError::member(place_of(&self.pointer), why)
    }

    pub(super) fn string(&self) -> Result<Cow<'t, str>, DefinitionError> {
        self.value
            .as_str()
            .ok_or_else(|| self.refused("is no string"))
    }

    /// Returns the items of an array.
    pub(super) fn items(&self) -> Result<Vec<Self>, DefinitionError> {
        let items = self.value.items();
        let items = items.ok_or_else(|| self.refused("is no array"))?;
        let place = |(index, value): (usize, Value<'t>)| self.inside(&index.to_string(), value);
        Ok(items.enumerate().map(place).collect())
    }

    /// Returns the members of an object that may have any.
    pub(super) fn open(&self) -> Result<Vec<(Cow<'t, str>, Self)>, DefinitionError> {
        let members = self.value.members();
        let members = members.ok_or_else(|| self.refused("is no object"))?;
        Ok(members
            .map(|(name, value)| {
                let place = self.inside(&name, value);
                (name, place)
            })
            .collect())
    }

    /// Returns the members of an object that may have those in `known`.
    pub(super) fn closed<const N: usize>(
        &self,
        known: [&'static str; N],
    ) -> Result<[Option<Self>; N], DefinitionError> {
        let mut found = [const { None }; N];
        for (name, place) in self.open()? {
            let at = known.iter().position(|known| *known == name);
            // Its name may be a secret in the wrong place.
            let at = at.ok_or_else(|| {
                let known = known.join(", ");
                self.refused(format!("has a member that is none of {known}"))
            })?;
            if place.value.is_null() {
                return Err(place.refused("is null"));
            }
            found[at] = Some(place);
        }
        Ok(found)
    }

    /// Returns a member that may not be missing.
    pub(super) fn required(
        &self,
        name: &'static str,
        member: Option<Self>,
    ) -> Result<Self, DefinitionError> {
        member.ok_or_else(|| self.refused(format!("has no {name:?}")))
    }

    fn inside(&self, token: &str, value: Value<'t>) -> Self {
        let mut pointer = self.pointer.clone();
        push_token(&mut pointer, token);
        Self { value, pointer }
    }
}

/// Returns how a place is told; the empty pointer is not.
pub(super) fn place_of(pointer: &str) -> &str {
    match pointer {
        "" => "the whole",
        pointer => pointer,
    }
}
