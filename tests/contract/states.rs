//! What a round that did not succeed leaves to the next one (§16, §22).

use serde_json::json;

use super::rig::{Rig, document};

/// A rig that has done a round.
fn used() -> Rig {
    let rig = Rig::scripted();
    let items = [document("a", "one")];
    rig.says(&json!({"full": [items], "incremental": [[]], "cursor": "c1"}));
    rig.succeeds();
    rig
}

#[test]
fn what_a_failed_round_delivered_and_the_source_then_deleted_is_deleted_by_a_refresh() {
    let rig = used();
    let error = json!({"kind": "error", "file_uri": "t://p/y", "code": "source_unavailable",
                       "message": "locked", "retryable": true});
    let full = json!([[document("a", "one")]]);
    rig.says(
        &json!({"full": full, "incremental": [[document("x", "new"), error]],
                     "cursor": "c2"}),
    );
    let failed = rig.run();
    assert_eq!(failed.code, Some(1), "{failed:#?}");
    rig.holds(&json!({"a": "one", "x": "new"}));

    // For the source, `x` came and went since the cursor: it does not mention it.
    rig.says(&json!({"full": full, "incremental": [[]], "cursor": "c3"}));
    let ended = rig.run();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(rig.asked(), ["scan c1", "scan", "shutdown"]);
    assert_eq!(ended.report["counts"]["deleted"], 1);
    assert_eq!(ended.report["incremental"], true);
    assert_eq!(ended.report["cursor_persisted"], true);
    let refreshed = ended.events("round.refreshed");
    assert_eq!(refreshed.len(), 1);
    let members = ["level", "uris", "deleted", "violations"];
    let members = members.map(|member| refreshed[0][member].clone());
    assert_eq!(json!(members), json!(["warn", 1, 1, 0]));
    rig.holds(&json!({"a": "one"}));

    rig.succeeds();
    assert_eq!(rig.asked(), ["scan c3", "shutdown"]);
}

#[test]
fn round_that_died_is_done_again_from_the_same_cursor() {
    let rig = used();
    let batches = json!([[document("b", "two")], [document("c", "three")]]);
    let full = json!([[document("a", "one")]]);
    rig.says(&json!({"full": full, "incremental": batches, "cursor": "c2", "crash": true}));
    let ended = rig.run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["round", "runner", "plugin_crashed", false]])
    );
    assert_eq!(ended.report["counts"]["created"], 1);
    rig.says(&json!({"full": full, "incremental": batches, "cursor": "c2"}));
    let counts = rig.succeeds();
    assert_eq!(rig.asked()[0], "scan c1");
    assert_eq!(
        (&counts["created"], &counts["unchanged"]),
        (&json!(1), &json!(1))
    );
    rig.holds(&json!({"a": "one", "b": "two", "c": "three"}));
}

#[test]
fn round_whose_scan_is_refused_is_done_again_from_the_same_cursor() {
    let rig = used();
    let batches = json!([[document("b", "two")]]);
    rig.says(&json!({"incremental": batches, "cursor": "c2", "refuses": true}));
    let ended = rig.run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["round", "plugin", "source_failed", false]])
    );
    assert_eq!(
        ended.report["cursor_held_since"],
        ended.report["started_at"]
    );
    rig.says(&json!({"incremental": batches, "cursor": "c2"}));
    assert_eq!(rig.succeeds()["created"], 1);
    assert_eq!(rig.asked(), ["scan c1", "shutdown"]);
}
