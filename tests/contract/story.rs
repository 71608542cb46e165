//! The story of a source with everything in it that a round may have to do, for the tests that cut its round short
//! somewhere: whoever was killed, the rounds after it have to bring it to its end.

use serde_json::{Value, json};

use super::rig::{Ended, PREFIX, Rig, delete, document, moved};

/// SHA-256 of what stands behind the handle `h` of the fixture, computed by another program.
const BLOB: &str = "sha256:ba6ab297dbb2bcbc66d54fb768e01920acb58b5552455834f4563807cbd46efb";

/// What the source has at first.
fn first() -> Value {
    let names = ["a", "b", "c", "d", "e", "f", "g", "same"];
    json!([names.map(|name| document(name, name))])
}

fn first_held() -> Value {
    json!({"a": "a", "b": "b", "c": "c", "d": "d", "e": "e", "f": "f", "g": "g", "same": "same"})
}

/// What became of it: creation, update, delete; a move, a move to another new name and on from there, both names of
/// a move written afterwards; a delete and the document again; a swap; a document in two batches, and one with a
/// blob that takes several reads and an upload.
fn after() -> Value {
    let mut beginning = document("long", "one");
    beginning["continued"] = json!(true);
    let mut end = document("long", "two");
    end.as_object_mut().unwrap().remove("document");
    json!([
        [
            document("new", "new"),
            document("a", "two"),
            document("same", "same"),
            delete("b"),
            moved("c", "c2"),
            moved("d", "d2"),
            moved("d2", "d3"),
            beginning,
        ],
        [
            end,
            document("c", "fresh"),
            document("c2", "edited"),
            delete("e"),
            document("e", "again"),
            moved("f", "t"),
            moved("g", "f"),
            moved("t", "g"),
            {"kind": "document", "file_uri": format!("{PREFIX}picture"), "document": {"file_type": "png"},
             "pages": [{"elements": [{"category": "Image", "blob": {"handle": "h"}}]}]},
        ]
    ])
}

fn after_held() -> Value {
    json!({
        "new": "new", "a": "two", "same": "same", "c": "fresh", "c2": "edited", "d3": "d",
        "e": "again", "f": "g", "g": "f", "long": ["one", "two"],
        "picture": {"file_type": "png", "pages": [{"elements": [{"category": "Image", "blob": BLOB}]}]},
    })
}

/// How the story goes on behind the round that was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequel {
    /// The source stays as it has become.
    Stays,
    /// The source is again what it was, so that it has nothing to tell since its cursor (§22).
    Reverts,
}

impl Sequel {
    pub(super) const BOTH: [Self; 2] = [Self::Stays, Self::Reverts];

    /// One or the other, in turn.
    pub(super) fn of(moment: usize) -> Self {
        Self::BOTH[moment % 2]
    }
}

/// Does the first round. Conflicts are reported, so that a write of this instance that is taken for somebody else's
/// is a failure.
pub(super) fn begin(rig: &mut Rig) {
    rig.definition["conflict_policy"] = json!({"commit": "report", "delete": "report"});
    rig.says(&json!({"full": first(), "cursor": "c1"}));
    rig.succeeds();
}

/// Has the source say what became of it, and more for the fixture's own use.
pub(super) fn change(rig: &Rig, more: &[(&str, Value)]) {
    let mut script = json!({"full": [[]], "incremental": after(), "cursor": "c2"});
    for (member, value) in more {
        script[*member] = value.clone();
    }
    rig.says(&script);
}

/// The round that was cut short is over, and its cursor was not stored: the next one brings the story to its end.
pub(super) fn go_on(rig: &Rig, sequel: Sequel, at: &str) {
    let held = match sequel {
        Sequel::Stays => {
            change(rig, &[]);
            after_held()
        }
        Sequel::Reverts => {
            rig.says(&json!({"full": first(), "incremental": [[]], "cursor": "c2"}));
            first_held()
        }
    };
    let ended = rig.run();
    assert_eq!(ended.failures(), json!([]), "{at}: {ended:#?}");
    assert_eq!(ended.code, Some(0), "{at}: {ended:#?}");
    assert_eq!(rig.asked()[0], "scan c1", "{at}");
    rig.holds(&held);
    has_nothing_left(rig, &held, at);
}

/// A round came to its end although something was killed: the same as if nothing had been. Or it failed, as a whole and
/// for the one reason `failure`, and the next round brings the story to its end.
pub(super) fn ended(rig: &Rig, ended: &Ended, failure: &Value, sequel: Sequel, at: &str) {
    if ended.code == Some(0) {
        assert_eq!(ended.failures(), json!([]), "{at}: {ended:#?}");
        assert_eq!(ended.report["cursor_persisted"], true, "{at}: {ended:#?}");
        return is_at_its_end(rig, at);
    }
    assert_eq!(ended.code, Some(2), "{at}: {ended:#?}");
    assert_eq!(ended.report["outcome"], "failed", "{at}: {ended:#?}");
    assert_eq!(ended.report["cursor_persisted"], false, "{at}: {ended:#?}");
    assert_eq!(ended.failures(), json!([failure]), "{at}: {ended:#?}");
    go_on(rig, sequel, at);
}

/// The changed source has been delivered and its cursor is stored.
pub(super) fn is_at_its_end(rig: &Rig, at: &str) {
    rig.holds(&after_held());
    has_nothing_left(rig, &after_held(), at);
}

/// The next round begins behind all that.
fn has_nothing_left(rig: &Rig, held: &Value, at: &str) {
    rig.says(&json!({"full": [[]], "incremental": [[]], "cursor": "c3"}));
    let counts = rig.succeeds();
    assert_eq!(rig.asked(), ["scan c2", "shutdown"], "{at}: {counts}");
    rig.holds(held);
}
