//! SIGINT and SIGTERM (§24).

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::json;

use super::instance::{EMPTY, Instance};
use crate::host::plugin::is_gone;

fn send(child: &Child, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_child(child);
    rustix::process::kill_process(pid, signal).unwrap();
}

/// A plugin that never answers its scan, and a child of it.
const HANGING: &str = r#"
child = subprocess.Popen(["sleep", "1000"])
open(sys.argv[1] + "/child", "w").write(str(child.pid))
open(sys.argv[1] + "/self", "w").write(str(os.getpid()))
signal.signal(signal.SIGTERM, signal.SIG_IGN)
initialize()
read()
time.sleep(1000)
"#;

#[tokio::test]
async fn the_first_signal_ends_a_hanging_round_at_once_and_leaves_nothing_behind() {
    for (signal, name, code) in [
        (rustix::process::Signal::TERM, "SIGTERM", 143),
        (rustix::process::Signal::INT, "SIGINT", 130),
    ] {
        let instance = Instance::new(HANGING);
        let child = instance.start();
        instance.wait_for("round.started");
        let begun = Instant::now();
        send(&child, signal);
        let ran = instance.end_of(child);
        assert!(
            begun.elapsed() < Duration::from_secs(5),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!((ran.code, &*ran.stdout), (Some(code), ""), "{ran:?}");
        let interrupted = ran.events("runner.interrupted");
        assert_eq!(interrupted.len(), 1);
        assert_eq!(interrupted[0]["signal"], name);
        assert!(ran.events("round.finished").is_empty(), "{ran:?}");
        assert!(ran.events("item.failed").is_empty(), "{ran:?}");
        assert_eq!(ran.events("plugin.exited")[0]["signal"], 9);
        assert!(is_gone(&instance.path("self")).await);
        assert!(is_gone(&instance.path("child")).await);
        // The lock is free, and the round that was interrupted did not succeed.
        instance.write_plugin("initialize()\nerror(read(), -32003)");
        let ran = instance.run();
        ran.assert_failed(2, "round", "plugin", "source_failed");
        let report = ran.report();
        let (since, started) = (&report["cursor_held_since"], &report["started_at"]);
        assert!(since.as_str() <= started.as_str(), "{report}");
        instance.write_plugin(EMPTY);
        assert_eq!(instance.run().code, Some(0));
    }
}

#[test]
fn a_signal_ends_a_call_before_the_plugin_has_answered() {
    let instance = Instance::new("read()\ntime.sleep(1000)");
    let child = instance.start();
    instance.wait_for("plugin.started");
    send(&child, rustix::process::Signal::TERM);
    let ran = instance.end_of(child);
    assert_eq!((ran.code, &*ran.stdout), (Some(143), ""), "{ran:?}");
    assert_eq!(ran.events("plugin.exited").len(), 1);
}

#[test]
fn a_signal_ends_a_call_whose_remote_does_not_answer() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut instance = Instance::new(EMPTY);
    let url = format!("http://{}", listener.local_addr().unwrap());
    instance.definition["remote"]["url"] = json!(url);
    let child = instance.start();
    // Somebody is there, and says nothing.
    let _connection = listener.accept().unwrap();
    send(&child, rustix::process::Signal::INT);
    let ran = instance.end_of(child);
    assert_eq!((ran.code, &*ran.stdout), (Some(130), ""), "{ran:?}");
    assert!(ran.events("plugin.started").is_empty());
}

#[test]
fn later_signals_are_ignored() {
    let instance = Instance::new(HANGING);
    let child = instance.start();
    instance.wait_for("round.started");
    send(&child, rustix::process::Signal::TERM);
    for _ in 0..5 {
        std::thread::sleep(Duration::from_millis(2));
        // It may be gone already.
        let pid = rustix::process::Pid::from_child(&child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
    let ran = instance.end_of(child);
    assert_eq!(ran.code, Some(143), "{ran:?}");
    assert_eq!(ran.events("runner.interrupted").len(), 1);
}

#[test]
fn a_run_that_was_killed_leaves_its_lock_free_and_the_next_one_delivers() {
    let instance = Instance::new(HANGING);
    let mut child = instance.start();
    instance.wait_for("round.started");
    child.kill().unwrap();
    child.wait().unwrap();
    instance.write_plugin(EMPTY);
    let ran = instance.run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
