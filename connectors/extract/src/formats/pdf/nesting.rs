//! How deep objects lie within each other, followed without recursion.
//!
//! The parser of objects goes into each object within another, and would go on until its stack ends. This one
//! reads a file as that does, one object at a time, and keeps nothing but which are open.

use unpdf::parser::raw::tokenizer::parse_object;
use unpdf::parser::raw::{PdfObject, PdfStream};

use super::content::{is_space, string_length};
use crate::ExtractError;
use crate::reason::Reason;

/// Objects within objects; what programs write stays below ten.
const MOST_DEPTH: usize = 100;

/// How many times over the bytes of a file may be followed: objects that end are passed over once.
const MOST_ROUNDS: usize = 8;
const LEAST_BYTES: usize = 1 << 20;

/// What has been followed of some bytes.
pub(super) struct Nesting<'f> {
    bytes: &'f [u8],
    /// Bytes that still may be passed over.
    left: usize,
}

/// What is open: an object, or one that a header introduces.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    Array,
    Dict(usize),
    Header,
}

/// What stands at a place of an object.
enum Token {
    Open(Open, usize),
    /// Something that is closed, up to before a place.
    Value(usize),
    Close(Open, usize),
    /// Nothing that belongs to an object, up to where that is certain.
    Other(usize),
}

impl<'f> Nesting<'f> {
    pub(super) fn of(bytes: &'f [u8]) -> Self {
        Self {
            bytes,
            left: bytes.len().saturating_mul(MOST_ROUNDS) + LEAST_BYTES,
        }
    }

    /// Reads the stream that begins at a place; `None` if something else does.
    ///
    /// # Errors
    ///
    /// `bomb` if objects are nested too deep, or lie within each other.
    pub(super) fn stream(&mut self, start: usize) -> Result<Option<PdfStream>, ExtractError> {
        if !self.follow(start)? {
            return Ok(None);
        }
        Ok(match self.parsed(start)? {
            Some((PdfObject::Stream(stream), _)) => Some(stream),
            _ => None,
        })
    }

    /// Reads the object that begins at a place, if one does, and tells where it ends.
    ///
    /// # Errors
    ///
    /// `bomb`, as above.
    pub(super) fn object(
        &mut self,
        start: usize,
    ) -> Result<Option<(PdfObject, usize)>, ExtractError> {
        self.follow(start)?;
        self.parsed(start)
    }

    /// Reads an object that has been followed.
    fn parsed(&mut self, start: usize) -> Result<Option<(PdfObject, usize)>, ExtractError> {
        let parsed = parse_object(self.bytes, start).ok();
        let end = parsed.as_ref().map_or(self.bytes.len(), |(_, end)| *end);
        self.pass(end.saturating_sub(start))?;
        Ok(parsed)
    }

    /// Follows the object that begins at a place, as far as the parser would, and tells whether it is a stream.
    ///
    /// # Errors
    ///
    /// `bomb`, as above.
    pub(super) fn follow(&mut self, start: usize) -> Result<bool, ExtractError> {
        // Looking at what stands at a place may take as long as all that follows it.
        if self.left == 0 {
            return Err(endless());
        }
        let mut open: Vec<Open> = Vec::new();
        let mut at = start;
        loop {
            let from = at;
            let mut is_stream = false;
            at = match self.token(at) {
                Token::Open(object, end) => {
                    open.push(object);
                    end
                }
                Token::Value(end) => self.completed(&mut open, end),
                Token::Close(kind, end) => self.close(kind, end, &mut open, &mut is_stream),
                Token::Other(end) => {
                    open.clear();
                    end
                }
            };
            self.pass(at.saturating_sub(from))?;
            if open.len() > MOST_DEPTH {
                return Err(bomb(format!("objects nested more than {MOST_DEPTH} deep")));
            }
            if open.is_empty() {
                return Ok(is_stream);
            }
        }
    }

    /// Counts bytes that have been passed over.
    ///
    /// # Errors
    ///
    /// `bomb` if they are too many by now, and from then on.
    pub(super) fn pass(&mut self, bytes: usize) -> Result<(), ExtractError> {
        let left = self.left.checked_sub(bytes.saturating_add(1));
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or_else(endless)
    }

    fn token(&self, at: usize) -> Token {
        let at = self.after_space(at);
        let rest = self.bytes.get(at..).unwrap_or_default();
        match rest {
            [b'[', ..] => Token::Open(Open::Array, at + 1),
            [b'<', b'<', ..] => Token::Open(Open::Dict(at), at + 2),
            [b'<', ..] => match memchr::memchr(b'>', rest) {
                Some(end) => Token::Value(at + end + 1),
                None => Token::Other(self.bytes.len()),
            },
            [b'(', ..] => Token::Value(at + string_length(rest)),
            [b']', ..] => Token::Close(Open::Array, at + 1),
            [b'>', b'>', ..] => Token::Close(Open::Dict(0), at + 2),
            [b'/', name @ ..] => Token::Value(at + 1 + word(name)),
            [b'0'..=b'9' | b'+' | b'-' | b'.', ..] => match self.header(at) {
                Some(end) => Token::Open(Open::Header, end),
                None => Token::Value(at + digits(rest)),
            },
            _ => match word(rest) {
                length if is_value(&rest[..length]) => Token::Value(at + length),
                _ => Token::Other(at),
            },
        }
    }

