//! A remote that lets some documents not be read: connector contract §19.5.

use dpe::runner::Profile;

use super::fixture::{
    LocalClient, Place, Scripted, delete, document, failures, last, rename, summary,
};
use super::steered::{Call, Fate, Steered, refused};

/// Refuses every read that names a document below `t://secret/`.
fn guarded(client: &LocalClient) -> Steered<'_> {
    Steered::by(client, |call| match call {
        Call::Heads(names) if names.iter().any(|name| name.starts_with("secret/")) => {
            Fate::Instead(refused("DPE_FORBIDDEN"))
        }
        _ => Fate::Pass,
    })
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
    let report = place.round_over(&guarded(&place.client), &mut source).await;
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
    let report = place.round_over(&guarded(&place.client), &mut source).await;
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
        let report = place.round_over(&guarded(&place.client), &mut source).await;
        assert!(summary(&report).starts_with(outcome), "{report:?}");
    }
}
