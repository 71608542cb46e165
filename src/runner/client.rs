//! The documents of a remote behind a transport.
//!
//! A thin layer: the machines of `protocol` say what is sent and what its end means, the drive loop
//! carries it. Here are only the choice of the machine and the remote's limits of batches.

use crate::model::{Contract, FileUri, Hash, Tree};
use crate::protocol::delivery::{
    Delete, Delivered, Delivery, Job, Move, Precondition, Session, Status, Terms,
};
use crate::protocol::machine::Read;
use crate::protocol::wire::{capabilities, head, heads, list, skeleton};
use crate::protocol::{Machine, Operation, OperationError, ReplyError, Request, Response};
use crate::runner::client_error::ClientError;
use crate::runner::client_sessions::Sessions;
use crate::runner::drive::drive;
use crate::runner::supply::{Room, Supply};
use crate::sync::blobs::Blobs;
use crate::sync::failure::{Failure, FailureSource, Level};
use crate::sync::ports::{Base, Committed, Remote, Transport, WriteError};

/// A remote whose capabilities are known.
#[derive(Debug)]
pub struct Client<T> {
    transport: T,
    terms: Terms,
    capabilities: capabilities::Capabilities,
    /// Sessions of deliveries that failed; a refused commit does not consume its own (core §3.4).
    sessions: Sessions<Session>,
    room: Room,
}

impl<T: Transport> Client<T> {
    /// Fetches the capabilities and makes sure that both sides speak `contract`.
    ///
    /// # Errors
    ///
    /// When the remote cannot be reached, is no DPE/1 remote, or does not take the contract.
    pub async fn connect(transport: T, contract: Contract) -> Result<Self, Failure> {
        let request = capabilities::Request.into_http();
        let read = Read::new(Operation::Capabilities, request, capabilities::decode);
        let (no_blobs, room) = (Blobs::default(), Room::default());
        let capabilities = drive(read, &transport, &Supply::new(&no_blobs, &room))
            .await
            .map_err(|error| *ClientError::over(&transport, error, false).failure)
            .map_err(|failure| match failure.level {
                Level::Item => Failure {
                    level: Level::Round,
                    ..failure
                },
                _ => failure,
            })?;
        if !capabilities.accepts(contract) {
            return Err(Failure::new(
                Level::Instance,
                FailureSource::Remote,
                "remote_incompatible",
                format!(
                    "the remote does not take hashes of contract {}",
                    contract.name()
                ),
            ));
        }
        Ok(Self {
            transport,
            terms: Terms::new(contract, capabilities.limits),
            capabilities,
            sessions: Sessions::default(),
            room: Room::default(),
        })
    }

    /// Sends updates inline, without asking what is missing, up to bodies of `bytes` bytes: for a
    /// remote where sending costs nothing.
    #[must_use]
    pub fn updating_inline_up_to(mut self, bytes: u64) -> Self {
        self.terms.fast_update_bytes = bytes;
        self
    }

    /// Returns what the remote declared.
    pub fn capabilities(&self) -> &capabilities::Capabilities {
        &self.capabilities
    }

    /// Returns the transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Returns the doc_hash of one document, or `None` where there is none.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read.
    pub async fn head(&self, uri: &FileUri) -> Result<Option<Hash>, ClientError> {
        let contract = self.terms.contract;
        let request = head::Request { uri: uri.as_str() }.into_http(contract);
        let decode = |reply: &Response| head::decode(reply, contract);
        self.read(Operation::Head, request, decode).await
    }

    /// Returns the document object and all page objects of one document.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read, or sends something that its own hashes contradict.
    pub async fn skeleton(&self, uri: &FileUri) -> Result<Option<skeleton::Skeleton>, ClientError> {
        let contract = self.terms.contract;
        let request = skeleton::Request { uri }.into_http(contract);
        let decode = |reply: &Response| skeleton::decode(reply, contract, uri);
        self.read(Operation::GetSkeleton, request, decode).await
    }

    /// Returns one page of the documents whose URI begins with `prefix`.
    ///
    /// # Errors
    ///
    /// When the remote cannot be read.
    pub async fn list(
        &self,
        prefix: &str,
        cursor: Option<&str>,
    ) -> Result<list::Reply, ClientError> {
        self.list_up_to(prefix, cursor, None).await
    }

