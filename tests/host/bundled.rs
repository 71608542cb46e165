//! The bundled connector as a child of the one binary.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dpe::config::Mask;
use dpe::host::{
    ConnectorProcess, Deadlines, Launch, ProcessEvent, bundled, message_limit, plugin_environment,
};
use dpe::sync::ports::{BatchEnd, ScanRequest, Source};
use dpe_connector::initialize::Instance;
use serde_json::json;
use serde_json::value::to_raw_value;

async fn start(root: &Path) -> ConnectorProcess {
    let fs = bundled("fs").unwrap();
    let launch = Launch {
        program: env!("CARGO_BIN_EXE_dpe").into(),
        args: fs.args.map(Into::into).to_vec(),
        environment: plugin_environment(Vec::new()),
        manifest: &fs.manifest,
        instance: Instance {
            uri_prefix: "dpe://docs/".into(),
            config: to_raw_value(&serde_json::json!({"root": root})).unwrap(),
        },
        remote_limits: None,
        max_message_bytes: message_limit(None, 8 << 20),
        deadlines: Deadlines::default(),
        mask: Mask::default(),
        on_event: Arc::new(|event| {
            if let ProcessEvent::Stderr(line) = event {
                panic!("unexpected on stderr: {}", line.line);
            }
        }),
    };
    ConnectorProcess::start(launch).await.unwrap()
}

/// Returns the items of a round that fits one batch, and its cursor.
async fn round(root: &Path, cursor: Option<String>) -> (String, Option<String>) {
    let mut process = start(root).await;
    let request = ScanRequest {
        cursor,
        ..ScanRequest::default()
    };
    let batch = process.scan(request).await.unwrap();
    process.close().await.unwrap();
    let BatchEnd::Final { cursor, .. } = batch.end else {
        panic!("expected a final batch");
    };
    (batch.items.source().to_owned(), cursor)
}

#[tokio::test]
async fn the_bundled_connector_enumerates_a_folder_and_then_only_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.txt"), "one").unwrap();
    fs::write(folder.path().join("b.txt"), "two").unwrap();
    let (items, cursor) = round(folder.path(), None).await;
    assert!(
        items.contains(r#""file_uri":"dpe://docs/a.txt""#),
        "{items}"
    );
    assert!(
        items.contains(r#""file_uri":"dpe://docs/b.txt""#),
        "{items}"
    );
    let (items, cursor) = round(folder.path(), cursor).await;
    assert_eq!(items, "[]");
    fs::remove_file(folder.path().join("b.txt")).unwrap();
    let (items, _) = round(folder.path(), cursor).await;
    assert_eq!(
        items,
        r#"[{"kind":"delete","file_uri":"dpe://docs/b.txt"}]"#
    );
}

#[test]
fn a_connector_that_waits_for_something_ends_soon_after_its_input() {
    let folder = tempfile::tempdir().unwrap();
    // More than a pipe takes that nobody reads.
    fs::write(folder.path().join("a.txt"), "long ".repeat(100_000)).unwrap();
    let mut connector = Command::new(env!("CARGO_BIN_EXE_dpe"))
        .args(bundled("fs").unwrap().args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocol_versions": ["dpe-connector/1"], "max_message_bytes": 1 << 20,
        "instance": {"uri_prefix": "dpe://docs/", "config": {"root": folder.path()}}}});
    let scan = json!({"jsonrpc": "2.0", "id": 2, "method": "scan", "params": {}});
    let mut stdin = connector.stdin.take().unwrap();
    write!(stdin, "{initialize}\n{scan}\n").unwrap();
    drop(stdin);
    let begun = Instant::now();
    let ended = loop {
        match connector.try_wait().unwrap() {
            None if begun.elapsed() < Duration::from_secs(30) => {}
            ended => break ended,
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    connector.kill().unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(0));
}
