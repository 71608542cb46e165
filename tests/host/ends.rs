//! How a plugin ends, by its own will or not, and that nothing of it stays behind.

use std::time::{Duration, Instant};

use dpe::host::ProcessEvent;
use dpe::sync::failure::{FailureSource, Level};
use dpe::sync::ports::{ScanRequest, Source};

use super::plugin::{Script, assert_failure, is_gone};

/// Starts a child that outlives its parent and writes its number down.
const GRANDCHILD: &str = r#"
child = subprocess.Popen(["sleep", "1000"])
with open(sys.argv[1] + "/child", "w") as file:
    file.write(str(child.pid))
with open(sys.argv[1] + "/self", "w") as file:
    file.write(str(os.getpid()))
"#;

#[tokio::test]
async fn a_crash_is_a_failure_of_the_round() {
    for (how, text) in [
        ("os._exit(3)", "exit status: 3"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal: 11"),
    ] {
        let (failure, _) = Script::initialized(&format!("read()\n{how}"))
            .failing_scan()
            .await;
        assert_failure(
            &failure,
            Level::Round,
            FailureSource::Runner,
            "plugin_crashed",
            false,
        );
        assert!(failure.message.contains(text), "{}", failure.message);
    }
}

#[tokio::test]
async fn an_exit_with_0_while_a_request_is_pending_breaks_the_protocol() {
    let (failure, elapsed) = Script::initialized("read()\nsys.exit(0)")
        .failing_scan()
        .await;
    assert_failure(
        &failure,
        Level::Protocol,
        FailureSource::Runner,
        "protocol_error",
        false,
    );
    assert!(elapsed < Duration::from_secs(10));
}

#[tokio::test]
async fn an_exit_before_initialize_is_answered_is_judged_the_same_way() {
    let failure = Script::new("sys.exit(4)").start().await.unwrap_err();
    assert_failure(
        &failure,
        Level::Round,
        FailureSource::Runner,
        "plugin_crashed",
        false,
    );
    let failure = Script::new("sys.exit(0)").start().await.unwrap_err();
    assert_failure(
        &failure,
        Level::Protocol,
        FailureSource::Runner,
        "protocol_error",
        false,
    );
}

#[tokio::test]
async fn a_response_written_before_a_crash_still_counts() {
    let script = Script::initialized("result(read(), FINAL)\nos._exit(5)");
    let mut process = script.start().await.unwrap();
    process.scan(ScanRequest::default()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let failure = process.close().await.unwrap_err();
    assert_failure(
        &failure,
        Level::Round,
        FailureSource::Runner,
        "plugin_crashed",
        false,
    );
}

#[tokio::test]
async fn closing_stdout_and_living_on_breaks_the_protocol() {
    let script = Script::initialized("read()\nos.close(1)\ntime.sleep(1000)");
    let (failure, elapsed) = script.failing_scan().await;
    assert_failure(
        &failure,
        Level::Protocol,
        FailureSource::Runner,
        "protocol_error",
        false,
    );
    assert!(elapsed < Duration::from_secs(10));
}

#[tokio::test]
async fn a_scan_answered_after_cancel_is_a_retryable_timeout_and_the_plugin_lives() {
    let mut script = Script::initialized(
        r#"
request = read()
cancel = read()
assert cancel == {"jsonrpc": "2.0", "method": "cancel", "params": {"id": request["id"]}}, cancel
error(request, -32001)
result(read(), FINAL)
shutdown()
"#,
    );
    // The second scan has to be answered within it, on a busy machine too.
    script.deadlines.scan = Duration::from_secs(1);
    let mut process = script.start().await.unwrap();
    let failure = process.scan(ScanRequest::default()).await.unwrap_err();
    assert_failure(
        &failure.failure,
        Level::Round,
        FailureSource::Runner,
        "timeout",
        true,
    );
    assert!(process.scan(ScanRequest::default()).await.is_ok());
    process.close().await.unwrap();
}

#[tokio::test]
async fn a_scan_that_nobody_waits_for_any_more_is_cancelled_and_its_late_answer_ignored() {
    let script = Script::initialized(
        r#"
request = read()
cancel = read()
assert cancel == {"jsonrpc": "2.0", "method": "cancel", "params": {"id": request["id"]}}, cancel
result(request, FINAL)
following = read()
assert following["method"] == "scan" and following["id"] != request["id"], following
result(following, FINAL)
shutdown()
"#,
    );
    let mut process = script.start().await.unwrap();
    let scan = process.scan(ScanRequest::default());
    let given_up = tokio::time::timeout(Duration::from_millis(300), scan).await;
    assert!(given_up.is_err());
    assert!(process.scan(ScanRequest::default()).await.is_ok());
    process.close().await.unwrap();
}

#[tokio::test]
async fn a_plugin_that_ignores_cancel_is_killed_with_everything_it_started() {
    let mut script = Script::initialized(&format!("{GRANDCHILD}\nread()\ntime.sleep(1000)"));
    script.deadlines.scan = Duration::from_millis(500);
    script.deadlines.grace = Duration::from_millis(500);
    let (failure, elapsed) = script.failing_scan().await;
    assert_failure(
        &failure,
        Level::Round,
        FailureSource::Runner,
        "timeout",
        false,
    );
    assert!(elapsed < Duration::from_secs(10));
    assert!(is_gone(&script.path("self")).await);
    assert!(is_gone(&script.path("child")).await);
}

#[tokio::test]
async fn a_plugin_that_does_not_read_its_stdin_runs_into_the_timeout() {
    let mut script = Script::initialized("time.sleep(1000)");
    script.deadlines.scan = Duration::from_millis(500);
    let mut process = script.start().await.unwrap();
    let request = ScanRequest {
        // More than a pipe holds.
        cursor: Some("c".repeat(500_000)),
        ..ScanRequest::default()
    };
    let failure = process.scan(request).await.unwrap_err();
    assert_failure(
        &failure.failure,
        Level::Round,
        FailureSource::Runner,
        "timeout",
        false,
    );
}

#[tokio::test]
async fn initialize_without_an_answer_is_a_timeout() {
    let mut script = Script::new("read()\ntime.sleep(1000)");
    script.deadlines.initialize = Duration::from_millis(500);
    let failure = script.start().await.unwrap_err();
    assert_failure(
        &failure,
        Level::Round,
        FailureSource::Runner,
        "timeout",
        false,
    );
}

#[tokio::test]
async fn a_plugin_that_ignores_shutdown_and_term_is_killed() {
    let mut script = Script::initialized(
        r#"
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(sys.argv[1] + "/self", "w") as file:
    file.write(str(os.getpid()))
result(read(), FINAL)
while True:
    time.sleep(1)
"#,
    );
    script.deadlines.grace = Duration::from_millis(300);
    let mut process = script.start().await.unwrap();
    process.scan(ScanRequest::default()).await.unwrap();
    let began = Instant::now();
    process.close().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(5));
    assert!(is_gone(&script.path("self")).await);
}

#[tokio::test]
async fn what_a_plugin_leaves_behind_ends_with_its_normal_exit() {
    let script = Script::initialized(&format!("{GRANDCHILD}\nresult(read(), FINAL)\nshutdown()"));
    let mut process = script.start().await.unwrap();
    process.scan(ScanRequest::default()).await.unwrap();
    let began = Instant::now();
    process.close().await.unwrap();
    assert!(is_gone(&script.path("child")).await);
    // The grandchild holds the pipes; only the process is waited for.
    assert!(began.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_dropped_process_is_gone_with_everything_it_started() {
    let script = Script::initialized(&format!("{GRANDCHILD}\nresult(read(), FINAL)\nread()"));
    let mut process = script.start().await.unwrap();
    process.scan(ScanRequest::default()).await.unwrap();
    drop(process);
    assert!(is_gone(&script.path("self")).await);
    assert!(is_gone(&script.path("child")).await);
}

#[tokio::test]
async fn start_and_end_of_a_process_are_told_however_it_ends() {
    for (body, exit_code, signal) in [
        ("result(read(), FINAL)\nshutdown()", Some(0), None),
        ("result(read(), FINAL)\nread()\nos._exit(3)", Some(3), None),
        ("result(read(), FINAL)\ntime.sleep(1000)", None, Some(9)),
    ] {
        let script = Script::initialized(body);
        let mut process = script.start().await.unwrap();
        process.scan(ScanRequest::default()).await.unwrap();
        match exit_code {
            Some(_) => drop(process.close().await),
            None => drop(process),
        }
        let events = script.events.lock().unwrap();
        let [ProcessEvent::Started { pid: 1.. }, end] = &events[..] else {
            panic!("{events:?}");
        };
        assert_eq!(*end, ProcessEvent::Exited { exit_code, signal });
    }
}

#[tokio::test]
async fn a_program_that_cannot_be_started_is_an_invalid_definition() {
    let script = Script::new("");
    let missing = script.path("missing");
    let failure = script.start_with(missing).await.unwrap_err();
    let source = FailureSource::Runner;
    assert_failure(
        &failure,
        Level::Instance,
        source,
        "definition_invalid",
        false,
    );
}
