//! A secret, and the mask that keeps secrets out of text that others wrote.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use memchr::memmem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in place of a secret (connector contract §7.3).
const REDACTED: &str = "[REDACTED]";
/// Lines of a secret with so many characters are secrets themselves (§7.3).
const LINE_CHARACTERS: usize = 8;
/// Below this length, encoded forms are not looked for, and a secret itself is hidden only where it
/// stands alone: as a part of words it would make every message unreadable.
const SHORT_BYTES: usize = 4;

/// Most credentials that are remembered besides the lasting one: requests that are on their way side
/// by side may carry different ones, and their replies repeat no older ones.
const RECENT: usize = 8;

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
pub struct Mask(Arc<Known>);

#[derive(Default)]
struct Known {
    /// What never changes, spelled out once.
    lasting: Vec<Pattern>,
    /// The newest last.
    recent: Mutex<VecDeque<Secret>>,
}

/// One spelling of something secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    text: String,
    /// Whether it is hidden inside of words too.
    within_words: bool,
}

impl Mask {
    /// Returns a mask that hides an `Authorization` value for good.
    pub fn of_authorization(value: Option<Secret>) -> Self {
        let parts = value.iter().flat_map(parts);
        Self::lasting(patterns(parts, false))
    }

    /// Returns a mask that hides `secrets` and an `Authorization` value for good, and wherever they
    /// are, short ones inside of words too, as the connector contract has it (§7.3).
    pub fn of_instance(
        secrets: impl IntoIterator<Item = Secret>,
        authorization: Option<&Secret>,
    ) -> Self {
        let secrets = secrets.into_iter().map(|Secret(text)| text);
        let authorization = authorization.into_iter().flat_map(parts);
        Self::lasting(patterns(secrets.chain(authorization), true))
    }

    fn lasting(lasting: Vec<Pattern>) -> Self {
        Self(Arc::new(Known {
            lasting,
            recent: Mutex::default(),
        }))
    }

    /// Adds the value of an `Authorization` header. A credential that changes with every request is
    /// not remembered for ever: only the last few values are.
    pub fn add_authorization(&self, value: &Secret) {
        let mut recent = self.recent();
        if recent.back() == Some(value) {
            return;
        }
        recent.retain(|known| known != value);
        if recent.len() == RECENT {
            recent.pop_front();
        }
        recent.push_back(value.clone());
    }

    /// Returns `text` with every known secret replaced, in any of its spellings.
    pub fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.hide_longer_than(text, 0)
    }

    /// Returns a name, such as a URI, with every known secret of eight bytes and more replaced: a
    /// shorter one is in names by chance, and a report has to say which document it means.
    pub fn hide_in_name<'t>(&self, name: &'t str) -> Cow<'t, str> {
        self.hide_longer_than(name, LINE_CHARACTERS)
    }

    fn hide_longer_than<'t>(&self, text: &'t str, least: usize) -> Cow<'t, str> {
        let found = self.found(text.as_bytes(), least);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut hidden = String::with_capacity(text.len());
        let mut end = 0;
        for range in found {
            hidden.push_str(&text[end..range.start]);
            hidden.push_str(REDACTED);
            end = range.end;
        }
        hidden.push_str(&text[end..]);
        Cow::Owned(hidden)
    }

    /// Returns the first `limit` bytes of a line, with every known secret that begins there replaced
    /// as a whole, so that none is left in part (connector contract §7.3). The line has to go on for
    /// [`Mask::longest`] bytes behind the limit, if it is that long.
    pub fn hide_in_line(&self, line: &[u8], limit: usize) -> Vec<u8> {
        let mut hidden = Vec::with_capacity(line.len().min(limit));
        let mut end = 0;
        for range in self.found(line, 0) {
            if range.start >= limit {
                break;
            }
            hidden.extend_from_slice(&line[end..range.start]);
            hidden.extend_from_slice(REDACTED.as_bytes());
            end = range.end;
        }
        let limit = line.len().min(limit);
        hidden.extend_from_slice(line.get(end..limit).unwrap_or_default());
        hidden
    }

    /// Returns the length of the longest spelling of what is hidden for good, in bytes.
    pub fn longest(&self) -> usize {
        let lengths = self.0.lasting.iter().map(|pattern| pattern.text.len());
        lengths.max().unwrap_or(0)
    }

    /// Returns where known secrets of `least` bytes and more are, in order. Overlapping ones are
    /// one (§7.3).
    fn found(&self, text: &[u8], least: usize) -> Vec<Range<usize>> {
        // Only texts of failures are worth this work, and they are few.
        let recent: Vec<Secret> = self.recent().iter().cloned().collect();
        let recent = patterns(recent.iter().flat_map(parts), false);
        let mut found: Vec<Range<usize>> = Vec::new();
        for pattern in self.0.lasting.iter().chain(&recent) {
            if pattern.text.len() < least {
                continue;
            }
            let mut from = 0;
            // Matches of one pattern may overlap as well.
            while let Some(at) = memmem::find(&text[from..], pattern.text.as_bytes()) {
                let range = from + at..from + at + pattern.text.len();
                if pattern.within_words || stands_alone(text, &range) {
                    found.push(range);
                }
                from += at + 1;
            }
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        merged(found)
    }

    fn recent(&self) -> MutexGuard<'_, VecDeque<Secret>> {
        self.0.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
}

