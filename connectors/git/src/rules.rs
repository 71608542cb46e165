//! The rules of `.dpeignore` files, which are read from the tree like everything else.
//!
//! What git itself ignores does not matter here: what is in a tree is tracked.

use std::sync::Arc;

use dpe_connector_files::{Case, Patterns};
use gix::ObjectId;

/// Name of the files that hold rules.
pub(crate) const FILE: &[u8] = b".dpeignore";

/// The rules that hold inside a folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rules(Option<Arc<Level>>);

/// A folder with a file of rules.
#[derive(Debug)]
struct Level {
    parent: Rules,
    /// So many bytes of a path lead here.
    depth: usize,
    /// The file.
    id: ObjectId,
    patterns: Patterns,
}

impl Rules {
    /// Returns the rules inside a folder that has a file of rules. `folder` is its path.
    pub(crate) fn inside(&self, folder: &[u8], id: ObjectId, text: &[u8]) -> Self {
        Self(Some(Arc::new(Level {
            parent: self.clone(),
            depth: folder.len() + usize::from(!folder.is_empty()),
            id,
            patterns: Patterns::parse(text),
        })))
    }

    /// Returns what the nearest rule that speaks of `path` says: left out, or taken back.
    pub(crate) fn verdict(&self, path: &[u8], is_folder: bool) -> Option<bool> {
        let mut at = self.0.as_deref();
        while let Some(level) = at {
            let below = &path[level.depth..];
            let verdict = level.patterns.verdict(below, is_folder, Case::Sensitive);
            if verdict.is_some() {
                return verdict;
            }
            at = level.parent.0.as_deref();
        }
        None
    }

    /// Returns whether both are made of the same files in the same folders.
    pub(crate) fn are(&self, other: &Self) -> bool {
        let (mut a, mut b) = (self.0.as_ref(), other.0.as_ref());
        loop {
            match (a, b) {
                (None, None) => return true,
                (Some(one), Some(two)) if Arc::ptr_eq(one, two) => return true,
                (Some(one), Some(two)) if one.id == two.id && one.depth == two.depth => {
                    (a, b) = (one.parent.0.as_ref(), two.parent.0.as_ref());
                }
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(byte: u8) -> ObjectId {
        ObjectId::from_bytes_or_panic(&[byte; 20])
    }

    #[test]
    fn the_nearest_rule_has_the_last_word() {
        let outer = Rules::default().inside(b"", id(1), b"*.log\n/top\n");
        let inner = outer.inside(b"d", id(2), b"!keep.log\n/x\n");
        assert_eq!(outer.verdict(b"a.log", false), Some(true));
        assert_eq!(inner.verdict(b"d/keep.log", false), Some(false));
        assert_eq!(inner.verdict(b"d/other.log", false), Some(true));
        assert_eq!(inner.verdict(b"d/x", false), Some(true));
        assert_eq!(inner.verdict(b"d/e/x", false), None);
        assert_eq!(inner.verdict(b"d/top", false), None);
    }

    #[test]
    fn rules_are_the_same_if_their_files_are() {
        let base = Rules::default().inside(b"", id(1), b"a");
        assert!(base.are(&Rules::default().inside(b"", id(1), b"a")));
        assert!(!base.are(&Rules::default().inside(b"", id(2), b"b")));
        assert!(!base.are(&base.inside(b"d", id(1), b"a")));
        assert!(!base.are(&Rules::default()));
        assert!(Rules::default().are(&Rules::default()));
    }
}
