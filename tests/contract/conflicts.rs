//! Somebody else wrote: conflicts under both policies, and writes of one's own that are not taken for
//! somebody else's (§19, §20).

use serde_json::{Value, json};

use super::rig::{PREFIX, Rig, delete, document};

/// A source that had `a` and now says `item` about it.
fn then(item: &Value, policy: &Value) -> Rig {
    let mut rig = Rig::scripted();
    rig.definition["conflict_policy"] = policy.clone();
    rig.says(&json!({"full": [[document("a", "one")]], "cursor": "c1"}));
    rig.succeeds();
    rig.says(&json!({"full": [[document("a", "one")]], "incremental": [[item]], "cursor": "c2"}));
    rig
}

/// The round is partial, and nothing but a conflict over `a` went wrong.
fn conflict(rig: &Rig, code: &str) {
    let ended = rig.run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["item", "remote", code, false, "t://p/a"]])
    );
    let since = &ended.report["cursor_held_since"];
    assert_eq!(*since, ended.report["started_at"]);
    assert_eq!(ended.report["cursor_persisted"], false);
}

const REPORT: &str = r#"{"commit":"report","delete":"report"}"#;
const SOURCE_WINS: &str = r#"{"commit":"source_wins","delete":"source_wins"}"#;

fn policy(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn foreign_change_is_written_over_where_the_source_wins() {
    for policy in [json!({}), policy(SOURCE_WINS)] {
        let rig = then(&document("a", "two"), &policy);
        rig.somebody_commits("a", "theirs");
        assert_eq!(rig.succeeds()["updated"], 1);
        rig.holds(&json!({"a": "two"}));
    }
}

#[test]
fn foreign_change_is_left_alone_where_conflicts_are_reported() {
    let rig = then(&document("a", "two"), &policy(REPORT));
    rig.somebody_commits("a", "theirs");
    conflict(&rig, "DPE_PRECONDITION_FAILED");
    rig.holds(&json!({"a": "theirs"}));
    // The user settles it on the remote, and the round comes through.
    rig.somebody_commits("a", "two");
    assert_eq!(rig.succeeds()["unchanged"], 1);
    assert_eq!(rig.asked(), ["scan c1", "shutdown"]);
}

#[test]
fn foreign_deletion_is_undone_where_the_source_wins_and_reported_otherwise() {
    let rig = then(&document("a", "two"), &policy(SOURCE_WINS));
    rig.somebody(&["rm", &format!("{PREFIX}a")]);
    assert_eq!(rig.succeeds()["created"], 1);
    rig.holds(&json!({"a": "two"}));

    let rig = then(&document("a", "two"), &policy(REPORT));
    rig.somebody(&["rm", &format!("{PREFIX}a")]);
    conflict(&rig, "DPE_NOT_FOUND");
    rig.holds(&json!({}));
}

#[test]
fn deletion_of_what_somebody_changed_is_reported_unless_the_source_wins() {
    for policy in [json!({}), policy(REPORT)] {
        let rig = then(&delete("a"), &policy);
        rig.somebody_commits("a", "theirs");
        conflict(&rig, "DPE_PRECONDITION_FAILED");
        rig.holds(&json!({"a": "theirs"}));
    }
    let rig = then(&delete("a"), &policy(SOURCE_WINS));
    rig.somebody_commits("a", "theirs");
    assert_eq!(rig.succeeds()["deleted"], 1);
    rig.holds(&json!({}));
}

#[test]
fn what_somebody_already_did_is_no_conflict() {
    let rig = then(&document("a", "two"), &policy(REPORT));
    rig.somebody_commits("a", "two");
    assert_eq!(rig.succeeds()["unchanged"], 1);
    let rig = then(&delete("a"), &policy(REPORT));
    rig.somebody(&["rm", &format!("{PREFIX}a")]);
    assert_eq!(rig.succeeds()["deleted"], 1);
}
