//! The bytes of blobs on their way to a transport: read off the async threads, a part at a time,
//! within a bound over all deliveries, and the next part while the last one travels.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;

use crate::model::BlobRef;
use crate::protocol::Part;
use crate::sync::blobs::Blobs;

/// What the parts of blobs on their way may occupy together, in KiB: however many documents are
/// delivered side by side, and enough for the largest parts of several.
const ROOM_KIB: u32 = 32 << 10;

/// Room for the parts of blobs that are in memory; one for all deliveries of a client.
#[derive(Debug)]
pub(super) struct Room(Semaphore);

impl Default for Room {
    fn default() -> Self {
        Self(Semaphore::new(ROOM_KIB as usize))
    }
}

impl Room {
    /// Waits until `length` bytes fit; more than fit at all wait until they are alone.
    async fn of(&self, length: usize) -> SemaphorePermit<'_> {
        let permit = self.0.acquire_many(kib(length)).await;
        permit.expect("nobody closes it")
    }

    /// Returns room for `length` bytes if there is plenty: what is only read ahead must not keep
    /// others from sending.
    fn spare(&self, length: usize) -> Option<SemaphorePermit<'_>> {
        let kib = kib(length);
        let plenty = self.0.available_permits() >= 2 * kib as usize;
        plenty.then(|| self.0.try_acquire_many(kib).ok()).flatten()
    }
}

fn kib(length: usize) -> u32 {
    let kib = u32::try_from(length.div_ceil(1 << 10)).unwrap_or(ROOM_KIB);
    kib.min(ROOM_KIB)
}

/// Where the bytes of one delivery's blobs come from.
#[derive(Debug)]
pub(super) struct Supply<'a> {
    blobs: &'a Blobs,
    room: &'a Room,
    ahead: Mutex<HashMap<BlobRef, Ahead<'a>>>,
}

/// A part that is being read before anybody asked for it.
#[derive(Debug)]
struct Ahead<'a> {
    part: Part,
    read: JoinHandle<io::Result<Bytes>>,
    room: SemaphorePermit<'a>,
}

impl<'a> Supply<'a> {
    /// Returns a supply of `blobs` within `room`.
    pub(super) fn new(blobs: &'a Blobs, room: &'a Room) -> Self {
        Self {
            blobs,
            room,
            ahead: Mutex::default(),
        }
    }

    /// Returns the bytes of a part, and the room they take, to be held as long as they are in
    /// memory.
    ///
    /// # Errors
    ///
    /// When they cannot be read, or are not at hand.
    pub(super) async fn part(&self, part: Part) -> io::Result<(Bytes, SemaphorePermit<'a>)> {
        let ahead = self.ahead().remove(&part.blob);
        let (read, room) = match ahead.filter(|ahead| ahead.part == part) {
            Some(ahead) => (ahead.read, ahead.room),
            None => {
                let room = self.room.of(part.length).await;
                (self.read(part)?, room)
            }
        };
        let bytes = read.await.map_err(io::Error::other)??;
        self.read_ahead(part);
        Ok((bytes, room))
    }

    /// Begins to read what most likely follows.
    fn read_ahead(&self, last: Part) {
        let end = last.offset + last.length as u64;
        let length = self.blobs.get(last.blob).map_or(0, |bytes| bytes.length());
        let left = usize::try_from(length.saturating_sub(end)).unwrap_or(usize::MAX);
        let part = Part {
            offset: end,
            length: left.min(last.length),
            ..last
        };
        if part.length > 0
            && let Some(room) = self.room.spare(part.length)
            && let Ok(read) = self.read(part)
        {
            let ahead = Ahead { part, read, room };
            self.ahead().insert(part.blob, ahead);
        }
    }

    fn read(&self, part: Part) -> io::Result<JoinHandle<io::Result<Bytes>>> {
        let bytes = self.blobs.get(part.blob).cloned();
        let bytes = bytes.ok_or_else(|| io::Error::other("its bytes are not at hand"))?;
        let read = move || bytes.read(part.offset, part.length);
        Ok(tokio::task::spawn_blocking(read))
    }

    fn ahead(&self) -> MutexGuard<'_, HashMap<BlobRef, Ahead<'a>>> {
        self.ahead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;
    use crate::sync::blobs::BlobBytes;

    #[tokio::test]
    async fn parts_wait_for_room_and_the_largest_are_alone() {
        let room = Room::default();
        let all = ROOM_KIB as usize * 1024;
        let first = room.of(all - 2048).await;
        let second = room.of(1025).await;
        let third = timeout(Duration::from_millis(20), room.of(1)).await;
        assert!(third.is_err(), "1025 bytes take two KiB");
        assert!(room.spare(1).is_none());
        let mut huge = pin!(room.of(10 * all));
        drop(first);
        assert!(timeout(Duration::from_millis(20), &mut huge).await.is_err());
        drop(second);
        let _huge = huge.await;
    }

    /// Bytes that note which ranges were read.
    #[derive(Debug, Default)]
    struct Noted(Arc<Mutex<Vec<(u64, usize)>>>);

    impl BlobBytes for Noted {
        fn length(&self) -> u64 {
            10
        }

        fn read(&self, offset: u64, length: usize) -> io::Result<Bytes> {
            self.0.lock().unwrap().push((offset, length));
            let bytes = Bytes::from_static(b"0123456789");
            BlobBytes::read(&bytes, offset, length)
        }
    }

    #[tokio::test]
    async fn following_parts_are_read_once_and_others_as_they_are_asked_for() {
        let blob = BlobRef::of(b"0123456789");
        let noted = Noted::default();
        let reads = Arc::clone(&noted.0);
        let bytes: Arc<dyn BlobBytes> = Arc::new(noted);
        let blobs = Blobs::from_iter([(blob, bytes)]);
        let room = Room::default();
        let supply = Supply::new(&blobs, &room);
        let part = |offset, length| Part {
            blob,
            offset,
            length,
        };
        for (wanted, expected) in [
            (part(0, 4), "0123"),
            (part(4, 4), "4567"),
            (part(8, 2), "89"),
            (part(2, 3), "234"),
            (part(0, 2), "01"),
        ] {
            let (bytes, _room) = supply.part(wanted).await.unwrap();
            assert_eq!(bytes, expected);
        }
        drop(supply);
        let read = reads.lock().unwrap().clone();
        assert_eq!(read[..3], [(0, 4), (4, 4), (8, 2)]);
        let unknown = Part {
            blob: BlobRef::of(b""),
            ..part(0, 1)
        };
        assert!(Supply::new(&blobs, &room).part(unknown).await.is_err());
        assert_eq!(room.0.available_permits(), ROOM_KIB as usize);
    }
}
