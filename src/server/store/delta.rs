//! The delta of a commit: element multisets compared (core §3.3).
//!
//! Pages that old and new document have in common contribute the same elements to both sides, so
//! only the others have to be looked at.

use std::collections::HashMap;

use crate::protocol::wire::commit;
use crate::server::store::damage::damaged;

/// By how much every element occurs more often (or less, if negative) than before.
#[derive(Debug, Default)]
pub(super) struct Change {
    by_element: HashMap<[u8; 32], i64>,
}

impl Change {
    /// Counts each of `elements` `times` times; negative for what is taken away.
    pub(super) fn count(&mut self, elements: &[[u8; 32]], times: i64) {
        for element in elements {
            *self.by_element.entry(*element).or_default() += times;
        }
    }

    /// Returns the delta of a document that has `total` elements now, with repetitions.
    ///
    /// Fails if that cannot be, because the stored counts are wrong.
    pub(super) fn delta(&self, total: u64) -> rusqlite::Result<commit::Delta> {
        let mut delta = commit::Delta::default();
        for &difference in self.by_element.values() {
            if difference > 0 {
                delta.added += difference.unsigned_abs();
            } else {
                delta.removed += difference.unsigned_abs();
            }
        }
        let retained = total.checked_sub(delta.added);
        delta.retained = retained.ok_or_else(|| damaged("the counts of elements are wrong"))?;
        Ok(delta)
    }
}
