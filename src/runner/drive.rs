//! The one loop that holds both a transport and a machine.
//!
//! It carries what the machine sends, side by side, and hands the ends back; it knows no meanings.
//! Only here are the bytes of blobs read, a part at a time and off the async threads.

use std::io;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;

use crate::protocol::machine::Id;
use crate::protocol::{Fate, Machine, Outgoing, Part, Step};
use crate::sync::blobs::Blobs;
use crate::sync::ports::{LocalFault, Transport, TransportFailure};

/// Drives `machine` to its end. What is then still on its way is dropped; only uploads can be.
pub(super) async fn drive<M: Machine, T: Transport>(
    mut machine: M,
    transport: &T,
    blobs: &Blobs,
) -> M::Outcome {
    let mut on_their_way = FuturesUnordered::new();
    loop {
        match machine.poll() {
            Step::Done(outcome) => return outcome,
            Step::Send(id, outgoing) => on_their_way.push(carry(transport, blobs, id, outgoing)),
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
    blobs: &Blobs,
    id: Id,
    outgoing: Outgoing,
) -> (Id, Fate) {
    if !outgoing.after.is_zero() {
        tokio::time::sleep(outgoing.after).await;
    }
    let mut request = outgoing.request;
    if let Some(part) = outgoing.part {
        match read(blobs, part).await {
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
