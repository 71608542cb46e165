//! What a round delivered before it failed, and the source lost before the next: connector
//! contract §22.

use super::fixture::{
    Place, Scripted, document, error, failures, last, more, rename, source_failed, summary,
};

#[tokio::test]
async fn a_full_round_deletes_what_an_earlier_one_delivered_and_the_source_has_no_more() {
    let place = Place::new().await;
    place
        .says(
            &[document("a", "x"), document("b", "y"), error("c")],
            "c-1",
            false,
        )
        .await;
    let report = place.says(&[document("b", "y")], "c-1", false).await;
    assert_eq!(summary(&report), "succeeded 0 0 1 1 0 0");
    place.holds(&[("b", "y")]).await;
    assert!(place.state().write_set().unwrap().is_empty());
}

#[tokio::test]
async fn an_incremental_round_enumerates_once_more_to_find_out() {
    let place = Place::new().await;
    place.says(&[document("keep", "k")], "c-1", false).await;
    let mut crashed = Scripted::new([more(&[document("a", "x")], "b-2"), Err(source_failed(true))]);
    place.round(&mut crashed).await;
    place.holds(&[("a", "x"), ("keep", "k")]).await;

    let mut source = Scripted::new([
        last(&[], "c-2", true),
        last(&[document("keep", "k")], "c-full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 1 0 0");
    assert_eq!(source.asked[1].cursor, None);
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-2"));
    place.holds(&[("keep", "k")]).await;
}

#[tokio::test]
async fn what_the_source_still_has_is_not_deleted() {
    let place = Place::new().await;
    place.says(&[document("keep", "k")], "c-1", false).await;
    let mut crashed = Scripted::new([more(&[document("a", "x")], "b-2"), Err(source_failed(true))]);
    place.round(&mut crashed).await;
    let mut source = Scripted::new([
        last(&[], "c-2", true),
        last(
            &[document("keep", "k"), document("a", "newer")],
            "c-full",
            false,
        ),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 0 0");
    place.holds(&[("a", "newer"), ("keep", "k")]).await;
}

#[tokio::test]
async fn a_document_that_is_only_ever_moved_onto_is_reported_once() {
    let place = Place::new().await;
    place.says(&[document("keep", "k")], "c-1", false).await;
    let mut crashed = Scripted::new([more(&[document("a", "x")], "b-2"), Err(source_failed(true))]);
    place.round(&mut crashed).await;
    let moves = [rename("x", "a"), rename("y", "a")];
    let mut source = Scripted::new([last(&[], "c-2", true), last(&moves, "c-full", false)]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), ["item/validation/DPE_VALIDATION/true"]);
}

#[tokio::test]
async fn nothing_is_inferred_from_an_enumeration_with_failures() {
    let place = Place::new().await;
    place
        .says(&[document("a", "x"), error("c")], "c-1", false)
        .await;
    let report = place.says(&[error("c")], "c-1", false).await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    place.holds(&[("a", "x")]).await;
}

#[tokio::test]
async fn what_somebody_else_wrote_meanwhile_is_reported_once_and_left_alone() {
    let place = Place::new().await;
    // The intent stays, but L is none: the write never happened, and somebody else's did.
    let unsent = super::fixture::uri("a");
    let mut state = place.state();
    state.adopt("f").unwrap();
    let intended = super::fixture::tree("x").doc_hash;
    state
        .save(
            &[dpe::state::Change::Intend(unsent, Some(intended))],
            dpe::state::Tracking::Tracked,
        )
        .unwrap();
    drop(state);
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[document("b", "y")], "c-1", false).await;
    assert_eq!(
        failures(&report),
        ["item/remote/DPE_PRECONDITION_FAILED/false"]
    );
    place.holds(&[("a", "foreign"), ("b", "y")]).await;
    let report = place.says(&[document("b", "y")], "c-1", false).await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 0 0");
}

#[tokio::test]
async fn a_settled_goal_leaves_no_intent_behind() {
    let place = Place::new().await;
    let mut state = place.state();
    state.adopt("f").unwrap();
    let gone = super::fixture::uri("a");
    let intended = super::fixture::tree("x").doc_hash;
    let intent = dpe::state::Change::Intend(gone.clone(), Some(intended));
    state
        .save(&[intent], dpe::state::Tracking::Tracked)
        .unwrap();
    drop(state);
    let report = place
        .says(&[super::fixture::delete("a")], "c-1", false)
        .await;
    assert_eq!(summary(&report), "succeeded 0 0 0 1 0 0");
    assert_eq!(place.state().pending(&gone).unwrap().intent, None);
}

#[tokio::test]
async fn an_incremental_source_that_kept_silent_about_a_document_of_its_cursor_is_counted() {
    let place = Place::new().await;
    place
        .says(&[document("old", "o"), document("keep", "k")], "c-1", false)
        .await;
    place
        .says(
            &[document("old", "p"), document("new", "n"), error("bad")],
            "c-2",
            true,
        )
        .await;
    let mut source = Scripted::new([
        last(&[], "c-3", true),
        last(&[document("keep", "k")], "c-full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 2 0 0");
    assert_eq!(
        place.heard.of("Refreshed"),
        ["Refreshed { uris: 2, deleted: 2, violations: 1 }"]
    );
    assert_eq!(
        place.heard.of("RoundStarted"),
        [
            "RoundStarted { cursor_given: false }",
            "RoundStarted { cursor_given: true }",
            "RoundStarted { cursor_given: true }"
        ]
    );
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-3"));
}
