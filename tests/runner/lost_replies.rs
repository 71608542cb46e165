//! A reply that was lost, or a crash after the write: the intent is in the journal, and the next
//! round compares it with what the remote holds (connector contract §19.2, §19.3).

use dpe::model::{FileUri, Hash, Tree};
use dpe::sync::blobs::Blobs;
use dpe::sync::decision::{Policies, Policy};
use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::ports::{Base, Committed, Remote, WriteError};

use super::fixture::{
    LocalClient, Place, Scripted, delete, document, failures, last, rename, summary, uri,
};

/// Carries every write out and loses the reply.
struct Deaf<'a>(&'a LocalClient);

fn lost() -> WriteError {
    let failure = Failure::new(
        Level::Round,
        FailureSource::Remote,
        "remote_unavailable",
        "lost",
    );
    WriteError {
        failure: failure.retryable(true),
        outcome_unknown: true,
        refusal: None,
    }
}

impl Remote for Deaf<'_> {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        self.0.heads(uris).await
    }

    async fn is_empty(&self, prefix: &str) -> Result<bool, WriteError> {
        self.0.is_empty(prefix).await
    }

    async fn commit(
        &self,
        uri: &FileUri,
        base: Base,
        tree: &Tree,
        blobs: &Blobs,
    ) -> Result<Committed, WriteError> {
        self.0.commit(uri, base, tree, blobs).await.and(Err(lost()))
    }

    async fn delete(&self, uri: &FileUri, base: Hash) -> Result<(), WriteError> {
        self.0.delete(uri, base).await.and(Err(lost()))
    }

    async fn rename(&self, from: &FileUri, to: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        self.0.rename(from, to, base).await.and(Err(lost()))
    }
}

/// A place where every conflict would be reported, so that none can hide.
async fn place_with_a() -> Place {
    let mut place = Place::new().await;
    place.settings.policies = Policies {
        commit: Policy::Report,
        delete: Policy::Report,
    };
    place
        .says(&[document("a", "x"), document("keep", "k")], "c-1", false)
        .await;
    place
}

async fn loses_the_reply_to(place: &Place, item: String) {
    let mut source = Scripted::new([last(&[item], "c-2", true)]);
    let report = place.round_over(&Deaf(&place.client), &mut source).await;
    assert_eq!(failures(&report), ["round/remote/remote_unavailable/true"]);
    assert_eq!(summary(&report), "failed 0 0 0 0 0 0");
}

#[tokio::test]
async fn of_an_update() {
    let place = place_with_a().await;
    loses_the_reply_to(&place, document("a", "y")).await;
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-1"));
    let report = place.says(&[document("a", "z")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 0 0");
    place.holds(&[("a", "z"), ("keep", "k")]).await;
}

#[tokio::test]
async fn of_a_delete_and_then_the_document_is_created_again() {
    let place = place_with_a().await;
    loses_the_reply_to(&place, delete("a")).await;
    let report = place.says(&[document("a", "new")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 1 0 0 0 0 0");
}

#[tokio::test]
async fn of_a_delete_and_then_the_same_delete() {
    let place = place_with_a().await;
    loses_the_reply_to(&place, delete("a")).await;
    let report = place.says(&[delete("a")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 1 0 0");
}

#[tokio::test]
async fn of_a_move_and_then_the_same_move() {
    let place = place_with_a().await;
    loses_the_reply_to(&place, rename("a", "b")).await;
    let report = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 1 0");
    let state = place.state();
    assert_eq!(state.pending(&uri("a")).unwrap(), Default::default());
    assert_eq!(state.pending(&uri("b")).unwrap().intent, None);
    place.holds(&[("b", "x"), ("keep", "k")]).await;
}

#[tokio::test]
async fn of_a_move_and_then_a_write_to_the_old_name() {
    let place = place_with_a().await;
    loses_the_reply_to(&place, rename("a", "b")).await;
    let items = [rename("a", "b"), document("a", "new")];
    let report = place.says(&items, "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 1 0 0 0 1 0");
    place
        .holds(&[("a", "new"), ("b", "x"), ("keep", "k")])
        .await;
}

#[tokio::test]
async fn only_while_the_remote_holds_what_was_intended() {
    let place = place_with_a().await;
    loses_the_reply_to(&place, document("a", "y")).await;
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[document("a", "z")], "c-2", true).await;
    assert_eq!(
        failures(&report),
        ["item/remote/DPE_PRECONDITION_FAILED/false"]
    );
    place.holds(&[("a", "foreign"), ("keep", "k")]).await;
}
