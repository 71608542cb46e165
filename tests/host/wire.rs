//! Messages: what is accepted, and what each violation is reported as.

use std::time::Duration;

use dpe::sync::failure::{FailureSource, Level};
use dpe::sync::ports::{BatchEnd, ScanRequest, Source};

use super::plugin::{Script, assert_failure};

#[tokio::test]
async fn a_plugin_that_keeps_the_contract_is_scanned_and_closed() {
    let script = Script::initialized(
        r#"
first = read()
assert first["method"] == "scan" and first["params"] == {"cursor": "before", "max_items": 7}
result(first, {"items": [{"kind": "delete", "file_uri": "x://p/a"}], "next": "p2"})
second = read()
assert second["params"] == {"next": "p2"}
result(second, {"items": [], "cursor": "after", "incremental": True})
shutdown()
"#,
    );
    let mut process = script.start().await.unwrap();
    assert_eq!(process.identity().name, "scripted");
    let first = ScanRequest {
        cursor: Some("before".into()),
        next: None,
        max_items: 7,
    };
    let batch = process.scan(first).await.unwrap();
    let items = r#"[{"kind": "delete", "file_uri": "x://p/a"}]"#;
    assert_eq!(batch.items.source(), items);
    assert_eq!(batch.end, BatchEnd::Next("p2".into()));
    let second = ScanRequest {
        next: Some("p2".into()),
        ..ScanRequest::default()
    };
    let expected = BatchEnd::Final {
        cursor: Some("after".into()),
        incremental: true,
    };
    assert_eq!(process.scan(second).await.unwrap().end, expected);
    process.close().await.unwrap();
}

#[tokio::test]
async fn initialize_carries_the_prefix_and_the_unchanged_configuration() {
    let script = Script::new(
        r#"
line = sys.stdin.readline()
assert '"config":{"n":1.0}' in line, line
request = json.loads(line)
assert request["params"]["protocol_versions"] == ["dpe-connector/1"]
assert request["params"]["max_message_bytes"] == 1048576
assert request["params"]["instance"]["uri_prefix"] == "x://p/"
result(request, {"protocol_version": "dpe-connector/1", "plugin": {"name": "scripted", "version": "1"}})
shutdown()
"#,
    );
    let process = script.start().await.unwrap();
    assert!(!process.identity().supports_cursor);
    process.close().await.unwrap();
}

#[tokio::test]
async fn lines_that_break_the_framing_are_protocol_errors() {
    for line in [
        r"\n",
        r"this is no json\n",
        r#"[{"jsonrpc":"2.0","id":2,"result":{}}]\n"#,
        r#"\ufeff{"jsonrpc":"2.0","id":2,"result":{}}\n"#,
        r#"{"jsonrpc":"2.0","id":77,"result":{}}\n"#,
        r#"{"jsonrpc":"2.0","id":2,"id":2,"result":{}}\n"#,
        r#"{"jsonrpc":"2.0","method":"log","params":{}}\n"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"items":{},"next":"p"}}\n"#,
    ] {
        let script = Script::initialized(&format!("read()\nraw('{line}')\nread()"));
        let (failure, _) = script.failing_scan().await;
        let source = FailureSource::Runner;
        assert_failure(&failure, Level::Protocol, source, "protocol_error", false);
    }
}

#[tokio::test]
async fn a_line_above_the_limit_is_noticed_before_it_ends() {
    let mut script = Script::initialized(
        r#"
read()
while True:
    raw("x" * 10000)
"#,
    );
    script.max_message_bytes = 100_000;
    let (failure, elapsed) = script.failing_scan().await;
    let source = FailureSource::Runner;
    assert_failure(&failure, Level::Protocol, source, "protocol_error", false);
    assert!(elapsed < Duration::from_secs(10));
}

