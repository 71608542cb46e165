//! Chunks of pages and blobs (http-binding §9.4).

use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};

use crate::model::{self, BlobRef, Contract, Hash};
use crate::protocol::response::merged;
use crate::protocol::{ContentRange, Staged, wire};
use crate::server::answer::{self, Answer, Refusal};
use crate::server::route::Kind;
use crate::server::service::Service;
use crate::server::store::{
    BlobSource, Claim, Complete, NewPage, Receipt, Received, Upload, UploadState,
};
use crate::server::upload::{self, Put};
use crate::server::{blocking, message, write};

/// The ladder from step 1 on.
pub(super) async fn put(put: Put, kind: Kind, body: Bytes) -> Result<Answer, Refusal> {
    let contract = put.contract()?;
    let object = upload::chunked_object(kind, &put.name, contract)?;
    let Put {
        service,
        headers,
        claim,
        ..
    } = put;
    let mut upload = service.inner.store.upload(claim.clone(), object).await;
    let asked = claim.clone();
    let state = service.read(move |store| store.upload_state(&asked, object));
    let state = state.await?.ok_or_else(write::session_expired)?;
    if let Received::Complete(complete) = state.received {
        return already_complete(&service, claim, object, complete).await;
    }
    let range = range(&headers, &body, &state)?;
    check_size(&service, object, range)?;
    if range.first != state.offset() {
        return Err(elsewhere(state.offset()));
    }
    let appended = upload.append(range.first, body).await;
    if !appended.map_err(write::not_written)? {
        return Err(elsewhere(0));
    }
    if range.end() == range.total {
        return finish(&service, upload, claim, object, range.total).await;
    }
    let counted = upload.count(range.end(), range.total).await;
    let mut answer = answer::empty(StatusCode::ACCEPTED);
    upload::set_expires(&mut answer, upload::usable(counted)?);
    upload::set_offset(&mut answer, range.end());
    Ok(answer)
}

/// Step 4.
async fn already_complete(
    service: &Service,
    claim: Claim,
    object: Staged,
    complete: Complete,
) -> Result<Answer, Refusal> {
    let renewed = service.inner.store.renew(claim.clone()).await;
    let receipt = Receipt {
        is_new: false,
        expires: upload::usable(renewed)?,
    };
    match object {
        Staged::Page(page) => {
            upload::page_answer(service, claim, page, receipt, complete.in_chunks).await
        }
        _ => Ok(upload::complete(receipt, wire::upload::encode_blob())),
    }
}

/// Step 5.
fn range(headers: &HeaderMap, body: &Bytes, state: &UploadState) -> Result<ContentRange, Refusal> {
    let value = merged(headers, &header::CONTENT_RANGE).unwrap_or_default();
    let range = ContentRange::parse(&value)
        .ok_or_else(|| Refusal::invalid("Content-Range is not `bytes first-last/total`"))?;
    let coding = merged(headers, &header::CONTENT_ENCODING);
    if coding.is_some_and(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"identity")) {
        return Err(Refusal::invalid("a chunk has no content coding"));
    }
    if range.length() != body.len() as u64 {
        return Err(Refusal::invalid("the body is not as long as its range"));
    }
    match state.received {
        Received::Partial { total, .. } if total != range.total => Err(Refusal::invalid(
            "an earlier chunk said the object has another length",
        )),
        _ => Ok(range),
    }
}

/// Step 6.
fn check_size(service: &Service, object: Staged, range: ContentRange) -> Result<(), Refusal> {
    let limits = &service.inner.limits;
    if range.length() > limits.blob_chunk_bytes {
        return Err(upload::too_large(
            "the chunk is longer than blob_chunk_bytes",
        ));
    }
    let (max, detail) = match object {
        Staged::Blob(_) => (
            limits.blob_max_bytes,
            "the blob is longer than blob_max_bytes",
        ),
        _ => (
            limits.page_max_bytes,
            "the page is longer than page_max_bytes",
        ),
    };
    if range.total > max {
        return Err(upload::too_large(detail));
    }
    Ok(())
}

/// Step 7.
fn elsewhere(offset: u64) -> Refusal {
    Refusal::invalid("the chunk does not begin where the last one ended").at_offset(offset)
}

