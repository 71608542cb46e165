//! A secret, and the mask that keeps secrets out of text that others wrote.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in place of a secret (connector contract §7.3).
const REDACTED: &str = "[REDACTED]";
/// Lines of a secret from this length on are secrets themselves (§7.3).
const LINE_BYTES: usize = 8;
/// Encoded forms below this length would hide innocent text.
const ENCODED_BYTES: usize = 4;

/// A text that must not be seen.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Returns `text` as a secret.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// Returns the text, for whoever has to send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(REDACTED)
    }
}

/// Hides the secrets it knows. Clones share what they know.
#[derive(Clone, Default)]
pub struct Mask(Arc<RwLock<Known>>);

#[derive(Default)]
struct Known {
    secrets: Vec<Secret>,
    patterns: Vec<Vec<u8>>,
}

impl Mask {
    /// Adds the value of an `Authorization` header: the whole, the part after the scheme, and what
    /// that stands for if the scheme is Basic.
    pub fn add_authorization(&self, value: &Secret) {
        if !self.learn(value) {
            return;
        }
        let Some((scheme, rest)) = value.expose().split_once(' ') else {
            return;
        };
        let credentials = rest.trim();
        self.learn(&Secret::new(credentials.to_owned()));
        if !scheme.eq_ignore_ascii_case("basic") {
            return;
        }
        let decoded = STANDARD.decode(credentials).ok();
        if let Some(pair) = decoded.and_then(|bytes| String::from_utf8(bytes).ok()) {
            if let Some((_, password)) = pair.split_once(':') {
                self.learn(&Secret::new(password.to_owned()));
            }
            self.learn(&Secret::new(pair));
        }
    }

    /// Returns `text` with every known secret replaced, in any of its spellings.
    pub fn hide(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.hide_bytes(text.as_bytes()).unwrap_or(text.into()))
            .into_owned()
    }

    /// Returns `bytes` with every known secret replaced, or `None` if there is none in them.
    pub fn hide_bytes(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut found = Vec::new();
        for pattern in &known.patterns {
            let mut from = 0;
            // Matches of one pattern may overlap as well.
            while let Some(at) = memmem::find(&bytes[from..], pattern) {
                found.push((from + at, from + at + pattern.len()));
                from += at + 1;
            }
        }
        if found.is_empty() {
            return None;
        }
        found.sort_unstable();
        let mut hidden = Vec::with_capacity(bytes.len());
        let mut end = 0;
        for (from, to) in found {
            if from >= end {
                hidden.extend_from_slice(&bytes[end..from]);
                hidden.extend_from_slice(REDACTED.as_bytes());
            }
            // Overlapping matches are one (§7.3).
            end = end.max(to);
        }
        hidden.extend_from_slice(&bytes[end..]);
        Some(hidden)
    }

    /// Adds a secret; returns false if it was known, or is nothing.
    fn learn(&self, secret: &Secret) -> bool {
        let is_known = |known: &Known| known.secrets.contains(secret);
        if secret.expose().is_empty()
            || is_known(&self.0.read().unwrap_or_else(PoisonError::into_inner))
        {
            return false;
        }
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        known.secrets.push(secret.clone());
        for line in lines(secret.expose()) {
            known.patterns.extend(spellings(line));
        }
        true
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}

/// Returns the parts of a secret that count as its values (§7.3).
fn lines(secret: &str) -> Vec<&str> {
    let lines: Vec<&str> = secret.lines().filter(|line| !line.is_empty()).collect();
    let long = |line: &&str| line.len() >= LINE_BYTES;
    if lines.len() > 1 && lines.iter().any(long) {
        return lines.into_iter().filter(long).collect();
    }
    lines
}

/// Returns a text raw, in JSON strings, percent-encoded, hexadecimal, and in base64 wherever in a
/// longer text it may begin.
fn spellings(text: &str) -> Vec<Vec<u8>> {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    let percent = utf8_percent_encode(text, RESERVED).to_string();
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let quoted = text.replace('\\', r"\\").replace('"', "\\\"");
    let mut encoded = vec![
        quoted.replace('/', r"\/"),
        quoted,
        lowercase_triplets(&percent),
        percent,
        hex.to_uppercase(),
        hex,
    ];
    for before in 0..3 {
        encoded.extend(base64_at(text.as_bytes(), before));
    }
    encoded.retain(|spelling| spelling.len() >= ENCODED_BYTES);
    encoded.push(text.to_owned());
    encoded.sort();
    encoded.dedup();
    encoded.into_iter().map(String::into_bytes).collect()
}

