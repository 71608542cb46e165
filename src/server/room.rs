//! Room for the bodies that are in memory at one time.
//!
//! Whoever reads a body enters first, and stays until its answer is made; who waits has not been
//! read from, so that a full server slows its senders down. A request enters once, and with no more
//! than fits, so nobody waits for himself. Requests in-process bring no room along: their bodies
//! are in memory already.

use std::sync::Arc;
use std::time::Duration;

use http::Version;
use http::request::Parts;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::protocol::ErrorCode;
use crate::server::answer::Refusal;

/// Least bytes of room.
const LEAST: u64 = 256 << 20;

/// Bytes that room is counted in; a permit of the semaphore is one such unit.
const UNIT: u64 = 1024;

/// How long to wait for a place.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long on HTTP/2. What is not read of one body may keep those from coming that have a place:
/// the streams of a connection share its window.
const PATIENCE_SHARED: Duration = Duration::from_secs(2);

/// Room that bodies share. Travels with each request, in its extensions.
#[derive(Clone, Debug)]
pub(super) struct Room {
    free: Arc<Semaphore>,
    units: u32,
}

/// What a body occupies, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _permit: Option<OwnedSemaphorePermit>,
}

impl Room {
    /// Returns the room of a server that takes bodies of `max_payload_bytes`: 256 MiB, or four
    /// such bodies if that is more.
    pub(super) fn new(max_payload_bytes: u64) -> Self {
        Self::of(max_payload_bytes.saturating_mul(4).max(LEAST))
    }

    fn of(bytes: u64) -> Self {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        // More would be more memory than there is, and more than the semaphore can count.
        let units = units.min(u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX));
        Self {
            free: Arc::new(Semaphore::new(units as usize)),
            units,
        }
    }

    async fn enter(&self, bytes: u64, patience: Duration) -> Result<Place, Refusal> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let free = Arc::clone(&self.free);
        // The semaphore is fair: a large body is not overtaken by small ones for ever.
        let permit = timeout(patience, free.acquire_many_owned(units.min(self.units))).await;
        let permit = permit.map_err(|_| {
            let detail = "too many bodies are being read at the moment";
            Refusal::later(ErrorCode::Unavailable, 1, detail)
        })?;
        Ok(Place {
            _permit: Some(permit.expect("the semaphore is never closed")),
        })
    }
}

/// Waits for a place for `bytes` bytes in the room that a request brings along.
pub(super) async fn enter(head: &Parts, bytes: u64) -> Result<Place, Refusal> {
    let Some(room) = head.extensions.get::<Room>() else {
        return Ok(Place { _permit: None });
    };
    let patience = if head.version == Version::HTTP_2 {
        PATIENCE_SHARED
    } else {
        PATIENCE
    };
    room.enter(bytes, patience).await
}

#[cfg(test)]
mod tests {
    use http::{Request, Version, header};
    use tokio::time::Instant;

    use super::{PATIENCE, PATIENCE_SHARED, Place, Room, enter};
    use crate::protocol::headers;
    use crate::server::answer::Refusal;

    async fn entered(room: &Room, version: Version, bytes: u64) -> Result<Place, Refusal> {
        let mut head = Request::new(()).into_parts().0;
        head.version = version;
        head.extensions.insert(room.clone());
        enter(&head, bytes).await
    }

    #[tokio::test(start_paused = true)]
    async fn who_gets_no_place_in_time_may_come_back_soon() {
        let room = Room::of(10 << 10);
        let _held = entered(&room, Version::HTTP_11, 8 << 10).await.unwrap();
        for (version, patience) in [
            (Version::HTTP_11, PATIENCE),
            (Version::HTTP_2, PATIENCE_SHARED),
        ] {
            let begun = Instant::now();
            let refusal = entered(&room, version, 3 << 10).await.unwrap_err();
            assert!(begun.elapsed() >= patience && begun.elapsed() < patience * 2);
            let answer = refusal.into_answer(false);
            assert_eq!(answer.status(), 503);
            assert_eq!(answer.headers()[headers::DPE_ERROR_CODE], "DPE_UNAVAILABLE");
            assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
        }
        assert!(entered(&room, Version::HTTP_11, 2 << 10).await.is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn place_is_free_again_when_it_is_dropped_and_the_first_in_line_has_it() {
        let room = Room::of(10 << 10);
        let held = entered(&room, Version::HTTP_11, 8 << 10).await.unwrap();
        let large = tokio::spawn({
            let room = room.clone();
            async move { entered(&room, Version::HTTP_11, 10 << 10).await }
        });
        tokio::task::yield_now().await;
        let small = tokio::spawn({
            let room = room.clone();
            async move { entered(&room, Version::HTTP_11, 1).await }
        });
        tokio::task::yield_now().await;
        assert!(!small.is_finished(), "it would fit, but it is not its turn");
        drop(held);
        let large = large.await.unwrap().unwrap();
        assert!(!small.is_finished());
        drop(large);
        assert!(small.await.unwrap().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn body_larger_than_the_room_has_it_for_itself() {
        let room = Room::of(10 << 10);
        assert!(entered(&room, Version::HTTP_11, u64::MAX).await.is_ok());
    }

    #[test]
    fn room_is_four_of_the_longest_bodies_and_at_least_256_mebibytes() {
        assert_eq!(Room::new(8 << 20).units, 256 << 10);
        assert_eq!(Room::new(100 << 20).units, 400 << 10);
        // Far beyond any memory; it only has to be possible.
        assert!(Room::new(u64::MAX).units >= 400 << 10);
    }

    #[tokio::test]
    async fn request_in_process_has_a_place_at_once() {
        let head = Request::new(()).into_parts().0;
        assert!(enter(&head, u64::MAX).await.is_ok());
    }
}
