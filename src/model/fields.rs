//! What the three objects have in common: optional members and the closed schema.

use std::borrow::Cow;

use super::violation::{Code, Violation};
use crate::json::canonical::{self, Sink};
use crate::json::{Value, push_token};

/// A member that is there, `null` included, or not.
pub(super) type Slot<'t> = Option<Value<'t>>;

/// Returns the value of a member that is neither absent nor null.
pub(super) fn present(slot: Slot<'_>) -> Slot<'_> {
    slot.filter(|value| !value.is_null())
}

/// Returns a mandatory member (step 1).
pub(super) fn mandatory<'t>(slot: Slot<'t>, name: &str) -> Result<Value<'t>, Violation> {
    present(slot).ok_or_else(|| Violation::here(format!("`{name}` is missing")))
}

/// Returns the value of an optional string member (step 4).
pub(super) fn optional_string<'t>(slot: Slot<'t>, name: &str) -> Result<Slot<'t>, Violation> {
    match present(slot) {
        Some(value) if !value.is_string() => Err(wrong_type(name, "a string")),
        value => Ok(value),
    }
}

/// Returns the value of a metadata member (step 4). Its numbers are judged as it is written.
pub(super) fn optional_object<'t>(slot: Slot<'t>, name: &str) -> Result<Slot<'t>, Violation> {
    match present(slot) {
        Some(value) if !value.is_object() => Err(wrong_type(name, "an object")),
        value => Ok(value),
    }
}

pub(super) fn wrong_type(name: &str, expected: &str) -> Violation {
    let message = format!("`{name}` is not {expected}");
    Violation::new(Code::Validation, format!("/{name}"), message)
}

/// The smallest of the undefined names of an object (step 3).
#[derive(Clone, Default)]
pub(super) struct Undefined<'t> {
    smallest: Option<Cow<'t, str>>,
}

impl<'t> Undefined<'t> {
    pub(super) fn add(&mut self, name: Cow<'t, str>) {
        let is_smaller = self
            .smallest
            .as_deref()
            .is_none_or(|smallest| canonical::utf16_order(&name, smallest).is_lt());
        if is_smaller {
            self.smallest = Some(name);
        }
    }

    /// Adds the child list of an object that gets its children separately. It is reported even
    /// if another undefined name is smaller (hash contract §15).
    pub(super) fn add_child_list(&mut self, name: &'static str) {
        self.smallest = Some(Cow::Borrowed(name));
    }

    pub(super) fn refuse(self, what: &str) -> Result<(), Violation> {
        let Some(name) = self.smallest else {
            return Ok(());
        };
        let mut pointer = String::new();
        push_token(&mut pointer, &name);
        let message = format!("{what} has no member `{name}`");
        Err(Violation::new(Code::Validation, pointer, message))
    }
}

/// Writes a metadata member, `{}` if it is absent, and judges its numbers (step 4).
pub(super) fn write_metadata(
    metadata: Slot<'_>,
    name: &str,
    sink: &mut (impl Sink + ?Sized),
) -> Result<(), Violation> {
    let Some(value) = metadata else {
        sink.put(b"{}");
        return Ok(());
    };
    canonical::write_without_nulls(value, sink)
        .map_err(|error| Violation::number(value, error).under(&format!("/{name}")))
}

/// Writes `,"name":` and a string, if the member is there.
pub(super) fn write_string(lead: &str, value: Slot<'_>, sink: &mut (impl Sink + ?Sized)) {
    if let Some(value) = value {
        sink.put(lead.as_bytes());
        canonical::write_string_value(value, sink);
    }
}
