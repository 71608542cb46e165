//! Number literals: their class, their range and their canonical spelling (hash contract §4.3).
//!
//! A number stays the text it was until somebody asks; the class of a literal is its spelling, not
//! its value. Shortest digits come from `ryu`, because the standard library's formatting does not
//! break ties to even.

use thiserror::Error;

/// Largest absolute value of an integer literal: 2^53 − 1.
pub const MAX_INTEGER: i64 = 9_007_199_254_740_991;

/// Class of a number literal (hash contract §4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberClass {
    /// Contains none of `.`, `e`, `E`.
    Integer,
    /// Contains one of them.
    Float,
}

/// A number literal of a parsed text.
#[derive(Clone, Copy, Debug)]
pub struct Number<'t> {
    literal: &'t str,
    offset: usize,
}

/// A number that has no canonical form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct NumberError {
    /// Byte offset of the literal in its text.
    pub offset: usize,
    /// What is wrong with it.
    pub reason: NumberReason,
}

/// The kinds of [`NumberError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NumberReason {
    /// An integer literal beyond [`MAX_INTEGER`].
    #[error("integer literal outside ±(2^53−1)")]
    IntegerRange,
    /// A float literal that rounds to infinity.
    #[error("number too large for a double")]
    Overflow,
}

impl<'t> Number<'t> {
    pub(super) fn new(literal: &'t str, offset: usize) -> Self {
        Self { literal, offset }
    }

    /// Returns the literal as it is spelled.
    pub fn literal(self) -> &'t str {
        self.literal
    }

    /// Returns the class of the literal.
    pub fn class(self) -> NumberClass {
        let is_mark = |byte| matches!(byte, b'.' | b'e' | b'E');
        if self.literal.bytes().any(is_mark) {
            NumberClass::Float
        } else {
            NumberClass::Integer
        }
    }

    /// Returns the value of an integer literal within ±(2^53 − 1).
    pub fn as_integer(self) -> Option<i64> {
        if self.class() == NumberClass::Float {
            return None;
        }
        let value: i64 = self.literal.parse().ok()?;
        (value.unsigned_abs() <= MAX_INTEGER.unsigned_abs()).then_some(value)
    }

    /// Gives the canonical spelling to `then`.
    pub(super) fn canonical<R>(self, then: impl FnOnce(&str) -> R) -> Result<R, NumberError> {
        match self.class() {
            NumberClass::Integer => match self.as_integer() {
                Some(0) => Ok(then("0")),
                Some(_) => Ok(then(self.literal)),
                None => Err(self.refused(NumberReason::IntegerRange)),
            },
            NumberClass::Float => {
                let value: f64 = self
                    .literal
                    .parse()
                    .expect("the grammar of JSON numbers is part of Rust's");
                if value.is_infinite() {
                    return Err(self.refused(NumberReason::Overflow));
                }
                Ok(then(ecmascript(value).as_str()))
            }
        }
    }

    fn refused(self, reason: NumberReason) -> NumberError {
        NumberError {
            offset: self.offset,
            reason,
        }
    }
}

/// Spells a finite double as ECMAScript `Number::toString` does.
fn ecmascript(value: f64) -> Spelled {
    let mut out = Spelled::default();
    if value == 0.0 {
        out.push(b"0");
        return out;
    }
    if value < 0.0 {
        out.push(b"-");
    }
    let mut buffer = ryu::Buffer::new();
    let (digits, n) = shortest_digits(buffer.format_finite(value.abs()));
    let digits = digits.as_bytes();
    let count = digits.len() as i32;
    match n {
        _ if count <= n && n <= 21 => {
            out.push(digits);
            out.push_zeros(n - count);
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(n as usize);
            out.push(whole);
            out.push(b".");
            out.push(fraction);
        }
        -5..=0 => {
            out.push(b"0.");
            out.push_zeros(-n);
            out.push(digits);
        }
        _ => {
            out.push(&digits[..1]);
            if count > 1 {
                out.push(b".");
                out.push(&digits[1..]);
            }
            out.push_exponent(n - 1);
        }
    }
    out
}

/// Takes a positive number as `ryu` spells it apart into digits `d1…dk` without leading or
/// trailing zeros and `n` with value 0.d1…dk × 10^n.
fn shortest_digits(spelled: &str) -> (Spelled, i32) {
    let (mantissa, exponent) = spelled.split_once('e').unwrap_or((spelled, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().expect("ryu writes decimal exponents");
    let mut digits = Spelled::default();
    digits.push(whole.trim_start_matches('0').as_bytes());
    let mut point = digits.length as i32 + exponent;
    if digits.length == 0 {
        let significant = fraction.trim_start_matches('0');
        point -= (fraction.len() - significant.len()) as i32;
        digits.push(significant.as_bytes());
    } else {
        digits.push(fraction.as_bytes());
    }
    while digits.as_bytes().last() == Some(&b'0') {
        digits.length -= 1;
    }
    (digits, point)
}

/// The characters of one number. The longest are like `-0.00000123456789012345678`, 25 of them.
#[derive(Default)]
struct Spelled {
    bytes: [u8; 32],
    length: usize,
}

impl Spelled {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn push_zeros(&mut self, count: i32) {
        (0..count).for_each(|_| self.push(b"0"));
    }

    /// Writes `e`, a sign and up to three digits.
    fn push_exponent(&mut self, exponent: i32) {
        self.push(if exponent < 0 { b"e-" } else { b"e+" });
        let size = exponent.unsigned_abs();
        for (unit, least) in [(100, 100), (10, 10), (1, 0)] {
            if size >= least {
                self.push(&[b'0' + (size / unit % 10) as u8]);
            }
        }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).expect("only ASCII is written")
    }
}

#[cfg(test)]
mod tests {
    use super::ecmascript;

    /// Pairs of hash contract §4.3.
    #[test]
    fn doubles_are_written_as_ecmascript_writes_them() {
        for (value, expected) in [
            ("-0.0", "0"),
            ("1e20", "100000000000000000000"),
            ("1e21", "1e+21"),
            ("0.000001", "0.000001"),
            ("1e-7", "1e-7"),
            ("1.5e-7", "1.5e-7"),
            ("1.0e-5", "0.00001"),
            ("1059438285926254.25", "1059438285926254.2"),
            ("1424953923781206.25", "1424953923781206.2"),
            ("12345678901234567890.0", "12345678901234567000"),
            ("5e-324", "5e-324"),
            ("-1500.0", "-1500"),
            ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ] {
            assert_eq!(ecmascript(value.parse().unwrap()).as_str(), expected);
        }
    }
}
