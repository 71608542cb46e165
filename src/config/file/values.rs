//! Values of TOML as text and as JSON.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::DeValue;

use super::read::Item;
use crate::json::{Writer, push_token};

/// Largest integer that JSON carries everywhere, up and down.
const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Returns an integer.
pub(super) fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// Returns a string, or an integer as it would be written in one.
pub(super) fn plain(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        value => Some(integer(value)?.to_string()),
    }
}

/// A value of TOML that is written as JSON, with the place of each part.
#[derive(Debug, Default)]
pub(super) struct Json {
    pub(super) text: Writer,
    /// By RFC 6901 pointer.
    pub(super) spans: BTreeMap<String, Range<usize>>,
    /// What no JSON has, and where.
    pub(super) foreign: Vec<(&'static str, Range<usize>)>,
}

impl Json {
    /// Writes a value whose place is `pointer`.
    pub(super) fn write(&mut self, item: &Item<'_>, pointer: &str) {
        self.spans.insert(pointer.to_owned(), item.span());
        match item.get_ref() {
            DeValue::String(text) => drop(self.text.string(text)),
            DeValue::Boolean(value) => drop(self.text.boolean(*value)),
            DeValue::Integer(_) => match integer(item.get_ref()) {
                Some(number) if (-MAX_INTEGER..=MAX_INTEGER).contains(&number) => {
                    self.text.integer(number);
                }
                _ => self.foreign("an integer beyond 2^53", item),
            },
            DeValue::Float(float) => match float.as_str().replace('_', "").parse::<f64>() {
                Ok(number) if number.is_finite() => drop(self.text.raw(&format!("{number:?}"))),
                _ => self.foreign("a number that is infinite or none", item),
            },
            DeValue::Datetime(_) => self.foreign("a date without quotes", item),
            DeValue::Array(items) => {
                self.text.begin_array();
                for (index, item) in items.iter().enumerate() {
                    self.write(item, &format!("{pointer}/{index}"));
                }
                self.text.end_array();
            }
            DeValue::Table(table) => {
                self.text.begin_object();
                for (key, item) in table {
                    let mut inside = pointer.to_owned();
                    push_token(&mut inside, key.get_ref());
                    self.text.name(key.get_ref());
                    self.write(item, &inside);
                    // What is wrong with a member is best seen at its name.
                    self.spans.insert(inside, key.span());
                }
                self.text.end_object();
            }
        }
    }

    fn foreign(&mut self, what: &'static str, item: &Item<'_>) {
        self.text.null();
        self.foreign.push((what, item.span()));
    }
}
