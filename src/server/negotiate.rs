//! negotiate: opens a staging session and tells what is missing (http-binding §8.2).

use axum::body::Body;
use http::StatusCode;
use http::request::Parts;

use crate::json::Value;
use crate::model::{self, Contract, Contracts, FileUri, Hash};
use crate::protocol::wire;
use crate::server::access::Caller;
use crate::server::answer::{self, Answer, Refusal};
use crate::server::service::{self, Service};
use crate::server::store::{Negotiation, NewPage};
use crate::server::{body, clock, message, write};

/// http-binding §8.2. Every call opens a session of its own.
pub(super) async fn negotiate(
    service: &Service,
    head: &Parts,
    body: Body,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let max = service.inner.limits.max_payload_bytes;
    let declared = service.inner.store.contracts();
    let (body, _place) = body::read(head, body, max).await?;
    let headers = head.headers.clone();
    let judged = service::off_thread(body.len(), move || {
        let text = message::json(&body)?;
        let contract = message::contract(&headers, declared)?;
        Judged::of(text.root(), contract, declared)
    })
    .await?;
    write::authorise(service, caller, &judged.uri)?;
    let until = service.session_end();
    let store = &service.inner.store;
    let negotiated = store
        .negotiate(Negotiation {
            uri: judged.uri.clone(),
            caller: caller.key().to_owned(),
            until,
            pages: judged.attached,
        })
        .await
        .map_err(write::not_written)?;
    service.sweep_sometimes();
    let session = negotiated.session.clone();
    let (missing_pages, missing_content_hashes) = service
        .read(move |store| {
            store.missing_for(&negotiated, &judged.uri, &judged.pages, &judged.elements)
        })
        .await?;
    let reply = wire::negotiate::Reply {
        missing_pages,
        missing_content_hashes,
        session,
        expires_at: clock::rfc3339(until),
    };
    Ok(answer::json(StatusCode::OK, reply.encode()))
}

/// A request after M3 and M4.
struct Judged {
    uri: FileUri,
    /// Pages the document refers to.
    pages: Vec<Hash>,
    attached: Vec<NewPage>,
    /// Elements the attached pages refer to.
    elements: Vec<Hash>,
}

impl Judged {
    fn of(body: Value<'_>, contract: Contract, declared: Contracts) -> Result<Self, Refusal> {
        let shape = wire::negotiate::Shape::read(body).map_err(write::invalid_envelope)?;
        let document = model::document(shape.document, contract, declared)?;
        let mut attached = Vec::with_capacity(shape.pages.len());
        let mut elements = Vec::new();
        for page in shape.pages {
            let object = model::page(page, contract, declared)?;
            attached.push(NewPage {
                hash: object.hash,
                text: page.raw().into(),
                // What a page that came this way counts (http-binding §9.5).
                length: model::canonical_page_length(page, &object.elements)?,
                in_chunks: false,
            });
            elements.extend(object.elements);
        }
        Ok(Self {
            uri: shape.file_uri,
            pages: document.pages,
            attached,
            elements,
        })
    }
}
