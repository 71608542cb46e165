//! HTML inside RTF: how Outlook keeps pages as messages (MS-OXRTFEX).
//!
//! The page's tags are in destinations of their own and its words between them; what is only for readers of RTF is
//! marked. Knows nothing of the RTF that a reader of RTF would see.

use super::token::{Token, Tokens};
use crate::codepage;

/// How far the mark of such a file is looked for.
const MARKED_WITHIN: usize = 1024;

/// Groups nested deeper are not opened.
const MAX_DEPTH: usize = 4096;

/// Returns the page; `None` if the RTF is no page.
pub(crate) fn page(rtf: &[u8]) -> Option<String> {
    let head = &rtf[..rtf.len().min(MARKED_WITHIN)];
    memchr::memmem::find(head, b"\\fromhtml1")?;
    let mut reader = Reader::default();
    for token in Tokens::new(rtf) {
        reader.take(token);
    }
    reader.flush();
    Some(reader.page)
}

/// What holds in a group.
#[derive(Clone, Copy, Default)]
struct Group {
    /// In a destination that is none of the page.
    is_other: bool,
    /// Between `\htmlrtf` and `\htmlrtf0`.
    is_rtf_only: bool,
    /// At the beginning of a destination that a reader may ignore.
    is_optional: bool,
    /// How many bytes stand for a character after `\u`; one, unless it is said otherwise.
    skipped: Option<usize>,
}

#[derive(Default)]
struct Reader {
    page: String,
    /// Bytes of the code page that are no text yet: a character may have two.
    bytes: Vec<u8>,
    code_page: Option<u16>,
    groups: Vec<Group>,
    here: Group,
    deeper: usize,
    to_skip: usize,
    /// The first half of a character that UTF-16 writes in two.
    half: Option<u16>,
}

impl Reader {
    fn take(&mut self, token: Token<'_>) {
        match token {
            Token::Open if self.groups.len() >= MAX_DEPTH => self.deeper += 1,
            Token::Open => self.groups.push(self.here),
            Token::Close if self.deeper > 0 => self.deeper -= 1,
            Token::Close => self.here = self.groups.pop().unwrap_or_default(),
            Token::Word(name, parameter) => self.word(name, parameter),
            Token::Symbol(b'*') => self.here.is_optional = true,
            Token::Symbol(symbol) => self.symbol(symbol),
            Token::Hex(byte) => self.push_bytes(&[byte]),
            Token::Text(text) => self.push_bytes(text),
            Token::Binary(_) => {}
        }
    }

    fn word(&mut self, name: &[u8], parameter: Option<i32>) {
        let is_optional = std::mem::take(&mut self.here.is_optional);
        match name {
            b"htmlrtf" => self.here.is_rtf_only = parameter != Some(0),
            b"htmltag" => {}
            b"ansicpg" => self.code_page = parameter.and_then(|page| u16::try_from(page).ok()),
            b"uc" => self.here.skipped = parameter.and_then(|count| usize::try_from(count).ok()),
            b"u" => self.unicode(parameter.unwrap_or(0)),
            b"fonttbl" | b"colortbl" | b"stylesheet" | b"info" | b"pict" => {
                self.here.is_other = true;
            }
            _ if is_optional => self.here.is_other = true,
            b"par" | b"line" => self.push("\r\n"),
            b"tab" => self.push("\t"),
            b"lquote" => self.push("\u{2018}"),
            b"rquote" => self.push("\u{2019}"),
            b"ldblquote" => self.push("\u{201C}"),
            b"rdblquote" => self.push("\u{201D}"),
            b"bullet" => self.push("\u{2022}"),
            b"endash" => self.push("\u{2013}"),
            b"emdash" => self.push("\u{2014}"),
            _ => {}
        }
    }

    fn symbol(&mut self, symbol: u8) {
        match symbol {
            b'{' | b'}' | b'\\' => self.push_bytes(&[symbol]),
            b'~' => self.push("&nbsp;"),
            b'_' => self.push("&shy;"),
            _ => {}
        }
    }

    fn unicode(&mut self, number: i32) {
        self.to_skip = 0;
        let unit = (number & 0xFFFF) as u16;
        match (self.half.take(), unit) {
            (_, 0xD800..=0xDBFF) => self.half = Some(unit),
            (Some(half), 0xDC00..=0xDFFF) => {
                let pair = String::from_utf16_lossy(&[half, unit]);
                self.push(&pair);
            }
            (_, unit) => {
                let single = String::from_utf16_lossy(&[unit]);
                self.push(&single);
            }
        }
        self.to_skip = self.here.skipped.unwrap_or(1);
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        let skipped = self.to_skip.min(bytes.len());
        self.to_skip -= skipped;
        if self.is_read() {
            self.bytes.extend(&bytes[skipped..]);
        }
    }

    fn push(&mut self, text: &str) {
        if self.is_read() {
            self.flush();
            self.page.push_str(text);
        }
    }

    fn is_read(&self) -> bool {
        self.deeper == 0 && !self.here.is_other && !self.here.is_rtf_only
    }

    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let code_page = self.code_page.unwrap_or(codepage::WESTERN);
            self.page.push_str(&codepage::decode(code_page, &bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn page_is_taken_out_of_the_rtf_around_it() {
        // After the example of MS-OXRTFEX 4.1.
        let rtf = br"{\rtf1\ansi\ansicpg1251\fromhtml1 \deff0{\fonttbl {\f0\fmodern Courier New;}}
{\*\htmltag19 <html>}{\*\htmltag50 <body>}{\*\htmltag64 <p>}\htmlrtf {\htmlrtf0 \'cf\u1088?{\*\mhtmltag84 <b>}{\*\htmltag84 <b>}\htmlrtf {\b \htmlrtf0 bold \{x\}\htmlrtf }\htmlrtf0 {\*\htmltag92 </b>}\htmlrtf \par\htmlrtf0\par}\htmlrtf0 }";
        let expected = "<html><body><p>\u{41F}\u{440}<b>bold {x}</b>\r\n";
        assert_eq!(page(rtf).as_deref(), Some(expected));
        assert_eq!(page(br"{\rtf1\ansi words}"), None);
    }
}
