//! SIGINT, SIGTERM and SIGHUP during `dpe push`.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::over_http::served::Served;
use crate::push::place::{Place, Report, Run};

/// A place with documents that take long on a line as slow as [`slow`].
fn place() -> Place {
    let place = Place::new();
    for number in 0..300 {
        place.write(&format!("{number}.md"), format!("# Number {number}\n"));
    }
    place
}

fn served(place: &Place) -> Served {
    Served::start(&place.path().join("store"), &[])
}

fn slow(place: &Place, url: &str, arguments: &[&str]) -> Command {
    at_rate("10K", place, url, arguments)
}

fn at_rate(rate: &str, place: &Place, url: &str, arguments: &[&str]) -> Command {
    let mut command = place.command();
    command
        .args(["push", "docs", "--remote", url, "--limit-upload", rate])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn documents(place: &Place, url: &str) -> usize {
    place.dpe(&["ls", "--remote", url]).stdout.lines().count()
}

/// Returns once some documents have landed.
fn has_begun(place: &Place, url: &str) {
    let begun = Instant::now();
    while documents(place, url) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(30), "nothing lands");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn end(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The processes whose parent this was, or is.
#[cfg(target_os = "linux")]
fn children(pid: Pid) -> Vec<i32> {
    let pid = pid.as_raw_nonzero();
    let mut children = Vec::new();
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
        let path = task.unwrap().path().join("children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        children.extend(
            text.split_whitespace()
                .map(|pid| pid.parse::<i32>().unwrap()),
        );
    }
    children
}

#[cfg(target_os = "linux")]
fn are_gone(pids: &[i32]) -> bool {
    let is_gone = |pid: &i32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z "))
    };
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(8) {
        if pids.iter().all(is_gone) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    false
}

#[cfg(target_os = "linux")]
#[test]
fn the_first_signal_ends_a_push_within_seconds_and_says_what_happened() {
    let place = place();
    for (signal, name, code) in [
        (Signal::INT, "SIGINT", 130),
        (Signal::TERM, "SIGTERM", 143),
        (Signal::HUP, "SIGHUP", 143),
    ] {
        let store = tempfile::tempdir().unwrap();
        let served = Served::start(store.path(), &[]);
        let child = slow(&place, &served.url, &["--json"]).spawn().unwrap();
        let pid = Pid::from_child(&child);
        has_begun(&place, &served.url);
        let plugins = children(pid);
        assert!(!plugins.is_empty());
        let begun = Instant::now();
        kill_process(pid, signal).unwrap();
        let ran = end(child);
        assert!(begun.elapsed() < Duration::from_secs(5), "{ran:?}");
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(are_gone(&plugins));
        let told = ran.stderr.lines().filter(|line| line.starts_with(name));
        assert_eq!(told.count(), 1, "{ran:?}");
        let last = ran.stderr.lines().last().unwrap();
        assert!(last.starts_with("stopped pushing docs, "), "{ran:?}");
        assert!(!ran.stderr.contains("failed:"), "{ran:?}");
        let report: Report = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(report.outcome, "failed");
        assert!(!report.cursor_persisted);
        assert_eq!(report.failures.len(), 1, "{report:?}");
        assert_eq!(report.failures[0].code, "interrupted");
        let landed = documents(&place, &served.url) as u64;
        assert!(landed < 300, "the line is not slow enough");
        // The reply to a write that was given up may be lost, never a document that was counted.
        assert!(report.counts.created <= landed, "{report:?}");
        let ran = place.dpe(&["push", "docs", "--remote", &served.url]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(documents(&place, &served.url), 300);
    }
}

/// The last writes of a round are cut off, not some of many batches: what was not sent must not
/// pass for delivered.
#[test]
fn what_a_signal_kept_from_being_sent_is_sent_by_the_next_push() {
    let place = place();
    let served = served(&place);
    for _ in 0..2 {
        let before = documents(&place, &served.url);
        let child = slow(&place, &served.url, &[]).spawn().unwrap();
        let begun = Instant::now();
        while documents(&place, &served.url) == before {
            assert!(begun.elapsed() < Duration::from_secs(30), "nothing lands");
            std::thread::sleep(Duration::from_millis(50));
        }
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        let ran = end(child);
        assert_eq!(ran.code, Some(143), "{ran:?}");
        assert!(documents(&place, &served.url) < 300, "{ran:?}");
    }
    let ran = place.dpe(&["push", "docs", "--remote", &served.url]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(documents(&place, &served.url), 300);
}

/// As on a terminal: everything that belongs to the foreground gets the signal.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_of_the_whole_group_is_no_failure_of_the_connector() {
    use std::os::unix::process::CommandExt;

    let place = place();
    let served = served(&place);
    let child = slow(&place, &served.url, &[])
        .process_group(0)
        .spawn()
        .unwrap();
    has_begun(&place, &served.url);
    kill_process_group(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = end(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(!ran.stderr.contains("source_failed"), "{ran:?}");
    assert!(!ran.stderr.contains("error"), "{ran:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_interrupt_ends_a_push_at_once_and_nothing_is_lost() {
    let place = place();
    let served = served(&place);
    // So slow that what is on its way takes longer than anybody waits.
    let child = at_rate("1K", &place, &served.url, &[]).spawn().unwrap();
    has_begun(&place, &served.url);
    let pid = Pid::from_child(&child);
    let plugins = children(pid);
    kill_process(pid, Signal::INT).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    let begun = Instant::now();
    // The first one may have been enough.
    let _ = kill_process(pid, Signal::INT);
    let ran = end(child);
    assert!(begun.elapsed() < Duration::from_secs(1), "{ran:?}");
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert!(are_gone(&plugins));
    let ran = place.dpe(&["push", "docs", "--remote", &served.url]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(documents(&place, &served.url), 300);
}

#[test]
fn a_signal_ends_a_push_whose_remote_does_not_answer() {
    let place = place();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let child = slow(&place, &url, &[]).spawn().unwrap();
    let _connection = listener.accept().unwrap();
    let begun = Instant::now();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ran = end(child);
    assert!(begun.elapsed() < Duration::from_secs(5), "{ran:?}");
    assert_eq!(ran.code, Some(130), "{ran:?}");
}

#[test]
fn a_hangup_that_somebody_ignores_on_purpose_changes_nothing() {
    let place = place();
    let served = served(&place);
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            "trap '' HUP; exec \"$DPE\" push docs --remote \"$URL\" --limit-upload 40K",
        ])
        .env("DPE", env!("CARGO_BIN_EXE_dpe"))
        .env("URL", &served.url)
        .env("HOME", place.path().join("home"))
        .current_dir(place.path())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    has_begun(&place, &served.url);
    kill_process(Pid::from_child(&child), Signal::HUP).unwrap();
    let ran = end(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(documents(&place, &served.url), 300);
}
