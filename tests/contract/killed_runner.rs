//! `kill -9` of the runner at every request it sends, before and after the server has seen it, and at every
//! message it sends to the plugin: the next round completes what the source says, the remote holds it, and
//! nothing of this instance's own is taken for somebody else's.
//!
//! State is saved between two requests, so that a request that never arrives stands for the save before it, and one
//! whose answer never arrives for the save that would have followed.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::rig::{Rig, delete, document, moved};
use crate::over_http::proxy::{Fault, FaultProxy, Meanwhile};

/// What the source has at first.
fn first() -> Value {
    let names = ["a", "b", "c", "d", "e", "f", "g", "same"];
    json!([names.map(|name| document(name, name))])
}

/// What became of it: creation, update, delete; a move, a move to another new name and on from there, both names of
/// a move written afterwards; a delete and the document again; a swap.
fn after() -> Value {
    json!([
        [
            document("new", "new"),
            document("a", "two"),
            document("same", "same"),
            delete("b"),
            moved("c", "c2"),
            moved("d", "d2"),
            moved("d2", "d3"),
        ],
        [
            document("c", "fresh"),
            document("c2", "edited"),
            delete("e"),
            document("e", "again"),
            moved("f", "t"),
            moved("g", "f"),
            moved("t", "g"),
        ]
    ])
}

fn expected() -> Value {
    json!({
        "new": "new", "a": "two", "same": "same", "c": "fresh", "c2": "edited", "d3": "d",
        "e": "again", "f": "g", "g": "f",
    })
}

/// A source with its first round behind it, and a proxy before its remote. Conflicts are reported.
async fn prepared() -> (Rig, FaultProxy) {
    let mut rig = Rig::scripted();
    let proxy = FaultProxy::before(&rig.served.url).await;
    rig.definition["conflict_policy"] = json!({"commit": "report", "delete": "report"});
    rig.definition["remote"]["url"] = json!(proxy.url);
    rig.says(&json!({"full": first(), "cursor": "c1"}));
    rig.succeeds();
    (rig, proxy)
}

/// Starts a round of what became of the source; returns whether it was killed.
fn is_killed(rig: &Rig, victim: &Mutex<Option<Pid>>) -> bool {
    let mut command = rig.command();
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // Nobody is killed before it is known who.
    let mut known = victim.lock().unwrap();
    let mut runner = command.spawn().unwrap();
    *known = Some(Pid::from_child(&runner));
    drop(known);
    runner.wait().unwrap().code().is_none()
}

fn completes(rig: &Rig, at: &str) {
    rig.says(&json!({"full": [[]], "incremental": after(), "cursor": "c2"}));
    let ended = rig.run();
    assert_eq!(ended.failures(), json!([]), "{at}: {ended:#?}");
    assert_eq!(ended.code, Some(0), "{at}: {ended:#?}");
    assert_eq!(rig.asked()[0], "scan c1", "{at}");
    rig.holds(&expected());
    has_nothing_left(rig, at);
}

/// The next round begins behind all that.
fn has_nothing_left(rig: &Rig, at: &str) {
    rig.says(&json!({"full": [[]], "incremental": [[]], "cursor": "c3"}));
    let counts = rig.succeeds();
    assert_eq!(rig.asked(), ["scan c2", "shutdown"], "{at}: {counts}");
    rig.holds(&expected());
}

fn killing(victim: &Arc<Mutex<Option<Pid>>>) -> Meanwhile {
    let victim = Arc::clone(victim);
    Box::new(move || {
        Box::pin(async move {
            let pid = victim.lock().unwrap().expect("it was started");
            // It may be dead already, by a request beside this one.
            let _ = kill_process(pid, Signal::KILL);
        })
    })
}

/// Kills the runner at request after request, until a round comes to its end before.
async fn killed_at_every_request(fault: fn(Meanwhile) -> Fault) {
    for moment in 0.. {
        let (rig, proxy) = prepared().await;
        let victim = Arc::<Mutex<Option<Pid>>>::default();
        let (known, seen) = (Arc::clone(&victim), AtomicUsize::new(0));
        proxy.choose(move |_| {
            let is_due = seen.fetch_add(1, Ordering::Relaxed) == moment;
            is_due.then(|| fault(killing(&known)))
        });
        rig.says(&json!({"full": [[]], "incremental": after(), "cursor": "c2"}));
        let was_killed = is_killed(&rig, &victim);
        proxy.choose(|_| None);
        if !was_killed {
            assert!(moment > 15, "{moment} requests");
            return;
        }
        completes(&rig, &format!("request {moment}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_request_arrives() {
    killed_at_every_request(Fault::Instead).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_answer_arrives() {
    killed_at_every_request(Fault::Afterwards).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_plugin_is_asked_for_a_batch() {
    for moment in ["scan", "n1"] {
        let (rig, _proxy) = prepared().await;
        let says =
            json!({"full": [[]], "incremental": after(), "cursor": "c2", "kills_at": moment});
        rig.says(&says);
        assert!(is_killed(&rig, &Mutex::default()), "{moment}");
        completes(&rig, moment);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_behind_the_last_save() {
    let (rig, _proxy) = prepared().await;
    let says =
        json!({"full": [[]], "incremental": after(), "cursor": "c2", "kills_at": "shutdown"});
    rig.says(&says);
    assert!(is_killed(&rig, &Mutex::default()));
    rig.holds(&expected());
    has_nothing_left(&rig, "shutdown");
}
