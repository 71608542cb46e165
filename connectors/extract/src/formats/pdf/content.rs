//! Content streams (ISO 32000-1 §7.8.2) to operations with all their operands, dictionaries included.

use unpdf::parser::raw::PdfObject;
use unpdf::parser::raw::tokenizer::parse_object;

use super::nesting::Nesting;

/// Operands beyond these are a stream gone wrong.
const MOST_OPERANDS: usize = 64;

/// Arrays within arrays.
const MOST_DEPTH: usize = 64;

/// Objects that do not end, before a stream is given up.
const MOST_FAULTS: usize = 100;

/// Operations of a content stream, one after the other.
pub(super) struct Operations<'c> {
    content: &'c [u8],
    nesting: Nesting<'c>,
    at: usize,
    faults: usize,
}

/// One operation: its operator and what stands before it.
#[derive(Debug)]
pub(super) struct Operation<'c> {
    pub(super) operator: &'c [u8],
    pub(super) operands: Vec<PdfObject>,
}

impl<'c> Operations<'c> {
    pub(super) fn of(content: &'c [u8]) -> Self {
        Self {
            content,
            nesting: Nesting::of(content),
            at: 0,
            faults: 0,
        }
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.content.get(self.at) {
            match byte {
                b'%' => {
                    let rest = &self.content[self.at..];
                    let end = memchr::memchr2(b'\n', b'\r', rest);
                    self.at += end.unwrap_or(rest.len());
                }
                byte if is_space(*byte) => self.at += 1,
                _ => return,
            }
        }
    }

    /// Reads an object, unless it holds objects deeper than the parser should go.
    fn object(&mut self) -> Option<PdfObject> {
        if matches!(self.content.get(self.at), Some(b'[' | b'<')) {
            self.nesting.follow(self.at).ok()?;
        }
        let (object, after) = parse_object(self.content, self.at).ok()?;
        let is_read = after > self.at;
        self.at = after.max(self.at);
        is_read.then_some(object)
    }

    /// Reads on while bytes belong to a word.
    fn word(&mut self) -> &'c [u8] {
        let rest = &self.content[self.at..];
        let is_end = |byte: &u8| is_space(*byte) || b"()<>[]{}/%".contains(byte);
        let length = rest.iter().position(is_end).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Passes over the bytes of a picture within the stream.
    fn skip_picture(&mut self) {
        let rest = &self.content[self.at..];
        let ends = memchr::memmem::find_iter(rest, b"EI").find(|at| {
            let before = at.checked_sub(1).and_then(|before| rest.get(before));
            let after = rest.get(at + 2);
            before.is_some_and(|byte| is_space(*byte)) && after.is_none_or(|byte| is_space(*byte))
        });
        self.at += ends.map_or(rest.len(), |at| at + 2);
    }
}

impl<'c> Iterator for Operations<'c> {
    type Item = Operation<'c>;

    fn next(&mut self) -> Option<Operation<'c>> {
        let mut operands = Vec::new();
        loop {
            self.skip_space();
            let byte = *self.content.get(self.at)?;
            match byte {
                b'/' | b'(' | b'<' | b'[' => match self.object() {
                    Some(object) => operands.push(object),
                    // Each may have been looked for up to the end of the stream.
                    None if self.faults >= MOST_FAULTS => return None,
                    None => {
                        self.faults += 1;
                        self.at += 1;
                    }
                },
                b')' | b'>' | b']' | b'{' | b'}' => self.at += 1,
                _ => {
                    let word = self.word();
                    if let Some(number) = number(word) {
                        operands.push(PdfObject::Real(number));
                    } else if word == b"BI" {
                        self.skip_picture();
                        operands.clear();
                    } else {
                        return Some(Operation {
                            operator: word,
                            operands,
                        });
                    }
                }
            }
            if operands.len() > MOST_OPERANDS {
                operands.remove(0);
            }
        }
    }
}

/// Whether arrays are nested deeper than the parser of pages should go, as that one reads a content stream.
pub(super) fn is_deep(content: &[u8]) -> bool {
    let (mut depth, mut at) = (0usize, 0);
    while let Some(rest) = content.get(at..).filter(|rest| !rest.is_empty()) {
        at += match rest {
            [b'(', ..] => string_length(rest),
            [b'<', next, ..] if *next != b'<' => end_of(rest, b'>'),
            [b'/', ..] => name_length(rest),
            [b'%', ..] if depth == 0 => memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len()),
            [b'[', ..] => {
                depth += 1;
                1
            }
            [b']', ..] => {
                depth = depth.saturating_sub(1);
                1
            }
            [letter, ..] if letter.is_ascii_alphabetic() => {
                let is_end = |byte: &u8| !byte.is_ascii_alphanumeric();
                let length = rest.iter().position(is_end).unwrap_or(rest.len());
                match &rest[..length] {
                    b"BI" if depth == 0 => length + picture_length(&rest[length..]),
                    _ => length,
                }
            }
            _ => 1,
        };
        if depth > MOST_DEPTH {
            return true;
        }
    }
    false
}

