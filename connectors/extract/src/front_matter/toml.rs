//! TOML to metadata. Dates are the text in the file, and so is a number that JSON cannot carry.

use dpe_connector::content::Metadata;
use serde_json::{Number, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Declared, MAX_DEPTH, MAX_INTEGER, too_deep};
use crate::ExtractError;

/// Reads a block of TOML.
pub(super) fn read(block: &str) -> Result<Declared, ExtractError> {
    match DeTable::parse(block) {
        Ok(table) => Ok(Declared::Metadata(members(block, table.get_ref(), 1)?)),
        Err(_) => Ok(Declared::Broken),
    }
}

fn members(block: &str, table: &DeTable<'_>, depth: usize) -> Result<Metadata, ExtractError> {
    if depth > MAX_DEPTH {
        return Err(too_deep());
    }
    table
        .iter()
        .map(|(name, item)| Ok((name.get_ref().to_string(), value(block, item, depth)?)))
        .collect()
}

fn value(block: &str, item: &Spanned<DeValue<'_>>, depth: usize) -> Result<Value, ExtractError> {
    let written = || Value::from(block.get(item.span()).unwrap_or_default());
    Ok(match item.get_ref() {
        DeValue::String(text) => text.as_ref().into(),
        DeValue::Boolean(truth) => (*truth).into(),
        DeValue::Datetime(_) => written(),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .filter(|number| number.unsigned_abs() <= MAX_INTEGER)
            .map_or_else(written, Value::from),
        DeValue::Float(float) => float
            .as_str()
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map_or_else(written, Value::Number),
        DeValue::Array(items) => {
            if depth >= MAX_DEPTH {
                return Err(too_deep());
            }
            let items = items.iter().map(|item| value(block, item, depth + 1));
            Value::Array(items.collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => Value::Object(members(block, table, depth + 1)?),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Declared;
    use super::read;

    fn metadata(block: &str) -> serde_json::Value {
        match read(block).unwrap() {
            Declared::Metadata(metadata) => metadata.into(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn values_are_what_the_file_says() {
        let block = "a = 'x'\nb = 1_000\nc = 0xFF\nd = 6.5e1\ne = 1979-05-27 07:32:00Z\nf = [1, [true]]\n\
                     [g.h]\ni = 07:32:00";
        assert_eq!(
            metadata(block),
            json!({"a": "x", "b": 1000, "c": 255, "d": 65.0, "e": "1979-05-27 07:32:00Z",
                   "f": [1, [true]], "g": {"h": {"i": "07:32:00"}}})
        );
    }

    #[test]
    fn numbers_json_cannot_carry_are_text() {
        let block = "a = 9007199254740991\nb = 9007199254740992\nc = inf\nd = -nan";
        assert_eq!(
            metadata(block),
            json!({"a": 9_007_199_254_740_991_u64, "b": "9007199254740992", "c": "inf", "d": "-nan"})
        );
    }

    #[test]
    fn nesting_is_bounded_in_every_notation() {
        let lists = |levels: usize| format!("a = {}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(matches!(read(&lists(59)), Ok(Declared::Metadata(_))));
        assert!(read(&lists(60)).is_err());
        for deep in [lists(100_000), format!("a{} = 1", ".a".repeat(100_000))] {
            assert!(!matches!(read(&deep), Ok(Declared::Metadata(_))));
        }
    }
}
