//! Counts what goes to the remote.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Request, Response};
use crate::sync::ports::{Transport, TransportFailure};

/// A transport that counts.
#[derive(Debug)]
pub struct Metered<T> {
    transport: T,
    requests: AtomicU64,
    bytes: Arc<AtomicU64>,
}

/// What went out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Requests sent, reads included.
    pub requests: u64,
    /// Bytes of request bodies, as they went over the wire if they went over one.
    pub bytes: u64,
}

impl<T: Transport> Metered<T> {
    /// Returns `transport` with both counters at zero.
    pub fn new(transport: T) -> Self {
        Self {
            transport,
            requests: AtomicU64::new(0),
            bytes: Arc::default(),
        }
    }

    /// Returns the transport that is counted.
    pub fn inner(&self) -> &T {
        &self.transport
    }

    /// Returns what went out so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            requests: self.requests.load(Ordering::Relaxed),
            bytes: self.sent().load(Ordering::Relaxed),
        }
    }

    /// Returns what counts the bytes, while they go out.
    pub fn sent(&self) -> &Arc<AtomicU64> {
        self.transport.wire_bytes().unwrap_or(&self.bytes)
    }
}

impl<T: Transport> Transport for Metered<T> {
    async fn send(&self, request: Request) -> Result<Response, TransportFailure> {
        let bytes = request.body.as_ref().map_or(0, |body| body.len() as u64);
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.transport.send(request).await
    }

    fn hide<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.transport.hide(text)
    }
}
