//! Sets of characters as ranges of code points (connector contract §5.3).

/// The highest code point.
const LAST: u32 = char::MAX as u32;

/// A set of scalar values. Ranges may cover the surrogates, which no text contains.
#[derive(Clone, Debug, Default)]
pub(super) struct Class {
    /// Inclusive; sorted and apart from each other once the class is complete.
    ranges: Vec<(u32, u32)>,
}

impl Class {
    /// Returns the set of one character.
    pub(super) fn of(character: char) -> Self {
        Self::range(character, character)
    }

    /// Returns the set of the characters from `low` to `high`.
    pub(super) fn range(low: char, high: char) -> Self {
        Self {
            ranges: vec![(low.into(), high.into())],
        }
    }

    /// Returns what `.` stands for.
    pub(super) fn any() -> Self {
        Self::union(vec![Self::of('\n'), Self::of('\r')]).complement()
    }

    /// Returns what `\` and this letter stand for, if it is a shorthand.
    pub(super) fn shorthand(letter: char) -> Option<Self> {
        let ranges: &[(char, char)] = match letter.to_ascii_lowercase() {
            'd' => &[('0', '9')],
            'w' => &[('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')],
            's' => &[('\t', '\r'), (' ', ' ')],
            _ => return None,
        };
        let ranges = ranges.iter().map(|&(low, high)| Self::range(low, high));
        let class = Self::union(ranges.collect());
        Some(if letter.is_ascii_uppercase() {
            class.complement()
        } else {
            class
        })
    }

    /// Returns the characters of all of them.
    pub(super) fn union(classes: Vec<Self>) -> Self {
        let mut ranges: Vec<_> = classes.into_iter().flat_map(|class| class.ranges).collect();
        ranges.sort_unstable();
        let mut apart: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (low, high) in ranges {
            match apart.last_mut() {
                Some(last) if low <= last.1 => last.1 = last.1.max(high),
                _ => apart.push((low, high)),
            }
        }
        Self { ranges: apart }
    }

    /// Returns all other characters.
    pub(super) fn complement(&self) -> Self {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(low, high) in &self.ranges {
            if next < low {
                ranges.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= LAST {
            ranges.push((next, LAST));
        }
        Self { ranges }
    }

    /// Returns whether the character is in the set.
    pub(super) fn contains(&self, character: char) -> bool {
        let point = u32::from(character);
        let after = self.ranges.partition_point(|&(low, _)| low <= point);
        after > 0 && point <= self.ranges[after - 1].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complement_is_complete_at_both_ends() {
        for class in [
            Class::range('\0', 'a'),
            Class::range('b', char::MAX),
            Class::of('x'),
            Class::default(),
            Class::range('\0', char::MAX),
            Class::union(vec![
                Class::range('a', 'm'),
                Class::range('c', 'd'),
                Class::of('n'),
            ]),
        ] {
            let other = class.complement();
            for character in [
                '\0',
                'a',
                'b',
                'm',
                'n',
                'o',
                'x',
                '\u{D7FF}',
                '\u{E000}',
                char::MAX,
            ] {
                assert_ne!(class.contains(character), other.contains(character));
            }
        }
    }
}
