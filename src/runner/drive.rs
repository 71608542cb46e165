//! The one loop that holds both a transport and a machine.
//!
//! It carries what the machine sends, side by side, and hands the ends back; it knows no meanings.
//! Only here are the bytes of blobs read, a part at a time and off the async threads.

use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::protocol::machine::Id;
use crate::protocol::{Fate, Machine, Outgoing, Part, Step};
use crate::sync::blobs::Blobs;
use crate::sync::ports::{LocalFault, Transport, TransportFailure};

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
        let kib = u32::try_from(length.div_ceil(1 << 10)).unwrap_or(ROOM_KIB);
        let permit = self.0.acquire_many(kib.min(ROOM_KIB)).await;
        permit.expect("nobody closes it")
    }
}

/// Where the bytes of blobs come from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Supply<'a> {
    pub(super) blobs: &'a Blobs,
    pub(super) room: &'a Room,
}

/// Drives `machine` to its end. What is then still on its way is dropped; only uploads can be.
pub(super) async fn drive<M: Machine, T: Transport>(
    mut machine: M,
    transport: &T,
    supply: Supply<'_>,
) -> M::Outcome {
    let mut on_their_way = FuturesUnordered::new();
    loop {
        match machine.poll() {
            Step::Done(outcome) => return outcome,
            Step::Send(id, outgoing) => on_their_way.push(carry(transport, supply, id, outgoing)),
            Step::Idle => {
                let end = on_their_way.next().await;
                let (id, fate) = end.expect("a machine that is idle waits for a request");
                machine.handle(id, fate, Timestamp::now());
            }
        }
    }
}

async fn carry<T: Transport>(
    transport: &T,
    supply: Supply<'_>,
    id: Id,
    outgoing: Outgoing,
) -> (Id, Fate) {
    if !outgoing.after.is_zero() {
        tokio::time::sleep(outgoing.after).await;
    }
    let mut request = outgoing.request;
    // Held until the reply: so long the bytes are in memory.
    let mut _room = None;
    if let Some(part) = outgoing.part {
        _room = Some(supply.room.of(part.length).await);
        match read(supply.blobs, part).await {
            Ok(bytes) => request.body = Some(bytes),
            Err(error) => return (id, Fate::Unreadable(part.blob, error.to_string())),
        }
    }
    let fate = match transport.send(request).await {
        Ok(response) => Fate::Answered(response),
        Err(failure) => fate(failure),
    };
    (id, fate)
}

async fn read(blobs: &Blobs, part: Part) -> io::Result<Bytes> {
    let bytes = blobs.get(part.blob).cloned();
    let bytes = bytes.ok_or_else(|| io::Error::other("its bytes are not at hand"))?;
    let read = tokio::task::spawn_blocking(move || bytes.read(part.offset, part.length));
    read.await.map_err(io::Error::other)?
}

fn fate(failure: TransportFailure) -> Fate {
    let message = failure.message;
    match failure.local {
        Some(LocalFault::Request) => Fate::Local(message),
        Some(LocalFault::Credential) => Fate::NoCredential(message),
        None if failure.definitely_not_sent => Fate::NotSent(message),
        None => Fate::Lost(message),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::{ROOM_KIB, Room};

    #[tokio::test]
    async fn parts_wait_for_room_and_the_largest_are_alone() {
        let room = Room::default();
        let all = ROOM_KIB as usize * 1024;
        let first = room.of(all - 2048).await;
        let second = room.of(1025).await;
        let third = timeout(Duration::from_millis(20), room.of(1)).await;
        assert!(third.is_err(), "1025 bytes take two KiB");
        let mut huge = pin!(room.of(10 * all));
        drop(first);
        assert!(timeout(Duration::from_millis(20), &mut huge).await.is_err());
        drop(second);
        let _huge = huge.await;
    }
}
