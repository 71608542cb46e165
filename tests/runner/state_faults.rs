//! State that cannot be written in the middle of a round: connector contract §19.3 and §23.

use super::fixture::{Place, Scripted, document, last, summary, uri};
use super::steered::{Call, Fate, Steered, lost};

use dpe::sync::decision::{Policies, Policy};
use dpe::sync::report::Report;

const NO_INTENTS: &str = "CREATE TRIGGER t BEFORE INSERT ON intents \
                          BEGIN SELECT RAISE(ABORT, 'scripted'); END";
const NO_RESULTS: &str = "CREATE TRIGGER t BEFORE INSERT ON confirmed \
                          BEGIN SELECT RAISE(ABORT, 'scripted'); END";

/// A place where `a` was changed by somebody else, which is to be reported.
async fn place_with_a_conflict() -> Place {
    let mut place = Place::new().await;
    place.settings.policies = Policies {
        commit: Policy::Report,
        delete: Policy::Report,
    };
    place
        .says(&[document("a", "x"), document("keep", "k")], "c-1", false)
        .await;
    place.somebody_writes("a", "foreign").await;
    place
}

fn codes(report: &Report) -> Vec<&str> {
    report
        .failures
        .iter()
        .map(|failure| &*failure.code)
        .collect()
}

#[tokio::test]
async fn intents_that_cannot_be_saved_keep_everything_from_being_sent() {
    let place = place_with_a_conflict().await;
    place.tamper(NO_INTENTS);
    let remote = Steered::by(&place.client, |_| Fate::Pass);
    let items = [document("a", "y"), document("b", "z")];
    let mut source = Scripted::new([last(&items, "c-2", true)]);
    let report = place.round_over(&remote, &mut source).await;
    assert!(remote.calls().iter().all(Call::is_read));
    // What could be known is saved by the second attempt; the conflict was of the same call.
    assert_eq!(codes(&report), ["state_unavailable"]);
    assert_eq!(summary(&report), "failed 0 0 0 0 0 0");
    assert_eq!(place.state().pending(&uri("b")).unwrap().intent, None);
    assert!(place.state().held_since().unwrap().is_some());
    place.holds(&[("a", "foreign"), ("keep", "k")]).await;
}

#[tokio::test]
async fn results_that_cannot_be_saved_are_not_counted_and_found_out_by_the_next_round() {
    let place = place_with_a_conflict().await;
    place.tamper(NO_RESULTS);
    let items = [document("b", "z"), document("a", "y")];
    let report = place.says(&items, "c-2", true).await;
    // The conflict was of the same call; the second failure is that of trying again.
    assert_eq!(codes(&report), ["state_unavailable", "state_unavailable"]);
    assert_eq!(summary(&report), "failed 0 0 0 0 0 0");
    assert_eq!(place.heard.failures().len(), 2);
    place.tamper("DROP TRIGGER t");
    let report = place.says(&[document("b", "z")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 0 0");
    place
        .holds(&[("a", "foreign"), ("b", "z"), ("keep", "k")])
        .await;
}

#[tokio::test]
async fn saving_again_may_succeed_which_does_not_mend_the_round() {
    let place = place_with_a_conflict().await;
    place.tamper(NO_RESULTS);
    let mend = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            if place.heard.contains("state_unavailable") {
                place.tamper("DROP TRIGGER t");
                std::future::pending::<()>().await;
            }
        }
    };
    let items = [document("b", "z")];
    let report = tokio::select! {
        report = place.says(&items, "c-2", true) => report,
        () = mend => unreachable!("it never ends"),
    };
    assert_eq!(codes(&report), ["state_unavailable"]);
    assert_eq!(summary(&report), "failed 0 0 0 0 0 0");
    let pending = place.state().pending(&uri("b")).unwrap();
    assert!(pending.confirmed.is_some() && pending.intent.is_none());
}

#[tokio::test]
async fn an_earlier_end_of_the_round_is_not_hidden() {
    let place = place_with_a_conflict().await;
    place.tamper(NO_RESULTS);
    let remote = Steered::by(&place.client, |call| match call {
        Call::Commit(name, _) if name == "c" => Fate::After(lost()),
        _ => Fate::Pass,
    });
    let items = [document("b", "z"), document("c", "z")];
    let mut source = Scripted::new([last(&items, "c-2", true)]);
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(codes(&report), ["remote_unavailable", "state_unavailable"]);
    assert_eq!(summary(&report), "failed 0 0 0 0 0 0");
}
