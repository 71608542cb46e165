//! Somebody else writes below the prefix: connector contract §20.

use dpe::sync::decision::{Policies, Policy};

use super::fixture::{Place, Scripted, delete, document, failures, last, summary};
use super::steered::{Call, Fate, Steered};

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

/// Somebody else writes `a` before each of the first `times` commits of it arrives.
async fn races(place: &Place, times: usize, item: String) -> dpe::sync::report::Report {
    let mut raced = 0;
    let remote = Steered::by(&place.client, move |call| match call {
        Call::Commit(name, _) | Call::Delete(name, _) if name == "a" && raced < times => {
            raced += 1;
            let text = format!("foreign {raced}");
            Fate::Meanwhile(Box::pin(
                async move { place.somebody_writes("a", &text).await },
            ))
        }
        _ => Fate::Pass,
    });
    let mut source = Scripted::new([last(&[item], "c-2", true)]);
    place.round_over(&remote, &mut source).await
}

#[tokio::test]
async fn a_race_is_won_as_long_as_there_are_resubmissions() {
    let place = place_with_a().await;
    let report = races(&place, 2, document("a", "y")).await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 0 0");
    place.holds(&[("a", "y"), ("keep", "k")]).await;
}

#[tokio::test]
async fn a_race_that_is_lost_every_time_fails_and_may_be_tried_again() {
    let place = place_with_a().await;
    let report = races(&place, 3, document("a", "y")).await;
    assert_eq!(
        failures(&report),
        ["item/remote/DPE_PRECONDITION_FAILED/true"]
    );
    place.holds(&[("a", "foreign 3"), ("keep", "k")]).await;
}