fn end_of(rest: &[u8], end: u8) -> usize {
    memchr::memchr(end, rest).map_or(rest.len(), |end| end + 1)
}

/// Returns the length of a name; an escape takes the two bytes behind it, whatever they are.
fn name_length(rest: &[u8]) -> usize {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'#' if at + 2 < rest.len() => at += 3,
            byte if is_space(*byte) || b"()<>[]{}/%".contains(byte) => break,
            _ => at += 1,
        }
    }
    at
}

/// Returns the length of a picture within the stream, behind `BI` and up to behind `EI`.
fn picture_length(rest: &[u8]) -> usize {
    let is_end = |at: usize| rest.get(at).is_none_or(|byte| is_space(*byte));
    let begins = memchr::memmem::find_iter(rest, b"ID").find(|&at| {
        let before = at.checked_sub(1).and_then(|before| rest.get(before));
        before.is_none_or(|byte| is_space(*byte) || b">])".contains(byte)) && is_end(at + 2)
    });
    let Some(begins) = begins else {
        return rest.len();
    };
    let ends = memchr::memmem::find_iter(&rest[begins + 2..], b"EI").map(|at| at + begins + 2);
    let mut ends = ends.filter(|&at| is_space(rest[at - 1]));
    let is_word = |at: &usize| {
        is_end(at + 2)
            || rest
                .get(at + 2)
                .is_some_and(|byte| b"()<>[]{}/%".contains(byte))
    };
    ends.find(is_word).map_or(rest.len(), |at| at + 2)
}

/// Returns the length of the string with which a content begins.
pub(super) fn string_length(content: &[u8]) -> usize {
    let mut open = 0;
    let mut bytes = content.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at + 1;
        }
    }
    content.len()
}

fn number(word: &[u8]) -> Option<f64> {
    let begins = word
        .first()
        .is_some_and(|byte| byte.is_ascii_digit() || b"+-.".contains(byte));
    let text = std::str::from_utf8(word).ok().filter(|_| begins)?;
    Some(text.parse().unwrap_or(0.0)).filter(|number: &f64| number.is_finite())
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 0x0C | b'\r' | b' ')
}

#[cfg(test)]
mod tests {
    use super::{MOST_FAULTS, Operations, is_deep};

    #[test]
    fn operations_have_their_operands_and_pictures_are_passed_over() {
        let content = b"q % note\n1 0 0 -1.5 2 3 cm /Span <</ActualText (x)>> BDC BI /W 1 ID \x00EIx EI [(a) -20 <62>] TJ";
        let found: Vec<(String, usize)> = Operations::of(content)
            .map(|operation| {
                let operator = String::from_utf8_lossy(operation.operator);
                (operator.into_owned(), operation.operands.len())
            })
            .collect();
        let expected = [("q", 0), ("cm", 6), ("BDC", 2), ("TJ", 1)];
        assert_eq!(
            found,
            expected.map(|(operator, count)| (operator.to_owned(), count))
        );
    }

    #[test]
    fn arrays_are_deep_where_the_parser_of_pages_would_go_in() {
        let deep = "[ ".repeat(1000);
        for before in [
            "",
            "(]) Tj ",
            "/a#(x ",
            "% (\n",
            "BI /W 1 ID \x01( EI ",
            "[1 %",
            "<5d> ",
        ] {
            assert!(is_deep(format!("{before}{deep}").as_bytes()), "{before}");
        }
        for before in ["(", "% ", "BI ID ", "<"] {
            assert!(!is_deep(format!("{before}{deep}").as_bytes()), "{before}");
        }
        assert!(!is_deep("[[1] [(]) /a]] TJ ".repeat(1000).as_bytes()));
        assert!(!is_deep("BI ID [[[[ EI ([[[[) Tj ".repeat(1000).as_bytes()));
    }

    #[test]
    fn noise_ends() {
        for content in [&b"((((("[..], b"<<<<", b"]]]]", b"BI", b"1 2 3", b"/"] {
            assert_eq!(Operations::of(content).count(), 0, "{content:?}");
        }
        for deep in ["[ 1 ", "[ %]\n", "[ 1 0 obj 1 0 obj "] {
            let deep = deep.repeat(100_000);
            // A word within may be taken for an operator; what is behind the faults is not read.
            let count = Operations::of(deep.as_bytes()).count();
            assert!(count <= 2 * MOST_FAULTS, "{count}");
        }
    }
}
