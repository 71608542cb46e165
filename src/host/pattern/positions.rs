//! Sets of places in a text, a bit each.
//!
//! Only the words from the first to the last member are kept, so that few places are cheap however
//! long the text is, and many are taken 64 at a time.

const BITS: usize = u64::BITS as usize;

/// A set of places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Positions {
    /// Index of the first word that is kept.
    first: usize,
    /// Neither the first nor the last is zero.
    words: Vec<u64>,
}

impl Positions {
    /// Returns the set of one place.
    pub(super) fn one(at: usize) -> Self {
        Self {
            first: at / BITS,
            words: vec![1 << (at % BITS)],
        }
    }

    /// Returns the set of the places for which `is_in` holds, of those below `count`.
    pub(super) fn where_true(count: usize, mut is_in: impl FnMut(usize) -> bool) -> Self {
        let mut words = vec![0; count.div_ceil(BITS)];
        for at in 0..count {
            words[at / BITS] |= u64::from(is_in(at)) << (at % BITS);
        }
        Self::trimmed(0, words)
    }

    /// Returns how much memory they take, roughly.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Self>() + self.words.len() * size_of::<u64>()
    }

    /// Returns whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether `at` is one of them.
    pub(super) fn contains(&self, at: usize) -> bool {
        self.word(at / BITS) >> (at % BITS) & 1 == 1
    }

    /// Returns the places after those that are in `allowed` too.
    pub(super) fn step(&self, allowed: &Self) -> Self {
        let mut carry = 0;
        let mut words = Vec::with_capacity(self.words.len() + 1);
        for (offset, word) in self.words.iter().enumerate() {
            let kept = word & allowed.word(self.first + offset);
            words.push(kept << 1 | carry);
            carry = kept >> (BITS - 1);
        }
        words.push(carry);
        Self::trimmed(self.first, words)
    }

    /// Returns the places that are not in `other`.
    pub(super) fn without(&self, other: &Self) -> Self {
        let words = self.words.iter().enumerate();
        let words = words.map(|(offset, word)| word & !other.word(self.first + offset));
        Self::trimmed(self.first, words.collect())
    }

    /// Adds the places of `other`.
    pub(super) fn add(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        if other.first < self.first {
            let missing = self.first - other.first;
            self.words.splice(0..0, std::iter::repeat_n(0, missing));
            self.first = other.first;
        }
        let end = other.first + other.words.len() - self.first;
        if end > self.words.len() {
            self.words.resize(end, 0);
        }
        let from = other.first - self.first;
        for (word, added) in self.words[from..].iter_mut().zip(&other.words) {
            *word |= added;
        }
    }

    fn word(&self, index: usize) -> u64 {
        let offset = index.checked_sub(self.first);
        offset
            .and_then(|offset| self.words.get(offset))
            .map_or(0, |&word| word)
    }

    fn trimmed(mut first: usize, mut words: Vec<u64>) -> Self {
        while words.last() == Some(&0) {
            words.pop();
        }
        let zeros = words.iter().take_while(|&&word| word == 0).count();
        if zeros > 0 {
            words.drain(..zeros);
            first += zeros;
        }
        Self { first, words }
    }
}
