//! What is stored at the end of a round, and what is reported of it: connector contract §16 and
//! §23.

use dpe::runner::Profile;
use dpe::sync::report::Report;

use super::fixture::{
    Place, Scripted, document, error, failures, last, last_without_cursor, more, source_failed,
    summary, uri,
};

/// Makes the next write of a cursor, or of the hold record, fail.
const NO_CURSOR: &str = "CREATE TRIGGER t BEFORE INSERT ON facts WHEN NEW.name = 'cursor' \
                         BEGIN SELECT RAISE(ABORT, 'scripted'); END";
const NO_HOLD_RECORD: &str = "CREATE TRIGGER t BEFORE INSERT ON facts \
                              WHEN NEW.name = 'held_since' \
                              BEGIN SELECT RAISE(ABORT, 'scripted'); END";

async fn place_with_a() -> Place {
    let place = Place::new().await;
    place.says(&[document("a", "x")], "c-1", false).await;
    place
}

fn cursor_given(source: &Scripted) -> Option<&str> {
    source.asked[0].cursor.as_deref()
}

fn held(report: &Report) -> (bool, Option<&str>) {
    (report.cursor_persisted, report.cursor_held_since.as_deref())
}

#[tokio::test]
async fn a_final_batch_without_a_cursor_keeps_the_one_that_is_stored() {
    let place = place_with_a().await;
    let mut source = Scripted::new([last_without_cursor(&[document("a", "y")], true)]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 0 1 0 0 0 0");
    assert_eq!(held(&report), (false, None));
    // What was written is still to be accounted for, since nothing told that it is in the cursor.
    assert_eq!(place.state().write_set().unwrap(), [uri("a")]);
    let mut source = Scripted::new([last(&[document("a", "y")], "c-2", true)]);
    place.round(&mut source).await;
    assert_eq!(cursor_given(&source), Some("c-1"));
    assert!(place.state().write_set().unwrap().is_empty());
}

#[tokio::test]
async fn a_round_without_a_cursor_before_there_ever_was_one_leaves_nothing_to_account_for() {
    let place = Place::new().await;
    let mut source = Scripted::new([last_without_cursor(&[document("a", "x")], false)]);
    let report = place.round(&mut source).await;
    assert_eq!(held(&report), (false, None));
    let state = place.state();
    assert_eq!(state.cursor().unwrap(), None);
    assert!(state.write_set().unwrap().is_empty());
}

#[tokio::test]
async fn the_same_cursor_once_more_is_persisted_too() {
    let place = place_with_a().await;
    let report = place.says(&[], "c-1", true).await;
    assert_eq!(held(&report), (true, None));
}

#[tokio::test]
async fn a_plugin_that_takes_no_cursors_gets_none_and_leaves_none() {
    let place = place_with_a().await;
    let said = last_without_cursor(&[document("a", "x")], false);
    let mut source = Scripted::new([said]).without_cursors();
    let report = place.round(&mut source).await;
    assert_eq!(cursor_given(&source), None);
    assert_eq!(held(&report), (false, None));
    assert_eq!(place.state().cursor().unwrap(), None);
    assert!(place.state().write_set().unwrap().is_empty());
}

#[tokio::test]
async fn a_failed_item_of_any_kind_holds_the_cursor() {
    for item in [error("b"), super::fixture::invalid("b")] {
        let place = place_with_a().await;
        let report = place.says(&[item], "c-2", true).await;
        assert_eq!(held(&report), (false, Some(&*report.started_at)));
        assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-1"));
    }
}

/// A place where rounds are as people push them, with a document `a` and the cursor `c-1`.
async fn place_of_people(failures_come_back: bool) -> Place {
    let mut place = place_with_a().await;
    place.settings.profile = Profile::People;
    place.settings.failures_come_back = failures_come_back;
    place
}

#[tokio::test]
async fn what_people_push_goes_on_from_here_if_the_source_says_its_failures_again() {
    let place = place_of_people(true).await;
    let report = place
        .says(&[error("b"), document("c", "z")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "partial 1 0 1 0 0 1");
    assert_eq!(held(&report), (true, None));
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-2"));
    assert!(place.state().write_set().unwrap().is_empty());
    for (failures_come_back, item) in [
        (false, error("b")),
        (true, super::fixture::invalid("b")),
        (true, super::fixture::delete("a")),
    ] {
        let place = place_of_people(failures_come_back).await;
        place.somebody_writes("a", "theirs").await;
        let report = place.says(&[item], "c-2", true).await;
        assert_eq!(held(&report), (false, Some(&*report.started_at)));
        assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-1"));
    }
}

#[tokio::test]
async fn what_was_written_of_a_document_that_then_failed_is_missed_when_nobody_speaks_of_it_again()
{
    let place = place_of_people(true).await;
    let moved = [super::fixture::rename("a", "b"), error("b"), error("sub/")];
    let report = place.says(&moved, "c-2", true).await;
    assert_eq!((held(&report), report.counts.moved), ((true, None), 1));
    assert_eq!(place.state().write_set().unwrap(), [uri("b")]);
    // The folder that failed tells nothing of others: there is one more look, and `b` is not there.
    let said = last(&[], "c-3", true);
    let mut source = Scripted::new([said, last(&[document("c", "z")], "c-4", false)]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 1 0 0");
    assert!(place.state().write_set().unwrap().is_empty());
}

#[tokio::test]
async fn people_s_sources_delete_nothing_that_they_have_not_brought() {
    let place = place_of_people(true).await;
    place.somebody_writes("b", "theirs").await;
    let report = place
        .says(&[super::fixture::delete("b")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 0 0");
    place.holds(&[("a", "x"), ("b", "theirs")]).await;
}

#[tokio::test]
async fn the_time_since_which_a_cursor_is_held_is_that_of_the_first_round_until_one_succeeds() {
    let place = place_with_a().await;
    place.tamper("INSERT INTO facts VALUES ('held_since', '2026-01-01T00:00:00Z')");
    let mut source = Scripted::new([Err(source_failed(true))]);
    let failed = place.round(&mut source).await;
    assert_eq!(held(&failed), (false, Some("2026-01-01T00:00:00Z")));
    let partial = place.says(&[error("b")], "c-2", true).await;
    assert_eq!(held(&partial), (false, Some("2026-01-01T00:00:00Z")));
    let succeeded = place.says(&[], "c-2", true).await;
    assert_eq!(held(&succeeded), (true, None));
    assert_eq!(place.state().held_since().unwrap(), None);
}

#[tokio::test]
async fn a_cursor_that_cannot_be_stored_fails_the_round() {
    let place = place_with_a().await;
    place.tamper(NO_CURSOR);
    let report = place.says(&[document("b", "y")], "c-2", true).await;
    assert_eq!(summary(&report), "failed 1 0 0 0 0 0");
    assert_eq!(report.failures.len(), 1);
    assert_eq!(report.failures[0].code, "state_unavailable");
    assert_eq!(place.heard.failures(), failures(&report));
    assert_eq!(held(&report), (false, Some(&*report.started_at)));
    assert_eq!(report.incremental, Some(true));
    assert!(place.heard.of("HeldWriteFailed").is_empty());
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-1"));
}

#[tokio::test]
async fn a_hold_record_that_cannot_be_stored_changes_nothing_else() {
    let place = place_with_a().await;
    place.tamper(NO_HOLD_RECORD);
    let report = place.says(&[error("b")], "c-2", true).await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    assert_eq!(failures(&report), ["item/plugin/source_unavailable/true"]);
    assert_eq!(held(&report), (false, Some(&*report.started_at)));
    assert_eq!(place.heard.of("HeldWriteFailed").len(), 1);
}

#[tokio::test]
async fn what_the_final_batch_says_of_itself_is_reported_even_if_it_does_not_land() {
    let place = place_with_a().await;
    let remote = super::steered::Steered::by(&place.client, |_| {
        super::steered::Fate::Instead(super::steered::lost())
    });
    let mut source = Scripted::new([last(&[document("b", "y")], "c-2", true)]);
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(summary(&report), "failed 0 0 0 0 0 0");
    assert_eq!(report.incremental, Some(true));
    let mut source = Scripted::new([more(&[document("b", "y")], "b-2"), Err(source_failed(true))]);
    assert_eq!(place.round(&mut source).await.incremental, None);
}
