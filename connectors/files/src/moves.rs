//! Which files moved: pairs of a path that lost its content and a path that has it now.
//!
//! Pure. A move is announced only when it is unambiguous what it does to the remote: its source
//! is gone, its target is new, or both hold along a chain a→b, b→c. A file that merely took the
//! place of another one is a changed document, and so is every file of a cycle.

use std::num::NonZeroU32;

use crate::names::file_name;

/// Paths with content they have or had, given by number in the order of the paths. There may be
/// millions, so that whoever holds them decides in which form.
pub trait Holdings {
    /// Content; equal ones give the same document.
    type Content<'h>: Ord
    where
        Self: 'h;

    /// Returns how many there are.
    fn len(&self) -> usize;

    /// Returns a path, relative to the root.
    fn path(&self, number: usize) -> &[u8];

    /// Returns the content of a path.
    fn content(&self, number: usize) -> Self::Content<'_>;

    /// Returns whether equal content tells that it is the same file; that of an empty one does not.
    fn is_telling(&self, number: usize) -> bool;

    /// Returns what tells files of equal content apart that are the same before and after; the
    /// number of the inode.
    fn mark(&self, number: usize) -> u64;

    /// Returns, of a source, whether the path is gone and not only changed; of a target, whether
    /// it had no document before.
    fn is_free(&self, number: usize) -> bool;

    /// Returns whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// One path of a few.
#[derive(Clone, Copy, Debug)]
pub struct Holding<'a, C> {
    /// Relative to the root.
    pub path: &'a [u8],
    /// The content; equal ones give the same document.
    pub content: &'a C,
    /// Whether equal content tells that it is the same file.
    pub is_telling: bool,
    /// Tells files of equal content apart.
    pub mark: u64,
    /// Of a source: the path is gone. Of a target: it had no document before.
    pub is_free: bool,
}

impl<C: Ord> Holdings for [Holding<'_, C>] {
    type Content<'h>
        = &'h C
    where
        Self: 'h;

    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn path(&self, number: usize) -> &[u8] {
        self[number].path
    }

    fn content(&self, number: usize) -> &C {
        self[number].content
    }

    fn is_telling(&self, number: usize) -> bool {
        self[number].is_telling
    }

    fn mark(&self, number: usize) -> u64 {
        self[number].mark
    }

    fn is_free(&self, number: usize) -> bool {
        self[number].is_free
    }
}

/// Pairs sources with targets, both sorted by path, and returns the pairs by their numbers, in an
/// order in which the moves can be carried out one after another.
pub fn plan<'h, S, T>(sources: &'h S, targets: &'h T) -> Vec<(usize, usize)>
where
    S: Holdings + ?Sized,
    T: Holdings<Content<'h> = S::Content<'h>> + ?Sized,
{
    let target_of = Pairing::of(sources, targets).target_of;
    let starts = (0..sources.len()).filter(|&source| sources.is_free(source));
    let mut moves = Vec::new();
    for start in starts {
        follow(start, &target_of, sources, targets, &mut moves);
    }
    moves
}

/// Follows a chain from a path that is gone, and appends its moves. It counts only if it ends at a
/// new path; its last move has to come first.
fn follow(
    start: usize,
    target_of: &[Option<Number>],
    sources: &(impl Holdings + ?Sized),
    targets: &(impl Holdings + ?Sized),
    moves: &mut Vec<(usize, usize)>,
) {
    let before = moves.len();
    let mut source = start;
    while let Some(target) = target_of[source].map(Number::get) {
        moves.push((source, target));
        if targets.is_free(target) {
            moves[before..].reverse();
            return;
        }
        let Some(next) = find(sources, targets.path(target)) else {
            break;
        };
        source = next;
    }
    moves.truncate(before);
}

