//! How much content is verified side by side: what is held in memory meanwhile is a multiple of it.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Places there are.
const PLACES: u32 = 8;

/// Bytes that one place is for. Content that needs more than all places is verified alone.
const PLACE_BYTES: u64 = 8 << 20;

/// Content is verified in the order in which it came.
#[derive(Debug)]
pub(super) struct Verification {
    places: Semaphore,
}

impl Verification {
    pub(super) fn new() -> Self {
        Self {
            places: Semaphore::new(PLACES as usize),
        }
    }

    /// Waits until there is room for content of `bytes` bytes, and keeps it as long as what is
    /// returned.
    pub(super) async fn begin(&self, bytes: u64) -> SemaphorePermit<'_> {
        let room = self.places.acquire_many(places(bytes)).await;
        room.expect("the semaphore is never closed")
    }
}

/// How many places content of `bytes` bytes takes.
fn places(bytes: u64) -> u32 {
    let places = u32::try_from(bytes.div_ceil(PLACE_BYTES)).unwrap_or(PLACES);
    places.clamp(1, PLACES)
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::{PLACE_BYTES, Verification};

    #[test]
    fn few_pages_are_verified_side_by_side_and_large_ones_alone() {
        const LARGE: u64 = 8 * PLACE_BYTES;
        let verification = Verification::new();
        let begin = |bytes| verification.begin(bytes).now_or_never();
        for (bytes, together) in [
            (0, 8),
            (1, 8),
            (PLACE_BYTES, 8),
            (PLACE_BYTES + 1, 4),
            (LARGE / 2, 2),
            (LARGE / 2 + 1, 1),
            (LARGE, 1),
            (LARGE + 1, 1),
            (u64::MAX, 1),
        ] {
            let held: Vec<_> = (0..10).map_while(|_| begin(bytes)).collect();
            assert_eq!(held.len(), together, "{bytes}");
        }
        let small = begin(1).unwrap();
        assert!(begin(LARGE).is_none());
        drop(small);
        assert!(begin(LARGE).is_some());
    }
}
