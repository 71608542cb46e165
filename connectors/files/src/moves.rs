//! Which files moved: pairs of a path that lost its content and a path that has it now.
//!
//! Pure. A move is announced only when it is unambiguous what it does to the remote: its source
//! is gone, its target is new, or both hold along a chain a→b, b→c. A file that merely took the
//! place of another one is a changed document, and so is every file of a cycle.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use crate::names::file_name;

/// A path, and content it has or had.
#[derive(Clone, Copy, Debug)]
pub struct Holding<'a, C> {
    /// Relative to the root.
    pub path: &'a [u8],
    /// The content; equal ones give the same document.
    pub content: &'a C,
    /// Whether equal content tells that it is the same file; that of an empty one does not.
    pub is_telling: bool,
    /// Tells files of equal content apart that are the same before and after; the number of the
    /// inode.
    pub mark: u64,
    /// Of a source: the path is gone, not only changed. Of a target: it had no document before.
    pub is_free: bool,
}

/// Pairs sources with targets, both sorted by path, and returns the pairs as indices, in an order
/// in which the moves can be carried out one after another.
pub fn plan<C: Ord>(sources: &[Holding<'_, C>], targets: &[Holding<'_, C>]) -> Vec<(usize, usize)> {
    let pairs = paired(sources, targets);
    let source_at: HashMap<&[u8], usize> = (0..).zip(sources).map(|(i, s)| (s.path, i)).collect();
    let starts = (0..sources.len()).filter(|&source| sources[source].is_free);
    starts
        .flat_map(|start| chain(start, &pairs, targets, &source_at))
        .collect()
}

/// Follows a chain from a path that is gone. It counts only if it ends at a new path; its last
/// move has to come first.
fn chain<C>(
    start: usize,
    pairs: &HashMap<usize, usize>,
    targets: &[Holding<'_, C>],
    source_at: &HashMap<&[u8], usize>,
) -> Vec<(usize, usize)> {
    let mut moves = Vec::new();
    let mut source = start;
    while let Some(&target) = pairs.get(&source) {
        moves.push((source, target));
        if targets[target].is_free {
            moves.reverse();
            return moves;
        }
        let Some(&next) = source_at.get(targets[target].path) else {
            break;
        };
        source = next;
    }
    Vec::new()
}

fn paired<C: Ord>(sources: &[Holding<'_, C>], targets: &[Holding<'_, C>]) -> HashMap<usize, usize> {
    // Equal bytes of an equal format give the same document, whatever their names.
    let mut groups: BTreeMap<&C, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (index, source) in sources.iter().enumerate() {
        groups.entry(source.content).or_default().0.push(index);
    }
    for (index, target) in targets.iter().enumerate() {
        if let Some(group) = groups.get_mut(target.content) {
            group.1.push(index);
        }
    }
    let mut pairing = Pairing {
        sources,
        targets,
        pairs: HashMap::new(),
        used: HashSet::new(),
    };
    for (sources_of, targets_of) in groups.values_mut() {
        sources_of.sort_by_key(|&index| !sources[index].is_free);
        targets_of.sort_by_key(|&index| !targets[index].is_free);
        pairing.pair_by(sources_of, targets_of, |holding| holding.mark);
        if sources_of.first().is_some_and(|&s| sources[s].is_telling) {
            pairing.pair_by(sources_of, targets_of, |holding| file_name(holding.path));
            pairing.pair_by(sources_of, targets_of, |_| ());
        }
    }
    pairing.pairs
}

struct Pairing<'h, 'a, C> {
    sources: &'h [Holding<'a, C>],
    targets: &'h [Holding<'a, C>],
    pairs: HashMap<usize, usize>,
    used: HashSet<usize>,
}