    /// Makes `tree` the content of `uri` under `precondition`; `blobs` has the bytes it may need.
    /// After a failure, what was uploaded is used again by the next delivery of this document.
    ///
    /// # Errors
    ///
    /// See [`ClientError`]; a forced commit whose reply was lost is never sent again (core §5.2).
    pub async fn deliver(
        &self,
        uri: &FileUri,
        precondition: Precondition,
        tree: &Tree,
        blobs: &Blobs,
    ) -> Result<Delivered, ClientError> {
        let job = Job {
            uri,
            precondition,
            tree,
            blobs: blobs.lengths().collect(),
        };
        let delivery = match self.sessions.take(uri) {
            Some(session) => Delivery::with_session(job, self.terms, session),
            None => Delivery::new(job, self.terms),
        };
        self.drive(delivery, blobs).await.map_err(|mut failed| {
            let session = failed.session.take();
            if let Some(session) = session {
                self.sessions.keep(uri, session);
            }
            self.failed(failed.error, failed.outcome_unknown)
        })
    }

    async fn list_up_to(
        &self,
        prefix: &str,
        cursor: Option<&str>,
        limit: Option<u64>,
    ) -> Result<list::Reply, ClientError> {
        let contract = self.terms.contract;
        let request = list::Request {
            prefix,
            cursor,
            limit,
        };
        let decode = |reply: &Response| list::decode(reply, contract, prefix);
        self.read(Operation::List, request.into_http(contract), decode)
            .await
    }

    async fn read<R>(
        &self,
        operation: Operation,
        request: Request,
        decode: impl Fn(&Response) -> Result<R, ReplyError>,
    ) -> Result<R, ClientError> {
        let read = Read::new(operation, request, decode);
        self.drive(read, &Blobs::default())
            .await
            .map_err(|error| self.failed(error, false))
    }

    fn failed(&self, error: OperationError, outcome_unknown: bool) -> ClientError {
        ClientError::over(&self.transport, error, outcome_unknown)
    }

    async fn drive<M: Machine>(&self, machine: M, blobs: &Blobs) -> M::Outcome {
        drive(machine, &self.transport, &Supply::new(blobs, &self.room)).await
    }
}

impl<T: Transport> Remote for Client<T> {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        let contract = self.terms.contract;
        let mut all = Vec::with_capacity(uris.len());
        for uris in uris.chunks(self.heads_at_once()) {
            let texts: Vec<&str> = uris.iter().map(FileUri::as_str).collect();
            let request = heads::Request { uris: &texts }.into_http(contract);
            let decode = |reply: &Response| heads::decode(reply, contract, texts.len());
            all.extend(self.read(Operation::BatchHead, request, decode).await?);
        }
        Ok(all)
    }

    fn heads_at_once(&self) -> usize {
        usize::try_from(self.terms.limits.batch_head_max)
            .unwrap_or(usize::MAX)
            .max(1)
    }

    async fn is_empty(&self, prefix: &str) -> Result<bool, WriteError> {
        let listed = self.list_up_to(prefix, None, Some(1)).await?;
        Ok(listed.documents.is_empty())
    }

    async fn commit(
        &self,
        uri: &FileUri,
        base: Base,
        tree: &Tree,
        blobs: &Blobs,
    ) -> Result<Committed, WriteError> {
        let precondition = match base {
            Base::Absent => Precondition::IfAbsent,
            Base::Hash(hash) => Precondition::Base(hash),
        };
        let delivered = self.deliver(uri, precondition, tree, blobs).await?;
        Ok(match delivered.status {
            Status::Created => Committed::Created,
            Status::Updated => Committed::Updated,
            Status::Unchanged => Committed::Unchanged,
        })
    }

    async fn delete(&self, uri: &FileUri, base: Hash) -> Result<(), WriteError> {
        let delete = Delete::of(uri, base, self.terms.contract);
        let deleted = self.drive(delete, &Blobs::default()).await;
        Ok(deleted.map_err(|failed| self.failed(failed.error, failed.outcome_unknown))?)
    }

    async fn rename(&self, from: &FileUri, to: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        let moving = Move::of(from, to, base, self.terms.contract);
        let moved = self.drive(moving, &Blobs::default()).await;
        Ok(moved.map_err(|failed| self.failed(failed.error, failed.outcome_unknown))?)
    }
}
