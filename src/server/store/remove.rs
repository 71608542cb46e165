//! delete and move, decided and done inside one transaction (http-binding §10.5, §10.6).

use rusqlite::{Connection, params};

use crate::model::{Contract, Contracts, FileUri, Hash};
use crate::server::store::Refused;
use crate::server::store::current::Document;
use crate::server::store::spelling::no_hash;

/// A delete that passed everything that does not depend on the document.
#[derive(Debug)]
pub(crate) struct Delete {
    pub(crate) uri: FileUri,
    /// `If-Match`; `None` if it is no hash of a declared contract, which never matches.
    pub(crate) base: Option<Hash>,
}

impl Delete {
    pub(super) fn run(
        &self,
        connection: &Connection,
        declared: Contracts,
    ) -> rusqlite::Result<Result<(), Refused>> {
        let Some(document) = Document::find(connection, &self.uri)? else {
            return Ok(Err(Refused::NotFound));
        };
        if !document.is(self.base, declared) {
            return Ok(Err(Refused::PreconditionFailed));
        }
        for sql in [
            "DELETE FROM element WHERE document = ?1",
            "DELETE FROM page WHERE document = ?1",
            "DELETE FROM document WHERE id = ?1",
        ] {
            connection.prepare_cached(sql)?.execute([document.id])?;
        }
        Ok(Ok(()))
    }
}

/// A move that passed everything that does not depend on the documents.
#[derive(Debug)]
pub(crate) struct Move {
    pub(crate) from: FileUri,
    pub(crate) to: FileUri,
    pub(crate) contract: Contract,
    /// `base_hash`; `None` if it is no hash of a declared contract, which never matches.
    pub(crate) base: Option<Hash>,
}

impl Move {
    /// Returns the target's doc_hash under the declared contract.
    pub(super) fn run(
        &self,
        connection: &Connection,
        declared: Contracts,
    ) -> rusqlite::Result<Result<Hash, Refused>> {
        let source = Document::find(connection, &self.from)?;
        let target = Document::find(connection, &self.to)?;
        let moved = match (source, target) {
            // Done before: the first reply may have been lost.
            (None, Some(target)) if target.is(self.base, declared) => target,
            (None, _) => return Ok(Err(Refused::NotFound)),
            (Some(source), _) if !source.is(self.base, declared) => {
                return Ok(Err(Refused::PreconditionFailed));
            }
            (Some(_), Some(_)) => return Ok(Err(Refused::AlreadyExists)),
            (Some(source), None) => {
                connection
                    .prepare_cached("UPDATE document SET file_uri = ?2 WHERE id = ?1")?
                    .execute(params![source.id, self.to.as_str()])?;
                source
            }
        };
        let hash = moved.digests.hash(self.contract);
        hash.map(Ok).ok_or_else(|| no_hash(self.contract))
    }
}
