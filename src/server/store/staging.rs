//! What a store does for sessions: opens them, takes what is uploaded, tells what is missing.
//!
//! Nothing of that waits for the disk: a session that a power cut takes back, or a part of it, is
//! told like one that has expired, or like content that never came. What a commit refers to is as
//! durable as the commit.

use std::sync::Arc;

use rusqlite::Connection;

use crate::model::{BlobRef, FileUri, Hash};
use crate::protocol::Staged;
use crate::server::store::damage::damaged;
use crate::server::store::scope::Scope;
use crate::server::store::session::{self, Session};
use crate::server::store::upload::{Receipt, Upload};
use crate::server::store::{
    Claim, NewElement, NewPage, NotWritten, Store, UploadState, collect, partial, staged,
};

/// A session to open, with pages that are staged at once.
#[derive(Debug)]
pub(crate) struct Negotiation {
    pub(crate) uri: FileUri,
    pub(crate) caller: Vec<u8>,
    /// When the session is over, in seconds since 1970.
    pub(crate) until: i64,
    pub(crate) pages: Vec<NewPage>,
}

/// An open session.
#[derive(Clone, Debug)]
pub(crate) struct Negotiated {
    /// Its id as it travels.
    pub(crate) session: String,
    id: i64,
}

impl Store {
    /// Opens a session.
    pub(crate) async fn negotiate(
        &self,
        negotiation: Negotiation,
    ) -> Result<Negotiated, NotWritten> {
        let work = move |connection: &Connection| {
            let Negotiation {
                uri,
                caller,
                until,
                pages,
            } = &negotiation;
            let (session, name) = Session::open(connection, uri, caller, *until)?;
            for page in pages {
                staged::put_page(connection, session.id, page)?;
            }
            Ok(Negotiated {
                session: name,
                id: session.id,
            })
        };
        self.shared.writer()?.write_briefly(work).await
    }

    /// Returns which of these pages and elements neither the session of a negotiation nor the
    /// document's current state has.
    pub(crate) fn missing_for(
        &self,
        negotiated: &Negotiated,
        uri: &FileUri,
        pages: &[Hash],
        elements: &[Hash],
    ) -> rusqlite::Result<(Vec<Hash>, Vec<Hash>)> {
        self.read(|connection| {
            let scope = Scope::of(connection, uri, negotiated.id)?;
            let contract = pages.first().map(|page| page.contract());
            let pages = contract.map(|contract| scope.missing_pages(pages, contract));
            let pages = pages.transpose()?.unwrap_or_default();
            Ok((pages, scope.missing_elements(elements)?))
        })
    }

    /// Returns what a session has received of an object, or `None` if it is not usable.
    pub(crate) fn upload_state(
        &self,
        claim: &Claim,
        object: Staged,
    ) -> rusqlite::Result<Option<UploadState>> {
        if !self.shared.has_staging {
            return Ok(None);
        }
        self.read(|connection| partial::state(connection, claim, object))
    }

    /// Returns an upload of an object when nobody else uploads it to the same session.
    pub(crate) async fn upload(&self, claim: Claim, object: Staged) -> Upload {
        Upload::begin(&self.shared, claim, object).await
    }

    /// Stores an element, unless the session has it, and returns the blob that is missing below
    /// it; `None` if the session is not usable.
    pub(crate) async fn stage_element(
        &self,
        claim: Claim,
        element: NewElement,
    ) -> Result<Option<(Receipt, Option<BlobRef>)>, NotWritten> {
        let work = move |connection: &Connection| {
            let Some(session) = Session::find(connection, &claim)? else {
                return Ok(None);
            };
            let is_new = staged::add_element(connection, session.id, &element)?;
            let expires = session.renew(connection, claim.until)?;
            let scope = Scope::of(connection, &session.uri()?, session.id)?;
            let missing = match element.blob {
                Some(blob) if !scope.has_blob(blob)? => Some(blob),
                _ => None,
            };
            Ok(Some((Receipt { is_new, expires }, missing)))
        };
        self.shared.writer()?.write_briefly(work).await
    }

    /// Renews a session and returns when it is over now; `None` if it is not usable.
    pub(crate) async fn renew(&self, claim: Claim) -> Result<Option<i64>, NotWritten> {
        let work = move |connection: &Connection| {
            let session = Session::find(connection, &claim)?;
            session
                .map(|session| session.renew(connection, claim.until))
                .transpose()
        };
        self.shared.writer()?.write_briefly(work).await
    }

    /// Returns the elements of a page of a session that neither the session nor the document's
    /// current state has. A session that has ended meanwhile lacks nothing.
    pub(crate) fn missing_below(&self, claim: &Claim, page: Hash) -> rusqlite::Result<Vec<Hash>> {
        self.read(|connection| {
            let Some(session) = Session::find(connection, claim)? else {
                return Ok(Vec::new());
            };
            let Some((_, elements)) = staged::page(connection, session.id, page)? else {
                return Ok(Vec::new());
            };
            Scope::of(connection, &session.uri()?, session.id)?.missing_elements(&elements)
        })
    }

    /// Ends a session at once; false if there is none that is usable.
    pub(crate) async fn expire_session(&self, name: String, now: i64) -> Result<bool, NotWritten> {
        let work = move |connection: &Connection| session::expire(connection, &name, now);
        self.shared.writer()?.write(work).await
    }

    /// Removes what nobody can reach any more.
    pub(crate) async fn sweep(&self, now: i64) -> Result<(), NotWritten> {
        collect::sweep(&Arc::clone(&self.shared), now).await
    }
}

impl Session {
    fn uri(&self) -> rusqlite::Result<FileUri> {
        FileUri::parse(&self.file_uri).map_err(damaged)
    }
}
