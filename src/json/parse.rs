//! The parser: from a text straight onto its tape.
//!
//! Strict in every point of hash contract §8. It does not recurse; open containers are a list with
//! a limit. It has no reserved names and no opinion on the size of numbers.

use std::borrow::Cow;

use super::string::{self, Spelling};
use super::syntax::{SyntaxError, SyntaxReason};
use super::value::{Kind, Node, Text, Value};

/// Most containers that may be nested. The contract allows any guard that is at least 64 plus the
/// layers of an envelope (hash contract §8); a message of the connector protocol has seven.
pub const MAX_CONTAINERS: usize = 128;

/// Objects with at most this many members are searched for duplicates by comparing pairs.
const PAIRWISE: usize = 12;

/// Parses a whole text. `fold` sees every container as it ends, and where; if it returns true,
/// the container is kept as if it were empty.
pub(super) fn text<'a>(
    source: Cow<'a, str>,
    fold: impl FnMut(Nesting<'_>, Value<'_>) -> bool,
) -> Result<Text<'a>, SyntaxError> {
    if u32::try_from(source.len()).is_err() {
        return Err(SyntaxReason::TooLong.at(u32::MAX as usize));
    }
    if source.starts_with('\u{FEFF}') {
        return Err(SyntaxReason::ByteOrderMark.at(0));
    }
    Parser {
        text: Text::unparsed(source),
        fold,
        at: 0,
        open: Vec::new(),
        names: Vec::new(),
    }
    .run()
}

/// Folds nothing.
pub(super) fn keep(_around: Nesting<'_>, _container: Value<'_>) -> bool {
    false
}

/// The containers around one that has just ended.
#[derive(Clone, Copy, Debug)]
pub struct Nesting<'p> {
    around: &'p [Open],
}

impl Nesting<'_> {
    /// Returns true if the containers around are exactly of these kinds, outermost first.
    #[inline]
    pub fn is(self, kinds: &[Kind]) -> bool {
        self.around.len() == kinds.len()
            && self.around.iter().zip(kinds).all(|(open, &kind)| {
                let is_object = open.names.is_some();
                is_object == (kind == Kind::Object)
            })
    }
}

struct Parser<'a, F> {
    text: Text<'a>,
    fold: F,
    at: usize,
    open: Vec<Open>,
    /// Name nodes of all open objects, innermost last.
    names: Vec<u32>,
}

/// A container whose end has not been seen.
#[derive(Clone, Copy, Debug)]
struct Open {
    node: u32,
    /// Where its names begin, for an object.
    names: Option<u32>,
}

/// What a step has left behind.
enum Progress {
    /// A value is due.
    ValueDue,
    /// A value has ended.
    ValueEnded,
    /// The root has ended.
    Done,
}

