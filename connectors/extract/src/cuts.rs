//! Ranges that are taken out of a text, and where places in it are then.
//!
//! Knows nothing of what is taken out: all of it goes at once, so that many cuts cost no more than one.

use std::ops::Range;

/// Ranges of bytes, in order and apart from each other.
#[derive(Debug)]
pub(crate) struct Cuts {
    ranges: Vec<Range<usize>>,
    /// How many bytes are gone before each range, and behind the last.
    gone: Vec<usize>,
}

impl Cuts {
    /// Returns cuts of ranges that are in order and do not overlap.
    pub(crate) fn of(ranges: Vec<Range<usize>>) -> Self {
        let mut gone = vec![0];
        let mut sum = 0;
        for range in &ranges {
            sum += range.len();
            gone.push(sum);
        }
        Self { ranges, gone }
    }

    /// Returns what is left of a text. The ranges have to begin and end with characters of it.
    pub(crate) fn rest(&self, text: &str) -> String {
        let mut rest = String::with_capacity(text.len());
        let mut from = 0;
        for range in &self.ranges {
            rest.push_str(&text[from..range.start]);
            from = range.end;
        }
        rest.push_str(&text[from..]);
        rest
    }

    /// Returns where a place of the text is in what is left of it.
    pub(crate) fn moved(&self, at: usize) -> usize {
        let before = self.ranges.partition_point(|range| range.end <= at);
        let within = self.ranges.get(before).filter(|range| range.start < at);
        within.map_or(at, |range| range.start) - self.gone[before]
    }
}

#[cfg(test)]
mod tests {
    use super::Cuts;

    #[test]
    fn places_move_with_the_text_they_are_in() {
        let cuts = Cuts::of(vec![1..3, 3..4, 6..8]);
        assert_eq!(cuts.rest("aBBCdeFFg"), "adeg");
        let moved = (0..=9).map(|at| cuts.moved(at));
        assert_eq!(moved.collect::<Vec<_>>(), [0, 1, 1, 1, 1, 2, 3, 3, 3, 4]);
    }
}
