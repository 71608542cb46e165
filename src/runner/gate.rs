//! Holds a round back until it is known how much it would delete.
//!
//! The mass-delete guard has to speak before the first write, so what the source says is read
//! ahead while the guard could still trip: to the end of the round, or up to a number of bytes.
//! The bundled connectors name their deletes first, which makes the guard exact for them whatever
//! the size of the round.

use crate::sync::assembly::Step;
use crate::sync::failure::Failure;
use crate::sync::guard::DeleteLimit;

/// How much is read ahead at most, in bytes of messages, which occupy memory.
const READ_AHEAD_BYTES: usize = 32 << 20;
/// The same in bytes of blobs, which occupy the disk.
const READ_AHEAD_BLOB_BYTES: u64 = 256 << 20;

/// What steps weigh while they are held.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// Bytes of the messages they came in.
    pub(super) message_bytes: usize,
    /// Bytes of their blobs.
    pub(super) blob_bytes: u64,
}

/// Lets steps through once the deletes among them are known to be few enough.
#[derive(Debug)]
pub(super) struct Gate {
    limit: DeleteLimit,
    known: u64,
    deletes: u64,
    held: Vec<Step>,
    weight: Weight,
    open: bool,
}

impl Gate {
    /// Returns a gate for a round over `known` confirmed documents.
    pub(super) fn new(limit: DeleteLimit, known: u64) -> Self {
        Self {
            limit,
            known,
            deletes: 0,
            held: Vec::new(),
            weight: Weight::default(),
            open: !limit.exceeded(known, known),
        }
    }

    /// Takes steps of some `weight`, `deletes` of which take away a confirmed document,
    /// and returns those that may land now.
    ///
    /// # Errors
    ///
    /// When the round would delete too much.
    pub(super) fn pass(
        &mut self,
        steps: Vec<Step>,
        deletes: u64,
        weight: Weight,
        last: bool,
    ) -> Result<Vec<Step>, Failure> {
        self.deletes += deletes;
        self.held.extend(steps);
        self.weight.message_bytes += weight.message_bytes;
        self.weight.blob_bytes += weight.blob_bytes;
        if self.limit.exceeded(self.deletes, self.known) {
            return Err(too_many(self.deletes, self.known));
        }
        self.open |= last
            || self.weight.message_bytes > READ_AHEAD_BYTES
            || self.weight.blob_bytes > READ_AHEAD_BLOB_BYTES;
        if !self.open {
            return Ok(Vec::new());
        }
        Ok(std::mem::take(&mut self.held))
    }
}

/// Returns the failure of a round that would delete too much.
pub(super) fn too_many(deletes: u64, known: u64) -> Failure {
    let why = format!("this round would delete {deletes} or more of {known} documents");
    Failure::instance("mass_delete", why)
}

#[cfg(test)]
mod tests {
    use super::{Gate, READ_AHEAD_BLOB_BYTES, READ_AHEAD_BYTES, Weight};
    use crate::model::FileUri;
    use crate::sync::assembly::Step;
    use crate::sync::guard::DeleteLimit;
    use crate::sync::wave::Operation;

    const LIGHT: Weight = Weight {
        message_bytes: 1,
        blob_bytes: 0,
    };

    fn deletes(count: usize) -> Vec<Step> {
        (0..count)
            .map(|number| {
                let uri = FileUri::parse(&format!("t://{number}")).unwrap();
                Step::Operation(Operation::Delete { uri })
            })
            .collect()
    }

    #[test]
    fn steps_are_held_until_the_last_batch() {
        let mut gate = Gate::new(DeleteLimit::Usual, 100);
        assert!(gate.pass(deletes(10), 10, LIGHT, false).unwrap().is_empty());
        assert_eq!(gate.pass(deletes(10), 10, LIGHT, true).unwrap().len(), 20);
    }

    #[test]
    fn deletes_are_counted_over_all_batches() {
        let mut gate = Gate::new(DeleteLimit::Usual, 100);
        assert!(gate.pass(deletes(50), 50, LIGHT, false).unwrap().is_empty());
        assert_eq!(
            gate.pass(deletes(1), 1, LIGHT, false).unwrap_err().code,
            "mass_delete"
        );
    }

    #[test]
    fn a_source_that_can_never_trip_the_guard_is_not_held() {
        let mut gate = Gate::new(DeleteLimit::Usual, 20);
        assert_eq!(gate.pass(deletes(20), 20, LIGHT, false).unwrap().len(), 20);
    }

    #[test]
    fn reading_ahead_is_bounded_and_deletes_still_count_afterwards() {
        let mut gate = Gate::new(DeleteLimit::Usual, 100);
        let heavy = Weight {
            message_bytes: READ_AHEAD_BYTES + 1,
            ..LIGHT
        };
        let passed = gate.pass(deletes(40), 40, heavy, false).unwrap();
        assert_eq!(passed.len(), 40);
        assert!(gate.pass(deletes(11), 11, LIGHT, false).is_err());
        let mut gate = Gate::new(DeleteLimit::Usual, 100);
        let heavy = Weight {
            blob_bytes: READ_AHEAD_BLOB_BYTES + 1,
            ..LIGHT
        };
        assert_eq!(gate.pass(deletes(40), 40, heavy, false).unwrap().len(), 40);
    }
}
