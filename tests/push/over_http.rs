//! Every command against a remote behind a URL: the same answers as from a store.

use std::io::{Read, Write};
use std::net::TcpListener;

use super::place::{Place, Run, counts, run};
use crate::over_http::served::Served;

/// A place whose `DPE_REMOTE` is a server of its own.
struct Networked {
    place: Place,
    served: Served,
}

impl Networked {
    fn new(arguments: &[&str]) -> Self {
        let place = Place::new();
        place.write("a.md", "# One\n\nFirst.\n");
        place.write("b.md", "# Two\n\nSecond.\n");
        let served = Served::start(&place.path().join("served"), arguments);
        Self { place, served }
    }

    fn dpe(&self, arguments: &[&str]) -> Run {
        self.dpe_with(arguments, &[])
    }

    fn dpe_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
        let mut command = self.place.command();
        command.env("DPE_REMOTE", &self.served.url).args(arguments);
        run(command.envs(variables.iter().copied()))
    }
}

#[test]
fn a_push_is_the_same_over_http_as_into_a_store() {
    let there = Networked::new(&["--prefix", "/r/1"]);
    let push = |expected| {
        let run = there.dpe(&["push", "--json", "docs"]);
        assert_eq!(run.code, Some(0), "{run:?}");
        let report: super::place::Report = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(report.counts, expected);
        let listed = there.dpe(&["ls", "--json"]).stdout;
        let local = Place::new();
        for name in ["a.md", "b.md", "c.md", "d.md"] {
            if let Ok(text) = std::fs::read(there.place.docs().join(name)) {
                local.write(name, text);
            }
        }
        local.pushed();
        assert_eq!(listed, local.dpe(&["ls", "--json"]).stdout);
    };
    push(counts(2, 0, 0, 0, 0));
    push(counts(0, 0, 0, 0, 2));
    there.place.rename("a.md", "c.md");
    there.place.write("b.md", "# Two\n\nChanged.\n");
    there.place.write("d.md", "Large. ".repeat(50_000));
    push(counts(1, 1, 1, 0, 0));
    there.place.remove("c.md");
    push(counts(0, 0, 0, 1, 2));
    assert!(!there.place.store().exists(), "nothing is kept here");
}

#[test]
fn the_remote_is_named_by_its_url_as_written() {
    let there = Networked::new(&["--prefix", "/a%2Fb"]);
    let run = there.dpe(&["push", "docs"]);
    let expected = format!("pushing docs as dpe://docs/ to {}", there.served.url);
    assert_eq!(run.stderr.lines().next(), Some(&*expected), "{run:?}");
    let run = there.dpe(&["push", "--json", "docs"]);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(report["remote_url"], there.served.url);
}

#[test]
fn show_mv_and_rm_answer_as_for_a_store() {
    let there = Networked::new(&[]);
    let local = &Place::new();
    for (name, text) in [
        ("a.md", "# One\n\nFirst.\n"),
        ("b.md", "# Two\n\nSecond.\n"),
    ] {
        local.write(name, text);
    }
    assert_eq!(there.dpe(&["push", "-q", "docs"]).code, Some(0));
    assert_eq!(local.dpe(&["push", "-q", "docs"]).code, Some(0));
    for arguments in [
        &["ls", "-l", "dpe://docs/a"][..],
        &["show", "dpe://docs/none.md"],
        &["mv", "-n", "dpe://docs/a.md", "dpe://docs/x.md"],
        &["mv", "--json", "dpe://docs/a.md", "dpe://docs/x.md"],
        &["mv", "dpe://docs/a.md", "dpe://docs/x.md"],
        &["mv", "dpe://docs/b.md", "dpe://docs/x.md"],
        &["rm", "--base", ANOTHER_HASH, "dpe://docs/b.md"],
        &["rm", "-r", "dpe://docs/"],
        &["rm", "-n", "--json", "dpe://docs/x.md"],
        &["rm", "dpe://docs/x.md", "dpe://docs/none.md"],
        &["rm", "-r", "--yes", "dpe://docs/"],
        &["rm", "-r", "--yes", "dpe://docs/"],
        &["ls"],
    ] {
        let (remote, store) = (there.dpe(arguments), local.dpe(arguments));
        let answers = [&remote, &store].map(|run| (run.code, &run.stdout, &run.stderr));
        assert_eq!(answers[0], answers[1], "{arguments:?}");
    }
}

const ANOTHER_HASH: &str = "dpe1:00000000000000000000000000000000000000000000000000000000000000aa";

