//! The next batch is scanned while the last one lands; and a round that somebody cancels.

use std::time::Duration;

use dpe::sync::failure::{Failure, FailureSource, Level};
use dpe::sync::report::Report;
use tokio::time::timeout;

use super::fixture::{Place, Scripted, document, failures, last, more, summary, uri};
use super::steered::{Call, Fate, Steered, lost};

fn crashed() -> Failure {
    let code = "plugin_crashed";
    Failure::new(Level::Round, FailureSource::Runner, code, "scripted")
}

fn invalid() -> String {
    r#"{"kind":"rename"}"#.to_owned()
}

/// What should happen promptly, although something else hangs.
async fn soon(round: impl Future<Output = Report>) -> Report {
    let ended = timeout(Duration::from_secs(10), round).await;
    ended.expect("the round ends soon")
}

#[tokio::test]
async fn a_plugin_that_dies_while_a_batch_lands_takes_nothing_of_it_along() {
    let place = Place::new().await;
    let slow = |call: &Call| match call {
        Call::Commit(..) => Fate::Slow(Duration::from_millis(50)),
        _ => Fate::Pass,
    };
    let items = [invalid(), document("a", "x"), document("b", "y")];
    let mut source = Scripted::new([more(&items, "b-2"), Err(crashed())]);
    let remote = Steered::by(&place.client, slow);
    let report = place.round_over(&remote, &mut source).await;
    assert_eq!(summary(&report), "failed 2 0 0 0 0 1");
    assert_eq!(
        failures(&report),
        [
            "item/validation/DPE_VALIDATION/false",
            "round/runner/plugin_crashed/false"
        ]
    );
    assert_eq!(place.heard.failures(), failures(&report));
    place.holds(&[("a", "x"), ("b", "y")]).await;
    let confirmed = place.state().pending(&uri("a")).unwrap();
    assert!(confirmed.confirmed.is_some() && confirmed.intent.is_none());
}

#[tokio::test]
async fn a_landing_that_ends_the_round_does_not_wait_for_a_slow_source() {
    let place = Place::new().await;
    let deaf = |call: &Call| match call {
        Call::Commit(..) => Fate::Instead(lost()),
        _ => Fate::Pass,
    };
    let mut source = Scripted::new([more(&[document("a", "x")], "b-2")]).then_hangs();
    let remote = Steered::by(&place.client, deaf);
    let report = soon(place.round_over(&remote, &mut source)).await;
    assert_eq!(failures(&report), ["round/remote/remote_unavailable/true"]);
    assert_eq!(source.asked.len(), 2);
}

#[tokio::test]
async fn a_cancelled_round_does_not_wait_for_its_source() {
    let place = Place::new().await;
    let mut source = Scripted::new([more(&[document("a", "x")], "b-2")]).then_hangs();
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        place.cancel.cancel();
        std::future::pending::<()>().await;
    };
    let report = tokio::select! {
        report = soon(place.round(&mut source)) => report,
        () = cancel => unreachable!("it never ends"),
    };
    assert_eq!(summary(&report), "failed 1 0 0 0 0 0");
    assert_eq!(failures(&report), [""; 0]);
    place.holds(&[("a", "x")]).await;
}

#[tokio::test]
async fn a_cancelled_round_leaves_the_intents_of_writes_it_knows_nothing_of() {
    let place = Place::new().await;
    let cancelled_while_writing = |call: &Call| match call {
        Call::Commit(name, _) if name == "a" => {
            place.cancel.cancel();
            Fate::Hang
        }
        Call::Commit(..) => Fate::Slow(Duration::from_millis(50)),
        _ => Fate::Pass,
    };
    let mut source = Scripted::new([last(
        &[document("b", "y"), document("a", "x")],
        "c-1",
        false,
    )]);
    let remote = Steered::by(&place.client, cancelled_while_writing);
    soon(place.round_over(&remote, &mut source)).await;
    let state = place.state();
    let hanging = state.pending(&uri("a")).unwrap();
    assert!(hanging.confirmed.is_none() && hanging.intent.is_some());
    let landed = state.pending(&uri("b")).unwrap();
    assert!(landed.confirmed.is_some() && landed.intent.is_none());
    assert_eq!(state.cursor().unwrap(), None);
    assert!(state.held_since().unwrap().is_some());
}

#[tokio::test]
async fn a_cancelled_round_does_not_wait_for_a_remote_that_is_read() {
    let place = Place::new().await;
    let hanging = |_: &Call| {
        place.cancel.cancel();
        Fate::Hang
    };
    let mut source = Scripted::new([last(&[document("a", "x")], "c-1", false)]);
    let remote = Steered::by(&place.client, hanging);
    let report = soon(place.round_over(&remote, &mut source)).await;
    assert_eq!(remote.calls(), [Call::Heads(vec!["a".into()])]);
    assert_eq!(failures(&report), [""; 0]);
    assert_eq!(place.state().pending(&uri("a")).unwrap().intent, None);
}
