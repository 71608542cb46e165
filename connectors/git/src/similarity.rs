//! Which of the files that came is one of those that went, in an edited form.
//!
//! Pure. Two files are the same one if at least half of the longer one's bytes are lines they have in
//! common, as for git (gitdiffcore(7)).

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};

use dpe_connector_files::file_name;

/// More pairs than this are not compared; then only files of one name are.
const MOST_PAIRS: usize = 100_000;

/// A line longer than this is compared in pieces of so many bytes.
const PIECE_BYTES: usize = 64;

/// How many bytes of its content each line makes up.
#[derive(Debug)]
pub(crate) struct Print {
    total: u64,
    /// Sorted by the hash of the line.
    lines: Vec<(u64, u64)>,
}

impl Print {
    /// Returns the print of some content.
    pub(crate) fn of(content: &[u8]) -> Self {
        let mut lines: HashMap<u64, u64> = HashMap::new();
        for line in content.split_inclusive(|&byte| byte == b'\n') {
            for piece in line.chunks(PIECE_BYTES) {
                // Its keys are fixed, so that everybody finds the same.
                let mut hasher = DefaultHasher::new();
                hasher.write(piece);
                *lines.entry(hasher.finish()).or_default() += piece.len() as u64;
            }
        }
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_unstable();
        Self {
            total: content.len() as u64,
            lines,
        }
    }

    /// Returns how alike two contents are, in thousandths; 0 if they are not alike enough.
    fn likeness(&self, other: &Self) -> u64 {
        let longer = self.total.max(other.total);
        if longer == 0 || self.total.min(other.total) * 2 < longer {
            return 0;
        }
        let (mut mine, mut theirs) = (self.lines.iter().peekable(), other.lines.iter().peekable());
        let mut common = 0;
        while let (Some(&&(a, of_a)), Some(&&(b, of_b))) = (mine.peek(), theirs.peek()) {
            if a <= b {
                mine.next();
            }
            if b <= a {
                theirs.next();
            }
            if a == b {
                common += of_a.min(of_b);
            }
        }
        let likeness = common * 1000 / longer;
        if likeness < 500 { 0 } else { likeness }
    }
}

/// A path with the print of its content.
pub(crate) type Printed<'a> = (&'a [u8], Print);

/// Pairs what went with what came, each at most once: first files of one name, then what is most
/// alike. Returns indices.
pub(crate) fn pair(went: &[Printed<'_>], came: &[Printed<'_>]) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    let (mut used, mut taken) = (HashSet::new(), HashSet::new());
    let mut take = |candidates: Vec<(u64, usize, usize)>| {
        for (_, from, to) in candidates {
            if !used.contains(&from) && !taken.contains(&to) {
                used.insert(from);
                taken.insert(to);
                pairs.push((from, to));
            }
        }
    };
    take(ranked(went, came, same_name(went, came)));
    if went.len().saturating_mul(came.len()) <= MOST_PAIRS {
        let all = (0..went.len()).flat_map(|from| (0..came.len()).map(move |to| (from, to)));
        take(ranked(went, came, all));
    }
    pairs.sort_unstable();
    pairs
}

/// Returns the pairs of paths whose file name only one on either side has.
fn same_name(went: &[Printed<'_>], came: &[Printed<'_>]) -> Vec<(usize, usize)> {
    let by_name = |files: &[Printed<'_>]| {
        let mut names: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (index, (path, _)) in files.iter().enumerate() {
            names
                .entry(file_name(path).to_owned())
                .or_default()
                .push(index);
        }
        names
    };
    let targets = by_name(came);
    by_name(went)
        .into_iter()
        .filter_map(
            |(name, from)| match (from.as_slice(), targets.get(&name)?.as_slice()) {
                ([from], [to]) => Some((*from, *to)),
                _ => None,
            },
        )
        .collect()
}

/// Returns the pairs that are alike, the most alike first.
fn ranked(
    went: &[Printed<'_>],
    came: &[Printed<'_>],
    pairs: impl IntoIterator<Item = (usize, usize)>,
) -> Vec<(u64, usize, usize)> {
    let mut ranked: Vec<_> = pairs
        .into_iter()
        .map(|(from, to)| (went[from].1.likeness(&came[to].1), from, to))
        .filter(|(likeness, ..)| *likeness > 0)
        .collect();
    ranked.sort_unstable_by_key(|&(likeness, from, to)| (std::cmp::Reverse(likeness), from, to));
    ranked
}

#[cfg(test)]
mod tests {
    use super::{Print, Printed, pair};

    fn printed<'a>(files: &[(&'a str, &str)]) -> Vec<Printed<'a>> {
        let printed =
            |&(path, text): &(&'a str, &str)| (path.as_bytes(), Print::of(text.as_bytes()));
        files.iter().map(printed).collect()
    }

    #[test]
    fn half_of_the_longer_one_has_to_be_common() {
        let went = printed(&[("a", "one\ntwo\n")]);
        assert_eq!(pair(&went, &printed(&[("b", "one\nsix\n")])), [(0, 0)]);
        assert_eq!(pair(&went, &printed(&[("b", "one\nfives\n")])), []);
        assert_eq!(pair(&went, &printed(&[("b", "two\none\n")])), [(0, 0)]);
        assert_eq!(pair(&printed(&[("a", "")]), &printed(&[("b", "")])), []);
    }

    #[test]
    fn the_same_name_comes_first_and_then_the_most_alike() {
        let went = printed(&[("d/x", "1\n2\n3\n4\n"), ("d/y", "1\n2\n3\n5\n")]);
        let came = printed(&[("e/x", "1\n2\n3\n5\n"), ("e/z", "1\n2\n3\n4\n")]);
        assert_eq!(pair(&went, &came), [(0, 0), (1, 1)]);
        let came = printed(&[("p", "1\n2\n3\n5\n"), ("q", "1\n2\n3\n4\n")]);
        assert_eq!(pair(&went, &came), [(0, 1), (1, 0)]);
    }
}
