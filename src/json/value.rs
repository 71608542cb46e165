//! A parsed text and handles to the values in it.
//!
//! A text is its source and a flat tape of nodes in source order: twelve bytes per value or member
//! name, whatever its size. A handle is cheap to copy and borrows both. Nothing here judges: the
//! parser has done so before a tape exists.

use std::borrow::Cow;
use std::fmt;

use super::number::Number;
use super::parse::{self, Nesting};
use super::pointer;
use super::string::{self, Spelling};
use super::syntax::{SyntaxError, SyntaxReason};

/// A strict I-JSON text (hash contract §8) that has been parsed.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    source: Cow<'a, str>,
    pub(super) tape: Tape,
}

/// The nodes of a text, and how deep they nest.
#[derive(Clone, Debug, Default)]
pub(super) struct Tape {
    pub(super) nodes: Vec<Node>,
    pub(super) depth: u8,
}

/// One value or member name: its bytes in the source, and a link whose meaning depends on its kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Containers: index of the node after the last one inside. Strings: their [`Spelling`].
    pub(super) link: u32,
}

impl Text<'static> {
    /// Parses bytes and keeps them.
    ///
    /// # Errors
    /// Like [`Text::parse`].
    pub fn parse_owned(bytes: Vec<u8>) -> Result<Self, SyntaxError> {
        // The standard check is needed to own the bytes as a string; a second, faster one before
        // it would gain nothing.
        let source = String::from_utf8(bytes)
            .map_err(|error| SyntaxReason::InvalidUtf8.at(error.utf8_error().valid_up_to()))?;
        parse::text(Cow::Owned(source), parse::keep)
    }
}

impl<'a> Text<'a> {
    /// Parses a text and borrows it.
    ///
    /// # Errors
    /// [`SyntaxError`] for everything hash contract §8 rejects, for more than
    /// [`MAX_CONTAINERS`](super::MAX_CONTAINERS) nested containers, and for more than 4 GiB.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, SyntaxError> {
        Self::parse_folding(bytes, parse::keep)
    }

    /// Parses a text too large to keep all of it on a tape. `fold` gets every container as it
    /// ends, with what is around it; if it returns true, the container is from then on seen
    /// without its content. What follows may still be wrong: nothing `fold` learned counts before
    /// this function has returned.
    ///
    /// # Errors
    /// Like [`Text::parse`].
    pub fn parse_folding(
        bytes: &'a [u8],
        fold: impl FnMut(Nesting<'_>, Value<'_>) -> bool,
    ) -> Result<Self, SyntaxError> {
        let source = simdutf8::compat::from_utf8(bytes)
            .map_err(|error| SyntaxReason::InvalidUtf8.at(error.valid_up_to()))?;
        parse::text(Cow::Borrowed(source), fold)
    }

    pub(super) fn unparsed(source: Cow<'a, str>) -> Self {
        let tape = Tape::default();
        Self { source, tape }
    }

    /// Returns the value the text consists of.
    pub fn root(&self) -> Value<'_> {
        self.value(0)
    }

    pub(super) fn value(&self, index: u32) -> Value<'_> {
        let text = self;
        Value { text, index }
    }

    /// Returns the text as it was given.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of RFC 8259")]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// A handle to one value of a [`Text`].
#[derive(Clone, Copy)]
pub struct Value<'t> {
    text: &'t Text<'t>,
    index: u32,
}

impl<'t> Value<'t> {
    /// Returns what this value is.
    #[inline]
    pub fn kind(self) -> Kind {
        match self.first_byte() {
            b'{' => Kind::Object,
            b'[' => Kind::Array,
            b'"' => Kind::String,
            b't' | b'f' => Kind::Bool,
            b'n' => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Returns true for `null`.
    #[inline]
    pub fn is_null(self) -> bool {
        self.first_byte() == b'n'
    }

    /// Returns true for an object.
    #[inline]
    pub fn is_object(self) -> bool {
        self.first_byte() == b'{'
    }

    /// Returns true for a string.
    #[inline]
    pub fn is_string(self) -> bool {
        self.first_byte() == b'"'
    }

    /// Returns the value of `true` and `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.first_byte() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// Returns the value of a string, borrowed unless it was spelled with escapes.
    #[inline]
    pub fn as_str(self) -> Option<Cow<'t, str>> {
        self.is_string()
            .then(|| string::value_of(self.raw(), self.spelling()))
    }

    /// Returns a number as it is spelled.
    pub fn number(self) -> Option<Number<'t>> {
        (self.kind() == Kind::Number).then(|| Number::new(self.raw(), self.offset()))
    }

