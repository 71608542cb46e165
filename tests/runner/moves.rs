//! Moves: connector contract §21 and the cases of §33 about them.

use super::fixture::{Place, delete, document, failures, rename, summary};

async fn place_with(names: &[(&str, &str)]) -> Place {
    let place = Place::new().await;
    let items: Vec<String> = names
        .iter()
        .map(|(name, text)| document(name, text))
        .collect();
    let report = place.says(&items, "c-1", false).await;
    assert_eq!(report.outcome.as_str(), "succeeded");
    place
}

#[tokio::test]
async fn chained_moves_in_one_batch_are_done_in_order() {
    let place = place_with(&[("a", "x"), ("b", "y")]).await;
    let report = place
        .says(&[rename("b", "c"), rename("a", "b")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 2 0");
    place.holds(&[("b", "x"), ("c", "y")]).await;
}

#[tokio::test]
async fn a_swap_over_a_third_name_is_three_moves() {
    let place = place_with(&[("a", "x"), ("b", "y")]).await;
    let items = [rename("a", "t"), rename("b", "a"), rename("t", "b")];
    let report = place.says(&items, "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 3 0");
    place.holds(&[("a", "y"), ("b", "x")]).await;
}

#[tokio::test]
async fn a_moved_and_then_changed_document_is_both() {
    let place = place_with(&[("a", "x")]).await;
    let report = place
        .says(&[rename("a", "b"), document("b", "z")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 1 0");
    place.holds(&[("b", "z")]).await;
}

#[tokio::test]
async fn a_target_that_holds_the_content_already_lets_the_source_be_deleted() {
    let place = place_with(&[("a", "x")]).await;
    place.somebody_writes("b", "x").await;
    let report = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 1 0");
    place.holds(&[("b", "x")]).await;
}

#[tokio::test]
async fn an_occupied_target_fails_and_the_hold_record_keeps_its_time() {
    let place = place_with(&[("a", "x")]).await;
    place.somebody_writes("b", "other").await;
    let first = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(summary(&first), "partial 0 0 0 0 0 1");
    assert_eq!(failures(&first), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    let second = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(second.cursor_held_since, first.cursor_held_since);
    place.holds(&[("a", "x"), ("b", "other")]).await;
}

#[tokio::test]
async fn an_absent_source_and_then_the_target_document_succeed_together() {
    let place = place_with(&[("a", "x"), ("keep", "k")]).await;
    place.somebody_deletes("a").await;
    let report = place
        .says(&[rename("a", "b"), document("b", "x")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "succeeded 1 0 0 0 1 0");
    assert_eq!(
        place
            .state()
            .pending(&super::fixture::uri("a"))
            .unwrap()
            .confirmed,
        None
    );
    place.holds(&[("b", "x"), ("keep", "k")]).await;
}

#[tokio::test]
async fn an_absent_source_and_an_occupied_target_leave_the_target_untouched() {
    let place = place_with(&[("a", "x"), ("keep", "k")]).await;
    place.somebody_deletes("a").await;
    place.somebody_writes("b", "other").await;
    let report = place
        .says(&[rename("a", "b"), document("b", "x")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    assert_eq!(failures(&report), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    place.holds(&[("b", "other"), ("keep", "k")]).await;
}

#[tokio::test]
async fn an_absent_source_without_a_document_is_reported_at_the_end() {
    let place = place_with(&[("a", "x"), ("keep", "k")]).await;
    place.somebody_deletes("a").await;
    let report = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(failures(&report), ["item/remote/DPE_NOT_FOUND/false"]);
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-1"));
}

#[tokio::test]
async fn a_delete_after_an_unachieved_move_on_its_target_is_skipped() {
    let place = place_with(&[("a", "x")]).await;
    place.somebody_writes("b", "other").await;
    let report = place
        .says(&[rename("a", "b"), delete("b")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    assert!(place.heard.contains("Skipped"));
    place.holds(&[("a", "x"), ("b", "other")]).await;
}

#[tokio::test]
async fn a_move_that_was_done_before_is_achieved() {
    let place = place_with(&[("a", "x")]).await;
    place.says(&[rename("a", "b")], "c-2", true).await;
    let report = place.says(&[rename("a", "b")], "c-3", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 1 0");
    place.holds(&[("b", "x")]).await;
}

#[tokio::test]
async fn a_foreign_change_of_the_source_does_not_hide_that_the_target_has_it_already() {
    let place = place_with(&[("a", "x")]).await;
    place.somebody_writes("a", "new").await;
    place.somebody_writes("b", "new").await;
    let report = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 1 0");
    place.holds(&[("b", "new")]).await;
}