impl<'a, F: FnMut(Nesting<'_>, Value<'_>) -> bool> Parser<'a, F> {
    fn run(mut self) -> Result<Text<'a>, SyntaxError> {
        let mut progress = Progress::ValueDue;
        loop {
            progress = match progress {
                Progress::ValueDue => self.value()?,
                Progress::ValueEnded => self.after_value()?,
                Progress::Done => break,
            };
        }
        self.skip_space();
        if self.at < self.bytes().len() {
            return Err(SyntaxReason::TrailingCharacters.at(self.at));
        }
        Ok(self.text)
    }

    fn value(&mut self) -> Result<Progress, SyntaxError> {
        match self.peek()? {
            b'"' => self.string()?,
            b'{' => return self.open_object(),
            b'[' => return self.open_array(),
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.literal("true")?,
            b'f' => self.literal("false")?,
            b'n' => self.literal("null")?,
            _ => return Err(self.unexpected()),
        }
        Ok(Progress::ValueEnded)
    }

    fn after_value(&mut self) -> Result<Progress, SyntaxError> {
        let Some(&open) = self.open.last() else {
            return Ok(Progress::Done);
        };
        match (self.peek()?, open.names) {
            (b',', None) => {
                self.at += 1;
                Ok(Progress::ValueDue)
            }
            (b',', Some(_)) => {
                self.at += 1;
                self.name()
            }
            (b'}', Some(names)) => {
                self.refuse_duplicates(names)?;
                self.names.truncate(names as usize);
                Ok(self.close(open))
            }
            (b']', None) => Ok(self.close(open)),
            _ => Err(self.unexpected()),
        }
    }

    fn open_object(&mut self) -> Result<Progress, SyntaxError> {
        let names = self.names.len() as u32;
        let open = self.open(Some(names))?;
        match self.peek()? {
            b'}' => Ok(self.close(open)),
            _ => self.name(),
        }
    }

    fn open_array(&mut self) -> Result<Progress, SyntaxError> {
        let open = self.open(None)?;
        match self.peek()? {
            b']' => Ok(self.close(open)),
            _ => Ok(Progress::ValueDue),
        }
    }

    fn open(&mut self, names: Option<u32>) -> Result<Open, SyntaxError> {
        if self.open.len() == MAX_CONTAINERS {
            return Err(SyntaxReason::TooDeep.at(self.at));
        }
        let node = self.nodes().len() as u32;
        let open = Open { node, names };
        self.open.push(open);
        let depth = u8::try_from(self.open.len()).expect("the limit of containers is below 256");
        self.text.tape.depth = self.text.tape.depth.max(depth);
        self.push(self.at, self.at, 0);
        self.at += 1;
        Ok(open)
    }

    fn close(&mut self, open: Open) -> Progress {
        self.at += 1;
        let at = self.at as u32;
        let next = self.nodes().len() as u32;
        self.set_end(open.node, at, next);
        self.open.pop();
        let around = &self.open;
        if (self.fold)(Nesting { around }, self.text.value(open.node)) {
            let next = open.node + 1;
            self.text.tape.nodes.truncate(next as usize);
            self.set_end(open.node, at, next);
        }
        Progress::ValueEnded
    }

    fn set_end(&mut self, container: u32, end: u32, next: u32) {
        let node = &mut self.text.tape.nodes[container as usize];
        node.end = end;
        node.link = next;
    }

    /// Reads a member name and the colon after it.
    fn name(&mut self) -> Result<Progress, SyntaxError> {
        if self.peek()? != b'"' {
            return Err(self.unexpected());
        }
        self.names.push(self.nodes().len() as u32);
        self.string()?;
        if self.peek()? != b':' {
            return Err(self.unexpected());
        }
        self.at += 1;
        Ok(Progress::ValueDue)
    }

    fn string(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        let mut at = start + 1;
        let mut spelling = Spelling::Plain;
        loop {
            at = string::next_special(self.bytes(), at);
            match self.bytes().get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    let (after, escape) = string::escape(self.bytes(), at)?;
                    spelling = spelling.max(escape);
                    at = after;
                }
                Some(_) => return Err(SyntaxReason::ControlCharacter.at(at)),
                None => return Err(SyntaxReason::UnexpectedEnd.at(at)),
            }
        }
        self.at = at + 1;
        self.push(start, self.at, spelling as u32);
        Ok(())
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        if self.bytes()[self.at] == b'-' {
            self.at += 1;
        }
        match self.bytes().get(self.at) {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.bytes().get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.bytes().get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes().get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        self.push(start, self.at, 0);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while self.bytes().get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start {
            return Err(SyntaxReason::InvalidNumber.at(start));
        }
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), SyntaxError> {
        let start = self.at;
        if !self.bytes()[start..].starts_with(word.as_bytes()) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        self.push(start, self.at, 0);
        Ok(())
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        self.text.source().as_bytes()
    }

    #[inline]
    fn nodes(&self) -> &[Node] {
        &self.text.tape.nodes
    }

    fn push(&mut self, start: usize, end: usize, link: u32) {
        self.text.tape.nodes.push(Node {
            start: start as u32,
            end: end as u32,
            link,
        });
    }

    /// Skips white space and returns the byte after it.
    fn peek(&mut self) -> Result<u8, SyntaxError> {
        self.skip_space();
        let byte = self.bytes().get(self.at).copied();
        byte.ok_or(SyntaxReason::UnexpectedEnd.at(self.at))
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes().get(self.at) {
            self.at += 1;
        }
    }

    fn unexpected(&self) -> SyntaxError {
        SyntaxReason::UnexpectedCharacter.at(self.at)
    }

    /// Compares the names of the object that ends here, after unescaping.
    fn refuse_duplicates(&self, first: u32) -> Result<(), SyntaxError> {
        let names = &self.names[first as usize..];
        let duplicate = if names.len() <= PAIRWISE {
            self.duplicate_by_pairs(names)
        } else {
            self.duplicate_by_sorting(names)
        };
        match duplicate {
            Some(node) => Err(SyntaxReason::DuplicateName.at(node.start as usize)),
            None => Ok(()),
        }
    }

    fn duplicate_by_pairs(&self, names: &[u32]) -> Option<Node> {
        let mut later = names.iter().enumerate().skip(1);
        later.find_map(|(position, &name)| {
            let node = self.nodes()[name as usize];
            names[..position]
                .iter()
                .any(|&earlier| self.same_name(self.nodes()[earlier as usize], node))
                .then_some(node)
        })
    }

    fn same_name(&self, one: Node, other: Node) -> bool {
        if one.link == Spelling::Plain as u32 && other.link == Spelling::Plain as u32 {
            let bytes = |node: Node| &self.bytes()[node.start as usize..node.end as usize];
            return bytes(one) == bytes(other);
        }
        self.name_value(one) == self.name_value(other)
    }

    fn duplicate_by_sorting(&self, names: &[u32]) -> Option<Node> {
        let mut sorted: Vec<(Cow<'_, str>, u32)> = names
            .iter()
            .map(|&name| (self.name_value(self.nodes()[name as usize]), name))
            .collect();
        sorted.sort_unstable();
        let mut pairs = sorted.windows(2);
        let pair = pairs.find(|pair| pair[0].0 == pair[1].0)?;
        Some(self.nodes()[pair[1].1 as usize])
    }

    fn name_value(&self, node: Node) -> Cow<'_, str> {
        let spelling = match node.link {
            0 => Spelling::Plain,
            _ => Spelling::Other,
        };
        let source = &self.text.source()[node.start as usize..node.end as usize];
        string::value_of(source, spelling)
    }
}

