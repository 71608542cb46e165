//! A runner that is killed between a write and its confirmation: its own write is not taken for somebody
//! else's afterwards (§19.2, §19.3).

use std::process::Stdio;
use std::sync::{Arc, Mutex};

use http::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::rig::{Rig, delete, document, moved};
use crate::over_http::proxy::{Fault, FaultProxy, Seen};

/// Whether the request is a write of a document.
fn writes(seen: &Seen) -> bool {
    [Method::PUT, Method::DELETE].contains(&seen.method) || seen.target.ends_with("/move")
}

/// Runs `first`, then a round of `killed` whose runner is killed when the server has done its first write and
/// before it has learnt so; the plugin ends by itself. Then a round of `after`.
async fn interrupted(first: &Value, killed: &[Value], after: &[Value], holds: &Value) -> Value {
    let mut rig = Rig::scripted();
    rig.definition["conflict_policy"] = json!({"commit": "report", "delete": "report"});
    let proxy = FaultProxy::before(&rig.served.url).await;
    rig.definition["remote"]["url"] = json!(proxy.url);
    rig.says(&json!({"full": [first], "cursor": "c1"}));
    rig.succeeds();

    rig.says(&json!({"full": [[]], "incremental": [killed], "cursor": "c2"}));
    let victim = Arc::<Mutex<Option<Pid>>>::default();
    let known = Arc::clone(&victim);
    let mut written = false;
    proxy.choose(move |seen| {
        if written {
            let pid = known.lock().unwrap().expect("it was started");
            // It may be dead already: requests that were under way come by.
            let _ = kill_process(pid, Signal::KILL);
            return Some(Fault::ResetBefore);
        }
        written = writes(seen);
        written.then_some(Fault::SwallowReply)
    });
    let mut known = victim.lock().unwrap();
    let mut command = rig.command();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut runner = command.spawn().unwrap();
    *known = Some(Pid::from_child(&runner));
    drop(known);
    assert_eq!(runner.wait().unwrap().code(), None, "it was killed");

    proxy.choose(|_| None);
    rig.says(&json!({"full": [[]], "incremental": [after], "cursor": "c3"}));
    let counts = rig.succeeds();
    assert_eq!(rig.asked()[0], "scan c1");
    rig.holds(holds);
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_commit_is_recognised() {
    let one = json!([document("a", "one")]);
    let two = [document("a", "two")];
    let counts = interrupted(&one, &two, &two, &json!({"a": "two"})).await;
    assert_eq!(counts["unchanged"], 1, "{counts}");
    // And so is one that the source has overtaken meanwhile.
    let three = [document("a", "three")];
    let counts = interrupted(&one, &two, &three, &json!({"a": "three"})).await;
    assert_eq!(counts["updated"], 1, "{counts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_delete_is_recognised_when_the_document_comes_back() {
    let one = json!([document("a", "one")]);
    let again = [document("a", "again")];
    let counts = interrupted(&one, &[delete("a")], &again, &json!({"a": "again"})).await;
    assert_eq!(counts["created"], 1, "{counts}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_move_is_recognised_when_its_old_uri_is_written_to() {
    let one = json!([document("a", "one")]);
    let after = [moved("a", "b"), document("a", "new")];
    let holds = json!({"a": "new", "b": "one"});
    let counts = interrupted(&one, &[moved("a", "b")], &after, &holds).await;
    assert_eq!(
        (&counts["moved"], &counts["created"]),
        (&json!(1), &json!(1))
    );
}
