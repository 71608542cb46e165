//! Uploads of whole objects, and the resume query (http-binding §9.1–§9.3, §9.5).
//!
//! A caller that goes away does not stop what it began: the work after the body was read is a task
//! of its own, so that the next request for the same object finds it done.

use std::future::Future;

use axum::body::Body;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};

use crate::model::{self, BlobRef, Contract, Contracts, Hash};
use crate::protocol::{ErrorCode, Staged, headers, wire};
use crate::server::access::Caller;
use crate::server::answer::{self, Answer, Refusal};
use crate::server::chunk;
use crate::server::room::Place;
use crate::server::route::{Kind, StagedPath};
use crate::server::service::{self, Service};
use crate::server::store::{
    BlobSource, Claim, Complete, NewElement, NewPage, NotWritten, Receipt, Received, UploadState,
};
use crate::server::{body, clock, message, write};

/// Uploads an object, whole or a chunk of it.
pub(super) async fn upload(
    service: &Service,
    head: &Parts,
    body: Body,
    path: StagedPath,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let max = service.inner.limits.max_payload_bytes;
    let is_chunk = head.headers.contains_key(header::CONTENT_RANGE);
    let (body, place) = if is_chunk {
        body::read_raw(head, body, max).await?
    } else {
        body::read(head, body, max).await?
    };
    let put = Put {
        service: service.clone(),
        headers: head.headers.clone(),
        claim: service.claim(path.session, caller),
        name: path.name,
    };
    match (path.kind, is_chunk) {
        (Kind::Pages, false) => uninterrupted(place, put.page(body)).await,
        (Kind::Objects, false) => uninterrupted(place, put.element(body)).await,
        (Kind::Blobs, false) => uninterrupted(place, put.blob(body)).await,
        (kind, true) => uninterrupted(place, chunk::put(put, kind, body)).await,
    }
}

/// http-binding §9.5.
pub(super) async fn resume_query(
    service: &Service,
    head: &Parts,
    path: StagedPath,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let contract = message::contract(&head.headers, service.inner.store.contracts())?;
    let object = chunked_object(path.kind, &path.name, contract)?;
    let claim = service.claim(path.session, caller);
    let state = service.read(move |store| store.upload_state(&claim, object));
    let state = state.await?.ok_or_else(write::session_expired)?;
    let mut answer = answer::empty(StatusCode::OK);
    set_expires(&mut answer, state.expires);
    set_offset(&mut answer, state.offset());
    Ok(answer)
}

/// Reads the name of an object that is to come in chunks; elements do not.
pub(super) fn chunked_object(
    kind: Kind,
    name: &str,
    contract: Contract,
) -> Result<Staged, Refusal> {
    match kind {
        Kind::Pages => Hash::parse(name, Contracts::only(contract))
            .map(Staged::Page)
            .map_err(|_| Refusal::invalid("the path names no hash of the declared contract")),
        Kind::Objects => Err(Refusal::invalid("an element is not uploaded in chunks")),
        Kind::Blobs => blob_ref(name).map(Staged::Blob),
    }
}

fn blob_ref(name: &str) -> Result<BlobRef, Refusal> {
    BlobRef::parse(name).map_err(|invalid| Refusal::invalid(invalid.to_string()))
}

/// An upload whose body was read.
pub(super) struct Put {
    pub(super) service: Service,
    pub(super) headers: HeaderMap,
    pub(super) claim: Claim,
    /// Last segment of the path.
    pub(super) name: String,
}

impl Put {
    pub(super) fn contract(&self) -> Result<Contract, Refusal> {
        message::contract(&self.headers, self.service.inner.store.contracts())
    }

    /// http-binding §9.2.
    async fn page(self, body: Bytes) -> Result<Answer, Refusal> {
        let declared = self.service.inner.store.contracts();
        let page_max = self.service.inner.limits.page_max_bytes;
        let (headers, name) = (self.headers, self.name);
        let page = service::off_thread(body.len(), move || {
            let text = message::json(&body)?;
            let contract = message::contract(&headers, declared)?;
            if body.len() as u64 > page_max {
                return Err(too_large("the page is longer than page_max_bytes"));
            }
            let page = model::page(text.root(), contract, declared)?;
            same_hash(page.hash, &name)?;
            Ok(NewPage {
                hash: page.hash,
                text: text.root().raw().into(),
                length: body.len() as u64,
                in_chunks: false,
            })
        })
        .await?;
        let hash = page.hash;
        let store = &self.service.inner.store;
        let mut upload = store.upload(self.claim.clone(), Staged::Page(hash)).await;
        let receipt = usable(upload.store_page(page).await)?;
        drop(upload);
        page_answer(&self.service, self.claim, hash, receipt, false).await
    }

    /// http-binding §9.2.
    async fn element(self, body: Bytes) -> Result<Answer, Refusal> {
        let declared = self.service.inner.store.contracts();
        let (headers, name) = (self.headers, self.name);
        let element = service::off_thread(body.len(), move || {
            let text = message::json(&body)?;
            let contract = message::contract(&headers, declared)?;
            let element = model::element(text.root(), contract)?;
            same_hash(element.hash, &name)?;
            Ok::<_, Refusal>(NewElement {
                hash: element.hash,
                blob: element.blob,
                text: text.root().raw().into(),
            })
        })
        .await?;
        let store = &self.service.inner.store;
        let (receipt, missing) = usable(store.stage_element(self.claim, element).await)?;
        let missing: Vec<_> = missing.into_iter().collect();
        Ok(complete(receipt, wire::upload::encode_element(&missing)))
    }

