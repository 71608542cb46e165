//! Writes: commit, delete and move up to where the document's state matters (http-binding §10).

use std::borrow::Cow;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, StatusCode, header};

use crate::json::Value;
use crate::model::{self, Contract, Contracts, FileUri};
use crate::protocol::wire::commit::{Reply, Status};
use crate::protocol::wire::{self, InvalidEnvelope};
use crate::protocol::{ErrorCode, routes};
use crate::server::access::Caller;
use crate::server::answer::{self, Answer, Refusal};
use crate::server::body;
use crate::server::message::{self, WriteCondition};
use crate::server::query_form::QueryForm;
use crate::server::service::{self, Service};
use crate::server::store::{
    Claim, Commit, Condition, Delete, InlineElement, InlinePage, Move, NewDocument, NotWritten,
    Refused,
};

/// http-binding §10.2.
pub(super) async fn commit(
    service: &Service,
    head: &Parts,
    body: Body,
    form: QueryForm,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let max = service.inner.limits.max_payload_bytes;
    let declared = service.inner.store.contracts();
    let (body, _place) = body::read(head, body, max).await?;
    let headers = head.headers.clone();
    let uri = form.uri.unwrap_or_default();
    let judged = service::off_thread(body.len(), move || {
        JudgedCommit::judge(&body, &headers, &uri, declared)
    })
    .await?;
    let access = &service.inner.access;
    authorise(service, caller, &judged.uri)?;
    if judged.force && !access.may_force(caller) {
        return Err(Refusal::forbidden());
    }
    let commit = judged.with_precondition(|session| service.claim(session, caller))?;
    let reply = service
        .inner
        .store
        .commit(commit)
        .await
        .map_err(not_written)?
        .map_err(on_document)?;
    service.sweep_sometimes();
    Ok(committed(reply))
}

/// Commits as the server itself, what [`Unjudged`] has judged: whoever may do that needs no further
/// right, and a condition that does not hold is a conflict (409), since there is no conditional
/// request that failed.
pub(super) async fn commit_as_itself(service: &Service, commit: Commit) -> Result<Answer, Refusal> {
    let reply = service
        .inner
        .store
        .commit(commit)
        .await
        .map_err(not_written)?
        .map_err(in_body)?;
    Ok(committed(reply))
}

fn committed(reply: Reply) -> Answer {
    let status = match reply.status {
        Status::Created => StatusCode::CREATED,
        Status::Updated | Status::Unchanged => StatusCode::OK,
    };
    let mut answer = answer::json(status, reply.encode());
    answer::set_version(&mut answer, reply.doc_hash);
    answer
}

/// http-binding §10.5.
pub(super) async fn delete(
    service: &Service,
    head: &Parts,
    form: QueryForm,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let declared = service.inner.store.contracts();
    message::contract(&head.headers, declared)?;
    let uri = message::file_uri(&form.uri.unwrap_or_default())?;
    let condition = WriteCondition::of_delete(&head.headers, declared)?;
    authorise(service, caller, &uri)?;
    let WriteCondition::Base(base) = condition else {
        return Err(precondition_required("a delete needs If-Match"));
    };
    service
        .inner
        .store
        .delete(Delete { uri, base })
        .await
        .map_err(not_written)?
        .map_err(on_document)?;
    Ok(answer::empty(StatusCode::NO_CONTENT))
}

/// http-binding §10.6.
pub(super) async fn move_(
    service: &Service,
    head: &Parts,
    body: Body,
    caller: Caller,
) -> Result<Answer, Refusal> {
    let max = service.inner.limits.max_payload_bytes;
    let declared = service.inner.store.contracts();
    let (body, _place) = body::read(head, body, max).await?;
    let headers = head.headers.clone();
    let (move_, has_base) =
        service::off_thread(body.len(), move || judge_move(&body, &headers, declared)).await?;
    authorise(service, caller, &move_.from)?;
    authorise(service, caller, &move_.to)?;
    if !has_base {
        return Err(precondition_required("a move needs base_hash"));
    }
    let target = routes::document(move_.to.as_str());
    let location = format!("{}/{target}", service.inner.public_url);
    let doc_hash = service
        .inner
        .store
        .move_(move_)
        .await
        .map_err(not_written)?
        .map_err(in_body)?;
    let mut answer = answer::json(StatusCode::OK, wire::move_::encode(doc_hash));
    answer::set_doc_hash(&mut answer, doc_hash);
    let location = answer::header_value(&location);
    answer
        .headers_mut()
        .insert(header::CONTENT_LOCATION, location);
    Ok(answer)
}

