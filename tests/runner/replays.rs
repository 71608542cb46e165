//! What a source says again because the cursor was held, after some of it or all of it has landed:
//! it comes to the same, whether the round before was cut short or a reply was lost
//! (connector contract §31, criterion 4).

use std::collections::BTreeMap;

use dpe::sync::decision::{Policies, Policy};
use dpe::sync::report::Outcome;

use super::fixture::{
    Place, Scripted, delete, document, error, failures, last, rename, summary, uri,
};
use super::steered::{Call, Fate, Steered, lost};

/// A place with three documents, where every conflict would be reported.
async fn place() -> Place {
    let mut place = Place::new().await;
    place.settings.policies = Policies {
        commit: Policy::Report,
        delete: Policy::Report,
    };
    let items = [document("a", "x"), document("b", "y"), document("k", "k")];
    place.says(&items, "c-1", false).await;
    place
}

/// What a source says in one round, and what the remote holds then.
type History = (Vec<String>, Vec<(&'static str, &'static str)>);

/// What may become of the place.
fn histories() -> BTreeMap<&'static str, History> {
    BTreeMap::from([
        (
            "a chain of moves",
            (
                vec![rename("a", "c"), rename("c", "d"), rename("d", "e")],
                vec![("b", "y"), ("e", "x"), ("k", "k")],
            ),
        ),
        (
            "a move to a name that was moved away",
            (
                vec![rename("b", "c"), rename("a", "b")],
                vec![("b", "x"), ("c", "y"), ("k", "k")],
            ),
        ),
        (
            "a swap",
            (
                vec![rename("a", "t"), rename("b", "a"), rename("t", "b")],
                vec![("a", "y"), ("b", "x"), ("k", "k")],
            ),
        ),
        (
            "a swap and back",
            (
                vec![
                    rename("a", "t"),
                    rename("b", "a"),
                    rename("t", "b"),
                    rename("a", "t"),
                    rename("b", "a"),
                    rename("t", "b"),
                ],
                vec![("a", "x"), ("b", "y"), ("k", "k")],
            ),
        ),
        (
            "a write to the old name of a move",
            (
                vec![rename("a", "c"), document("a", "new")],
                vec![("a", "new"), ("b", "y"), ("c", "x"), ("k", "k")],
            ),
        ),
        (
            "a write to the new name of a move",
            (
                vec![rename("a", "c"), document("c", "new")],
                vec![("b", "y"), ("c", "new"), ("k", "k")],
            ),
        ),
        (
            "a delete of the new name of a move",
            (
                vec![rename("a", "c"), delete("c")],
                vec![("b", "y"), ("k", "k")],
            ),
        ),
        (
            "a new document that is moved on twice",
            (
                vec![document("n", "n"), rename("n", "m"), rename("m", "o")],
                vec![("a", "x"), ("b", "y"), ("k", "k"), ("o", "n")],
            ),
        ),
        (
            "a changed document that is moved to a name that was moved away",
            (
                vec![rename("b", "c"), document("a", "z"), rename("a", "b")],
                vec![("b", "z"), ("c", "y"), ("k", "k")],
            ),
        ),
        (
            "a delete and a document again",
            (
                vec![delete("a"), document("a", "new"), delete("b")],
                vec![("a", "new"), ("k", "k")],
            ),
        ),
    ])
}

#[tokio::test]
async fn all_that_has_landed_is_said_again_to_no_effect() {
    for (name, (items, holds)) in histories() {
        let place = place().await;
        let failing: Vec<String> = items.iter().cloned().chain([error("bad")]).collect();
        for _ in 0..2 {
            let report = place.says(&failing, "c-2", true).await;
            assert_eq!(
                failures(&report),
                ["item/plugin/source_unavailable/true"],
                "{name}"
            );
            place.holds(&holds).await;
        }
        let report = place.says(&items, "c-2", true).await;
        assert_eq!(failures(&report), [""; 0], "{name}");
        assert!(report.cursor_persisted, "{name}");
        place.holds(&holds).await;
    }
}

/// Every reply in turn is the last that the runner would have got: it is lost, or the request never
/// arrives, and the round with it.
#[tokio::test]
async fn a_round_that_ends_at_any_write_is_completed_by_the_next() {
    for (name, (items, holds)) in histories() {
        for carried_out in [true, false] {
            for moment in 0.. {
                let place = place().await;
                let mut writes = 0;
                let remote = Steered::by(&place.client, move |call: &Call| {
                    if call.is_read() {
                        return Fate::Pass;
                    }
                    writes += 1;
                    match writes - 1 == moment {
                        true if carried_out => Fate::After(lost()),
                        true => Fate::Instead(lost()),
                        false => Fate::Pass,
                    }
                });
                let mut source = Scripted::new([last(&items, "c-2", true)]);
                let cut = place.round_over(&remote, &mut source).await;
                let at = format!("{name}, write {moment}, carried out: {carried_out}");
                if cut.outcome == Outcome::Succeeded {
                    assert!(moment > 1, "{at}");
                    break;
                }
                let report = place.says(&items, "c-2", true).await;
                assert_eq!(failures(&report), [""; 0], "{at}");
                place.holds(&holds).await;
            }
        }
    }
}

#[tokio::test]
async fn what_somebody_else_did_to_either_side_meanwhile_is_judged_as_ever() {
    let place = place().await;
    place
        .says(&[rename("a", "c"), error("bad")], "c-2", true)
        .await;
    place.somebody_writes("a", "foreign").await;
    let report = place.says(&[rename("a", "c")], "c-2", true).await;
    assert_eq!(failures(&report), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    place.somebody_deletes("c").await;
    let report = place.says(&[rename("a", "c")], "c-2", true).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 1 0");
    place
        .holds(&[("b", "y"), ("c", "foreign"), ("k", "k")])
        .await;
}

#[tokio::test]
async fn a_move_behind_a_stored_cursor_is_a_new_one() {
    let place = place().await;
    place.says(&[rename("a", "c")], "c-2", true).await;
    place
        .says(&[document("a", "new"), error("bad")], "c-3", true)
        .await;
    let report = place.says(&[rename("a", "c")], "c-3", true).await;
    assert_eq!(failures(&report), ["item/remote/DPE_ALREADY_EXISTS/false"]);
    assert!(
        place
            .state()
            .pending(&uri("c"))
            .unwrap()
            .confirmed
            .is_some()
    );
}
