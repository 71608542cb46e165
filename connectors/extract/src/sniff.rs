//! What the first bytes of a file say: signatures, interpreters, first words, text or not.
//!
//! Knows no file names.

use crate::decode;

/// What no file begins with by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Signature {
    /// With its file type.
    Image(&'static str),
    Pdf,
    Rtf,
    Package,
    Compound,
}

/// Brands of the ISO base media format that mean still pictures coded as HEVC.
const HEIC_BRANDS: [&[u8]; 9] = [
    b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs", b"mif1",
];

/// Returns the signature a file begins with.
pub(crate) fn signature(head: &[u8]) -> Option<Signature> {
    let signatures: [(&[u8], Signature); 6] = [
        (b"%PDF-", Signature::Pdf),
        (b"{\\rtf", Signature::Rtf),
        (b"PK\x03\x04", Signature::Package),
        (b"PK\x05\x06", Signature::Package),
        (b"PK00PK\x03\x04", Signature::Package),
        (b"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", Signature::Compound),
    ];
    let known = signatures
        .into_iter()
        .find(|(signature, _)| head.starts_with(signature));
    known
        .map(|(_, signature)| signature)
        .or_else(|| image(head).map(Signature::Image))
}

/// Returns the file type that the first words of a text speak for: markup, or headers of a message.
pub(crate) fn markup(head: &[u8]) -> Option<&'static str> {
    let start = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    let start = start.trim_ascii_start();
    let begins = |word: &[u8]| {
        let length = word.len().min(start.len());
        start[..length].eq_ignore_ascii_case(word)
    };
    let mentions = |word| memchr::memmem::find(start, word).is_some();
    if begins(b"<!doctype html") || begins(b"<html") {
        return Some("html");
    }
    if begins(b"<svg") {
        return Some("svg");
    }
    if begins(b"<?xml") {
        let file_type = if mentions(b"<html") {
            "html"
        } else if mentions(b"<svg") {
            "svg"
        } else {
            "xml"
        };
        return Some(file_type);
    }
    if start.starts_with(b"From ") && is_mailbox(start) {
        return Some("mbox");
    }
    let is_message = [&b"Return-Path:"[..], b"Received:", b"Delivered-To:"];
    is_message.into_iter().any(begins).then_some("eml")
}

/// Whether a line has a time of day in it, as the lines between the messages of a mailbox do.
pub(crate) fn has_time_of_day(line: &[u8]) -> bool {
    line.windows(3)
        .any(|part| part[0].is_ascii_digit() && part[1] == b':' && part[2].is_ascii_digit())
}

/// Whether a line that begins with `From ` ends with a time of day and a year, as in a mailbox, and headers follow.
fn is_mailbox(start: &[u8]) -> bool {
    let mut lines = start.split(|byte| *byte == b'\n');
    let first = lines.next().unwrap_or_default();
    let second = lines.next().unwrap_or_default();
    let name = second.split(|byte| *byte == b':').next();
    has_time_of_day(first)
        && second.contains(&b':')
        && name.is_some_and(|name| {
            let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            !name.is_empty() && name.strip_prefix(b">").unwrap_or(name).iter().all(is_name)
        })
}

/// Returns the file type of an image, by its signature.
pub(crate) fn image(head: &[u8]) -> Option<&'static str> {
    let signatures: [(&[u8], &str); 7] = [
        (b"\x89PNG\r\n\x1A\n", "png"),
        (b"\xFF\xD8\xFF", "jpg"),
        (b"GIF87a", "gif"),
        (b"GIF89a", "gif"),
        (b"II*\0", "tiff"),
        (b"MM\0*", "tiff"),
        (b"II+\0", "tiff"),
    ];
    if let Some((_, file_type)) = signatures
        .iter()
        .find(|(signature, _)| head.starts_with(signature))
    {
        return Some(file_type);
    }
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some("webp");
    }
    if head.get(4..8) == Some(b"ftyp")
        && head
            .get(8..12)
            .is_some_and(|brand| HEIC_BRANDS.contains(&brand))
    {
        return Some("heic");
    }
    // "BM" alone would take a text for an image: the four bytes after the size are zero.
    let is_bmp = head.starts_with(b"BM") && head.get(6..10) == Some(&[0; 4]);
    is_bmp.then_some("bmp")
}

/// Returns the interpreter that a `#!` line names, without its directory and version.
pub(crate) fn interpreter(head: &[u8]) -> Option<&str> {
    let line = head
        .strip_prefix(b"#!")?
        .split(|byte| *byte == b'\n')
        .next()?;
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let mut name = base_name(words.next()?);
    if name == "env" {
        name = base_name(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    Some(name.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.'))
}

/// Whether the bytes look like the beginning of a text. A character cut off at the end is no
/// reason against it.
pub(crate) fn is_text(head: &[u8]) -> bool {
    if decode::has_utf16_mark(head) {
        let cut = &head[..head.len() - 2];
        return decode::text(head).is_ok() || decode::text(cut).is_ok();
    }
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            // The bytes before the cut are valid: the error says so.
            std::str::from_utf8(&head[..error.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    let strange = text
        .bytes()
        .filter(|byte| decode::is_strange_control(*byte))
        .count();
    !text.contains('\0') && strange * decode::CONTROL_SHARE <= text.len()
}

/// Whether the bytes may be a text in an encoding that is not told by them: no zeros, hardly a control
/// character.
pub(crate) fn is_encoded_text(head: &[u8]) -> bool {
    let strange = head
        .iter()
        .filter(|byte| decode::is_strange_control(**byte))
        .count();
    memchr::memchr(0, head).is_none() && strange * decode::CONTROL_SHARE <= head.len()
}

/// Whether the bytes are no text in any encoding read here.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    memchr::memchr(0, head).is_some() && !decode::is_wide(head)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::{image, interpreter, is_text};

    #[test]
    fn interpreter_is_named_without_directory_and_version() {
        assert_eq!(interpreter(b"#!/bin/sh\necho"), Some("sh"));
        assert_eq!(interpreter(b"#!/usr/bin/env python3.12\n"), Some("python"));
        assert_eq!(
            interpreter(b"#! /usr/bin/env -S A=1 node --x"),
            Some("node")
        );
        assert_eq!(interpreter(b"#!\n"), None);
        assert_eq!(interpreter(b"# text"), None);
    }

    #[test]
    fn text_may_be_cut_inside_a_character_but_holds_no_nul() {
        assert!(is_text("grün".as_bytes()));
        assert!(is_text(&"grü".as_bytes()[..3]));
        assert!(is_text(b""));
        assert!(is_text(b"\xFF\xFEa\0"));
        assert!(!is_text(b"a\0b"));
        assert!(!is_text(b"\x7FELF\x02\x01\x01"));
        assert!(!is_text(b"caf\xE9 au lait"));
    }

    #[test]
    fn word_that_begins_with_bm_is_no_bitmap() {
        assert_eq!(image(b"BMW builds cars"), None);
        assert_eq!(image(b"BM\x46\0\0\0\0\0\0\0"), Some("bmp"));
    }
}