/// M1 to M3 of a move, and whether it has a base at all.
fn judge_move(
    body: &[u8],
    headers: &HeaderMap,
    declared: Contracts,
) -> Result<(Move, bool), Refusal> {
    let text = message::json(body)?;
    let contract = message::contract(headers, declared)?;
    let shape = wire::move_::Shape::read(text.root()).map_err(invalid_envelope)?;
    let base = shape.base_hash.as_deref();
    let move_ = Move {
        contract,
        base: base.and_then(|base| message::token(base, declared)),
        from: shape.from,
        to: shape.to,
    };
    Ok((move_, shape.base_hash.is_some()))
}

/// A commit after everything that the request alone decides (steps 1.1 to 1.5).
struct JudgedCommit {
    uri: FileUri,
    condition: WriteCondition,
    force: bool,
    objects: Objects,
    session: Option<String>,
}

impl JudgedCommit {
    fn judge(
        body: &[u8],
        headers: &HeaderMap,
        uri: &str,
        declared: Contracts,
    ) -> Result<Self, Refusal> {
        let text = message::json(body)?;
        let contract = message::contract(headers, declared)?;
        let shape = wire::commit::Shape::read(text.root()).map_err(invalid_envelope)?;
        let uri = message::file_uri(uri)?;
        let unjudged = Unjudged {
            document: shape.document,
            pages: shape.pages,
            elements: shape.objects,
        };
        let objects = unjudged.judge(contract, declared)?;
        let condition = WriteCondition::of_commit(headers, declared)?;
        if shape.force && condition != WriteCondition::None {
            return Err(Refusal::invalid("force excludes a condition"));
        }
        Ok(Self {
            uri,
            condition,
            force: shape.force,
            objects,
            session: shape.staging_session.map(Cow::into_owned),
        })
    }

    /// Step 3.
    fn with_precondition(self, claim: impl FnOnce(String) -> Claim) -> Result<Commit, Refusal> {
        let condition = match self.condition {
            WriteCondition::IfAbsent => Condition::IfAbsent,
            WriteCondition::Base(base) => Condition::Base(base),
            WriteCondition::None if self.force => Condition::Force,
            WriteCondition::None => {
                let detail = "a commit needs If-Match, If-None-Match or force";
                return Err(precondition_required(detail));
            }
        };
        let mut commit = self.objects.commit(self.uri, condition);
        commit.session = self.session.map(claim);
        Ok(commit)
    }
}

/// The objects of a commit as they came.
pub(super) struct Unjudged<'t> {
    pub(super) document: Value<'t>,
    pub(super) pages: Vec<Value<'t>>,
    pub(super) elements: Vec<Value<'t>>,
}

/// The objects of a commit, valid and hashed.
pub(super) struct Objects {
    contract: Contract,
    document: NewDocument,
    pages: Vec<(model::Hash, InlinePage)>,
    elements: Vec<(model::Hash, InlineElement)>,
}

impl Unjudged<'_> {
    /// Step M4.
    pub(super) fn judge(self, contract: Contract, declared: Contracts) -> Result<Objects, Refusal> {
        let document = document(self.document, contract, declared)?;
        let pages = self.pages.into_iter();
        let pages = pages.map(|value| page(value, contract, declared));
        let pages = pages.collect::<Result<_, _>>()?;
        let elements = self.elements.into_iter();
        let elements = elements.map(|value| element(value, contract));
        let elements = elements.collect::<Result<_, _>>()?;
        Ok(Objects {
            contract,
            document,
            pages,
            elements,
        })
    }
}

impl Objects {
    /// Returns the commit that writes them, without a staging session.
    pub(super) fn commit(self, uri: FileUri, condition: Condition) -> Commit {
        Commit {
            uri,
            contract: self.contract,
            condition,
            document: self.document,
            // Of two objects with the same hash, the later one is kept.
            pages: self.pages.into_iter().collect(),
            elements: self.elements.into_iter().collect(),
            session: None,
        }
    }
}