/// Steps 9 and 10.
async fn finish(
    service: &Service,
    mut upload: Upload,
    claim: Claim,
    object: Staged,
    total: u64,
) -> Result<Answer, Refusal> {
    let finished = match object {
        Staged::Blob(blob) => finish_blob(&mut upload, blob, total).await,
        Staged::Page(page) => finish_page(service, &mut upload, page, total).await,
        Staged::Element(_) => unreachable!("elements do not come in chunks"),
    };
    let receipt = match finished {
        Ok(receipt) => receipt,
        Err(Failed::Verification(refusal)) => {
            upload.discard().await.map_err(write::not_written)?;
            return Err(refusal);
        }
        Err(Failed::Storing(refusal)) => return Err(refusal),
    };
    drop(upload);
    match object {
        Staged::Page(page) => upload::page_answer(service, claim, page, receipt, true).await,
        _ => Ok(upload::complete(receipt, wire::upload::encode_blob())),
    }
}

enum Failed {
    /// Everything received is worthless.
    Verification(Refusal),
    /// The last chunk had no effect.
    Storing(Refusal),
}

async fn finish_blob(upload: &mut Upload, blob: BlobRef, total: u64) -> Result<Receipt, Failed> {
    if upload.blob() != Some(blob) {
        return Err(Failed::Verification(upload::hash_mismatch()));
    }
    let stored = upload.store_blob(blob, BlobSource::Chunks(total)).await;
    upload::usable(stored).map_err(Failed::Storing)
}

async fn finish_page(
    service: &Service,
    upload: &mut Upload,
    page: Hash,
    total: u64,
) -> Result<Receipt, Failed> {
    // Until the page is stored, since its text is in memory until then.
    let _room = service.inner.verification.begin(total).await;
    let bytes = upload.bytes().await;
    let bytes = bytes.map_err(|error| Failed::Storing(write::not_written(error)))?;
    let declared = service.inner.store.contracts();
    let verified = blocking::blocking(move || verify_page(&bytes, page, declared));
    let page = verified.await.map_err(Failed::Verification)?;
    let stored = upload.store_page(page).await;
    upload::usable(stored).map_err(Failed::Storing)
}

fn verify_page(bytes: &[u8], hash: Hash, declared: model::Contracts) -> Result<NewPage, Refusal> {
    let contract: Contract = hash.contract();
    let text = message::json(bytes)?;
    let page = model::page(text.root(), contract, declared)?;
    if page.hash != hash {
        return Err(upload::hash_mismatch());
    }
    Ok(NewPage {
        hash,
        text: text.root().raw().into(),
        length: bytes.len() as u64,
        in_chunks: true,
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use http::{HeaderMap, HeaderValue, StatusCode, header};
    use tempfile::TempDir;
    use tokio::time::timeout;

    use super::put;
    use crate::model::FileUri;
    use crate::protocol::headers;
    use crate::protocol::wire::capabilities::Limits;
    use crate::server::route::Kind;
    use crate::server::service::{Options, Service};
    use crate::server::store::{Claim, Negotiation, OpenMode, Store};
    use crate::server::upload::Put;

    /// E1, E2 and P0 of hash contract §16.
    const E1: &str = "dpe1:f6c07f23ea1e95bd57002b5a8e94c96864a152a5d0706a684275ed8b4cd39ba4";
    const E2: &str = "dpe1:49301115a7a9a8905ff5b0e3e3995f7932c20ac633158b52ead81bf7151e06de";
    const P0: &str = "dpe1:c3d1321cfbba81fd099bdb1c2d3db1a71184d47b8368d62758a7f11998a11e93";

    #[tokio::test]
    async fn page_in_chunks_is_verified_when_there_is_room() {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), OpenMode::Create).unwrap();
        let negotiation = Negotiation {
            uri: FileUri::parse("x:a").unwrap(),
            caller: Vec::new(),
            until: i64::MAX,
            pages: Vec::new(),
        };
        let session = store.negotiate(negotiation).await.unwrap().session;
        let service = Service::new(store, Limits::default(), Options::default());
        let all = service.inner.verification.begin(u64::MAX).await;
        let body = format!(r#"{{"title":"One","elements":["{E1}","{E2}"]}}"#);
        let range = format!("bytes 0-{}/{}", body.len() - 1, body.len());
        let put = put(
            Put {
                service: service.clone(),
                headers: HeaderMap::from_iter([
                    (headers::DPE_HASH_CONTRACT, HeaderValue::from_static("dpe1")),
                    (header::CONTENT_RANGE, HeaderValue::try_from(range).unwrap()),
                ]),
                claim: Claim {
                    session,
                    caller: Vec::new(),
                    now: 0,
                    until: i64::MAX,
                },
                name: P0.to_owned(),
            },
            Kind::Pages,
            Bytes::from(body),
        );
        tokio::pin!(put);
        let short = Duration::from_millis(300);
        assert!(timeout(short, &mut put).await.is_err(), "no room");
        drop(all);
        let Ok(answer) = put.await else {
            panic!("refused")
        };
        assert_eq!(answer.status(), StatusCode::CREATED);
    }
}
