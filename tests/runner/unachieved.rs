//! What follows a move that did not reach its goal: connector contract §21.2 and §21.3.

use super::fixture::{
    Place, Scripted, delete, document, error, failures, last, more, rename, source_failed, summary,
    uri,
};
use super::steered::{Call, Fate, Steered, refused};

/// A place where the source knows `a`, and the remote has lost it.
async fn place_without_a() -> Place {
    let place = Place::new().await;
    let items = [
        document("a", "x"),
        document("keep", "k"),
        document("x", "o"),
    ];
    place.says(&items, "c-1", false).await;
    place.somebody_deletes("a").await;
    place
}

async fn lands(place: &Place, items: &[String], remote: &Steered<'_>) -> dpe::sync::report::Report {
    let mut source = Scripted::new([last(items, "c-2", true)]);
    place.round_over(remote, &mut source).await
}

/// Every move that caused something to be skipped, in order.
fn causes(place: &Place) -> Vec<String> {
    let skipped = place.heard.of("Skipped");
    skipped
        .iter()
        .map(|event| event[event.rfind("cause").unwrap()..].to_owned())
        .collect()
}

#[tokio::test]
async fn a_document_behind_a_skipped_delete_redeems_nothing() {
    let place = place_without_a().await;
    let items = [rename("a", "b"), delete("b"), document("b", "x")];
    let report = place.says(&items, "c-2", true).await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    assert_eq!(failures(&report), ["item/remote/DPE_NOT_FOUND/false"]);
    assert_eq!(place.heard.of("Skipped").len(), 2);
    place.holds(&[("keep", "k"), ("x", "o")]).await;
}

