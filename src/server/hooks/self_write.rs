//! The server writes as itself: a commit that needs no right and names no staging session.
//!
//! Conditions are in the body, as those of move are, so one that does not hold is a conflict (409).

use std::borrow::Cow;

use bytes::Bytes;

use crate::json::Value;
use crate::model::{Contract, Contracts, FileUri};
use crate::protocol::ErrorCode;
use crate::protocol::wire::{InvalidEnvelope, envelope};
use crate::server::answer::{Answer, Refusal};
use crate::server::message;
use crate::server::service::{self, Service};
use crate::server::store::{Commit, Condition};
use crate::server::write::{self, Unjudged, invalid_envelope, precondition_required};

/// Members of the body.
const NAMES: [&str; 8] = [
    "file_uri",
    "document",
    "pages",
    "objects",
    "base_hash",
    "if_absent",
    "force",
    "contract",
];

/// Carries out the hook.
pub(super) async fn answer(service: &Service, body: Bytes) -> Result<Answer, Refusal> {
    let declared = service.inner.store.contracts();
    let commit = service::off_thread(body.len(), move || judge(&body, declared)).await?;
    write::commit_as_itself(service, commit).await
}

/// Steps 1.1 to 1.5 and 3 of http-binding §10.2.
fn judge(body: &[u8], declared: Contracts) -> Result<Commit, Refusal> {
    let text = message::json(body)?;
    let shape = Shape::read(text.root()).map_err(invalid_envelope)?;
    let contract = shape.contract(declared)?;
    let unjudged = Unjudged {
        document: shape.document,
        pages: shape.pages,
        elements: shape.objects,
    };
    let objects = unjudged.judge(contract, declared)?;
    let base = shape.base_hash.as_deref();
    let condition = match (base, shape.if_absent, shape.force) {
        (Some(base), false, false) => Condition::Base(message::token(base, declared)),
        (None, true, false) => Condition::IfAbsent,
        (None, false, true) => Condition::Force,
        (None, false, false) => {
            let detail = "a write needs base_hash, if_absent or force";
            return Err(precondition_required(detail));
        }
        _ => {
            let detail = "base_hash, if_absent and force exclude each other";
            return Err(Refusal::invalid(detail));
        }
    };
    Ok(objects.commit(shape.file_uri, condition))
}

struct Shape<'t> {
    file_uri: FileUri,
    document: Value<'t>,
    pages: Vec<Value<'t>>,
    objects: Vec<Value<'t>>,
    base_hash: Option<Cow<'t, str>>,
    if_absent: bool,
    force: bool,
    contract: Option<Cow<'t, str>>,
}

impl<'t> Shape<'t> {
    fn read(body: Value<'t>) -> Result<Self, InvalidEnvelope> {
        let [
            uri,
            document,
            pages,
            objects,
            base_hash,
            if_absent,
            force,
            contract,
        ] = envelope::members(body, NAMES)?;
        let string = |member: Option<Value<'t>>, name| {
            let read = |value| envelope::string(value, name);
            member.map(read).transpose()
        };
        let document = envelope::mandatory(document, "document")?;
        if !document.is_object() {
            return Err(InvalidEnvelope::new("document is not an object"));
        }
        Ok(Self {
            file_uri: envelope::file_uri(envelope::mandatory(uri, "file_uri")?, "file_uri")?,
            document,
            pages: envelope::array(pages, "pages")?,
            objects: envelope::array(objects, "objects")?,
            base_hash: string(base_hash, "base_hash")?,
            if_absent: envelope::switch(if_absent, "if_absent")?,
            force: envelope::switch(force, "force")?,
            contract: string(contract, "contract")?,
        })
    }

    /// Returns the contract of the hashes in the body: the one it names, or the first declared.
    fn contract(&self, declared: Contracts) -> Result<Contract, Refusal> {
        let contract = match &self.contract {
            Some(name) => Contract::from_name(name).filter(|named| declared.contains(*named)),
            None => declared.iter().next(),
        };
        contract.ok_or_else(|| {
            let code = ErrorCode::ContractUnsupported;
            Refusal::coded(code, "the named hash contract is not supported")
        })
    }
}