#[cfg(test)]
mod tests {
    use super::MAX_CONTAINERS;
    use crate::json::{Kind, SyntaxReason, Text};

    fn reason(text: &str) -> Option<SyntaxReason> {
        Text::parse(text.as_bytes()).err().map(|error| error.reason)
    }

    #[test]
    fn duplicate_names_are_found_after_unescaping_in_small_and_large_objects() {
        assert_eq!(
            reason(r#"{"a":1,"\u0061":1}"#),
            Some(SyntaxReason::DuplicateName)
        );
        assert_eq!(reason(r#"{"a":{"a":1},"b":{"a":1}}"#), None);
        let many = |last: &str| {
            let members: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":{n}")).collect();
            format!("{{{},\"{last}\":0}}", members.join(","))
        };
        assert_eq!(reason(&many("k1000")), None);
        assert_eq!(reason(&many("k999")), Some(SyntaxReason::DuplicateName));
        assert_eq!(reason(&many("\\u006b7")), Some(SyntaxReason::DuplicateName));
    }

    #[test]
    fn containers_nest_up_to_the_limit_and_not_beyond() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(reason(&nested(MAX_CONTAINERS)), None);
        assert_eq!(
            reason(&nested(MAX_CONTAINERS + 1)),
            Some(SyntaxReason::TooDeep)
        );
        assert_eq!(reason(&"[".repeat(1_000_000)), Some(SyntaxReason::TooDeep));
        let siblings = "[[[]],{\"a\":{}},[[[]]]]";
        let text = Text::parse(siblings.as_bytes()).unwrap();
        assert_eq!(text.root().depth_bound(), 4);
    }

    #[test]
    fn folded_containers_keep_their_text_and_lose_their_content() {
        let source = br#"{"a":[{"x":[1,{}]},7,{"y":2}],"b":{"c":[{"z":1}]}}"#;
        let mut seen = Vec::new();
        let text = Text::parse_folding(source, |around, value| {
            let is_item = around.is(&[Kind::Object, Kind::Array]);
            if is_item {
                seen.push((value.raw().to_owned(), value.members().unwrap().count()));
            }
            is_item
        });
        let text = text.unwrap();
        assert_eq!(
            seen,
            [
                (r#"{"x":[1,{}]}"#.to_owned(), 1),
                (r#"{"y":2}"#.to_owned(), 1)
            ]
        );
        let items: Vec<_> = text.root().member("a").unwrap().items().unwrap().collect();
        assert_eq!(items.len(), 3);
        assert_eq!(items[0].raw(), r#"{"x":[1,{}]}"#);
        assert_eq!(items[0].members().unwrap().count(), 0);
        assert_eq!(items[1].number().unwrap().as_integer(), Some(7));
        let kept = text.root().member("b").unwrap().member("c").unwrap();
        assert_eq!(kept.items().unwrap().next().unwrap().raw(), r#"{"z":1}"#);
        assert_eq!(text.root().depth_bound(), 5);
    }

    #[test]
    fn every_prefix_of_a_text_is_refused_without_panic() {
        let text = r#"{"a":[1,-2.5e+3,true,null,"\ud83d\ude00\n"],"b":{}}"#;
        assert_eq!(reason(text), None);
        for end in 0..text.len() {
            assert!(reason(&text[..end]).is_some(), "{}", &text[..end]);
        }
    }

    #[test]
    fn values_are_reached_by_name_position_and_kind() {
        let text = Text::parse(br#" {"a": [1, "x\u0079", null], "\u0062": {"c": true}} "#).unwrap();
        let root = text.root();
        assert_eq!(root.kind(), Kind::Object);
        let items: Vec<_> = root.member("a").unwrap().items().unwrap().collect();
        assert_eq!(items[0].number().unwrap().as_integer(), Some(1));
        assert_eq!(items[1].as_str().unwrap(), "xy");
        assert!(items[2].is_null());
        let inner = root.member("b").unwrap();
        assert_eq!(inner.raw(), r#"{"c": true}"#);
        assert_eq!(inner.member("c").unwrap().as_bool(), Some(true));
        assert_eq!(root.member("c").map(|value| value.raw()), None);
        let names: Vec<_> = root.members().unwrap().map(|(name, _)| name).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(root.pointer_to(items[1].offset()), "/a/1");
    }
}
