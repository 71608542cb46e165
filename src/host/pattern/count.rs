//! The numbers in a quantifier, which may have as many digits as a pattern has room for.

use std::cmp::Ordering;

/// A count as it is written, without leading zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count<'p> {
    digits: &'p [char],
}

impl<'p> Count<'p> {
    /// Takes ASCII digits.
    pub(super) fn new(digits: &'p [char]) -> Self {
        let zeros = digits.iter().take_while(|&&digit| digit == '0').count();
        Self {
            digits: &digits[zeros..],
        }
    }

    /// Returns the value, or the largest there is in its place. No text is as long as that, and it
    /// is beyond every bound.
    pub(super) fn value(self) -> u64 {
        self.digits.iter().fold(0, |value: u64, &digit| {
            let digit = digit.to_digit(10).map_or(0, u64::from);
            value.saturating_mul(10).saturating_add(digit)
        })
    }
}

impl PartialOrd for Count<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Count<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let length = self.digits.len().cmp(&other.digits.len());
        length.then_with(|| self.digits.cmp(other.digits))
    }
}
