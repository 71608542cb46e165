//! Closed envelopes of request bodies (http-binding §6.2), the server's step M3.

use std::borrow::Cow;

use crate::json::Value;
use crate::model::FileUri;

/// A request body that is not of its operation's shape: `DPE_VALIDATION`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidEnvelope(String);

impl InvalidEnvelope {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

/// Returns the named members of an envelope in the order of `names`; null counts as absent and
/// any other member is refused.
pub(crate) fn members<'t, const N: usize>(
    body: Value<'t>,
    names: [&str; N],
) -> Result<[Option<Value<'t>>; N], InvalidEnvelope> {
    let members = body
        .members()
        .ok_or_else(|| InvalidEnvelope::new("the body is not a JSON object"))?;
    let mut found = [None; N];
    for (name, value) in members {
        let place = names
            .iter()
            .position(|known| *known == name)
            .ok_or_else(|| InvalidEnvelope::new(format!("undefined member {name:?}")))?;
        found[place] = (!value.is_null()).then_some(value);
    }
    Ok(found)
}

/// Returns a mandatory member.
pub(crate) fn mandatory<'t>(
    member: Option<Value<'t>>,
    name: &str,
) -> Result<Value<'t>, InvalidEnvelope> {
    member.ok_or_else(|| InvalidEnvelope::new(format!("member {name:?} is missing")))
}

/// Reads a string member.
pub(crate) fn string<'t>(value: Value<'t>, name: &str) -> Result<Cow<'t, str>, InvalidEnvelope> {
    value
        .as_str()
        .ok_or_else(|| InvalidEnvelope::new(format!("{name} is not a string")))
}

/// Reads a string member that is a file_uri (core §1.1), normalised.
pub(crate) fn file_uri(value: Value<'_>, name: &str) -> Result<FileUri, InvalidEnvelope> {
    FileUri::parse(&string(value, name)?)
        .map_err(|invalid| InvalidEnvelope::new(format!("{name}: {invalid}")))
}

/// Reads an optional boolean member; absent is false.
pub(crate) fn switch(member: Option<Value<'_>>, name: &str) -> Result<bool, InvalidEnvelope> {
    let Some(value) = member else {
        return Ok(false);
    };
    value
        .as_bool()
        .ok_or_else(|| InvalidEnvelope::new(format!("{name} is not a boolean")))
}

/// Reads an optional array member; absent is empty.
pub(crate) fn array<'t>(
    member: Option<Value<'t>>,
    name: &str,
) -> Result<Vec<Value<'t>>, InvalidEnvelope> {
    let Some(value) = member else {
        return Ok(Vec::new());
    };
    let items = value
        .items()
        .ok_or_else(|| InvalidEnvelope::new(format!("{name} is not an array")))?;
    Ok(items.collect())
}
