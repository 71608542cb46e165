//! Somebody else writes below the prefix: connector contract §20.

use dpe::sync::decision::{Policies, Policy};

use super::fixture::{Place, delete, document, failures, summary};

async fn place_with_a() -> Place {
    let place = Place::new().await;
    place
        .says(&[document("a", "x"), document("keep", "k")], "c-1", false)
        .await;
    place
}

fn report_everything() -> Policies {
    Policies {
        commit: Policy::Report,
        delete: Policy::Report,
    }
}

fn source_wins_everything() -> Policies {
    Policies {
        commit: Policy::SourceWins,
        delete: Policy::SourceWins,
    }
}

#[tokio::test]
async fn a_foreign_change_is_overwritten_when_the_source_wins() {
    let place = place_with_a().await;
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[document("a", "y")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 0 0");
    place.holds(&[("a", "y"), ("keep", "k")]).await;
}

#[tokio::test]
async fn a_foreign_change_is_reported_when_it_should_be() {
    let mut place = place_with_a().await;
    place.settings.policies = report_everything();
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[document("a", "y")], "c-2", true).await;
    assert_eq!(
        failures(&report),
        ["item/remote/DPE_PRECONDITION_FAILED/false"]
    );
    assert!(report.cursor_held_since.is_some());
    place.holds(&[("a", "foreign"), ("keep", "k")]).await;
}

#[tokio::test]
async fn the_same_change_by_somebody_else_is_no_conflict() {
    let mut place = place_with_a().await;
    place.settings.policies = report_everything();
    place.somebody_writes("a", "y").await;
    let report = place.says(&[document("a", "y")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 0 0");
}

#[tokio::test]
async fn a_foreign_delete_is_undone_when_the_source_wins() {
    let place = place_with_a().await;
    place.somebody_deletes("a").await;
    let report = place.says(&[document("a", "y")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 1 0 0 0 0 0");
}

#[tokio::test]
async fn a_delete_of_a_foreign_change_is_reported_by_default() {
    let place = place_with_a().await;
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[delete("a")], "c-2", true).await;
    assert_eq!(
        failures(&report),
        ["item/remote/DPE_PRECONDITION_FAILED/false"]
    );
    place.holds(&[("a", "foreign"), ("keep", "k")]).await;
}

#[tokio::test]
async fn a_delete_of_a_foreign_change_is_done_when_the_source_wins() {
    let mut place = place_with_a().await;
    place.settings.policies = source_wins_everything();
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[delete("a")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 1 0 0");
}

#[tokio::test]
async fn a_document_nobody_confirmed_is_written_on_top_of_what_is_there() {
    let place = Place::new().await;
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[document("a", "x")], "c-1", false).await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 0 0");
}
