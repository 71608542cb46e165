//! Judges the shape of a batch (connector contract §11). What the items are worth is decided
//! elsewhere, one by one.

use crate::json::{Text, Value};
use crate::sync::ports::{Batch, BatchEnd};

/// What the runner asked for, as far as it decides about the answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Whether the round began with a cursor.
    pub(super) cursor_given: bool,
    /// Whether the plugin said that it hands out cursors.
    pub(super) supports_cursor: bool,
}

/// Why the result of `scan` is no batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoBatch {
    /// The rule it breaks.
    pub(super) why: &'static str,
    /// What it says of itself, if it has the shape of a final batch.
    pub(super) incremental: Option<bool>,
}

impl From<&'static str> for NoBatch {
    fn from(why: &'static str) -> Self {
        let incremental = None;
        Self { why, incremental }
    }
}

/// Reads the result of `scan`.
pub(super) fn batch(result: Value<'_>, asked: Asked) -> Result<Batch, NoBatch> {
    let (mut items, mut next, mut cursor, mut incremental) = (None, None, None, None);
    for (name, value) in result.members().ok_or("no object")? {
        match &*name {
            "items" => items = Some(value),
            "next" => next = Some(value),
            "cursor" => cursor = Some(value),
            "incremental" => incremental = Some(value),
            _ => return Err("an undefined member".into()),
        }
    }
    let items = items.filter(|value| value.items().is_some());
    let items = items.ok_or("`items` is no array")?;
    let end = match next.filter(|value| !value.is_null()) {
        Some(next) if cursor.is_none() && incremental.is_none() => {
            let next = next.as_str().ok_or("`next` is no string")?;
            BatchEnd::Next(next.into_owned())
        }
        Some(_) => return Err("`next` together with `cursor` or `incremental`".into()),
        None => last(cursor, incremental, asked)?,
    };
    let text = items.raw().as_bytes().to_vec();
    Ok(Batch {
        items: Text::parse_owned(text).expect("a part of a strict text is strict"),
        end,
    })
}

fn last(
    cursor: Option<Value<'_>>,
    incremental: Option<Value<'_>>,
    asked: Asked,
) -> Result<BatchEnd, NoBatch> {
    let cursor = cursor.ok_or("a final batch without `cursor`")?;
    let cursor = match cursor.as_str() {
        Some(cursor) => Some(cursor.into_owned()),
        None if cursor.is_null() => None,
        None => return Err("`cursor` is neither a string nor null".into()),
    };
    let incremental = incremental
        .and_then(Value::as_bool)
        .ok_or("a final batch without a boolean `incremental`")?;
    let contradiction = |why| NoBatch {
        why,
        incremental: Some(incremental),
    };
    if incremental && !asked.cursor_given {
        let why = "`incremental` is true although no cursor was given";
        return Err(contradiction(why));
    }
    if cursor.is_some() && !asked.supports_cursor {
        let why = "a cursor from a plugin without `supports_cursor`";
        return Err(contradiction(why));
    }
    Ok(BatchEnd::Final {
        cursor,
        incremental,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPABLE: Asked = Asked {
        cursor_given: true,
        supports_cursor: true,
    };

    fn judged(result: &str, asked: Asked) -> Result<Batch, NoBatch> {
        let text = Text::parse(result.as_bytes()).unwrap();
        batch(text.root(), asked)
    }

    fn end(cursor: Option<&str>, incremental: bool) -> BatchEnd {
        BatchEnd::Final {
            cursor: cursor.map(str::to_owned),
            incremental,
        }
    }

    #[test]
    fn intermediate_and_final_batches_are_told_apart() {
        let more = judged(r#"{"items":[1,{"a":2}],"next":"p"}"#, CAPABLE).unwrap();
        assert_eq!(more.end, BatchEnd::Next("p".into()));
        assert_eq!(more.items.source(), r#"[1,{"a":2}]"#);
        for (text, expected) in [
            (
                r#"{"items":[],"cursor":"c","incremental":true}"#,
                end(Some("c"), true),
            ),
            (
                r#"{"items":[],"next":null,"cursor":null,"incremental":false}"#,
                end(None, false),
            ),
        ] {
            assert_eq!(judged(text, CAPABLE).unwrap().end, expected);
        }
    }

    #[test]
    fn other_shapes_are_refused() {
        for text in [
            "[]",
            "{}",
            r#"{"items":null,"next":"p"}"#,
            r#"{"items":[],"next":1}"#,
            r#"{"items":[],"next":"p","cursor":null}"#,
            r#"{"items":[],"next":"p","incremental":false}"#,
            r#"{"items":[],"cursor":"c"}"#,
            r#"{"items":[],"incremental":true}"#,
            r#"{"items":[],"cursor":1,"incremental":true}"#,
            r#"{"items":[],"cursor":"c","incremental":null}"#,
            r#"{"items":[],"next":"p","more":1}"#,
        ] {
            let refused = judged(text, CAPABLE).unwrap_err();
            assert_eq!(refused.incremental, None, "{text}");
        }
    }

    #[test]
    fn claims_that_contradict_the_request_are_refused_and_told() {
        let text = r#"{"items":[],"cursor":"c","incremental":true}"#;
        let without = Asked {
            cursor_given: false,
            ..CAPABLE
        };
        let refused = judged(text, without).unwrap_err();
        assert_eq!(refused.incremental, Some(true));
        let incapable = Asked {
            supports_cursor: false,
            ..CAPABLE
        };
        let text = r#"{"items":[],"cursor":"c","incremental":false}"#;
        let refused = judged(text, incapable).unwrap_err();
        assert_eq!(refused.incremental, Some(false));
    }
}
