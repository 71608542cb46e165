//! The one loop that holds both a transport and a machine.
//!
//! It carries what the machine sends, side by side, and hands the ends back; it knows no meanings.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use jiff::Timestamp;

use crate::protocol::machine::Id;
use crate::protocol::{Fate, Machine, Outgoing, Step};
use crate::runner::supply::Supply;
use crate::sync::ports::{LocalFault, Transport, TransportFailure};

/// Drives `machine` to its end. What is then still on its way is dropped; only uploads can be.
pub(super) async fn drive<M: Machine, T: Transport>(
    mut machine: M,
    transport: &T,
    supply: &Supply<'_>,
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
    supply: &Supply<'_>,
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
        match supply.part(part).await {
            Ok((bytes, taken)) => {
                request.body = Some(bytes);
                _room = Some(taken);
            }
            Err(error) => return (id, Fate::Unreadable(part.blob, error.to_string())),
        }
    }
    let fate = match transport.send(request).await {
        Ok(response) => Fate::Answered(response),
        Err(failure) => fate(failure),
    };
    (id, fate)
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