#[tokio::test]
async fn a_large_batch_within_the_limit_passes_while_requests_are_large_too() {
    let mut script = Script::initialized(
        r#"
request = read()
text = "y" * 3000000
result(request, {"items": [{"kind": "delete", "file_uri": text}], "cursor": request["params"]["cursor"], "incremental": True})
shutdown()
"#,
    );
    script.max_message_bytes = 4 << 20;
    let mut process = script.start().await.unwrap();
    let cursor = "c".repeat(800_000);
    let request = ScanRequest {
        cursor: Some(cursor.clone()),
        ..ScanRequest::default()
    };
    let batch = process.scan(request).await.unwrap();
    assert!(batch.items.source().len() > 3_000_000);
    let expected = BatchEnd::Final {
        cursor: Some(cursor),
        incremental: true,
    };
    assert_eq!(batch.end, expected);
    process.close().await.unwrap();
}

#[tokio::test]
async fn refusals_of_initialize_are_failures_of_the_instance() {
    for (code, name) in [
        (-32004, "version_unsupported"),
        (-32005, "invalid_config"),
        (-32603, "internal_error"),
        (12, "unknown_error"),
    ] {
        let script = Script::new(&format!(
            "error(read(), {code}, {{'retryable': True}})\nread()"
        ));
        let failure = script.start().await.unwrap_err();
        assert_failure(
            &failure,
            Level::Instance,
            FailureSource::Plugin,
            name,
            false,
        );
    }
}

#[tokio::test]
async fn a_plugin_that_is_not_what_its_manifest_says_is_refused() {
    let script = Script::new("initialize('2')\nread()");
    let failure = script.start().await.unwrap_err();
    let source = FailureSource::Runner;
    assert_failure(&failure, Level::Instance, source, "plugin_mismatch", false);
}

#[tokio::test]
async fn an_error_response_to_scan_voids_the_round_and_not_the_plugin() {
    let script = Script::initialized(
        r#"
error(read(), -32003, {"retryable": True})
error(read(), -32003)
error(read(), -32602)
result(read(), FINAL)
shutdown()
"#,
    );
    let mut process = script.start().await.unwrap();
    for (next, name, retryable) in [
        (None, "source_failed", true),
        (None, "source_failed", false),
        (Some("gone".to_owned()), "invalid_params", true),
    ] {
        let request = ScanRequest {
            next,
            ..ScanRequest::default()
        };
        let failure = process.scan(request).await.unwrap_err();
        assert_failure(
            &failure.failure,
            Level::Round,
            FailureSource::Plugin,
            name,
            retryable,
        );
    }
    assert!(process.scan(ScanRequest::default()).await.is_ok());
    process.close().await.unwrap();
}

#[tokio::test]
async fn only_the_allowed_environment_reaches_a_plugin() {
    let mut script = Script::initialized(
        r#"
request = read()
names = sorted(os.environ)
result(request, dict(FINAL, items=names))
shutdown()
"#,
    );
    script.environment = vec![("WIKI_TOKEN".into(), "t".into())];
    let batch = script.scan().await.unwrap();
    let allowed = |name: &str| {
        ["PATH", "HOME", "LANG", "TZ", "TMPDIR", "WIKI_TOKEN"].contains(&name)
            || name.starts_with("LC_")
    };
    let names: Vec<String> = serde_json::from_str(batch.items.source()).unwrap();
    assert!(names.iter().all(|name| allowed(name)), "{names:?}");
    assert!(names.contains(&"WIKI_TOKEN".to_owned()));
    assert_eq!(
        names.contains(&"PATH".to_owned()),
        std::env::var_os("PATH").is_some()
    );
}

#[tokio::test]
async fn any_amount_of_stderr_is_drained_and_forwarded_line_by_line() {
    let script = Script::initialized(
        r#"
request = read()
for number in range(20000):
    sys.stderr.write("line %d\n" % number)
sys.stderr.write("z" * 100000 + "\n")
sys.stderr.buffer.write(b"bad \xff\r\n")
sys.stderr.flush()
result(request, FINAL)
shutdown()
"#,
    );
    let mut process = script.start().await.unwrap();
    process.scan(ScanRequest::default()).await.unwrap();
    process.close().await.unwrap();
    let lines = script.stderr.lock().unwrap();
    assert_eq!(lines.len(), 20_002);
    assert_eq!(lines[19_999].line, "line 19999");
    assert!(lines[20_000].truncated && lines[20_000].line.len() == 8192);
    assert_eq!(lines[20_001].line, "bad \u{fffd}");
}