    /// http-binding §9.3.
    async fn blob(self, body: Bytes) -> Result<Answer, Refusal> {
        if body.len() as u64 > self.service.inner.limits.blob_max_bytes {
            return Err(too_large("the blob is longer than blob_max_bytes"));
        }
        self.contract()?;
        let blob = blob_ref(&self.name)?;
        let bytes = body.clone();
        let found = service::off_thread(body.len(), move || BlobRef::of(&bytes));
        if found.await != blob {
            return Err(hash_mismatch());
        }
        let store = self.service.inner.store.clone();
        let mut upload = store.upload(self.claim.clone(), Staged::Blob(blob)).await;
        let claim = self.claim;
        let state = self
            .service
            .read(move |store| store.upload_state(&claim, Staged::Blob(blob)));
        // Nothing is written for a session that cannot be used.
        state.await?.ok_or_else(write::session_expired)?;
        let stored = upload.store_blob(blob, BlobSource::Bytes(body)).await;
        Ok(complete(usable(stored)?, wire::upload::encode_blob()))
    }
}

/// Answers for a page that is complete in its session. The list may be cut short if `may_truncate`
/// (http-binding §9.1).
pub(super) async fn page_answer(
    service: &Service,
    claim: Claim,
    page: Hash,
    receipt: Receipt,
    may_truncate: bool,
) -> Result<Answer, Refusal> {
    let missing = service.read(move |store| store.missing_below(&claim, page));
    let mut missing = missing.await?;
    let max = service.inner.limits.max_payload_bytes;
    let truncated = may_truncate && truncate(&mut missing, max);
    let body = wire::upload::encode_page(&missing, truncated);
    Ok(complete(receipt, body))
}

/// Cuts a missing list so that its body fits `max` bytes, but never to nothing; says whether it
/// did.
fn truncate(missing: &mut Vec<Hash>, max: u64) -> bool {
    let [first, _, ..] = missing.as_slice() else {
        return false;
    };
    let fixed = wire::upload::encode_page(&[], false).len();
    // All hashes of a contract are equally long: quotes around, a comma between.
    let entry = first.to_string().len() + 3;
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if fixed + missing.len() * entry - 1 <= max {
        return false;
    }
    // `true` is shorter than `false`.
    let fitting = max.saturating_sub(fixed - 1).saturating_add(1) / entry;
    missing.truncate(fitting.clamp(1, missing.len() - 1));
    true
}

/// Answers for an object that is complete in its session.
pub(super) fn complete(receipt: Receipt, body: Vec<u8>) -> Answer {
    let status = if receipt.is_new {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    let mut answer = answer::json(status, body);
    set_expires(&mut answer, receipt.expires);
    answer
}

pub(super) fn set_expires(answer: &mut Answer, expires: i64) {
    let value = answer::header_value(&clock::rfc3339(expires));
    answer
        .headers_mut()
        .insert(headers::DPE_SESSION_EXPIRES, value);
}

pub(super) fn set_offset(answer: &mut Answer, offset: u64) {
    answer
        .headers_mut()
        .insert(headers::DPE_UPLOAD_OFFSET, offset.into());
}

impl UploadState {
    /// Bytes received so far (http-binding §9.5).
    pub(super) fn offset(&self) -> u64 {
        match self.received {
            Received::Nothing => 0,
            Received::Partial { received, .. } => received,
            Received::Complete(Complete { length, .. }) => length,
        }
    }
}

/// Tells an unusable session from a store that failed.
pub(super) fn usable<T>(stored: Result<Option<T>, NotWritten>) -> Result<T, Refusal> {
    stored
        .map_err(write::not_written)?
        .ok_or_else(write::session_expired)
}

fn same_hash(hash: Hash, name: &str) -> Result<(), Refusal> {
    if hash.to_string() == name {
        Ok(())
    } else {
        Err(hash_mismatch())
    }
}

pub(super) fn hash_mismatch() -> Refusal {
    let detail = "what was received does not have the hash it was uploaded under";
    Refusal::coded(ErrorCode::HashMismatch, detail)
}

pub(super) fn too_large(detail: &'static str) -> Refusal {
    Refusal::coded(ErrorCode::PayloadTooLarge, detail)
}

/// Runs work that goes on when nobody waits for it any more, and keeps its body's place as long.
async fn uninterrupted(
    place: Place,
    work: impl Future<Output = Result<Answer, Refusal>> + Send + 'static,
) -> Result<Answer, Refusal> {
    let work = async move {
        let _place = place;
        work.await
    };
    match tokio::spawn(work).await {
        Ok(answer) => answer,
        // Nobody cancels it: it panicked.
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Refusal::unavailable(false)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::truncate;
    use crate::model::{Contract, Hash};
    use crate::protocol::wire::upload::encode_page;

    #[test]
    fn truncated_list_is_the_longest_that_fits_and_never_empty() {
        let hashes: Vec<_> = (0..10)
            .map(|n| Hash::new(Contract::Dpe1, [n; 32]))
            .collect();
        let whole = encode_page(&hashes, false).len();
        for max in 0..whole + 2 {
            let mut list = hashes.clone();
            let truncated = truncate(&mut list, max as u64);
            assert_eq!(truncated, max < whole, "{max}");
            if truncated {
                let fits = |count: usize| encode_page(&hashes[..count], true).len() <= max;
                assert!((1..10).contains(&list.len()) && list[..] == hashes[..list.len()]);
                assert!(list.len() == 1 || fits(list.len()), "{max}");
                assert!(
                    !fits(list.len() + 1) || list.len() == 9,
                    "{max}: {}",
                    list.len()
                );
            }
        }
        // What cannot be cut is told whole.
        assert!(!truncate(&mut Vec::new(), 0) && !truncate(&mut hashes[..1].to_vec(), 0));
    }
}