/// Returns the number of a path.
fn find(holdings: &(impl Holdings + ?Sized), path: &[u8]) -> Option<usize> {
    let (mut low, mut high) = (0, holdings.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match holdings.path(middle).cmp(path) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return Some(middle),
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

/// A number below 2³² that leaves room for its absence: plus one.
#[derive(Clone, Copy)]
struct Number(NonZeroU32);

impl Number {
    fn of(number: usize) -> Self {
        let next = u32::try_from(number)
            .ok()
            .and_then(|n| NonZeroU32::MIN.checked_add(n));
        Self(next.expect("a listing of so many files is no cursor"))
    }

    fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// Pairs of equal content at work.
struct Pairing<'h, S: ?Sized, T: ?Sized> {
    sources: &'h S,
    targets: &'h T,
    /// For each source.
    target_of: Vec<Option<Number>>,
}

impl<'h, S, T> Pairing<'h, S, T>
where
    S: Holdings + ?Sized,
    T: Holdings<Content<'h> = S::Content<'h>> + ?Sized,
{
    fn of(sources: &'h S, targets: &'h T) -> Self {
        let mut pairing = Self {
            sources,
            targets,
            target_of: vec![None; sources.len()],
        };
        let sources_of = sorted(sources.len(), |at| {
            (sources.content(at), !sources.is_free(at))
        });
        let targets_of = sorted(targets.len(), |at| {
            (targets.content(at), !targets.is_free(at))
        });
        let (mut waiting, mut left) = (&sources_of[..], &targets_of[..]);
        while let Some(&first) = waiting.first() {
            // Equal bytes of an equal format give the same document, whatever their names.
            let content = sources.content(first.get());
            let end = waiting.partition_point(|at| sources.content(at.get()) == content);
            let start = left.partition_point(|at| targets.content(at.get()) < content);
            left = &left[start..];
            let stop = left.partition_point(|at| targets.content(at.get()) == content);
            pairing.pair(waiting[..end].to_vec(), left[..stop].to_vec());
            (waiting, left) = (&waiting[end..], &left[stop..]);
        }
        pairing
    }

    /// Pairs what has the same content, those that are free first.
    fn pair(&mut self, mut waiting: Vec<Number>, mut left: Vec<Number>) {
        let (sources, targets) = (self.sources, self.targets);
        self.pair_by(
            &mut waiting,
            &mut left,
            |at| sources.mark(at),
            |at| targets.mark(at),
        );
        let is_telling = |at: &Number| sources.is_telling(at.get());
        if waiting.first().is_some_and(is_telling) {
            let name = |at| file_name(sources.path(at));
            self.pair_by(&mut waiting, &mut left, name, |at| {
                file_name(targets.path(at))
            });
            self.pair_by(&mut waiting, &mut left, |_| (), |_| ());
        }
    }

    /// Pairs those of an equal key in their order, and leaves the others.
    fn pair_by<K: Ord>(
        &mut self,
        waiting: &mut Vec<Number>,
        left: &mut Vec<Number>,
        source_key: impl Fn(usize) -> K,
        target_key: impl Fn(usize) -> K,
    ) {
        // By places, which keep the order among equal keys.
        let by_source = sorted(waiting.len(), |place| source_key(waiting[place].get()));
        let by_target = sorted(left.len(), |place| target_key(left[place].get()));
        let mut of_target = by_target.iter().peekable();
        let mut is_taken = vec![false; left.len()];
        for place in by_source {
            let source = waiting[place.get()].get();
            let key = source_key(source);
            let key_of = |place: &Number| target_key(left[place.get()].get());
            while of_target.next_if(|place| key_of(place) < key).is_some() {}
            if let Some(place) = of_target.next_if(|place| key_of(place) == key) {
                self.target_of[source] = Some(left[place.get()]);
                is_taken[place.get()] = true;
            }
        }
        waiting.retain(|source| self.target_of[source.get()].is_none());
        let mut is_taken = is_taken.into_iter();
        left.retain(|_| !is_taken.next().unwrap_or_default());
    }
}

/// Returns the numbers below `count` in the order of their keys; of equal ones the lower first.
fn sorted<K: Ord>(count: usize, key: impl Fn(usize) -> K) -> Vec<Number> {
    let mut numbers: Vec<Number> = (0..count).map(Number::of).collect();
    numbers.sort_unstable_by(|a, b| {
        let by_key = key(a.get()).cmp(&key(b.get()));
        by_key.then(a.0.cmp(&b.0))
    });
    numbers
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
        plan(&sources[..], &targets[..])
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
