//! `read_blob`: the table of §14.2 row by row, and the timeouts of §15.

use std::time::Duration;

use dpe::sync::failure::Level;
use dpe::sync::ports::{BlobChunk, BlobFailure, Source};

use super::plugin::Script;

/// A plugin that answers one `read_blob` with this Python statement, then says goodbye.
fn answering(statement: &str) -> Script {
    Script::initialized(&format!("request = read()\n{statement}\nshutdown()"))
}

async fn read(script: &Script) -> Result<BlobChunk, BlobFailure> {
    let mut process = script.start().await.unwrap();
    let read = process.read_blob("h", 0, 5).await;
    process.close().await.unwrap();
    read
}

#[tokio::test]
async fn the_request_has_the_members_of_the_contract() {
    let script = answering(
        r#"
assert request["method"] == "read_blob"
assert request["params"] == {"handle": "h", "offset": 0, "max_bytes": 5}, request
result(request, {"data": "aGVsbG8=", "eof": True})"#,
    );
    let chunk = read(&script).await.unwrap();
    assert_eq!((&*chunk.bytes, chunk.eof), (&b"hello"[..], true));
}

#[tokio::test]
async fn a_chunk_is_no_longer_than_what_fits_a_message() {
    let mut script = Script::initialized(
        r#"
request = read()
# (8192 - 4096) * 3 / 4
assert request["params"]["max_bytes"] == 3072, request
result(request, {"data": "AAAA" * 1024, "eof": False})
shutdown()"#,
    );
    script.max_message_bytes = 8192;
    let mut process = script.start().await.unwrap();
    let chunk = process.read_blob("h", 0, 1 << 20).await.unwrap();
    assert_eq!(chunk.bytes.len(), 3072);
    process.close().await.unwrap();
}

#[tokio::test]
async fn refusals_and_malformed_results_leave_the_plugin_alive() {
    for (statement, expected) in [
        ("error(request, -32002)", false),
        (r#"error(request, -32002, {"retryable": True})"#, false),
        ("error(request, -32001)", true),
        ("error(request, -32003)", false),
        (r#"error(request, -32003, {"retryable": True})"#, true),
        (r#"error(request, -32603, {"retryable": True})"#, true),
        (r#"error(request, -7, {"retryable": True})"#, false),
        (r#"result(request, {"data": "", "eof": False})"#, false),
        (
            r#"result(request, {"data": "AAAAAAAA", "eof": True})"#,
            false,
        ),
        (r#"result(request, {"data": "AAA", "eof": True})"#, false),
        (r#"result(request, {"data": "AAAA"})"#, false),
        ("result(request, [])", false),
    ] {
        match read(&answering(statement)).await {
            Err(BlobFailure::Unread { retryable, .. }) => {
                assert_eq!(retryable, expected, "{statement}");
            }
            other => panic!("{statement}: {other:?}"),
        }
    }
}

/// §15: an answer within the grace after `cancel` fails the request, and the handle stays valid.
#[tokio::test]
async fn a_read_that_is_cancelled_in_time_may_be_tried_again() {
    let mut script = Script::initialized(
        r#"
request = read()
cancel = read()
assert cancel["method"] == "cancel" and cancel["params"] == {"id": request["id"]}, cancel
error(request, -32001)
result(read(), {"data": "", "eof": True})
shutdown()"#,
    );
    // The second read has to be answered within it, on a busy machine too.
    script.deadlines.blob = Duration::from_secs(1);
    let mut process = script.start().await.unwrap();
    let first = process.read_blob("h", 0, 5).await.unwrap_err();
    assert!(matches!(
        first,
        BlobFailure::Unread {
            retryable: true,
            ..
        }
    ));
    assert!(process.read_blob("h", 0, 5).await.unwrap().eof);
    process.close().await.unwrap();
}

#[tokio::test]
async fn a_plugin_that_ignores_cancel_is_killed_and_the_round_is_over() {
    let mut script = Script::initialized("read()\ntime.sleep(600)");
    script.deadlines.blob = Duration::from_millis(200);
    script.deadlines.grace = Duration::from_millis(300);
    let mut process = script.start().await.unwrap();
    for expected in ["timeout", "plugin_crashed"] {
        let Err(BlobFailure::Ended(failure)) = process.read_blob("h", 0, 5).await else {
            panic!("the plugin is of no further use");
        };
        assert_eq!((failure.level, &*failure.code), (Level::Round, expected));
        assert!(!failure.retryable);
    }
    process.close().await.unwrap();
}

#[tokio::test]
async fn a_violation_of_the_wire_protocol_ends_the_round() {
    let script = Script::initialized(r#"read(); raw("{}\n"); time.sleep(600)"#);
    let mut process = script.start().await.unwrap();
    let Err(BlobFailure::Ended(failure)) = process.read_blob("h", 0, 5).await else {
        panic!("the plugin broke the protocol");
    };
    assert_eq!(failure.level, Level::Protocol);
    process.close().await.unwrap();
}
