//! `kill -9` of the remote, a process of `dpe serve`, at every request it is sent: before the request arrives, and when
//! it has been executed and not yet answered. The remote is alive again at once, or only when the round is over, in turn.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Signal, WaitId, WaitIdOptions, kill_process, waitid};
use serde_json::json;
use tokio::runtime::Handle;

use super::rig::{Ended, Rig};
use super::story::{self, Sequel};
use crate::over_http::proxy::{Fault, FaultProxy, Meanwhile};
use crate::over_http::served::Served;

/// So many rounds at once; while their remote is dead they only wait.
const AT_ONCE: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absence {
    /// The remote is back before anybody notices.
    Short,
    /// It is back when the round has ended.
    Long,
}

/// The later life of the remote of a rig, at the same address and with the same store.
type Afterlife = Arc<Mutex<Option<Served>>>;

fn revive(rig: &Rig) -> impl FnOnce() -> Served + Send + use<> {
    let (url, store) = (rig.served.url.clone(), rig.path("store"));
    move || {
        let address = url.strip_prefix("http://").unwrap();
        let served = Served::start_at(address.split('/').next().unwrap(), &store, &[]);
        assert_eq!(served.url, url);
        served
    }
}

fn killing(rig: &Rig, absence: Absence, afterlife: &Afterlife) -> Meanwhile {
    let (pid, revive) = (rig.served.pid(), revive(rig));
    let afterlife = Arc::clone(afterlife);
    Box::new(move || {
        Box::pin(async move {
            // Whoever looks for the afterlife waits until it has begun.
            let mut afterlife = afterlife.lock().unwrap();
            kill_process(pid, Signal::KILL).unwrap();
            // Its end is awaited, and left for the rig to take note of.
            waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            )
            .unwrap();
            if absence == Absence::Short {
                *afterlife = Some(revive());
            }
        })
    })
}

/// Kills the remote at the request `moment` of a round; none if the round has less of them. Returns the round.
async fn killed_at(
    moment: usize,
    fault: fn(Meanwhile) -> Fault,
    absence: Absence,
) -> Option<Ended> {
    let mut rig = Rig::scripted();
    let proxy = FaultProxy::before(&rig.served.url).await;
    rig.definition["remote"]["url"] = json!(proxy.url);
    story::begin(&mut rig);
    story::change(&rig, &[]);

    let afterlife = Afterlife::default();
    let seen = Arc::new(AtomicUsize::new(0));
    let (counted, mut fate) = (Arc::clone(&seen), Some(killing(&rig, absence, &afterlife)));
    proxy.choose(move |_| {
        let is_due = counted.fetch_add(1, Ordering::Relaxed) == moment;
        is_due.then(|| fault(fate.take().expect("it is due once")))
    });
    let round = rig.run();
    proxy.choose(|_| None);
    if seen.load(Ordering::Relaxed) <= moment {
        return None;
    }
    let mut afterlife = afterlife.lock().unwrap();
    if afterlife.is_none() {
        *afterlife = Some(revive(&rig)());
    }
    let unavailable = json!(["round", "remote", "remote_unavailable", true]);
    let sequel = Sequel::of(moment / 2);
    let at = format!("request {moment}, {absence:?}, {sequel:?}");
    story::ended(&rig, &round, &unavailable, sequel, &at);
    Some(round)
}

/// Kills the remote at request after request, each time in a story of its own, until a round has no more of them.
fn killed_at_every_request(fault: fn(Meanwhile) -> Fault, turn: usize) {
    let next = AtomicUsize::new(0);
    let runtime = Handle::current();
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let moment = next.fetch_add(1, Ordering::Relaxed);
                    let absence = [Absence::Short, Absence::Long][(moment + turn) % 2];
                    let killed = runtime.block_on(killed_at(moment, fault, absence));
                    let Some(round) = killed else { break };
                    let code = round.code;
                    assert!(absence == Absence::Short || code == Some(2), "{round:#?}");
                }
            });
        }
    });
    let requests = next.into_inner() - AT_ONCE;
    assert!(requests > 20, "{requests} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_any_request_arrives() {
    killed_at_every_request(Fault::Instead, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_behind_any_request() {
    killed_at_every_request(Fault::Afterwards, 1);
}
