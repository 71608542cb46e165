//! Reads: capabilities, heads, head, get_skeleton and list (http-binding §7).

use axum::body::Body;
use http::StatusCode;
use http::request::Parts;

use crate::model::{Contract, FileUri};
use crate::protocol::ErrorCode;
use crate::protocol::wire::{self, capabilities::Capabilities};
use crate::server::access::Caller;
use crate::server::answer::{self, Answer, Refusal};
use crate::server::query_form::QueryForm;
use crate::server::service::{self, Service};
use crate::server::skeleton_body::SkeletonBody;
use crate::server::store::Listing;
use crate::server::{body, cursor, message};

/// http-binding §7.1.
pub(super) fn capabilities(service: &Service) -> Answer {
    let contracts = service.inner.store.contracts();
    let capabilities = Capabilities {
        hash_contracts: contracts
            .iter()
            .map(|known| known.name().to_owned())
            .collect(),
        limits: service.inner.limits,
        content_encodings: vec![body::GZIP.to_owned()],
        features: vec!["move".to_owned()],
    };
    answer::json(StatusCode::OK, capabilities.encode())
}

/// http-binding §7.2: M1, M2, M3, authorisation, then the store.
pub(super) async fn heads(
    service: &Service,
    head: &Parts,
    body: Body,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let limits = service.inner.limits;
    let declared = service.inner.store.contracts();
    let (body, _place) = body::read(head, body, limits.max_payload_bytes).await?;
    let headers = head.headers.clone();
    let (contract, shape) = service::off_thread(body.len(), move || {
        let text = message::json(&body)?;
        let contract = message::contract(&headers, declared)?;
        let shape = wire::heads::Shape::read(text.root(), limits.batch_head_max)
            .map_err(|invalid| Refusal::invalid(invalid.to_string()))?;
        Ok::<_, Refusal>((contract, shape))
    })
    .await?;
    // One forbidden URI denies the whole batch (http-binding §6.3).
    for uri in &shape.uris {
        authorise(service, caller, uri)?;
    }
    let heads = service
        .read(move |store| store.heads(&shape.uris, contract))
        .await?;
    Ok(answer::json(StatusCode::OK, wire::heads::encode(&heads)))
}

/// http-binding §7.3; `If-None-Match` is ignored.
pub(super) async fn head(
    service: &Service,
    head: &Parts,
    form: QueryForm,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let contract = declared_contract(service, head)?;
    let uri = message::file_uri(&form.uri.unwrap_or_default())?;
    authorise(service, caller, &uri)?;
    let heads = service
        .read(move |store| store.heads(&[uri], contract))
        .await?;
    let doc_hash = heads.into_iter().next().flatten().ok_or_else(not_found)?;
    let mut answer = answer::empty(StatusCode::OK);
    answer::set_version(&mut answer, doc_hash);
    Ok(answer)
}

/// http-binding §7.3.
pub(super) async fn skeleton(
    service: &Service,
    head: &Parts,
    form: QueryForm,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let contract = declared_contract(service, head)?;
    let uri = message::file_uri(&form.uri.unwrap_or_default())?;
    let condition = message::ReadCondition::of(&head.headers)?;
    authorise(service, caller, &uri)?;
    let found = service
        .read(move |store| {
            let Some(skeleton) = store.skeleton(&uri, contract)? else {
                return Ok(None);
            };
            let doc_hash = skeleton.doc_hash;
            if condition.matches(doc_hash) {
                return Ok(Some((doc_hash, None)));
            }
            let mut body = SkeletonBody::new(&uri, skeleton);
            let first = body.part()?;
            Ok(Some((doc_hash, Some((first, body)))))
        })
        .await?;
    let (doc_hash, body) = found.ok_or_else(not_found)?;
    let mut answer = match body {
        Some((first, body)) => answer::json(StatusCode::OK, body.into_body(first, service)),
        None => answer::empty(StatusCode::NOT_MODIFIED),
    };
    answer::set_version(&mut answer, doc_hash);
    Ok(answer)
}

/// http-binding §7.4: contract, then the range of `limit`, then the cursor. Documents that the
/// caller may not read are not part of the list; a caller who may read none at all has no list.
pub(super) async fn list(
    service: &Service,
    head: &Parts,
    form: QueryForm,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let contract = declared_contract(service, head)?;
    let most = service.inner.limits.list_page_max;
    let limit = form.limit.unwrap_or(most);
    if limit < 1 || limit > most {
        return Err(Refusal::invalid(format!(
            "limit is not within 1 and {most}"
        )));
    }
    let key = service.inner.store.cursor_key();
    let foreign = || Refusal::invalid("the cursor was not issued here");
    let after = form
        .cursor
        .map(|text| cursor::recognise(&key, &text).ok_or_else(foreign));
    let after = after.transpose()?;
    let readable = service.inner.access.readable(caller);
    if readable.is_nothing() {
        return Err(Refusal::forbidden());
    }
    let prefixes = readable.within(form.prefix.unwrap_or_default());
    let mut documents = service
        .read(move |store| {
            store.list(&Listing {
                prefixes: &prefixes,
                after: after.as_deref(),
                // One more than wanted shows whether there is a next page.
                limit: limit.saturating_add(1),
                contract,
            })
        })
        .await?;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let has_more = documents.len() > wanted;
    documents.truncate(wanted);
    let last = documents.last().filter(|_| has_more);
    let next = last.map(|(uri, _)| cursor::issue(&key, uri.as_str()));
    let body = wire::list::encode(&documents, next.as_deref());
    Ok(answer::json(StatusCode::OK, body))
}

fn declared_contract(service: &Service, head: &Parts) -> Result<Contract, Refusal> {
    message::contract(&head.headers, service.inner.store.contracts())
}

/// Refuses who may not read a document, before anything about it is looked up.
fn authorise(service: &Service, caller: Caller, uri: &FileUri) -> Result<(), Refusal> {
    if service.inner.access.may_read(caller, uri) {
        Ok(())
    } else {
        Err(Refusal::forbidden())
    }
}

fn not_found() -> Refusal {
    Refusal::coded(ErrorCode::NotFound, "there is no such document")
}
