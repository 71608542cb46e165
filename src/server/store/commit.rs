//! commit, decided and done inside one transaction: steps 4 to 7 of http-binding §10.2.
//!
//! First everything is looked up and decided, then everything is written: a refusal leaves no
//! trace.

use std::collections::HashMap;

use rusqlite::Connection;

use crate::model::{BlobRef, Contract, Contracts, FileUri, Hash};
use crate::protocol::wire::commit::{Delta, Reply, Status};
use crate::server::store::Refused;
use crate::server::store::availability::Walk;
use crate::server::store::current::{self, Document};
use crate::server::store::scope::Scope;
use crate::server::store::session::{Claim, Session};
use crate::server::store::switch::Switch;

/// A commit that passed everything that does not depend on the document.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) uri: FileUri,
    /// Contract of all hashes in here.
    pub(crate) contract: Contract,
    pub(crate) condition: Condition,
    pub(crate) document: NewDocument,
    /// Inline pages; of two with the same hash, the later one.
    pub(crate) pages: HashMap<Hash, InlinePage>,
    /// Inline elements; of two with the same hash, the later one.
    pub(crate) elements: HashMap<Hash, InlineElement>,
    /// Session whose content may be used, and which is consumed by a success.
    pub(crate) session: Option<Claim>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    IfAbsent,
    /// `If-Match`; `None` if it is no hash of a declared contract, which never matches.
    Base(Option<Hash>),
    Force,
}

#[derive(Debug)]
pub(crate) struct NewDocument {
    pub(crate) hash: Hash,
    pub(crate) pages: Vec<Hash>,
    pub(crate) text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct InlinePage {
    pub(crate) elements: Vec<Hash>,
    pub(crate) text: Box<str>,
}

#[derive(Debug)]
pub(crate) struct InlineElement {
    pub(crate) blob: Option<BlobRef>,
    pub(crate) text: Box<str>,
}

impl Commit {
    pub(super) fn run(
        &self,
        connection: &Connection,
        declared: Contracts,
        kept: Contracts,
    ) -> rusqlite::Result<Result<Reply, Refused>> {
        let current = Document::find(connection, &self.uri)?;
        if let Some(unchanged) = self.unchanged(current.as_ref()) {
            return Ok(Ok(unchanged));
        }
        if let Some(refused) = self.refused(current.as_ref(), declared) {
            return Ok(Err(refused));
        }
        let session = match &self.session {
            None => None,
            Some(claim) => match self.usable(connection, claim)? {
                None => return Ok(Err(Refused::SessionExpired)),
                session => session,
            },
        };
        let old_pages = match &current {
            Some(document) => current::pages(connection, document.id, self.contract)?,
            None => HashMap::new(),
        };
        let scope = Scope {
            connection,
            document: current.map(|document| document.id),
            session: session.as_ref().map(|session| session.id),
        };
        let mut walk = Walk::new(scope, self, &old_pages);
        walk.document()?;
        let found = match walk.finish() {
            Ok(found) => found,
            Err(missing) => return Ok(Err(Refused::Missing(missing))),
        };
        let switch = Switch::new(connection, self, kept, &old_pages, &found)?;
        let reply = switch.run(current.as_ref())?;
        if let Some(session) = session {
            session.close(connection)?;
        }
        Ok(Ok(reply))
    }

    /// Step 6a: returns the session if it can be used for this document.
    fn usable(&self, connection: &Connection, claim: &Claim) -> rusqlite::Result<Option<Session>> {
        let session = Session::find(connection, claim)?;
        Ok(session.filter(|session| session.file_uri == self.uri.as_str()))
    }

    fn unchanged(&self, current: Option<&Document>) -> Option<Reply> {
        let document = current?;
        let same = document.digests.hash(self.contract) == Some(self.document.hash);
        same.then_some(Reply {
            status: Status::Unchanged,
            doc_hash: self.document.hash,
            delta: Delta {
                retained: document.element_count,
                ..Delta::default()
            },
        })
    }

    /// Step 5.
    fn refused(&self, current: Option<&Document>, declared: Contracts) -> Option<Refused> {
        match (self.condition, current) {
            (Condition::IfAbsent, Some(_)) => Some(Refused::AlreadyExists),
            (Condition::Base(_), None) => Some(Refused::NotFound),
            (Condition::Base(base), Some(document)) if !document.is(base, declared) => {
                Some(Refused::PreconditionFailed)
            }
            _ => None,
        }
    }
}
