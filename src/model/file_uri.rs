//! Identity of a document: its URI in normal form (hash contract §11).
//!
//! Grammar and transformation are closed lists; whatever else one knows about URIs (dot segments,
//! default ports, IDNA) is deliberately absent.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A valid file_uri in normal form. Cheap to clone; ordered by bytes.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileUri(Arc<str>);

/// A string that is no file_uri (hash contract §11.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum InvalidUri {
    /// It does not begin with a scheme and a colon.
    #[error("a file_uri begins with a scheme and a colon")]
    Scheme,
    /// A character outside the ASCII characters of RFC 3986.
    #[error("byte {0} of the file_uri is no URI character; percent-encode it")]
    Character(usize),
    /// A `%` without two hexadecimal digits.
    #[error("the percent sign at byte {0} of the file_uri lacks two hexadecimal digits")]
    Triplet(usize),
}

impl FileUri {
    /// Validates and normalises a URI.
    ///
    /// # Errors
    /// [`InvalidUri`] if one of the three conditions of hash contract §11.1 fails.
    pub fn parse(text: &str) -> Result<Self, InvalidUri> {
        let bytes = text.as_bytes();
        let colon = scheme_end(bytes).ok_or(InvalidUri::Scheme)?;
        check_characters(bytes)?;
        Ok(Self(normalised(bytes, colon).into()))
    }

    /// Returns the URI in normal form.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for FileUri {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for FileUri {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for FileUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Returns the index of the colon after the scheme.
fn scheme_end(bytes: &[u8]) -> Option<usize> {
    let colon = bytes.iter().position(|&byte| byte == b':')?;
    let (first, rest) = bytes[..colon].split_first()?;
    let in_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    (first.is_ascii_alphabetic() && rest.iter().all(in_scheme)).then_some(colon)
}

fn check_characters(bytes: &[u8]) -> Result<(), InvalidUri> {
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'%' {
            triplet(&bytes[at..]).ok_or(InvalidUri::Triplet(at))?;
        } else if !is_unreserved(byte) && !b":/?#[]@!$&'()*+,;=".contains(&byte) {
            return Err(InvalidUri::Character(at));
        }
    }
    Ok(())
}

fn normalised(bytes: &[u8], colon: usize) -> String {
    let host = host_span(bytes, colon);
    let mut out = String::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let lower = at < colon || host.contains(&at);
        let fold = |byte: u8| {
            if lower {
                byte.to_ascii_lowercase()
            } else {
                byte
            }
        };
        match triplet(&bytes[at..]) {
            Some(encoded) if is_unreserved(encoded) => out.push(char::from(fold(encoded))),
            Some(encoded) => out.push_str(&format!("%{encoded:02X}")),
            None => {
                out.push(char::from(fold(bytes[at])));
                at += 1;
                continue;
            }
        }
        at += 3;
    }
    out
}

/// Finds the host on the text as given: encoded delimiters do not delimit.
fn host_span(bytes: &[u8], colon: usize) -> std::ops::Range<usize> {
    let start = colon + 3;
    if !bytes[colon + 1..].starts_with(b"//") {
        return 0..0;
    }
    let end = find(bytes, start, |byte| b"/?#".contains(&byte));
    let userinfo = bytes[start..end].iter().rposition(|&byte| byte == b'@');
    let start = userinfo.map_or(start, |at| start + at + 1);
    let host_end = if bytes.get(start) == Some(&b'[') {
        end.min(find(bytes, start, |byte| byte == b']') + 1)
    } else {
        end.min(find(bytes, start, |byte| byte == b':'))
    };
    start..host_end
}

fn find(bytes: &[u8], from: usize, is_wanted: impl Fn(u8) -> bool) -> usize {
    let found = bytes[from..].iter().position(|&byte| is_wanted(byte));
    found.map_or(bytes.len(), |at| from + at)
}

/// Returns the byte a percent triplet at the start encodes.
fn triplet(bytes: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = bytes else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::FileUri;

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(
            text in "[A-Za-z][A-Za-z0-9+.-]{0,3}:(//)?([A-Za-z@:/?#.~-]|\\[|\\]|%[0-9A-Fa-f]{2}){0,20}"
        ) {
            let once = FileUri::parse(&text).unwrap();
            let twice = FileUri::parse(once.as_str()).unwrap();
            prop_assert_eq!(once, twice);
        }
    }
}
