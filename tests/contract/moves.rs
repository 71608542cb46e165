//! Moves: chains, occupied targets, absent sources (§18, §21).

use serde_json::{Value, json};

use super::rig::{PREFIX, Rig, delete, document, moved};

/// A source that had `a` and `b` in its first round, of which the remote keeps `a` alone.
fn a_is_there(incremental: &[Value]) -> Rig {
    let rig = Rig::scripted();
    rig.says(&json!({"full": [[document("a", "one")]], "cursor": "c1"}));
    rig.succeeds();
    rig.says(
        &json!({"full": [[document("b", "one")]], "incremental": [incremental],
                     "cursor": "c2"}),
    );
    rig
}

fn counts(created: u64, deleted: u64, moved: u64, failed: u64) -> Value {
    json!({"created": created, "updated": 0, "unchanged": 0, "deleted": deleted,
           "moved": moved, "failed": failed})
}

fn a_to_b(code: &str) -> Value {
    json!([["item", "remote", code, false, "t://p/a", "t://p/b"]])
}

#[test]
fn chained_moves_of_one_batch_are_done_in_order() {
    let rig = a_is_there(&[moved("a", "b"), moved("b", "c")]);
    assert_eq!(rig.succeeds(), counts(0, 0, 2, 0));
    rig.holds(&json!({"c": "one"}));
}

#[test]
fn three_moves_swap_two_documents() {
    let rig = Rig::scripted();
    rig.says(&json!({"full": [[document("a", "one"), document("b", "two")]], "cursor": "c1"}));
    rig.succeeds();
    let swap = [moved("a", "x"), moved("b", "a"), moved("x", "b")];
    rig.says(&json!({"full": [[]], "incremental": [swap], "cursor": "c2"}));
    assert_eq!(rig.succeeds(), counts(0, 0, 3, 0));
    rig.holds(&json!({"a": "two", "b": "one"}));
}

#[test]
fn move_onto_an_occupied_target_holds_the_cursor_since_the_first_such_round() {
    let rig = a_is_there(&[moved("a", "b")]);
    rig.somebody_commits("b", "theirs");
    let first = rig.run();
    assert_eq!(first.code, Some(1), "{first:#?}");
    assert_eq!(first.failures(), a_to_b("DPE_ALREADY_EXISTS"));
    assert_eq!(first.report["counts"], counts(0, 0, 0, 1));
    let since = first.report["cursor_held_since"].clone();
    assert_eq!(since, first.report["started_at"]);

    // The time is in whole seconds: without this, a new one might look like the old one.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let second = rig.run();
    assert_eq!(second.failures(), a_to_b("DPE_ALREADY_EXISTS"));
    assert_eq!(second.report["cursor_held_since"], since);
    assert_ne!(second.report["started_at"], since);
    assert_eq!(rig.asked(), ["scan c1", "shutdown"]);
    rig.holds(&json!({"a": "one", "b": "theirs"}));

    // Once the way is clear, the hold ends.
    rig.somebody(&["rm", &format!("{PREFIX}b")]);
    let third = rig.run();
    assert_eq!(third.report["cursor_held_since"], Value::Null);
    assert_eq!(third.report["counts"], counts(0, 0, 1, 0));
    rig.holds(&json!({"b": "one"}));
}

#[test]
fn move_whose_target_already_holds_the_content_deletes_the_source() {
    let rig = a_is_there(&[moved("a", "b")]);
    rig.somebody_commits("b", "one");
    assert_eq!(rig.succeeds(), counts(0, 0, 1, 0));
    rig.holds(&json!({"b": "one"}));
}

#[test]
fn move_with_absent_source_is_made_good_by_the_document_of_its_target() {
    let rig = a_is_there(&[moved("a", "b"), document("b", "one")]);
    rig.somebody(&["rm", &format!("{PREFIX}a")]);
    assert_eq!(rig.succeeds(), counts(1, 0, 1, 0));
    rig.holds(&json!({"b": "one"}));
}

#[test]
fn move_with_absent_source_is_not_found_without_a_document_for_its_target() {
    let rig = a_is_there(&[moved("a", "b")]);
    rig.somebody(&["rm", &format!("{PREFIX}a")]);
    let ended = rig.run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(ended.failures(), a_to_b("DPE_NOT_FOUND"));
    rig.holds(&json!({}));
}

#[test]
fn document_for_the_occupied_target_of_a_move_with_absent_source_overwrites_nothing() {
    let rig = a_is_there(&[moved("a", "b"), document("b", "one")]);
    rig.somebody(&["rm", &format!("{PREFIX}a")]);
    rig.somebody_commits("b", "theirs");
    let ended = rig.run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(ended.failures(), a_to_b("DPE_ALREADY_EXISTS"));
    assert_eq!(ended.report["counts"], counts(0, 0, 0, 1));
    rig.holds(&json!({"b": "theirs"}));
}

#[test]
fn whatever_follows_at_the_target_of_an_unachieved_move_is_skipped_and_says_why() {
    let items = [
        moved("a", "b"),
        delete("b"),
        moved("b", "d"),
        document("d", "two"),
        document("e", "three"),
    ];
    let rig = a_is_there(&items);
    rig.somebody_commits("b", "theirs");
    let ended = rig.run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(ended.failures(), a_to_b("DPE_ALREADY_EXISTS"));
    assert_eq!(ended.report["counts"], counts(1, 0, 0, 1));
    rig.holds(&json!({"a": "one", "b": "theirs", "e": "three"}));

    let cause = json!({"from_uri": "t://p/a", "to_uri": "t://p/b"});
    let skipped: Vec<_> = ended.events("item.skipped");
    let expected = [
        json!({"kind": "delete", "file_uri": "t://p/b"}),
        json!({"kind": "move", "from_uri": "t://p/b", "to_uri": "t://p/d"}),
        json!({"kind": "document", "file_uri": "t://p/d"}),
    ];
    assert_eq!(skipped.len(), expected.len(), "{ended:#?}");
    for (event, expected) in skipped.iter().zip(expected) {
        assert_eq!(event["level"], "warn");
        assert_eq!(event["cause"], cause);
        for member in ["kind", "file_uri", "from_uri", "to_uri"] {
            assert_eq!(event.get(member), expected.get(member), "{event}");
        }
    }
}