fn lowercase_triplets(percent: &str) -> String {
    let mut parts = percent.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(part.len().min(2));
        lower.push('%');
        lower.push_str(&digits.to_ascii_lowercase());
        lower.push_str(rest);
    }
    lower
}

/// Returns the characters of base64 that a text alone decides when it begins at a byte whose
/// position leaves the remainder `before` by three, in both alphabets.
fn base64_at(text: &[u8], before: usize) -> [String; 2] {
    let mut shifted = vec![0; before];
    shifted.extend_from_slice(text);
    let from = (before * 8).div_ceil(6);
    let to = shifted.len() * 8 / 6;
    [
        STANDARD_NO_PAD.encode(&shifted),
        URL_SAFE_NO_PAD.encode(&shifted),
    ]
    .map(|encoded| encoded.get(from..to).unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::{Mask, Secret};

    const TOKEN: &str = "t0p/s3cr?t+v\u{e4}lue";

    fn mask(value: &str) -> Mask {
        let mask = Mask::default();
        mask.add_authorization(&Secret::new(value.to_owned()));
        mask
    }

    #[test]
    fn every_spelling_of_a_secret_is_hidden_and_nothing_else() {
        let mask = mask(&format!("Bearer {TOKEN}"));
        for spelled in [
            TOKEN.to_owned(),
            "t0p%2Fs3cr%3Ft%2Bv%C3%A4lue".to_owned(),
            "t0p%2fs3cr%3ft%2bv%c3%a4lue".to_owned(),
            r"t0p\/s3cr?t+välue".to_owned(),
            "7430702f733363723f742b76c3a46c7565".to_owned(),
            "7430702F733363723F742B76C3A46C7565".to_owned(),
        ] {
            let text = format!("before {spelled} after");
            assert_eq!(mask.hide(&text), "before [REDACTED] after", "{spelled}");
        }
        assert_eq!(mask.hide("nothing to hide"), "nothing to hide");
    }

    #[test]
    fn base64_of_any_text_with_the_secret_in_it_is_hidden_at_every_alignment() {
        let mask = mask(&format!("Bearer {TOKEN}"));
        for before in ["", "a", "ab", "abc", "user:", "long text "] {
            for after in ["", "x", "xy", "xyz"] {
                let text = format!("{before}{TOKEN}{after}");
                for encoded in [STANDARD.encode(&text), URL_SAFE.encode(&text)] {
                    let hidden = mask.hide(&encoded);
                    assert!(hidden.contains("[REDACTED]"), "{encoded}");
                    // At most what the neighbours share a character with is left.
                    let left = hidden.replace("[REDACTED]", "").len();
                    assert!(left <= (before.len() + after.len()) * 4 / 3 + 6, "{hidden}");
                }
            }
        }
    }

    #[test]
    fn the_password_of_basic_credentials_is_a_secret_too() {
        let value = format!("Basic {}", STANDARD.encode("user:pass word"));
        let mask = mask(&value);
        assert_eq!(mask.hide(&value), "[REDACTED]");
        assert_eq!(mask.hide("it was pass word."), "it was [REDACTED].");
    }

    #[test]
    fn overlapping_matches_are_one_and_lines_count_when_they_are_long() {
        let mask = mask("Bearer abcabcabc");
        assert_eq!(mask.hide("abcabcabcabc!"), "[REDACTED]!");
        let mask = self::mask("first line\nx\nsecond line");
        assert_eq!(mask.hide("x second line"), "x [REDACTED]");
    }

    #[test]
    fn debug_shows_no_secret() {
        let secret = Secret::new(TOKEN.to_owned());
        let shown = format!("{secret:?} {:?}", mask(TOKEN));
        assert!(!shown.contains("t0p"), "{shown}");
    }
}