impl<'h, 'a, C> Pairing<'h, 'a, C> {
    /// Pairs what is unpaired yet and has an equal key, in order.
    fn pair_by<K: Eq + std::hash::Hash>(
        &mut self,
        sources: &[usize],
        targets: &[usize],
        key: impl Fn(&'h Holding<'a, C>) -> K,
    ) {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for &target in targets.iter().filter(|target| !self.used.contains(target)) {
            let same = free.entry(key(&self.targets[target])).or_default();
            same.push_back(target);
        }
        for &source in sources {
            if self.pairs.contains_key(&source) {
                continue;
            }
            let same = free.get_mut(&key(&self.sources[source]));
            if let Some(target) = same.and_then(VecDeque::pop_front) {
                self.pairs.insert(source, target);
                self.used.insert(target);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::{
        ProptestConfig, Strategy, prop, prop_assert, prop_assert_eq, proptest,
    };

    use super::*;

    /// Path, text and inode of a file.
    type File<'a> = (&'a str, &'a str, u64);

    /// What is in `files` and not, with the same text, in `others`; sorted by path.
    fn differing<'a>(files: &'a [File<'a>], others: &[File<'_>]) -> Vec<Holding<'a, &'a str>> {
        let other = |path| others.iter().find(|other| other.0 == path);
        let mut differing: Vec<_> = files
            .iter()
            .filter(|file| other(file.0).map(|other| other.1) != Some(file.1))
            .map(|file| Holding {
                path: file.0.as_bytes(),
                content: &file.1,
                is_telling: !file.1.is_empty(),
                mark: file.2,
                is_free: other(file.0).is_none(),
            })
            .collect();
        differing.sort_by_key(|holding| holding.path);
        differing
    }

    fn moves(before: &[File<'_>], after: &[File<'_>]) -> Vec<(String, String)> {
        let (sources, targets) = (differing(before, after), differing(after, before));
        let name = |path: &[u8]| String::from_utf8(path.to_vec()).unwrap();
        plan(&sources, &targets)
            .into_iter()
            .map(|(source, target)| (name(sources[source].path), name(targets[target].path)))
            .collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |&(from, to): &(&str, &str)| (from.to_owned(), to.to_owned());
        expected.iter().map(owned).collect()
    }

    #[test]
    fn a_rename_is_a_move_and_a_copy_is_none() {
        let before = [("a.txt", "x", 1)];
        assert_eq!(
            moves(&before, &[("b.txt", "x", 1)]),
            pairs(&[("a.txt", "b.txt")])
        );
        assert_eq!(moves(&before, &[("a.txt", "x", 1), ("b.txt", "x", 2)]), []);
        assert_eq!(moves(&before, &[("b.txt", "y", 1)]), []);
    }

    #[test]
    fn a_renamed_folder_keeps_equal_files_apart_by_their_names() {
        let before = [("d/a", "x", 1), ("d/b", "x", 2), ("d/c", "y", 3)];
        // Copied and removed: the inodes are others, the names decide.
        let after = [("e/b", "x", 11), ("e/a", "x", 12), ("e/c", "y", 13)];
        let expected = [("d/a", "e/a"), ("d/b", "e/b"), ("d/c", "e/c")];
        assert_eq!(moves(&before, &after), pairs(&expected));
    }

    #[test]
    fn the_inode_tells_which_of_equal_files_is_which() {
        let before = [("a", "x", 1), ("b", "x", 2)];
        let after = [("c", "x", 2), ("d", "x", 1)];
        let expected = [("a", "d"), ("b", "c")];
        assert_eq!(moves(&before, &after), pairs(&expected));
    }

    #[test]
    fn an_empty_file_moves_only_with_its_inode() {
        assert_eq!(moves(&[("a", "", 1)], &[("b", "", 2)]), []);
        assert_eq!(
            moves(&[("a", "", 1)], &[("b", "", 1)]),
            pairs(&[("a", "b")])
        );
    }

    #[test]
    fn a_chain_is_carried_out_from_its_end() {
        let before = [("a", "1", 1), ("b", "2", 2), ("c", "3", 3)];
        let after = [("b", "1", 1), ("c", "2", 2), ("d", "3", 3)];
        let expected = [("c", "d"), ("b", "c"), ("a", "b")];
        assert_eq!(moves(&before, &after), pairs(&expected));
    }

    #[test]
    fn a_swap_and_an_overwritten_file_are_no_moves() {
        let before = [("a", "1", 1), ("b", "2", 2)];
        assert_eq!(moves(&before, &[("a", "2", 2), ("b", "1", 1)]), []);
        assert_eq!(moves(&before, &[("b", "1", 1)]), []);
    }

    #[test]
    fn a_copy_of_what_a_changed_file_was_is_no_move() {
        let after = [("a", "new", 1), ("b", "old", 2)];
        assert_eq!(moves(&[("a", "old", 1)], &after), []);
    }

    type Model = BTreeMap<String, String>;

    fn states() -> impl Strategy<Value = Model> {
        prop::collection::btree_map("[a-f]", "[x-z]", 0..6)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn moves_then_documents_then_deletions_lead_from_one_state_to_the_next(
            before in states(),
            after in states(),
        ) {
            fn files(model: &Model) -> Vec<File<'_>> {
                model.iter().map(|(p, t)| (p.as_str(), t.as_str(), u64::from(p.as_bytes()[0]))).collect()
            }
            let mut remote = before.clone();
            for (from, to) in moves(&files(&before), &files(&after)) {
                let text = remote.remove(&from);
                prop_assert!(text.is_some(), "{} has been there", from);
                prop_assert!(remote.insert(to, text.unwrap()).is_none());
            }
            for (path, text) in &after {
                remote.insert(path.clone(), text.clone());
            }
            remote.retain(|path, _| after.contains_key(path));
            prop_assert_eq!(remote, after);
        }
    }
}