#[tokio::test]
async fn all_that_a_skipped_operation_touches_is_left_alone_with_the_first_cause() {
    let place = place_without_a().await;
    place.somebody_writes("b", "other").await;
    let items = [
        rename("x", "b"),
        rename("b", "c"),
        document("c", "new"),
        delete("keep"),
    ];
    let report = place.says(&items, "c-2", true).await;
    assert_eq!(summary(&report), "partial 0 0 0 1 0 1");
    assert_eq!(failures(&report), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    let causes = causes(&place);
    assert_eq!(causes.len(), 2);
    assert!(
        causes
            .iter()
            .all(|cause| cause.contains("t://x") && cause.contains("t://b"))
    );
    place.holds(&[("b", "other"), ("x", "o")]).await;
}

#[tokio::test]
async fn a_target_that_was_reached_in_between_gets_a_new_cause() {
    let place = place_without_a().await;
    let items = [
        rename("a", "b"),
        document("b", "x"),
        rename("x", "b"),
        delete("b"),
    ];
    let report = place.says(&items, "c-2", true).await;
    assert_eq!(summary(&report), "partial 1 0 0 0 1 1");
    let causes = causes(&place);
    assert_eq!(causes.len(), 1);
    assert!(causes[0].contains("t://x"), "{causes:?}");
}

#[tokio::test]
async fn a_move_is_retryable_if_its_target_is_wherever_in_the_batch_that_failed() {
    for items in [
        [rename("a", "b"), error("b")],
        [error("b"), rename("a", "b")],
    ] {
        let place = place_without_a().await;
        let report = place.says(&items, "c-2", true).await;
        assert_eq!(
            failures(&report),
            [
                "item/plugin/source_unavailable/true",
                "item/remote/DPE_NOT_FOUND/true"
            ]
        );
    }
}

#[tokio::test]
async fn a_move_is_retryable_if_the_round_was_cut_short() {
    let place = place_without_a().await;
    let mut source = Scripted::new([more(&[rename("a", "b")], "b-2"), Err(source_failed(false))]);
    let report = place.round(&mut source).await;
    assert_eq!(
        failures(&report),
        [
            "item/remote/DPE_NOT_FOUND/true",
            "round/plugin/source_failed/false"
        ]
    );
    assert_eq!(place.heard.failures(), failures(&report));
}

#[tokio::test]
async fn a_document_refused_although_nothing_is_there_leaves_the_move_to_another_round() {
    let place = place_without_a().await;
    let remote = Steered::by(&place.client, |call| match call {
        Call::Commit(..) => Fate::Instead(refused("DPE_ALREADY_EXISTS")),
        _ => Fate::Pass,
    });
    let report = lands(&place, &[rename("a", "b"), document("b", "x")], &remote).await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    assert_eq!(failures(&report), ["item/remote/DPE_NOT_FOUND/true"]);
    assert!(
        report
            .to_json()
            .contains(r#""from_uri":"t://a","to_uri":"t://b""#)
    );
}

#[tokio::test]
async fn a_document_that_fails_otherwise_fails_beside_the_move() {
    let place = place_without_a().await;
    let remote = Steered::by(&place.client, |call| match call {
        Call::Commit(..) => Fate::Instead(refused("DPE_FORBIDDEN")),
        _ => Fate::Pass,
    });
    let report = lands(&place, &[rename("a", "b"), document("b", "x")], &remote).await;
    assert_eq!(
        failures(&report),
        [
            "item/remote/DPE_FORBIDDEN/false",
            "item/remote/DPE_NOT_FOUND/false"
        ]
    );
}

#[tokio::test]
async fn a_document_that_the_target_holds_already_redeems_the_move() {
    let place = place_without_a().await;
    place.somebody_writes("b", "y").await;
    let report = place
        .says(&[rename("a", "b"), document("b", "y")], "c-2", true)
        .await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 1 0");
    assert_eq!(place.state().pending(&uri("a")).unwrap().confirmed, None);
}

#[tokio::test]
async fn a_source_that_somebody_created_again_meanwhile_is_left_alone() {
    let place = place_without_a().await;
    let remote = Steered::by(&place.client, |call| match call {
        Call::Commit(..) => Fate::Meanwhile(Box::pin(place.somebody_writes("a", "foreign"))),
        _ => Fate::Pass,
    });
    let report = lands(&place, &[rename("a", "b"), document("b", "x")], &remote).await;
    assert_eq!(summary(&report), "succeeded 1 0 0 0 1 0");
    assert!(
        place
            .state()
            .pending(&uri("a"))
            .unwrap()
            .confirmed
            .is_some()
    );
    let expected = [("a", "foreign"), ("b", "x"), ("keep", "k"), ("x", "o")];
    place.holds(&expected).await;
}

#[tokio::test]
async fn a_source_that_may_not_be_read_any_more_is_a_failure_of_its_own() {
    let place = place_without_a().await;
    let remote = Steered::by(&place.client, |call| match call {
        Call::Heads(names) if *names == ["a"] => Fate::Instead(refused("DPE_FORBIDDEN")),
        _ => Fate::Pass,
    });
    let report = lands(&place, &[rename("a", "b"), document("b", "x")], &remote).await;
    assert_eq!(summary(&report), "partial 1 0 0 0 1 1");
    assert_eq!(failures(&report), ["item/remote/DPE_FORBIDDEN/false"]);
    assert!(report.to_json().contains(r#""file_uri":"t://a""#));
}

#[tokio::test]
async fn a_source_that_goes_while_it_is_moved_fails_with_the_code_of_the_remote() {
    for (code, reread) in [
        ("DPE_PRECONDITION_FAILED", 2),
        ("DPE_NOT_FOUND", 1),
        ("DPE_ALREADY_EXISTS", 1),
    ] {
        let place = place_without_a().await;
        let mut gone = false;
        let remote = Steered::by(&place.client, |call| match call {
            Call::Rename(..) => {
                gone = true;
                Fate::Instead(refused(code))
            }
            Call::Heads(_) if gone => {
                Fate::Meanwhile(Box::pin(async { place.somebody_deletes("x").await }))
            }
            _ => Fate::Pass,
        });
        let report = lands(&place, &[rename("x", "y")], &remote).await;
        assert_eq!(failures(&report), [format!("item/remote/{code}/false")]);
        let reads = remote.calls().iter().filter(|call| call.is_read()).count();
        assert_eq!(reads, reread, "{code}");
    }
}
