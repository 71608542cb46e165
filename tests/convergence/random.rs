//! Chance that comes from a seed, so that a failure can be had again.

use std::ops::Range;

/// A generator of numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number of `range`.
    pub(crate) fn of(&mut self, range: Range<usize>) -> usize {
        let width = u64::try_from(range.len()).unwrap();
        range.start + usize::try_from(self.next() % width).unwrap()
    }

    /// Returns one of `choices`.
    pub(crate) fn one<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.of(0..choices.len())]
    }

    /// Returns true in so many of a thousand cases.
    pub(crate) fn in_thousand(&mut self, cases: usize) -> bool {
        self.of(0..1000) < cases
    }
}
