//! A remote that lets some documents not be read: connector contract §19.5.

use dpe::model::{FileUri, Hash, Tree};
use dpe::runner::Profile;
use dpe::sync::blobs::Blobs;
use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::ports::{Base, Committed, Remote, WriteError};

use super::fixture::{
    LocalClient, Place, Scripted, delete, document, failures, last, rename, summary,
};

/// Refuses every read that names a document below `t://secret/`.
struct Guarded<'a>(&'a LocalClient);

impl Remote for Guarded<'_> {
    async fn heads(&self, uris: &[FileUri]) -> Result<Vec<Option<Hash>>, WriteError> {
        if !uris
            .iter()
            .any(|uri| uri.as_str().starts_with("t://secret/"))
        {
            return self.0.heads(uris).await;
        }
        Err(WriteError {
            failure: Failure::new(
                Level::Item,
                FailureSource::Remote,
                "DPE_FORBIDDEN",
                "secret",
            ),
            outcome_unknown: false,
            refusal: None,
        })
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
        self.0.commit(uri, base, tree, blobs).await
    }

    async fn delete(&self, uri: &FileUri, base: Hash) -> Result<(), WriteError> {
        self.0.delete(uri, base).await
    }

    async fn rename(&self, from: &FileUri, to: &FileUri, base: Hash) -> Result<Hash, WriteError> {
        self.0.rename(from, to, base).await
    }
}

#[tokio::test]
async fn only_what_is_denied_fails_and_the_rest_lands() {
    let place = Place::new().await;
    let mut source = Scripted::new([last(
        &[
            document("a", "x"),
            document("secret/s", "y"),
            document("b", "z"),
        ],
        "c-1",
        false,
    )]);
    let report = place.round_over(&Guarded(&place.client), &mut source).await;
    assert_eq!(summary(&report), "partial 2 0 0 0 0 1");
    assert_eq!(failures(&report), ["item/remote/DPE_FORBIDDEN/false"]);
    assert!(report.to_json().contains(r#""file_uri":"t://secret/s""#));
    assert!(place.heard.contains("BatchReadRejected"));
    place.holds(&[("a", "x"), ("b", "z")]).await;
}

#[tokio::test]
async fn a_move_fails_if_either_side_is_denied() {
    let place = Place::new().await;
    place
        .says(&[document("a", "x"), document("b", "y")], "c-1", false)
        .await;
    let mut source = Scripted::new([last(&[rename("a", "secret/a"), delete("b")], "c-2", true)]);
    let report = place.round_over(&Guarded(&place.client), &mut source).await;
    assert_eq!(summary(&report), "partial 0 0 0 1 0 1");
    place.holds(&[("a", "x")]).await;
}

#[tokio::test]
async fn a_remote_that_lets_nothing_be_read_any_more_is_no_success() {
    let mut place = Place::new().await;
    place
        .says(
            &[document("secret/a", "x"), document("secret/b", "y")],
            "c-1",
            false,
        )
        .await;
    for (profile, outcome) in [
        (Profile::People, "failed"),
        (Profile::Contract, "succeeded"),
    ] {
        place.settings.profile = profile;
        let mut source = Scripted::new([last(&[], "c-2", true)]);
        let report = place.round_over(&Guarded(&place.client), &mut source).await;
        assert!(summary(&report).starts_with(outcome), "{report:?}");
    }
}