fn document(
    value: Value<'_>,
    contract: Contract,
    declared: Contracts,
) -> Result<NewDocument, Refusal> {
    let object = model::document(value, contract, declared)?;
    Ok(NewDocument {
        hash: object.hash,
        pages: object.pages,
        text: value.raw().into(),
    })
}

fn page(
    value: Value<'_>,
    contract: Contract,
    declared: Contracts,
) -> Result<(model::Hash, InlinePage), Refusal> {
    let object = model::page(value, contract, declared)?;
    let page = InlinePage {
        elements: object.elements,
        text: value.raw().into(),
    };
    Ok((object.hash, page))
}

fn element(value: Value<'_>, contract: Contract) -> Result<(model::Hash, InlineElement), Refusal> {
    let object = model::element(value, contract)?;
    let element = InlineElement {
        blob: object.blob,
        text: value.raw().into(),
    };
    Ok((object.hash, element))
}

pub(super) fn authorise(service: &Service, caller: Caller, uri: &FileUri) -> Result<(), Refusal> {
    if service.inner.access.may_write(caller, uri) {
        Ok(())
    } else {
        Err(Refusal::forbidden())
    }
}

pub(super) fn precondition_required(detail: &'static str) -> Refusal {
    Refusal::coded(ErrorCode::PreconditionRequired, detail)
}

/// The same for all reasons, so that nobody learns of the sessions of others (core §3.4).
pub(super) fn session_expired() -> Refusal {
    let code = ErrorCode::SessionExpired;
    Refusal::coded(code, "the staging session cannot be used")
}

pub(super) fn invalid_envelope(invalid: InvalidEnvelope) -> Refusal {
    Refusal::invalid(invalid.to_string())
}

pub(super) fn not_written(why: NotWritten) -> Refusal {
    match why {
        NotWritten::ForNow => Refusal::unavailable(false),
        NotWritten::DiskFull => Refusal::disk_full(),
        NotWritten::Lasting => Refusal::unavailable(true),
    }
}

/// A refused write to the document resource: conditions answer 412 (http-binding §11.2).
fn on_document(refused: Refused) -> Refusal {
    let failed = StatusCode::PRECONDITION_FAILED;
    refusal(refused, failed, failed)
}

/// A refused write whose condition is in the body, such as a move: it answers 409 (http-binding
/// §11.2).
fn in_body(refused: Refused) -> Refusal {
    refusal(refused, StatusCode::NOT_FOUND, StatusCode::CONFLICT)
}

fn refusal(refused: Refused, absent: StatusCode, differs: StatusCode) -> Refusal {
    let (code, status, detail) = match refused {
        Refused::NotFound => (ErrorCode::NotFound, absent, "there is no such document"),
        Refused::PreconditionFailed => (
            ErrorCode::PreconditionFailed,
            differs,
            "the document is not the one the condition names",
        ),
        Refused::AlreadyExists => (
            ErrorCode::AlreadyExists,
            differs,
            "the document exists already",
        ),
        Refused::SessionExpired => {
            return session_expired();
        }
        Refused::Missing(missing) => return Refusal::missing(missing),
    };
    Refusal::with_status(code, status.as_u16(), detail)
}

#[cfg(test)]
mod tests {
    use http::header::RETRY_AFTER;
    use http_body_util::BodyExt;

    use super::{NotWritten, not_written};
    use crate::protocol::headers;

    #[tokio::test]
    async fn full_disk_is_no_matter_of_a_second() {
        for (why, retry_after, says) in [
            (NotWritten::ForNow, "1", "at the moment"),
            (
                NotWritten::DiskFull,
                "86400",
                "the disk of the remote is full",
            ),
            (NotWritten::Lasting, "86400", "damaged"),
        ] {
            let answer = not_written(why).into_answer(false);
            assert_eq!(answer.status(), 503);
            assert_eq!(answer.headers()[headers::DPE_ERROR_CODE], "DPE_UNAVAILABLE");
            assert_eq!(answer.headers()[RETRY_AFTER], retry_after);
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert!(body.contains(says), "{body}");
        }
    }
}
