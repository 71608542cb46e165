//! `kill -9` between two saves of state with no request between them: what landed is saved, and the cursor is not yet
//! (§8.1, §19.3). Every other place between two saves has a request, which `contract::killed_runner` kills at.

use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::instance::Instance;

/// Says what became of four documents since `c-1`.
const CHANGES: &str = r#"
def document(name, title):
    return {"kind": "document", "file_uri": "t://p/" + name,
        "document": {"file_type": "md", "title": title}, "pages": []}
initialize()
request = read()
if request["params"].get("cursor") is None:
    items = [document(name, name) for name in ("a", "b", "d")]
    result(request, {"items": items, "cursor": "c-1", "incremental": False})
elif request["params"]["cursor"] == "c-1":
    items = [document("a", "two"), {"kind": "delete", "file_uri": "t://p/b"}, document("c", "new"),
        {"kind": "move", "from_uri": "t://p/d", "to_uri": "t://p/e"}, document("d", "again")]
    result(request, {"items": items, "cursor": "c-2", "incremental": True})
else:
    result(request, {"items": [], "cursor": "c-3", "incremental": True})
shutdown()
"#;

/// Makes storing a cursor take for ever.
const SLOW: &str = "CREATE TRIGGER slow BEFORE INSERT ON facts WHEN NEW.name = 'cursor' BEGIN
    SELECT count(*) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n); END";

fn state(instance: &Instance) -> Connection {
    let path = instance.state().join("instances/i/state.db");
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap()
}

/// Waits until everything that landed is saved, and returns whether it ever was.
fn has_landed(state: &Connection) -> bool {
    let begun = Instant::now();
    let landed = "SELECT (SELECT count(*) FROM intents) = 0
        AND (SELECT group_concat(file_uri, ' ') FROM (SELECT file_uri FROM confirmed ORDER BY file_uri))
            = 't://p/a t://p/c t://p/d t://p/e'";
    while begun.elapsed() < Duration::from_secs(20) {
        let landed = state.query_row(landed, [], |row| row.get::<_, bool>(0));
        if landed.is_ok_and(|landed| landed) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    false
}

#[test]
fn what_had_landed_before_the_cursor_was_stored_is_said_again_to_no_effect() {
    let mut instance = Instance::new(CHANGES);
    instance.definition["conflict_policy"] = json!({"commit": "report", "delete": "report"});
    assert_eq!(instance.run().code, Some(0));
    let state = state(&instance);
    state.execute_batch(SLOW).unwrap();
    let mut run = instance.start();
    let landed = has_landed(&state);
    // It never ends by itself, whatever is found out.
    run.kill().unwrap();
    assert_eq!(run.wait().unwrap().code(), None, "it was killed");
    assert!(landed, "nothing landed");
    state.execute_batch("DROP TRIGGER slow").unwrap();
    drop(state);

    let ran = instance.run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let report = ran.report();
    assert_eq!(report["incremental"], true, "it began from the old cursor");
    let counts =
        json!({"created": 0, "updated": 0, "unchanged": 3, "deleted": 1, "moved": 1, "failed": 0});
    assert_eq!(report["counts"], counts);
    let held = ["t://p/a", "t://p/c", "t://p/d", "t://p/e"];
    assert_eq!(instance.remote(), held);
    let next = instance.run().report();
    assert_eq!(next["counts"]["unchanged"], 0, "it began from the new one");
    assert_eq!(instance.remote(), held);
}