    /// Returns the items of an array.
    pub fn items(self) -> Option<Items<'t>> {
        (self.first_byte() == b'[').then(|| Items {
            next: self.inside(),
            end: self.node().link,
        })
    }

    /// Returns the members of an object in source order.
    pub fn members(self) -> Option<Members<'t>> {
        self.is_object().then(|| Members {
            next: self.inside(),
            end: self.node().link,
        })
    }

    /// Returns the member `name` of an object, `null` included.
    pub fn member(self, name: &str) -> Option<Value<'t>> {
        self.members()?
            .handles()
            .find(|(found, _)| found.says(name))
            .map(|(_, value)| value)
    }

    /// Returns the exact source text of this value.
    #[inline]
    pub fn raw(self) -> &'t str {
        let node = self.node();
        &self.text.source[node.start as usize..node.end as usize]
    }

    /// Returns the value as it is written, without the white space between its parts.
    pub fn compact(self) -> String {
        let raw = self.raw();
        let mut compact = String::with_capacity(raw.len());
        let (mut from, mut in_string, mut escaped) = (0, false, false);
        for (at, byte) in raw.bytes().enumerate() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = !in_string,
                b' ' | b'\t' | b'\n' | b'\r' if !in_string => {
                    compact.push_str(&raw[from..at]);
                    from = at + 1;
                }
                _ => {}
            }
        }
        compact.push_str(&raw[from..]);
        compact
    }

    /// Returns where this value begins in its text, in bytes.
    pub fn offset(self) -> usize {
        self.node().start as usize
    }

    /// Returns an upper bound for the nesting depth of this value: the depth of the whole text,
    /// where a scalar has depth 0 and a container one more than its deepest child. It costs
    /// nothing, and for most texts it answers every question about depth.
    pub fn depth_bound(self) -> usize {
        usize::from(self.text.tape.depth)
    }

    /// Returns the RFC 6901 pointer from this value to the value that begins at byte `offset`.
    pub fn pointer_to(self, offset: usize) -> String {
        pointer::to_offset(self, offset)
    }

    /// Returns true for a string whose value is `text`.
    pub fn says(self, text: &str) -> bool {
        let raw = self.raw().as_bytes();
        if !self.is_string() {
            return false;
        }
        if self.spelling() == Spelling::Plain {
            return &raw[1..raw.len() - 1] == text.as_bytes();
        }
        self.as_str().is_some_and(|value| value == text)
    }

    /// Returns how a string is spelled; meaningless for other kinds.
    #[inline]
    pub(super) fn spelling(self) -> Spelling {
        match self.node().link {
            0 => Spelling::Plain,
            1 => Spelling::Canonical,
            _ => Spelling::Other,
        }
    }

    /// Returns true if `byte_offset` is inside this value.
    pub(super) fn covers(self, byte_offset: usize) -> bool {
        let node = self.node();
        (node.start as usize..node.end as usize).contains(&byte_offset)
    }

    pub(super) fn index(self) -> u32 {
        self.index
    }

    #[inline]
    pub(super) fn at(self, index: u32) -> Self {
        Self { index, ..self }
    }

    /// Returns the handle after this whole value.
    #[inline]
    pub(super) fn after(self) -> Self {
        match self.first_byte() {
            b'{' | b'[' => self.at(self.node().link),
            _ => self.at(self.index + 1),
        }
    }

    #[inline]
    fn inside(self) -> Self {
        self.at(self.index + 1)
    }

    #[inline]
    fn first_byte(self) -> u8 {
        self.text.source.as_bytes()[self.node().start as usize]
    }

    #[inline]
    fn node(self) -> Node {
        self.text.tape.nodes[self.index as usize]
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.raw())
    }
}

/// The items of an array in order.
#[derive(Clone, Debug)]
pub struct Items<'t> {
    next: Value<'t>,
    end: u32,
}

impl<'t> Iterator for Items<'t> {
    type Item = Value<'t>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next.index == self.end {
            return None;
        }
        let item = self.next;
        self.next = item.after();
        Some(item)
    }
}

/// The members of an object in source order.
#[derive(Clone, Debug)]
pub struct Members<'t> {
    next: Value<'t>,
    end: u32,
}

impl<'t> Members<'t> {
    /// Iterates over names and values as handles, without unescaping names.
    pub fn handles(self) -> MemberHandles<'t> {
        MemberHandles(self)
    }

    #[inline]
    fn advance(&mut self) -> Option<(Value<'t>, Value<'t>)> {
        if self.next.index == self.end {
            return None;
        }
        let name = self.next;
        let value = name.inside();
        self.next = value.after();
        Some((name, value))
    }
}

impl<'t> Iterator for Members<'t> {
    type Item = (Cow<'t, str>, Value<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.advance()?;
        Some((string::value_of(name.raw(), name.spelling()), value))
    }
}

/// The members of an object as pairs of handles, see [`Members::handles`].
#[derive(Clone, Debug)]
pub struct MemberHandles<'t>(Members<'t>);

impl<'t> Iterator for MemberHandles<'t> {
    type Item = (Value<'t>, Value<'t>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.advance()
    }
}
