//! The bundled connector as a child of the one binary.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use dpe::config::Mask;
use dpe::host::{
    ConnectorProcess, Deadlines, Launch, ProcessEvent, bundled, message_limit, plugin_environment,
};
use dpe::sync::ports::{BatchEnd, ScanRequest, Source};
use dpe_connector::initialize::Instance;
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
