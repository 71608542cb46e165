//! A remote on whose way something happens: to each call, what a test decides.

use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use dpe::model::{FileUri, Hash, Tree};
use dpe::sync::blobs::Blobs;
use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::ports::{Base, Committed, Refusal, Remote, WriteError};

use super::fixture::LocalClient;

/// One call of the runner, its documents without the prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Heads(Vec<String>),
    Commit(String, Base),
    Delete(String, Hash),
    Rename(String, String, Hash),
}

impl Call {
    pub(super) fn is_read(&self) -> bool {
        matches!(self, Self::Heads(_))
    }
}

/// What happens to a call.
pub(super) enum Fate<'a> {
    /// It is carried out.
    Pass,
    /// It is carried out after a while.
    Slow(Duration),
    /// It never ends.
    Hang,
    /// It is not carried out, and this is the answer.
    Instead(WriteError),
    /// It is carried out, and this is the answer.
    After(WriteError),
    /// Something else happens first, then it is carried out.
    Meanwhile(Pin<Box<dyn Future<Output = ()> + Send + 'a>>),
}

type Chooser<'a> = Box<dyn FnMut(&Call) -> Fate<'a> + Send + 'a>;

/// A remote in front of the store.
pub(super) struct Steered<'a> {
    client: &'a LocalClient,
    chooser: Mutex<Chooser<'a>>,
    calls: Mutex<Vec<Call>>,
}

impl<'a> Steered<'a> {
    /// Lets `chooser` decide what happens to each call.
    pub(super) fn by(
        client: &'a LocalClient,
        chooser: impl FnMut(&Call) -> Fate<'a> + Send + 'a,
    ) -> Self {
        Self {
            client,
            chooser: Mutex::new(Box::new(chooser)),
            calls: Mutex::default(),
        }
    }

    /// Returns the calls so far.
    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    async fn pass<T>(
        &self,
        call: Call,
        carry_out: impl Future<Output = Result<T, WriteError>>,
    ) -> Result<T, WriteError> {
        let fate = (self.chooser.lock().unwrap())(&call);
        self.calls.lock().unwrap().push(call);
        match fate {
            Fate::Pass => {}
            Fate::Slow(time) => tokio::time::sleep(time).await,
            Fate::Hang => std::future::pending().await,
            Fate::Instead(error) => return Err(error),
            Fate::After(error) => return carry_out.await.and(Err(error)),
            Fate::Meanwhile(meanwhile) => meanwhile.await,
        }
        carry_out.await
    }
}

/// The answer of a remote that cannot be reached; of a write, nobody knows what became of it.
pub(super) fn lost() -> WriteError {
    let code = "remote_unavailable";
    WriteError {
        failure: Failure::new(Level::Round, FailureSource::Remote, code, "lost").retryable(true),
        outcome_unknown: true,
        refusal: None,
    }
}

/// A determinate refusal of one document.
pub(super) fn refused(code: &'static str) -> WriteError {
    let refusals = [
        Refusal::PreconditionFailed,
        Refusal::AlreadyExists,
        Refusal::NotFound,
    ];
    WriteError {
        failure: Failure::new(Level::Item, FailureSource::Remote, code, "steered"),
        outcome_unknown: false,
        refusal: refusals.into_iter().find(|refusal| refusal.code() == code),
    }
}

fn name(uri: &FileUri) -> String {
    uri.as_str()["t://".len()..].to_owned()
}

impl Remote for Steered<'_> {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        let call = Call::Heads(uris.iter().map(name).collect());
        self.pass(call, self.client.heads(uris)).await
    }

    async fn is_empty(&self, prefix: &str) -> Result<bool, WriteError> {
        self.client.is_empty(prefix).await
    }

    async fn commit(
        &self,
        uri: &FileUri,
        base: Base,
        tree: &Tree,
        blobs: &Blobs,
    ) -> Result<Committed, WriteError> {
        let call = Call::Commit(name(uri), base);
        let commit = self.client.commit(uri, base, tree, blobs);
        self.pass(call, commit).await
    }

    async fn delete(&self, uri: &FileUri, base: Hash) -> Result<(), WriteError> {
        let call = Call::Delete(name(uri), base);
        self.pass(call, self.client.delete(uri, base)).await
    }

    async fn rename(&self, from: &FileUri, to: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        let call = Call::Rename(name(from), name(to), base);
        self.pass(call, self.client.rename(from, to, base)).await
    }
}
