//! A reply that was lost, or a crash after the write: the intent is in the journal, and the next
//! round compares it with what the remote holds (connector contract §19.2, §19.3).

use dpe::sync::decision::{Policies, Policy};

use super::fixture::{Place, Scripted, delete, document, failures, last, rename, summary, uri};
use super::steered::{Call, Fate, Steered, lost};

/// Every write is carried out and its reply is lost.
fn deaf<'a>(call: &Call) -> Fate<'a> {
    if call.is_read() {
        Fate::Pass
    } else {
        Fate::After(lost())
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
    let remote = Steered::by(&place.client, deaf);
    let report = place.round_over(&remote, &mut source).await;
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
