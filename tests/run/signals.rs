//! SIGINT and SIGTERM (§24).

use std::fs::File;
use std::process::{Child, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::instance::{EMPTY, Instance};
use crate::host::plugin::is_gone;
use crate::over_http::proxy::{Fault, FaultProxy};

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
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
    for (signal, name, code) in [(Signal::TERM, "SIGTERM", 143), (Signal::INT, "SIGINT", 130)] {
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
    send(&child, Signal::TERM);
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
    send(&child, Signal::INT);
    let ran = instance.end_of(child);
    assert_eq!((ran.code, &*ran.stdout), (Some(130), ""), "{ran:?}");
    assert!(ran.events("plugin.started").is_empty());
}

/// A definition that never comes: whoever was to write it holds the pipe.
#[test]
fn a_signal_ends_a_call_that_waits_for_its_definition() {
    for arguments in [&[][..], &["--delete"]] {
        let instance = Instance::new(EMPTY);
        let log = File::create(instance.path("log")).unwrap();
        let mut command = instance.command(arguments);
        instance.make_pipe("definition.json");
        let child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        // Opens once the other side reads.
        let pipe = File::create(instance.path("definition.json")).unwrap();
        send(&child, Signal::TERM);
        let ran = instance.end_of(child);
        assert_eq!((ran.code, &*ran.stdout), (Some(143), ""), "{ran:?}");
        assert_eq!(ran.events("runner.interrupted").len(), 1, "{ran:?}");
        assert_eq!(ran.log().len(), 1, "{ran:?}");
        drop(pipe);
    }
}

/// A plugin with one document.
const ONE: &str = r#"
initialize()
result(read(), {"items": [{"kind": "document", "file_uri": "t://p/a",
    "document": {"file_type": "md"}, "pages": []}], "cursor": "c", "incremental": False})
sys.stdin.read()
"#;

/// Returns once the system has handed a signal to the process. Which of two that wait came first is known to nobody.
#[cfg(target_os = "linux")]
fn is_taken(pid: Pid, signal: Signal) {
    let status = format!("/proc/{}/status", pid.as_raw_nonzero());
    let begun = Instant::now();
    loop {
        let status = std::fs::read_to_string(&status).unwrap();
        let pending = status.lines().find_map(|line| line.strip_prefix("ShdPnd:"));
        let pending = u64::from_str_radix(pending.unwrap().trim(), 16).unwrap();
        if pending & (1 << (signal.as_raw() - 1)) == 0 {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "it waits");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// All signals come while a write is on its way, which the first one gives three seconds to end.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn later_signals_are_ignored() {
    let mut instance = Instance::new(ONE);
    let proxy = FaultProxy::before(&instance.served.url).await;
    instance.definition["remote"]["url"] = json!(proxy.url);
    let runner = Arc::<OnceLock<Pid>>::default();
    let known = Arc::clone(&runner);
    proxy.choose(move |seen| {
        let pid = Arc::clone(&known);
        (seen.method == http::Method::PUT).then(|| {
            Fault::Meanwhile(Box::new(move || {
                Box::pin(async move {
                    let pid = *pid.wait();
                    kill_process(pid, Signal::TERM).unwrap();
                    is_taken(pid, Signal::TERM);
                    for signal in [Signal::INT, Signal::TERM, Signal::INT] {
                        kill_process(pid, signal).unwrap();
                        is_taken(pid, signal);
                    }
                })
            }))
        })
    });
    let child = instance.start();
    runner.set(Pid::from_child(&child)).unwrap();
    let ran = instance.end_of(child);
    assert_eq!((ran.code, &*ran.stdout), (Some(143), ""), "{ran:?}");
    assert_eq!(ran.events("runner.interrupted").len(), 1);
    assert_eq!(instance.remote(), ["t://p/a"]);
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
