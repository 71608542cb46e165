//! YAML to metadata, by the core schema of YAML 1.2.
//!
//! Works on the parser's events, without recursion. The core schema has no dates, so a date is the
//! text in the file; a number that JSON cannot carry, and one with leading zeros, is too.

use std::collections::BTreeMap;

use dpe_connector::content::Metadata;
use saphyr_parser::{Event, Parser, ScalarStyle, Tag};
use serde_json::{Number, Value};

use super::{Declared, MAX_DEPTH, MAX_INTEGER, too_deep};
use crate::ExtractError;

/// The most bytes of names and values that aliases may add to a block.
const MAX_ADDED_BYTES: usize = 1 << 20;

/// Reads a block of one YAML document.
pub(super) fn read(block: &str) -> Result<Declared, ExtractError> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(block) {
        let Ok((event, _)) = event else {
            return Ok(Declared::Broken);
        };
        match tree.take(event) {
            Ok(()) => {}
            Err(Refusal::Broken) => return Ok(Declared::Broken),
            Err(Refusal::Invalid(error)) => return Err(error),
        }
    }
    Ok(match tree.root {
        Some(Value::Object(metadata)) => Declared::Metadata(metadata),
        None | Some(Value::Null) => Declared::Metadata(Metadata::new()),
        Some(_) => Declared::Other,
    })
}

/// Why a block cannot be metadata.
enum Refusal {
    Broken,
    Invalid(ExtractError),
}

/// The value under construction.
#[derive(Default)]
struct Tree {
    open: Vec<Frame>,
    anchors: BTreeMap<usize, Measured>,
    added: usize,
    root: Option<Value>,
}

/// A container whose end has not come yet.
struct Frame {
    anchor: usize,
    /// Containers below and bytes inside, of what is already complete.
    depth: usize,
    bytes: usize,
    content: Content,
}

enum Content {
    Sequence(Vec<Value>),
    Mapping(Metadata, Option<String>),
}

/// A value with its size, so that aliases can be counted without being written out.
#[derive(Clone)]
struct Measured {
    value: Value,
    depth: usize,
    bytes: usize,
}

impl Tree {
    fn take(&mut self, event: Event<'_>) -> Result<(), Refusal> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = Measured {
                    value: scalar(&text, style, tag.as_deref()),
                    depth: 0,
                    bytes: 1 + text.len(),
                };
                self.place(value, anchor, &text)
            }
            Event::Alias(anchor) => self.place_alias(anchor),
            Event::SequenceStart(anchor, _) => self.begin(anchor, Content::Sequence(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, Content::Mapping(Metadata::new(), None))
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            // A second document cannot begin: its mark would have closed the block.
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, content: Content) -> Result<(), Refusal> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Refusal::Invalid(too_deep()));
        }
        self.open.push(Frame {
            anchor,
            depth: 0,
            bytes: 1,
            content,
        });
        Ok(())
    }

    fn end(&mut self) -> Result<(), Refusal> {
        let Some(frame) = self.open.pop() else {
            return Err(Refusal::Broken);
        };
        let value = match frame.content {
            Content::Sequence(items) => Value::Array(items),
            Content::Mapping(members, None) => Value::Object(members),
            Content::Mapping(_, Some(_)) => return Err(Refusal::Broken),
        };
        let measured = Measured {
            value,
            depth: frame.depth + 1,
            bytes: frame.bytes,
        };
        self.place(measured, frame.anchor, "")
    }

    fn place_alias(&mut self, anchor: usize) -> Result<(), Refusal> {
        let Some(target) = self.anchors.get(&anchor) else {
            return Err(Refusal::Broken);
        };
        self.added = self.added.saturating_add(target.bytes);
        if self.added > MAX_ADDED_BYTES {
            let message = "the aliases in the front matter expand beyond all measure";
            return Err(Refusal::Invalid(ExtractError::damaged(message)));
        }
        let target = target.clone();
        let text = match &target.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        self.place(target, 0, &text)
    }

    /// Puts a complete value where it belongs; `text` is its spelling, should it be a name.
    fn place(&mut self, measured: Measured, anchor: usize, text: &str) -> Result<(), Refusal> {
        if self.open.len() + measured.depth > MAX_DEPTH {
            return Err(Refusal::Invalid(too_deep()));
        }
        if anchor > 0 {
            self.anchors.insert(anchor, measured.clone());
        }
        let Some(frame) = self.open.last_mut() else {
            self.root = Some(measured.value);
            return Ok(());
        };
        frame.depth = frame.depth.max(measured.depth);
        frame.bytes = frame.bytes.saturating_add(measured.bytes);
        match &mut frame.content {
            Content::Sequence(items) => items.push(measured.value),
            Content::Mapping(members, name @ None) => {
                // JSON names are strings: a list or a mapping cannot be one.
                if measured.depth > 0 || members.contains_key(text) {
                    return Err(Refusal::Broken);
                }
                *name = Some(text.to_owned());
            }
            Content::Mapping(members, name @ Some(_)) => {
                members.insert(name.take().unwrap_or_default(), measured.value);
            }
        }
        Ok(())
    }
}

fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Value {
    let says_text = tag.is_some_and(|tag| !tag.is_yaml_core_schema() || tag.suffix == "str");
    if style != ScalarStyle::Plain || says_text {
        return text.into();
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => true.into(),
        "false" | "False" | "FALSE" => false.into(),
        _ => number(text).map_or_else(|| text.into(), Value::Number),
    }
}

/// Returns a number of the core schema, if JSON can carry it as one.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if let Some(digits) = unsigned.strip_prefix("0x") {
        return radix(text, digits, 16);
    }
    if let Some(digits) = unsigned.strip_prefix("0o") {
        return radix(text, digits, 8);
    }
    let whole = unsigned.split(['.', 'e', 'E']).next().unwrap_or_default();
    let is_decimal = unsigned.bytes().any(|byte| byte.is_ascii_digit())
        && unsigned
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
    if !is_decimal || has_leading_zero {
        return None;
    }
    if unsigned.len() == whole.len() {
        let value: i64 = text.parse().ok()?;
        return (value.unsigned_abs() <= MAX_INTEGER).then(|| value.into());
    }
    let value: f64 = text.parse().ok()?;
    Number::from_f64(value)
}

fn radix(text: &str, digits: &str, radix: u32) -> Option<Number> {
    // The core schema gives these forms no sign.
    if text.starts_with(['+', '-']) || digits.starts_with(['+', '-']) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    (value <= MAX_INTEGER).then(|| value.into())
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
    fn scalars_follow_the_core_schema() {
        // Examples of the YAML 1.2.2 specification, 10.3.2, and its neighbours.
        let block = "a: null\nb: \nc: true\nd: False\ne: 0\nf: 0o7\ng: 0x3A\nh: -19\ni: 0.\nj: -0.0\n\
                     k: .5\nl: +12e03\nm: -2E+05\nn: yes\no: '1'\np: 2024-05-01\nq: !!str 7";
        assert_eq!(
            metadata(block),
            json!({"a": null, "b": null, "c": true, "d": false, "e": 0, "f": 7, "g": 58, "h": -19,
                   "i": 0.0, "j": -0.0, "k": 0.5, "l": 12000.0, "m": -200_000.0, "n": "yes",
                   "o": "1", "p": "2024-05-01", "q": "7"})
        );
    }

    #[test]
    fn numbers_json_cannot_carry_are_text() {
        let block = "a: 9007199254740991\nb: 9007199254740992\nc: .inf\nd: .nan\ne: 1e999\nf: 007\n\
                     g: 0xFFFFFFFFFFFFFFFF\nh: 1.2.3";
        assert_eq!(
            metadata(block),
            json!({"a": 9_007_199_254_740_991_u64, "b": "9007199254740992", "c": ".inf", "d": ".nan",
                   "e": "1e999", "f": "007", "g": "0xFFFFFFFFFFFFFFFF", "h": "1.2.3"})
        );
    }

    #[test]
    fn names_are_text_and_aliases_are_written_out() {
        let block = "1: &x [a, {b: c}]\ntrue: *x\nlist:\n- *x";
        let x = json!(["a", {"b": "c"}]);
        assert_eq!(metadata(block), json!({"1": x, "true": x, "list": [x]}));
    }

    #[test]
    fn what_is_not_metadata_is_told_apart_from_what_is_broken() {
        assert_eq!(read("just words\n").unwrap(), Declared::Other);
        assert_eq!(read("- a\n").unwrap(), Declared::Other);
        assert_eq!(read("a: [1\n").unwrap(), Declared::Broken);
        assert_eq!(read("a: 1\na: 2\n").unwrap(), Declared::Broken);
        assert_eq!(read("? [a]\n: 1\n").unwrap(), Declared::Broken);
        assert_eq!(read("a: *nowhere\n").unwrap(), Declared::Broken);
        assert_eq!(metadata("# only a comment\n"), json!({}));
    }

    #[test]
    fn depth_and_expansion_are_bounded() {
        let nested = |levels: usize| format!("a: {}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(&nested(59)).is_ok());
        assert!(read(&nested(60)).is_err());
        // The parser itself may refuse this one.
        assert!(!matches!(read(&nested(100_000)), Ok(Declared::Metadata(_))));
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let alias = format!("*a{}", level - 1);
            let line = format!(
                "a{level}: &a{level} [{}]\n",
                [alias.as_str(); 10].join(", ")
            );
            bomb.push_str(&line);
        }
        assert!(read(&bomb).is_err());
    }
}
