//! The encoding that a text declares in its first lines, as many languages let it.

use encoding_rs::{Encoding, REPLACEMENT, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Declarations are in the first line or the second.
const DECLARED_WITHIN: usize = 256;

/// Returns the encoding of an XML declaration, or of a comment that says `coding: name` as Python (PEP
/// 263) and editors read it, or of `@charset` (CSS). One that could not have been read as it was is none.
pub(super) fn encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(DECLARED_WITHIN)];
    let label = xml(head).or_else(|| css(head)).or_else(|| comment(head))?;
    of_label(label).filter(|encoding| !is_utf16(encoding))
}

/// Returns the encoding of an XML declaration, if one is there that could be read as it was.
pub(crate) fn of_xml(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = &bytes[..bytes.len().min(DECLARED_WITHIN)];
    of_label(xml(head)?).filter(|encoding| !is_utf16(encoding))
}

/// Returns the encoding that a label names. One that the Web refuses to read is none: its decoder gives one character
/// for all.
pub(crate) fn of_label(label: &[u8]) -> Option<&'static Encoding> {
    // Python's name, which the Web does not know; and one that means whatever the font shows.
    let western: [&[u8]; 2] = [b"latin-1", b"x-user-defined"];
    if western
        .iter()
        .any(|known| label.eq_ignore_ascii_case(known))
    {
        return Some(WINDOWS_1252);
    }
    Encoding::for_label(label).filter(|encoding| *encoding != REPLACEMENT)
}

fn is_utf16(encoding: &&'static Encoding) -> bool {
    *encoding == UTF_16LE || *encoding == UTF_16BE
}

fn xml(head: &[u8]) -> Option<&[u8]> {
    let declaration = head.strip_prefix(b"<?xml")?;
    let declaration = &declaration[..memchr::memmem::find(declaration, b"?>")?];
    let at = memchr::memmem::find(declaration, b"encoding")?;
    let value = declaration[at + b"encoding".len()..].trim_ascii_start();
    let value = value.strip_prefix(b"=")?.trim_ascii_start();
    let quote = value.first().filter(|byte| matches!(byte, b'"' | b'\''))?;
    value[1..].split(|byte| byte == quote).next()
}

fn css(head: &[u8]) -> Option<&[u8]> {
    let rest = head.strip_prefix(b"@charset \"")?;
    rest.split(|byte| *byte == b'"').next()
}

fn comment(head: &[u8]) -> Option<&[u8]> {
    let lines = head.split(|byte| *byte == b'\n').take(2);
    let mut comments = lines.filter(|line| {
        let line = line.trim_ascii_start();
        line.first()
            .is_some_and(|first| b"#/;%-*\".".contains(first))
    });
    comments.find_map(|line| {
        let at = memchr::memmem::find(line, b"coding")? + b"coding".len();
        let rest = line[at..]
            .strip_prefix(b":")
            .or_else(|| line[at..].strip_prefix(b"="))?;
        let label = rest.trim_ascii_start();
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
        let end = label.iter().position(|byte| !is_name(byte));
        Some(&label[..end.unwrap_or(label.len())])
    })
}

#[cfg(test)]
mod tests {
    use super::encoding;

    #[test]
    fn declaration_is_found_in_the_first_two_lines() {
        let name = |text: &str| encoding(text.as_bytes()).map(|encoding| encoding.name());
        let latin = Some("windows-1252");
        assert_eq!(name("<?xml version='1.0' encoding='ISO-8859-1'?>"), latin);
        assert_eq!(name("#!/usr/bin/python\n# -*- coding: latin-1 -*-"), latin);
        assert_eq!(name("#!/bin/python\n# -*- coding: latin1 -*-"), latin);
        assert_eq!(name("# vim: set fileencoding=koi8-r :"), Some("KOI8-R"));
        assert_eq!(name("@charset \"shift_jis\";"), Some("Shift_JIS"));
        assert_eq!(name("coding: utf-8 is what the text is about"), None);
        assert_eq!(name("#\n#\n# coding: latin1"), None);
        assert_eq!(name("<?xml version='1.0' encoding='UTF-16'?>"), None);
    }
}
