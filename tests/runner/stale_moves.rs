//! Moves from a cursor that rounds cut short have overtaken: what the source says is true of the
//! old cursor, not of what has landed since. Under the profile for people one more enumeration
//! settles it; the contract calls it a failure.

use dpe::runner::Profile;

use super::fixture::{Place, Scripted, document, error, failures, last, rename, summary, uri};

async fn place_with(names: &[(&str, &str)]) -> Place {
    let mut place = Place::new().await;
    place.settings.profile = Profile::People;
    let items: Vec<String> = names
        .iter()
        .map(|(name, text)| document(name, text))
        .collect();
    place.says(&items, "c-1", false).await;
    place
}

#[tokio::test]
async fn a_rename_of_a_rename_that_had_landed() {
    let place = place_with(&[("c", "x"), ("k", "k")]).await;
    place
        .says(&[rename("c", "d"), error("bad")], "c-2", true)
        .await;
    let mut source = Scripted::new([
        last(&[rename("c", "e")], "c-3", true),
        last(&[document("e", "x"), document("k", "k")], "full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), [""; 0]);
    place.holds(&[("e", "x"), ("k", "k")]).await;
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-3"));
}

#[tokio::test]
async fn a_move_onto_a_copy_that_had_landed() {
    let place = place_with(&[("c", "x"), ("k", "k")]).await;
    place
        .says(
            &[document("a", "x"), document("c", "y"), error("bad")],
            "c-2",
            true,
        )
        .await;
    let mut source = Scripted::new([
        last(&[rename("c", "a")], "c-3", true),
        last(&[document("a", "x"), document("k", "k")], "full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), [""; 0]);
    place.holds(&[("a", "x"), ("k", "k")]).await;
}

#[tokio::test]
async fn a_chain_behind_a_move_that_had_landed() {
    let place = place_with(&[("a", "x"), ("b", "y"), ("k", "k")]).await;
    place
        .says(
            &[rename("b", "z"), rename("a", "y"), error("bad")],
            "c-2",
            true,
        )
        .await;
    let mut source = Scripted::new([
        last(&[rename("b", "c"), rename("a", "b")], "c-3", true),
        last(
            &[document("b", "x"), document("c", "y"), document("k", "k")],
            "full",
            false,
        ),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), [""; 0]);
    place.holds(&[("b", "x"), ("c", "y"), ("k", "k")]).await;
}

#[tokio::test]
async fn a_move_of_a_document_that_was_rewritten_since_carries_the_old_content() {
    let place = place_with(&[("a", "x"), ("b", "y"), ("k", "k")]).await;
    // The two swapped contents, which landed; then what is now `b` was renamed.
    place
        .says(
            &[document("a", "y"), document("b", "x"), error("bad")],
            "c-2",
            true,
        )
        .await;
    let mut source = Scripted::new([
        last(&[rename("a", "c")], "c-3", true),
        last(
            &[document("a", "y"), document("c", "x"), document("k", "k")],
            "full",
            false,
        ),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), [""; 0]);
    place.holds(&[("a", "y"), ("c", "x"), ("k", "k")]).await;
}

#[tokio::test]
async fn a_target_that_somebody_else_wrote_is_left_alone_all_the_same() {
    let place = place_with(&[("c", "x"), ("k", "k")]).await;
    place
        .says(&[rename("c", "d"), error("bad")], "c-2", true)
        .await;
    place.somebody_writes("e", "foreign").await;
    let mut source = Scripted::new([
        last(&[rename("c", "e")], "c-3", true),
        last(&[document("e", "x"), document("k", "k")], "full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    assert_eq!(
        place.remote().await["e"],
        super::fixture::tree("foreign").doc_hash
    );
}

#[tokio::test]
async fn under_the_contract_it_is_a_failure() {
    let mut place = place_with(&[("c", "x"), ("k", "k")]).await;
    place.settings.profile = Profile::Contract;
    place
        .says(&[rename("c", "d"), error("bad")], "c-2", true)
        .await;
    let report = place.says(&[rename("c", "e")], "c-3", true).await;
    assert_eq!(failures(&report), ["item/remote/DPE_NOT_FOUND/false"]);
}

#[tokio::test]
async fn what_an_earlier_round_has_done_is_not_counted_again() {
    let place = place_with(&[("a", "x"), ("b", "y"), ("k", "k")]).await;
    let items = [rename("a", "c"), super::fixture::delete("b"), error("bad")];
    let first = place.says(&items, "c-2", true).await;
    assert_eq!(summary(&first), "partial 0 0 1 1 1 1");
    let full = [document("c", "x"), document("k", "k"), error("bad")];
    let mut source = Scripted::new([last(&items, "c-2", true), last(&full, "full", false)]);
    let second = place.round(&mut source).await;
    assert_eq!(summary(&second), "partial 0 0 2 0 0 1");
}

#[tokio::test]
async fn a_move_that_failed_is_not_counted_as_unchanged() {
    let place = place_with(&[("a", "x"), ("k", "k")]).await;
    place.somebody_writes("b", "foreign").await;
    let report = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(summary(&report), "partial 0 0 1 0 0 1");
    assert!(
        place
            .state()
            .pending(&uri("a"))
            .unwrap()
            .confirmed
            .is_some()
    );
}

/// One broken document stands in nobody's way but its own.
#[tokio::test]
async fn good_documents_arrive_and_gone_ones_go_while_another_one_fails() {
    let place = place_with(&[("a", "x"), ("z", "z"), ("k", "k")]).await;
    let items = [
        error("bad"),
        document("a", "x2"),
        super::fixture::delete("z"),
        document("n", "n"),
    ];
    place.says(&items, "c-2", true).await;
    // All of that was undone: against the old cursor there is nothing to say.
    let full = [
        error("bad"),
        document("a", "x"),
        document("z", "z"),
        document("k", "k"),
    ];
    let mut source = Scripted::new([
        last(&[error("bad")], "c-3", true),
        last(&full, "full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(failures(&report), ["item/plugin/source_unavailable/true"]);
    assert_eq!(summary(&report), "partial 1 1 1 1 0 1");
    place.holds(&[("a", "x"), ("z", "z"), ("k", "k")]).await;
}

#[tokio::test]
async fn what_lies_below_a_folder_that_failed_is_not_taken_for_gone() {
    let place = place_with(&[("k", "k")]).await;
    place
        .says(
            &[document("d/a", "x"), document("e/a", "y"), error("bad")],
            "c-2",
            true,
        )
        .await;
    let full = [error("d/"), document("k", "k")];
    let mut source = Scripted::new([
        last(&[error("d/")], "c-3", true),
        last(&full, "full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "partial 0 0 2 1 0 1");
    place.holds(&[("d/a", "x"), ("k", "k")]).await;
}

#[tokio::test]
async fn a_renamed_document_that_somebody_else_changed_ends_with_the_content_of_the_source() {
    let place = place_with(&[("a", "x"), ("k", "k")]).await;
    place.somebody_writes("a", "foreign").await;
    let full = [document("b", "x"), document("k", "k")];
    let mut source = Scripted::new([
        last(&[rename("a", "b")], "c-2", true),
        last(&full, "full", false),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(report.outcome.as_str(), "succeeded");
    assert!(place.heard.contains("Replaced"));
    place.holds(&[("b", "x"), ("k", "k")]).await;
}
