//! `kill -9` of the runner at every request it sends, before and after the server has seen it, and at every
//! message it sends to the plugin: the next round completes what the source says, be it the same or again what it was
//! at first; the remote holds it, and nothing of this instance's own is taken for somebody else's.
//!
//! State is saved between two requests, so that a request that never arrives stands for the save before it, and one
//! whose answer never arrives for the save that would have followed.

use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::rig::Rig;
use super::story::{self, Sequel};
use crate::over_http::proxy::{Fault, FaultProxy, Meanwhile};

/// A source with its first round behind it, and a proxy before its remote.
async fn prepared() -> (Rig, FaultProxy) {
    let mut rig = Rig::scripted();
    let proxy = FaultProxy::before(&rig.served.url).await;
    rig.definition["remote"]["url"] = json!(proxy.url);
    story::begin(&mut rig);
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
async fn killed_at_every_request(fault: fn(Meanwhile) -> Fault, turn: usize) {
    for moment in 0.. {
        let (rig, proxy) = prepared().await;
        let victim = Arc::<Mutex<Option<Pid>>>::default();
        let (known, seen) = (Arc::clone(&victim), AtomicUsize::new(0));
        proxy.choose(move |_| {
            let is_due = seen.fetch_add(1, Ordering::Relaxed) == moment;
            is_due.then(|| fault(killing(&known)))
        });
        story::change(&rig, &[]);
        let was_killed = is_killed(&rig, &victim);
        proxy.choose(|_| None);
        if !was_killed {
            assert!(moment > 15, "{moment} requests");
            return;
        }
        let sequel = Sequel::of(moment + turn);
        story::go_on(&rig, sequel, &format!("request {moment}, {sequel:?}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_request_arrives() {
    killed_at_every_request(Fault::Instead, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_answer_arrives() {
    killed_at_every_request(Fault::Afterwards, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_while_the_plugin_is_asked_for_a_batch() {
    for moment in ["scan", "n1"] {
        for sequel in Sequel::BOTH {
            let (rig, _proxy) = prepared().await;
            story::change(&rig, &[("kills_at", json!(moment))]);
            assert!(is_killed(&rig, &Mutex::default()), "{moment}");
            story::go_on(&rig, sequel, moment);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_behind_the_last_save() {
    let (rig, _proxy) = prepared().await;
    story::change(&rig, &[("kills_at", json!("shutdown"))]);
    assert!(is_killed(&rig, &Mutex::default()));
    story::is_at_its_end(&rig, "shutdown");
}