/// Returns all spellings of all values.
fn patterns(values: impl Iterator<Item = String>, within_words: bool) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for value in values {
        let spelled = lines(&value).into_iter().flat_map(spellings);
        patterns.extend(spelled.map(|text| Pattern {
            within_words: within_words || text.len() >= SHORT_BYTES,
            text,
        }));
    }
    patterns.sort_unstable();
    patterns.dedup();
    patterns
}

/// Joins ranges that overlap. They come sorted.
fn merged(ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Returns true if neither a letter nor a digit is next to a part of a text.
fn stands_alone(text: &[u8], range: &Range<usize>) -> bool {
    let is_word = |bytes: &[u8]| {
        let character = std::str::from_utf8(bytes).ok();
        character.is_some_and(|text| text.chars().all(char::is_alphanumeric))
    };
    // A character has up to four bytes; a shorter end of one is no text.
    let before = (1..=4).find_map(|length| {
        let bytes = text.get(range.start.checked_sub(length)?..range.start)?;
        std::str::from_utf8(bytes).is_ok().then_some(bytes)
    });
    let after = (1..=4).find_map(|length| {
        let bytes = text.get(range.end..range.end + length)?;
        std::str::from_utf8(bytes).is_ok().then_some(bytes)
    });
    ![before, after].into_iter().flatten().any(is_word)
}

/// Returns what is secret of an `Authorization` value: the whole, the part after the scheme, and what
/// that stands for if the scheme is Basic.
fn parts(value: &Secret) -> Vec<String> {
    let mut parts = vec![value.expose().to_owned()];
    if let Some((scheme, rest)) = value.expose().split_once(' ') {
        let credentials = rest.trim();
        parts.push(credentials.to_owned());
        let decoded = STANDARD.decode(credentials).ok();
        let pair = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(pair) = pair.filter(|_| scheme.eq_ignore_ascii_case("basic")) {
            parts.extend(
                pair.split_once(':')
                    .map(|(_, password)| password.to_owned()),
            );
            parts.push(pair);
        }
    }
    parts
}

/// Returns the parts of a secret that count as its values (§7.3).
fn lines(secret: &str) -> Vec<&str> {
    let lines: Vec<&str> = secret.lines().filter(|line| !line.is_empty()).collect();
    let long = |line: &&str| line.chars().count() >= LINE_CHARACTERS;
    if lines.len() > 1 && lines.iter().any(long) {
        return lines.into_iter().filter(long).collect();
    }
    lines
}

/// Returns a text raw, in JSON strings and pointers, with control characters made visible,
/// percent-encoded, hexadecimal, and in base64 wherever in a longer text it may begin.
fn spellings(text: &str) -> Vec<String> {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let quoted = text.replace('\\', r"\\").replace('"', "\\\"");
    let escaped = text.escape_debug().to_string();
    let mut encoded = vec![
        pointer_token(text),
        pointer_token(&escaped),
        escaped,
        quoted.replace('/', r"\/"),
        quoted,
        hex.to_uppercase(),
        hex,
    ];
    for percent in percent_encoded(text) {
        encoded.extend([lowercase_triplets(&percent), percent]);
    }
    // As a whole, so that no character of it is left.
    encoded.extend([STANDARD.encode(text), URL_SAFE.encode(text)]);
    for before in 0..3 {
        encoded.extend(base64_at(text.as_bytes(), before));
    }
    encoded.retain(|spelling| spelling.len() >= SHORT_BYTES);
    encoded.push(text.to_owned());
    encoded
}

/// Returns a text as it is percent-encoded: all that is reserved (RFC 3986), as a path, which keeps its
/// slashes, and by the two functions of ECMAScript.
fn percent_encoded(text: &str) -> [String; 4] {
    const RESERVED: AsciiSet = NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    const PATH: AsciiSet = RESERVED.remove(b'/');
    const COMPONENT: AsciiSet = RESERVED
        .remove(b'!')
        .remove(b'*')
        .remove(b'\'')
        .remove(b'(')
        .remove(b')');
    const URI: AsciiSet = COMPONENT
        .remove(b';')
        .remove(b'/')
        .remove(b'?')
        .remove(b':')
        .remove(b'@')
        .remove(b'&')
        .remove(b'=')
        .remove(b'+')
        .remove(b'$')
        .remove(b',')
        .remove(b'#');
    const SETS: [&AsciiSet; 4] = [&RESERVED, &PATH, &COMPONENT, &URI];
    SETS.map(|kept| utf8_percent_encode(text, kept).to_string())
}

/// Returns a text as a token of a JSON pointer (RFC 6901).
fn pointer_token(text: &str) -> String {
    text.replace('~', "~0").replace('/', "~1")
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

    use super::{Mask, RECENT, Secret};

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
            // Python's quote, and ECMAScript's encodeURI.
            "t0p/s3cr%3Ft%2Bv%C3%A4lue".to_owned(),
            "t0p/s3cr?t+v%C3%A4lue".to_owned(),
            r"t0p\/s3cr?t+välue".to_owned(),
            "7430702f733363723f742b76c3a46c7565".to_owned(),
            "7430702F733363723F742B76C3A46C7565".to_owned(),
            STANDARD.encode(TOKEN),
            URL_SAFE.encode(TOKEN),
        ] {
            let text = format!("before {spelled} after");
            assert_eq!(mask.hide(&text), "before [REDACTED] after", "{spelled}");
        }
        assert_eq!(mask.hide("nothing to hide"), "nothing to hide");
    }

    #[test]
    fn a_secret_is_hidden_in_the_place_of_a_failure_and_with_its_controls_made_visible() {
        let mask = Mask::of_instance([Secret::new("S3cr3t~Value/+=\tend".to_owned())], None);
        for spelled in [
            r"/metadata/S3cr3t~0Value~1+=\tend",
            "/metadata/S3cr3t~0Value~1+=\tend",
            r"`S3cr3t~Value/+=\tend`",
        ] {
            let hidden = mask.hide(spelled);
            assert!(hidden.contains("[REDACTED]"), "{spelled}: {hidden}");
            assert!(!hidden.contains("S3cr3t"), "{spelled}: {hidden}");
            assert!(!hidden.contains("end"), "{spelled}: {hidden}");
        }
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
    fn a_short_secret_is_hidden_where_it_stands_alone_and_no_word_is_torn() {
        let mask = mask("Bearer dpe");
        for (text, hidden) in [
            ("dpe", "[REDACTED]"),
            ("token=dpe, as sent", "token=[REDACTED], as sent"),
            (
                "the scheme dpe:// in dpes and \u{e9}dpe",
                "the scheme [REDACTED]:// in dpes and \u{e9}dpe",
            ),
            ("Bearer dpe", "[REDACTED]"),
        ] {
            assert_eq!(mask.hide(text), hidden);
        }
    }

    #[test]
    fn the_last_credentials_are_remembered_and_the_lasting_one() {
        let lasting = Secret::new("Basic lasting".to_owned());
        let mask = Mask::of_authorization(Some(lasting));
        let token = |number: usize| format!("token-{number:03}");
        for number in 0..100 {
            // The one of before comes back every time.
            for number in [number, number / 2 * 2] {
                mask.add_authorization(&Secret::new(format!("Bearer {}", token(number))));
            }
        }
        assert_eq!(mask.recent().len(), RECENT);
        for number in 92..100 {
            assert_eq!(mask.hide(&token(number)), "[REDACTED]", "{number}");
        }
        assert_eq!(mask.hide(&token(91)), token(91));
        assert_eq!(mask.hide("lasting"), "[REDACTED]");
    }

    #[test]
    fn an_instance_hides_all_its_secrets_inside_of_words_too() {
        let secrets = ["xy", "a\nb", "first line\nxx\nsecond line"];
        let secrets = secrets.map(|text| Secret::new(text.to_owned()));
        let authorization = Secret::new("Bearer remote-token".to_owned());
        let mask = Mask::of_instance(secrets, Some(&authorization));
        for (text, hidden) in [
            ("1xy2", "1[REDACTED]2"),
            ("lab", "l[REDACTED][REDACTED]"),
            ("q second line", "q [REDACTED]"),
            ("q remote-token", "q [REDACTED]"),
            ("q Bearer remote-token", "q [REDACTED]"),
            ("q cmVtb3RlLXRva2Vu", "q [REDACTED]"),
        ] {
            assert_eq!(mask.hide(text), hidden);
        }
        assert_eq!(mask.hide_in_name("t://xy/"), "t://xy/");
        assert_eq!(mask.hide_in_name("t://remote-token/"), "t://[REDACTED]/");
    }

    #[test]
    fn eight_characters_are_a_line_of_their_own_and_eight_bytes_are_not() {
        // Five characters of two bytes, and one of one.
        let mask = Mask::of_instance([Secret::new("äöüßé\nx".to_owned())], None);
        assert_eq!(mask.hide("1x2"), "1[REDACTED]2");
        let mask = Mask::of_instance([Secret::new("äöüßéäöü\nx".to_owned())], None);
        assert_eq!(mask.hide("1x2"), "1x2");
    }

    #[test]
    fn a_line_is_cut_behind_a_secret_and_never_inside_of_it() {
        let mask = Mask::of_instance([Secret::new("0123456789".to_owned())], None);
        assert!(mask.longest() >= 10);
        let hidden = |line: &str, limit| {
            String::from_utf8(mask.hide_in_line(line.as_bytes(), limit)).unwrap()
        };
        assert_eq!(hidden("ab0123456789cd", 100), "ab[REDACTED]cd");
        assert_eq!(hidden("ab0123456789cd", 13), "ab[REDACTED]c");
        for limit in 3..=12 {
            assert_eq!(hidden("ab0123456789cd", limit), "ab[REDACTED]", "{limit}");
        }
        assert_eq!(hidden("ab0123456789cd", 2), "ab");
    }

    #[test]
    fn debug_shows_no_secret() {
        let secret = Secret::new(TOKEN.to_owned());
        let shown = format!("{secret:?} {:?}", mask(TOKEN));
        assert!(!shown.contains("t0p"), "{shown}");
    }
}
