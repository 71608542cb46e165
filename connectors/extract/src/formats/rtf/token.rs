//! RTF as a run of tokens (RTF specification 1.9.1, "RTF Syntax").

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Open,
    Close,
    /// A control word with its parameter.
    Word(&'a [u8], Option<i32>),
    /// A control symbol: a backslash and one byte that is no letter.
    Symbol(u8),
    /// A byte written as two hexadecimal digits.
    Hex(u8),
    /// Bytes as they are, without line ends.
    Text(&'a [u8]),
    /// Bytes that are no text.
    Binary(&'a [u8]),
}

/// A control word has no more letters and a number no more digits than this.
const MAX_WORD: usize = 40;
const MAX_DIGITS: usize = 11;

/// The tokens of a file.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    is_shift_jis: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            at: 0,
            is_shift_jis: false,
        }
    }

    /// Returns the bytes behind the tokens so far.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at.min(self.bytes.len())..]
    }

    /// Says whether text is in Shift-JIS from here on, whose characters may end with bytes that are braces or
    /// backslashes elsewhere.
    pub(super) fn shift_jis(&mut self, is_shift_jis: bool) {
        self.is_shift_jis = is_shift_jis;
    }

    fn text(&mut self) -> Token<'a> {
        let start = self.at;
        while let Some(byte) = self.bytes.get(self.at) {
            match byte {
                b'{' | b'}' | b'\\' | b'\r' | b'\n' | 0 => break,
                0x81..=0x9F | 0xE0..=0xFC if self.is_shift_jis => {
                    let has_end = self.bytes.get(self.at + 1).is_some_and(|end| *end >= 0x40);
                    self.at += 1 + usize::from(has_end && !self.is_escaped(self.at + 1));
                }
                _ => self.at += 1,
            }
        }
        Token::Text(&self.bytes[start..self.at])
    }

    /// Whether a byte begins one that is written as digits: the second of a character may be, though the first is not.
    fn is_escaped(&self, at: usize) -> bool {
        self.bytes.get(at..at + 2) == Some(b"\\'")
    }

    fn control(&mut self) -> Option<Token<'a>> {
        let bytes = self.bytes;
        let first = *bytes.get(self.at)?;
        if first == b'\'' {
            return Some(self.hex());
        }
        if !first.is_ascii_alphabetic() {
            self.at += 1;
            return Some(Token::Symbol(first));
        }
        let start = self.at;
        let rest = &bytes[start..];
        let letters = rest.iter().take(MAX_WORD);
        let length = letters
            .take_while(|byte| byte.is_ascii_alphabetic())
            .count();
        self.at += length;
        let name = &bytes[start..self.at];
        let parameter = self.number();
        if bytes.get(self.at) == Some(&b' ') {
            self.at += 1;
        }
        if name == b"bin" {
            let length = usize::try_from(parameter.unwrap_or(0)).unwrap_or(0);
            let end = self.at.saturating_add(length).min(bytes.len());
            let data = &bytes[self.at..end];
            self.at = end;
            return Some(Token::Binary(data));
        }
        Some(Token::Word(name, parameter))
    }

    fn number(&mut self) -> Option<i32> {
        let bytes = self.bytes;
        let start = self.at;
        let sign = usize::from(bytes.get(start) == Some(&b'-'));
        let digits = bytes[start + sign..].iter().take(MAX_DIGITS);
        let length = digits.take_while(|byte| byte.is_ascii_digit()).count();
        if length == 0 {
            return None;
        }
        self.at = start + sign + length;
        let text = std::str::from_utf8(&bytes[start..self.at]).ok()?;
        let number: i64 = text.parse().ok()?;
        Some(number.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
    }

    fn hex(&mut self) -> Token<'a> {
        self.at += 1;
        let mut value = 0;
        let mut count = 0;
        while let Some(digit) = self.bytes.get(self.at).and_then(|byte| hex_digit(*byte))
            && count < 2
        {
            value = value * 16 + digit;
            count += 1;
            self.at += 1;
        }
        match count {
            0 => Token::Text(&[]),
            _ => Token::Hex(value),
        }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let bytes = self.bytes;
        let first = *bytes.get(self.at)?;
        match first {
            b'{' => {
                self.at += 1;
                Some(Token::Open)
            }
            b'}' => {
                self.at += 1;
                Some(Token::Close)
            }
            b'\\' => {
                self.at += 1;
                self.control()
            }
            b'\r' | b'\n' | 0 => {
                let is_end = |byte: &&u8| matches!(byte, b'\r' | b'\n' | 0);
                self.at += bytes[self.at..].iter().take_while(is_end).count();
                Some(Token::Text(&[]))
            }
            _ => Some(self.text()),
        }
    }
}

/// Returns the value of a hexadecimal digit.
pub(super) fn hex_digit(byte: u8) -> Option<u8> {
    (byte as char).to_digit(16).map(|digit| digit as u8)
}

#[cfg(test)]
mod tests {
    use super::{Token, Tokens};

    #[test]
    fn words_end_at_their_number_and_one_space() {
        let tokens: Vec<_> = Tokens::new(br"{\b0  a\u-10?\'e9\~\bin3 {}}x}").collect();
        let expected = [
            Token::Open,
            Token::Word(b"b", Some(0)),
            Token::Text(b" a"),
            Token::Word(b"u", Some(-10)),
            Token::Text(b"?"),
            Token::Hex(0xE9),
            Token::Symbol(b'~'),
            Token::Binary(b"{}}"),
            Token::Text(b"x"),
            Token::Close,
        ];
        assert_eq!(tokens, expected);
    }

    #[test]
    fn characters_of_shift_jis_may_end_with_braces() {
        let source = b"\x83\x5C\x83\x7D}\x83\\'7D}\x83";
        let mut tokens = Tokens::new(source);
        assert_eq!(tokens.next(), Some(Token::Text(b"\x83")));
        let mut tokens = Tokens::new(source);
        tokens.shift_jis(true);
        let expected = [
            Token::Text(&b"\x83\x5C\x83\x7D"[..]),
            Token::Close,
            Token::Text(b"\x83"),
            Token::Hex(0x7D),
            Token::Close,
            Token::Text(b"\x83"),
        ];
        assert_eq!(tokens.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_is_cut_short_ends_where_the_file_does() {
        for source in [
            &b"\\"[..],
            b"\\'",
            b"\\'f",
            b"\\bin99 ab",
            b"\\u-",
            b"\\b99999999999999",
        ] {
            assert!(Tokens::new(source).count() <= 2);
        }
    }
}
