//! A remote that came to declare another contract than the one under which this instance has
//! written: connector contract §19.1, §19.2 and §21.1.

use dpe::model::{Contract, Contracts, Hash};
use dpe::sync::decision::{Policies, Policy};
use dpe::sync::ports::Base;

use super::fixture::{Place, Scripted, delete, document, failures, last, rename, summary, uri};
use super::steered::{Call, Fate, Steered};

const BOTH: Contracts = Contracts::SUPPORTED.with(Contract::Dpex);

/// A place whose documents were written under `dpe1`, and whose rounds are under `dpex` now.
async fn turned() -> Place {
    let mut place = Place::declaring(BOTH).await;
    let items = [
        document("a", "x"),
        document("b", "y"),
        document("keep", "k"),
    ];
    place.says(&items, "c-1", false).await;
    place.turn_to(Contract::Dpex).await;
    assert!(place.settings.accepted.contains(Contract::Dpe1));
    place
}

/// Runs a round and returns its summary and the calls of the remote that write.
async fn writes(place: &Place, items: &[String]) -> (String, Vec<Call>) {
    let remote = Steered::by(&place.client, |_| Fate::Pass);
    let mut source = Scripted::new([last(items, "c-2", true)]);
    let report = place.round_over(&remote, &mut source).await;
    let mut calls = remote.calls();
    calls.retain(|call| !call.is_read());
    (summary(&report), calls)
}

fn confirmed(place: &Place, name: &str) -> Option<Hash> {
    place.state().pending(&uri(name)).unwrap().confirmed
}

#[tokio::test]
async fn the_confirmed_value_of_the_other_contract_is_the_base() {
    let place = turned().await;
    let old = confirmed(&place, "a").unwrap();
    assert_eq!(old.contract(), Contract::Dpe1);
    let (summary, calls) = writes(&place, &[document("a", "new")]).await;
    assert_eq!(summary, "succeeded 0 1 0 0 0 0");
    assert_eq!(calls, [Call::Commit("a".into(), Base::Hash(old))]);
    assert_eq!(confirmed(&place, "a").unwrap().contract(), Contract::Dpex);
}

#[tokio::test]
async fn the_same_content_is_achieved_and_confirmed_anew() {
    let place = turned().await;
    let (summary, calls) = writes(&place, &[document("a", "x")]).await;
    assert_eq!(summary, "succeeded 0 0 1 0 0 0");
    assert!(calls.is_empty());
    assert_eq!(confirmed(&place, "a").unwrap().contract(), Contract::Dpex);
}

#[tokio::test]
async fn the_condition_of_the_server_notices_what_could_not_be_compared() {
    for (commit, expected) in [
        (Policy::SourceWins, "succeeded 0 1 0 0 0 0"),
        (Policy::Report, "partial 0 0 0 0 0 1"),
    ] {
        let mut place = turned().await;
        place.settings.policies = Policies {
            commit,
            delete: Policy::Report,
        };
        place.somebody_writes("a", "foreign").await;
        let (summary, calls) = writes(&place, &[document("a", "new")]).await;
        assert_eq!(summary, expected);
        assert_eq!(calls.len(), if commit == Policy::Report { 1 } else { 2 });
    }
}

#[tokio::test]
async fn deletes_have_the_old_base_too() {
    let place = turned().await;
    let old = confirmed(&place, "a").unwrap();
    let (summary, calls) = writes(&place, &[delete("a")]).await;
    assert_eq!(summary, "succeeded 0 0 0 1 0 0");
    assert_eq!(calls, [Call::Delete("a".into(), old)]);
}

#[tokio::test]
async fn a_move_has_the_old_base_and_confirms_the_new_value() {
    let place = turned().await;
    let old = confirmed(&place, "a").unwrap();
    let (summary, calls) = writes(&place, &[rename("a", "c")]).await;
    assert_eq!(summary, "succeeded 0 0 0 0 1 0");
    assert_eq!(calls, [Call::Rename("a".into(), "c".into(), old)]);
    assert_eq!(confirmed(&place, "a"), None);
    assert_eq!(confirmed(&place, "c").unwrap().contract(), Contract::Dpex);
}

#[tokio::test]
async fn a_target_that_turns_out_to_hold_the_content_lets_the_source_be_deleted() {
    let place = turned().await;
    place.somebody_writes("c", "x").await;
    let old = confirmed(&place, "a").unwrap();
    let (summary, calls) = writes(&place, &[rename("a", "c")]).await;
    assert_eq!(summary, "succeeded 0 0 0 0 1 0");
    assert_eq!(
        calls,
        [
            Call::Rename("a".into(), "c".into(), old),
            Call::Delete("a".into(), old)
        ]
    );
    place.holds(&[("b", "y"), ("c", "x"), ("keep", "k")]).await;
}

#[tokio::test]
async fn a_target_that_holds_something_else_is_occupied() {
    let place = turned().await;
    let report = place.says(&[rename("a", "b")], "c-2", true).await;
    assert_eq!(failures(&report), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    place.holds(&[("a", "x"), ("b", "y"), ("keep", "k")]).await;
}

#[tokio::test]
async fn a_source_that_goes_while_its_target_is_found_occupied_is_not_found() {
    let place = turned().await;
    let mut gone = false;
    let remote = Steered::by(&place.client, |call| match call {
        Call::Rename(..) => {
            gone = true;
            Fate::Pass
        }
        Call::Heads(_) if gone => {
            Fate::Meanwhile(Box::pin(async { place.somebody_deletes("a").await }))
        }
        _ => Fate::Pass,
    });
    let mut source = Scripted::new([last(&[rename("a", "b")], "c-2", true)]);
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(failures(&report), ["item/remote/DPE_NOT_FOUND/false"]);
}

#[tokio::test]
async fn an_absent_source_is_judged_as_usual_and_never_equals_the_target() {
    let place = turned().await;
    place.somebody_deletes("a").await;
    place.somebody_writes("c", "x").await;
    let report = place.says(&[rename("a", "c")], "c-2", true).await;
    assert_eq!(failures(&report), ["item/remote/DPE_NOT_FOUND/false"]);
}

#[tokio::test]
async fn a_confirmed_value_of_a_contract_that_is_not_declared_counts_as_none() {
    let mut place = turned().await;
    place.settings.accepted = Contracts::only(Contract::Dpex);
    place.somebody_writes("a", "foreign").await;
    let (summary, calls) = writes(&place, &[document("a", "new"), delete("b")]).await;
    assert_eq!(summary, "succeeded 0 1 0 1 0 0");
    let bases = calls.iter().map(|call| match call {
        Call::Commit(_, Base::Hash(base)) | Call::Delete(_, base) => base.contract(),
        other => panic!("{other:?}"),
    });
    assert!(bases.eq([Contract::Dpex, Contract::Dpex]));
}