    /// Closes an object, and the stream that follows it. What is left open is empty where the parser would end.
    fn close(&self, kind: Open, end: usize, open: &mut Vec<Open>, is_stream: &mut bool) -> usize {
        let start = match (open.pop(), kind) {
            (Some(Open::Array), Open::Array) => return self.completed(open, end),
            (Some(Open::Dict(start)), Open::Dict(_)) => start,
            // The parser gives up here.
            _ => {
                open.clear();
                return end;
            }
        };
        if !self.bytes[self.after_space(end)..].starts_with(b"stream") {
            return self.completed(open, end);
        }
        if open.iter().all(|open| *open == Open::Header) {
            *is_stream = true;
            open.clear();
            return end;
        }
        // A stream within an object ends where the parser says.
        match parse_object(self.bytes, start) {
            Ok((_, after)) => self.completed(open, after),
            Err(_) => {
                open.clear();
                self.bytes.len()
            }
        }
    }

    /// Closes the headers whose object is complete.
    fn completed(&self, open: &mut Vec<Open>, mut end: usize) -> usize {
        while open.last() == Some(&Open::Header) {
            open.pop();
            let after = self.after_space(end);
            if self.bytes[after..].starts_with(b"endobj") {
                end = after + b"endobj".len();
            }
        }
        end
    }

    /// Returns where the header of an object (`12 0 obj`) ends that begins at a place.
    fn header(&self, at: usize) -> Option<usize> {
        let rest = |at: usize| self.bytes.get(at..).unwrap_or_default();
        let number = at + digits(rest(at));
        let generation = self.after_space(number);
        let length = digits(rest(generation));
        let end = self.after_space(generation + length);
        (length > 0 && rest(end).starts_with(b"obj")).then_some(end + b"obj".len())
    }

    /// Returns the place after white space and comments, at most the end.
    fn after_space(&self, mut at: usize) -> usize {
        while let Some(&byte) = self.bytes.get(at) {
            match byte {
                b'%' => {
                    let rest = &self.bytes[at..];
                    at += memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                byte if is_space(byte) => at += 1,
                _ => break,
            }
        }
        at.min(self.bytes.len())
    }
}

fn word(rest: &[u8]) -> usize {
    let is_end = |byte: &u8| is_space(*byte) || b"()<>[]{}/%".contains(byte);
    rest.iter().position(is_end).unwrap_or(rest.len())
}

fn digits(rest: &[u8]) -> usize {
    let is_end = |byte: &u8| !byte.is_ascii_digit() && !b"+-.".contains(byte);
    rest.iter().position(is_end).unwrap_or(rest.len())
}

fn is_value(word: &[u8]) -> bool {
    matches!(word, b"R" | b"true" | b"false" | b"null")
}

fn endless() -> ExtractError {
    bomb("objects that do not end lie within each other")
}

fn bomb(message: impl Into<String>) -> ExtractError {
    ExtractError::new(Reason::Bomb, message)
}

#[cfg(test)]
mod tests {
    use super::{MOST_ROUNDS, Nesting};

    fn follow(object: &str) -> Option<bool> {
        Nesting::of(object.as_bytes()).follow(0).ok()
    }

    #[test]
    fn objects_too_deep_in_others_are_a_bomb_whatever_opens_them() {
        for open in ["[", "<</A ", "1 0 obj ", "[(]) ", "[%]\n", "[<5D>/A]"] {
            let object = open.repeat(1000);
            let is_deep = !open.contains("/A]");
            assert_eq!(follow(&object).is_none(), is_deep, "{open}");
        }
        let behind = format!("<</A<<>>stream\n]]) endstream/B{}", "[".repeat(1000));
        assert_eq!(follow(&behind), None);
    }

    #[test]
    fn objects_are_followed_up_to_their_end_or_their_fault() {
        let deep = "[".repeat(1000);
        for (object, is_stream) in [
            ("1 0 obj [[1] [2] <</A [3 0 R true]>>] endobj ", false),
            ("1 0 obj <</A(\\))>> stream\n", true),
            ("1 0 obj 2 0 obj <<>>stream", true),
            ("12 ", false),
            ("(", false),
            ("<", false),
            ("endobj ", false),
            ("[ 1 endobj ", false),
        ] {
            assert_eq!(
                follow(&format!("{object}{deep}")).unwrap(),
                is_stream,
                "{object}"
            );
        }
    }

    #[test]
    fn objects_without_end_are_not_followed_again_and_again() {
        let file = "[ 1 0 R 2 0 R 3 0 R ".repeat(50);
        let file = file + &" ".repeat(1 << 20);
        let mut nesting = Nesting::of(file.as_bytes());
        let ends = (0..10_000).find(|_| nesting.follow(0).is_err());
        assert_eq!(ends, Some(MOST_ROUNDS));
        // A single letter would have fitted; but it is over.
        assert!(nesting.follow(file.len() - 1).is_err());
        assert!(nesting.pass(0).is_err());
    }
}
