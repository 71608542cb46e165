//! The body of a skeleton, made in parts while it is sent.
//!
//! Only the parts under way are in memory, however long the whole is. Nothing waits in a thread
//! for a slow receiver: the next part is read when it is asked for.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};

use crate::model::FileUri;
use crate::protocol::wire::skeleton::Encoder;
use crate::server::Service;
use crate::server::store::{Pages, Skeleton};

/// Bytes after which a part is sent; one page can make it longer.
const PART: usize = 256 << 10;

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
        if self.pages.is_none() {
            return Body::from(first);
        }
        let rest = stream::try_unfold((service.clone(), self), next);
        Body::from_stream(stream::iter([Ok(first)]).chain(rest))
    }
}

async fn next(
    (service, mut body): (Service, SkeletonBody),
) -> io::Result<Option<(Bytes, (Service, SkeletonBody))>> {
    if body.pages.is_none() {
        return Ok(None);
    }
    let read = service.read(move |_| body.part().map(|part| (part, body)));
    // The status is sent already: breaking off is all that can be said.
    let (part, body) = read
        .await
        .map_err(|_| io::Error::other("the store failed to read"))?;
    Ok(Some((part, (service, body))))
}