#[test]
fn show_over_http_has_the_skeleton_without_the_text_of_elements() {
    let there = Networked::new(&[]);
    there.dpe(&["push", "-q", "docs"]);
    let run = there.dpe(&["show", "--json", "dpe://docs/a.md"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let shown: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(shown["document"]["title"], "One");
    assert_eq!(shown["pages"].as_array().unwrap().len(), 1);
    assert_eq!(shown["elements"], serde_json::json!({}));
    let run = there.dpe(&["show", "dpe://docs/a.md"]);
    assert!(run.stdout.contains("  dpe1:"), "{run:?}");
    assert!(!run.stdout.contains("First"), "{run:?}");
}

#[test]
fn a_store_that_is_being_served_is_reached_through_its_server() {
    let there = Networked::new(&[]);
    let store = there.place.path().join("served");
    let with_store = |arguments: &[&str]| {
        let mut command = there.place.command();
        command.env("DPE_REMOTE", &store).args(arguments);
        // No proxy is between this machine and itself.
        run(command.env("HTTP_PROXY", "http://127.0.0.1:1"))
    };
    let pushed = with_store(&["push", "docs"]);
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    assert!(pushed.stderr.contains("2 created"), "{pushed:?}");
    assert_eq!(with_store(&["ls"]).stdout, there.dpe(&["ls"]).stdout);
    drop(there.served);
    // The same remote, and so the same instance: it is known what is there.
    let mut command = there.place.command();
    command.env("DPE_REMOTE", &store).args(["push", "docs"]);
    let again = run(&mut command);
    assert!(again.stderr.contains("2 unchanged"), "{again:?}");
}

#[test]
fn a_remote_that_cannot_be_reached_is_2() {
    let there = Networked::new(&[]);
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/r", free.local_addr().unwrap());
    drop(free);
    for arguments in [
        &["push", "docs"][..],
        &["push", "-n", "docs"],
        &["ls"],
        &["show", "dpe://docs/a.md"],
        &["mv", "dpe://docs/a.md", "dpe://docs/x.md"],
        &["rm", "dpe://docs/a.md"],
    ] {
        let run = there.dpe_with(arguments, &[("DPE_REMOTE", &url)]);
        assert_eq!(run.code, Some(2), "{run:?}");
        assert!(run.stderr.contains("cannot connect"), "{run:?}");
    }
}

#[test]
fn a_remote_that_wants_a_credential_is_3_and_the_help_names_the_variable() {
    let there = Networked::new(&["--require-auth"]);
    for arguments in [&["push", "docs"][..], &["ls"], &["rm", "dpe://docs/a.md"]] {
        let run = there.dpe(arguments);
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.stderr.contains("DPE_AUTHORIZATION"), "{run:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_credential_comes_from_a_variable_a_file_or_a_command() {
    let grant = ["--require-auth", "--grant", "Bearer s3cr3t", "dpe://docs/"];
    let there = Networked::new(&grant);
    let file = there.place.path().join("token");
    std::fs::write(&file, "Bearer s3cr3t\n").unwrap();
    let file = file.to_str().unwrap();
    for variable in [
        ("DPE_AUTHORIZATION", "Bearer s3cr3t"),
        ("DPE_AUTHORIZATION_FILE", file),
        ("DPE_AUTHORIZATION_COMMAND", "echo Bearer s3cr3t"),
    ] {
        let run = there.dpe_with(&["push", "-v", "docs"], &[variable]);
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(!run.stderr.contains("s3cr3t"), "{run:?}");
    }
    let two = [
        ("DPE_AUTHORIZATION", "Bearer s3cr3t"),
        ("DPE_AUTHORIZATION_FILE", file),
    ];
    let missing = [("DPE_AUTHORIZATION_FILE", "/nowhere/token")];
    for variables in [&two[..], &missing] {
        for arguments in [&["ls"][..], &["push", "docs"]] {
            let run = there.dpe_with(arguments, variables);
            assert_eq!(run.code, Some(3), "{run:?}");
            assert!(!run.stderr.contains("s3cr3t"), "{run:?}");
        }
    }
}

#[test]
fn settings_of_the_network_that_cannot_be_used_are_3_and_bad_flags_64() {
    let there = Networked::new(&[]);
    let url = "https://127.0.0.1:1/r";
    for (arguments, code, says) in [
        (
            &["ls", "--remote", "http://user:s3cr3t@h/r"][..],
            3,
            "DPE_AUTHORIZATION",
        ),
        (
            &["push", "docs", "--remote", "http://user:s3cr3t@h/r"],
            3,
            "DPE_AUTHORIZATION",
        ),
        (
            &["ls", "--remote", url, "--cacert", "/nowhere.pem"],
            3,
            "/nowhere.pem",
        ),
        (
            &[
                "push",
                "docs",
                "--remote",
                url,
                "--client-cert",
                "/nowhere.pem",
            ],
            3,
            "/nowhere.pem",
        ),
        (&["serve", "--remote", url], 3, "directory"),
        (&["ls", "--limit-upload", "fast"], 64, "512K"),
        (&["ls", "--timeout=-1"], 64, "--timeout"),
    ] {
        let run = there.dpe(arguments);
        assert_eq!(run.code, Some(code), "{run:?}");
        assert!(run.stderr.contains(says), "{run:?}");
        assert!(!run.stderr.contains("s3cr3t"), "{run:?}");
    }
    let proxy = [("ALL_PROXY", "socks5://user:s3cr3t@h")];
    let run = there.dpe_with(&["ls"], &proxy);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("ALL_PROXY"), "{run:?}");
    assert!(!run.stderr.contains("s3cr3t"), "{run:?}");
}

#[test]
fn an_error_page_is_shown_in_one_masked_line_and_only_to_those_who_want_to_see_all() {
    let there = Networked::new(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let page = "no route for Bearer s3cr3t\nmore";
            let head = "HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: ";
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let reply = format!("{head}{}\r\n\r\n{page}", page.len());
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    let variables = [
        ("DPE_REMOTE", &*url),
        ("DPE_AUTHORIZATION", "Bearer s3cr3t"),
    ];
    for command in [&["ls"][..], &["push", "docs"]] {
        for (flag, shown) in [("-v", false), ("-vv", true)] {
            let run = there.dpe_with(&[command, &[flag]].concat(), &variables);
            assert_eq!(run.code, Some(2), "{run:?}");
            let line = "the answer began: no route for [REDACTED]\n";
            assert_eq!(run.stderr.contains(line), shown, "{run:?}");
            assert!(!run.stderr.contains("s3cr3t") && !run.stderr.contains("more"));
        }
    }
}

/// A PNG of `length` bytes: what its decoder reads of it, then anything.
fn png(length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0".to_vec();
    bytes.resize(length, 0x5a);
    bytes
}

#[test]
fn the_limits_of_the_remote_are_kept_and_known_to_the_connector() {
    let there = Networked::new(&[
        "--max-payload-bytes",
        "20000",
        "--blob-chunk-bytes",
        "30000",
        "--blob-max-bytes",
        "100000",
    ]);
    there
        .place
        .write("large.md", "Some words to fill it.\n\n".repeat(8000));
    there.place.write("fits.png", png(100_000));
    there.place.write("too_large.png", png(100_001));
    let run = there.dpe(&["push", "--json", "docs"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    let report: super::place::Report = serde_json::from_str(&run.stdout).unwrap();
    let failures: Vec<_> = report
        .failures
        .iter()
        .map(|failure| (failure.file_uri.as_deref(), &*failure.code))
        .collect();
    let refused = (Some("dpe://docs/too_large.png"), "content_invalid");
    assert_eq!(failures, [refused], "{run:?}");
    assert_eq!(report.counts.created, 4, "{run:?}");
}

#[test]
fn the_upload_limit_slows_a_push_down() {
    let there = Networked::new(&[]);
    // Text that does not compress well: digits of a sequence that does not repeat.
    let digits: String = (0_u64..20_000)
        .map(|n| (n * n * 7919 % 10_007).to_string())
        .collect();
    there.place.write("c.md", digits);
    let begun = std::time::Instant::now();
    let run = there.dpe(&["push", "docs", "--limit-upload", "16K"]);
    assert_eq!(run.code, Some(0), "{run:?}");
    let elapsed = begun.elapsed().as_secs_f32();
    assert!(elapsed > 1.0, "{elapsed} {run:?}");
}

#[test]
fn a_credential_that_no_header_can_hold_is_3() {
    let place = Place::new();
    let served = Served::start(&place.docs().join("../served"), &[]);
    let mut command = place.command();
    command.args(["ls", "--remote", &served.url]);
    let output = command
        .env("DPE_AUTHORIZATION", "Bearer tail ")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(!said.contains("tail"), "{said}");
}
