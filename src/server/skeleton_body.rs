//! The body of a skeleton, made in parts while it is sent.
//!
//! Only the parts under way are in memory, however long the whole is. Nothing waits in a thread
//! for a slow receiver: the next part is read when it is asked for.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use crate::model::FileUri;
use crate::protocol::wire::skeleton::Encoder;
use crate::server::Service;
use crate::server::store::{Pages, Skeleton};

/// Bytes after which a part is sent; one page can make it longer.
const PART: usize = 256 << 10;

/// Longest time, within a factor of two, that a receiver may let a reply wait.
const STALL_MAX: Duration = Duration::from_secs(60);

/// What is still to be sent.
pub(super) struct SkeletonBody {
    encoder: Encoder,
    /// None once the last page is encoded; the store's state is let go then.
    pages: Option<Pages>,
}

impl SkeletonBody {
    pub(super) fn new(uri: &FileUri, skeleton: Skeleton) -> Self {
        Self {
            encoder: Encoder::begin(uri, skeleton.doc_hash, &skeleton.document),
            pages: Some(skeleton.pages),
        }
    }

    /// Reads the next part from the store; it is empty only at the end.
    pub(super) fn part(&mut self) -> rusqlite::Result<Bytes> {
        while let Some(pages) = &mut self.pages
            && self.encoder.len() < PART
        {
            match pages.next()? {
                Some(text) => self.encoder.page(&text),
                None => {
                    self.encoder.end();
                    self.pages = None;
                }
            }
        }
        Ok(self.encoder.take().into())
    }

    /// Returns the body that begins with `first`. A short one has a known length.
    pub(super) fn into_body(self, first: Bytes, service: &Service) -> Body {
        self.into_body_within(first, service, STALL_MAX)
    }

    fn into_body_within(self, first: Bytes, service: &Service, stall_max: Duration) -> Body {
        if self.pages.is_none() {
            return Body::from(first);
        }
        let slot = Arc::new(Mutex::new(Slot {
            body: Some(self),
            parts: 0,
        }));
        tokio::spawn(let_go(Arc::downgrade(&slot), stall_max));
        let rest = stream::try_unfold((service.clone(), slot), next);
        Body::from_stream(stream::iter([Ok(first)]).chain(rest))
    }
}

/// What is still to be sent, unless it is being read or was let go.
struct Slot {
    body: Option<SkeletonBody>,
    /// Parts that were read.
    parts: u64,
}

type State = (Service, Arc<Mutex<Slot>>);

async fn next((service, slot): State) -> io::Result<Option<(Bytes, State)>> {
    let taken = locked(&slot).body.take();
    // The status is sent already: breaking off is all that can be said.
    let mut body = taken.ok_or_else(|| io::Error::other("the receiver took too long"))?;
    if body.pages.is_none() {
        return Ok(None);
    }
    let read = service.read(move |_| body.part().map(|part| (part, body)));
    let (part, body) = read
        .await
        .map_err(|_| io::Error::other("the store failed to read"))?;
    let mut held = locked(&slot);
    held.body = Some(body);
    held.parts += 1;
    drop(held);
    Ok(Some((part, (service, slot))))
}

/// Lets the state of the store go once nobody asked for a part for `stall_max`: as long as it is
/// held, the log of the store can only grow.
async fn let_go(slot: Weak<Mutex<Slot>>, stall_max: Duration) {
    let mut seen = None;
    loop {
        tokio::time::sleep(stall_max).await;
        let Some(slot) = slot.upgrade() else {
            return;
        };
        let mut held = locked(&slot);
        if seen == Some(held.parts) && held.body.is_some() {
            held.body = None;
            return;
        }
        seen = Some(held.parts);
    }
}

fn locked(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use bytes::Bytes;
    use http::Request;
    use http_body_util::BodyExt;
    use tempfile::TempDir;
    use tower::ServiceExt;

    use super::SkeletonBody;
    use crate::model::{Contract, FileUri};
    use crate::protocol::wire::capabilities::Limits;
    use crate::server::{OpenMode, Options, Service, Store};

    #[tokio::test]
    async fn reply_that_nobody_takes_breaks_off() {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), OpenMode::Create).unwrap();
        let service = Service::new(store.clone(), Limits::default(), Options::default());
        let commit = Request::put("/documents?uri=x:d")
            .header("dpe-hash-contract", "dpe1")
            .header("if-none-match", "*")
            .body(Body::from(
                r#"{"document":{"file_type":"empty","pages":[]}}"#,
            ));
        let reply = service.router().oneshot(commit.unwrap()).await.unwrap();
        assert_eq!(reply.status(), 201);
        let uri = FileUri::parse("x:d").unwrap();
        let body_within = |stall_max| {
            let skeleton = store.skeleton(&uri, Contract::Dpe1).unwrap().unwrap();
            let body = SkeletonBody::new(&uri, skeleton);
            body.into_body_within(Bytes::from_static(b"first"), &service, stall_max)
        };
        let mut slow = body_within(Duration::from_millis(20));
        let prompt = body_within(Duration::from_secs(60));
        assert_eq!(
            slow.frame().await.unwrap().unwrap().into_data().unwrap(),
            "first"
        );
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert!(slow.frame().await.unwrap().is_err());
        assert!(prompt.collect().await.is_ok());
    }
}
